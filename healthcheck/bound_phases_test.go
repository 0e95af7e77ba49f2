package healthcheck

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"fairlead/router/route"
)

// phases is how many moments of a check's cycle a fault is tried at.
const phases = 400

// outage is a row of "Published time bounds": what happens to a backend, and how long its
// discovery may take.
type outage struct {
	name    string
	check   func(*route.Check)
	dead    func(context.Context) (net.Conn, error)
	traffic bool // real requests fail at once and say so
	detect  time.Duration
	recover time.Duration // 0: not measured
	// published is what the API says: without traffic and for the slowest fault.
	published time.Duration
}

func outages() []outage {
	oneOne := func(c *route.Check) { c.Jitter = 10 }
	threeTwo := func(c *route.Check) {
		c.Jitter, c.UnhealthyThreshold, c.HealthyThreshold, c.FastInterval = 10, 3, 2, time.Second
	}
	const s = time.Second
	return []outage{
		{name: "1/1 refused", check: oneOne, dead: refuse, detect: 12 * s, recover: 12 * s, published: 17 * s},
		{name: "1/1 black hole", check: oneOne, dead: blackhole, detect: 17 * s, published: 17 * s},
		{name: "1/1 refused, traffic", check: oneOne, dead: refuse, traffic: true, detect: 1 * s, recover: 12 * s, published: 17 * s},
		{name: "1/1 black hole, traffic", check: oneOne, dead: blackhole, traffic: true, detect: 6 * s, published: 17 * s},
		{name: "3/2 refused", check: threeTwo, dead: refuse, detect: 14 * s, recover: 13 * s, published: 29 * s},
		{name: "3/2 black hole", check: threeTwo, dead: blackhole, detect: 29 * s, published: 29 * s},
		{name: "3/2 refused, traffic", check: threeTwo, dead: refuse, traffic: true, detect: 3 * s, recover: 13 * s, published: 29 * s},
		{name: "3/2 black hole, traffic", check: threeTwo, dead: blackhole, traffic: true, detect: 18 * s, published: 29 * s},
	}
}

// TestBounds: for 400 phases of every kind of fault the detection, and the recovery, take
// at most the published time, and are not much faster than it in the worst phase
// (health.md, test 21).
func TestBounds(t *testing.T) {
	for _, f := range outages() {
		t.Run(f.name, func(t *testing.T) {
			bubble(t, Config{Concurrency: 10 * phases}, func(r *rig) { f.hold(r) })
		})
	}
}

const (
	firstFault = 60 * time.Second
	span       = 12 * time.Second // of the phases: more than a whole cycle
	lasts      = 90 * time.Second
)

func (f *outage) at(i int) time.Duration { return firstFault + time.Duration(i)*span/phases }

func (f *outage) hold(r *rig) {
	sets := make([]route.PlacementSet, phases)
	for i := range phases {
		host := fmt.Sprintf("10.1.%d.%d", i/200, i%200+1)
		begin, end := r.start.Add(f.at(i)), r.start.Add(f.at(i)+lasts)
		r.net.set(host+":80", func(ctx context.Context) (net.Conn, error) {
			if now := time.Now(); !now.Before(begin) && now.Before(end) {
				return f.dead(ctx)
			}
			return accept(ctx)
		})
		sets[i] = r.set(fmt.Sprintf("http_%03d", i), backend(fmt.Sprintf("b%03d", i), host, checked(f.check)))
	}
	r.apply(sets...)
	r.run()
	for i := range phases {
		r.at(f.at(i) + time.Nanosecond)
		if f.traffic {
			r.engine.Report(route.Outcome{Placement: sets[i].Placements[0], Transport: true, Kind: route.KindConnectionRefused})
		}
	}
	r.at(firstFault + span + lasts + time.Minute)
	if got := r.engine.View().Entrypoints["http_000"].DetectionBound; got != f.published {
		r.t.Errorf("the published bound is %s, want %s", got, f.published)
	}
	f.measure(r)
}

func (f *outage) measure(r *rig) {
	detected, recovered := map[int]bool{}, map[int]bool{}
	var slowest, slowestBack time.Duration
	for _, t := range r.seen.all {
		var i int
		if n, _ := fmt.Sscanf(t.Backend, "b%d", &i); n == 0 || t.Debug {
			continue
		}
		since := t.At.Sub(r.start) - f.at(i)
		switch {
		case t.To == "down":
			detected[i], slowest = true, max(slowest, since)
		case t.To == "up" && t.From == "down":
			recovered[i], slowestBack = true, max(slowestBack, since-lasts)
		}
	}
	// One microsecond is the pause before the first launch, which is on no tick.
	const grain = 2 * time.Microsecond
	if len(detected) != phases || slowest > f.detect+grain {
		r.t.Errorf("%d of %d found down, the slowest after %s; the bound is %s", len(detected), phases, slowest, f.detect)
	}
	if slowest < f.detect-3*time.Second {
		r.t.Errorf("the slowest was found after %s: the bound of %s is hollow", slowest, f.detect)
	}
	if f.recover > 0 && (len(recovered) != phases || slowestBack > f.recover+grain) {
		r.t.Errorf("%d of %d found up again, the slowest after %s; the bound is %s", len(recovered), phases, slowestBack, f.recover)
	}
}

// TestNewcomersBound: a newcomer has its first verdict within startupSpread + T + x,
// whenever it comes.
func TestNewcomersBound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		meets func(context.Context) (net.Conn, error)
		bound time.Duration
	}{
		{"accepts", accept, 2 * time.Second},
		{"refused", refuse, 2 * time.Second},
		{"black hole", blackhole, 7 * time.Second},
	} {
		bubble(t, Config{Concurrency: 10 * phases}, func(r *rig) {
			r.run()
			var sets []route.PlacementSet
			came := map[string]time.Time{}
			for i := range phases {
				r.at(10*time.Second + time.Duration(i)*7*time.Millisecond)
				host := fmt.Sprintf("10.1.%d.%d", i/200, i%200+1)
				r.net.set(host+":80", tt.meets)
				id := fmt.Sprintf("b%03d", i)
				came[id] = time.Now()
				sets = append(sets, r.set("http_"+id, backend(id, host)))
				r.apply(sets...)
			}
			r.at(30 * time.Second)
			seen := 0
			for _, m := range r.seen.all {
				if m.From != "pending" || m.To == "pending" || m.Backend == "" {
					continue
				}
				seen++
				if took := m.At.Sub(came[m.Backend]); took > tt.bound {
					t.Errorf("%s: the verdict about %s took %s, the bound is %s", tt.name, m.Backend, took, tt.bound)
				}
			}
			if seen != phases {
				t.Errorf("%s: %d of %d have a verdict", tt.name, seen, phases)
			}
		})
	}
}
