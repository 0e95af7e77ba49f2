package healthcheck

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// vector is an exact schedule: what a backend is asked and when, while it dies and
// returns.
type vector struct {
	name     string
	check    func(*route.Check)
	tick     time.Duration // 0 is 1 s
	dead     func(context.Context) (net.Conn, error)
	young    bool // the container has just started
	dies     time.Duration
	returns  time.Duration
	until    time.Duration
	launches []time.Duration
	changes  []string // of the backend
}

// vectors are the reference vectors of health.md (test 3) and those that follow from its
// rules about downInterval, ticks, slow failures and newcomers.
func vectors() []vector {
	threeTwo := func(c *route.Check) {
		c.UnhealthyThreshold, c.HealthyThreshold, c.FastInterval = 3, 2, time.Second
	}
	down30 := func(c *route.Check) { c.DownInterval = 30 * time.Second }
	all := []vector{
		{name: "1/1", check: func(*route.Check) {}, launches: secs(0, 10, 20, 30, 40), changes: []string{"0s pending>up", "20s up>down", "40s down>up"}},
		{name: "3/2, fastInterval 1s", check: threeTwo, launches: secs(0, 10, 20, 21, 22, 32, 33, 43),
			changes: []string{"0s pending>up", "22s up>down", "33s down>up"}},
		{name: "1/1, downInterval 30s", check: down30, launches: secs(0, 10, 20, 50, 60), until: 61 * time.Second,
			changes: []string{"0s pending>up", "20s up>down", "50s down>up"}},
		{name: "3/2, fastInterval 1s, downInterval 30s", check: func(c *route.Check) { threeTwo(c); down30(c) }, until: 64 * time.Second,
			launches: secs(0, 10, 20, 21, 22, 52, 53, 63), changes: []string{"0s pending>up", "22s up>down", "53s down>up"}},
		{name: "3/2 without fastInterval", check: func(c *route.Check) { c.UnhealthyThreshold, c.HealthyThreshold = 3, 2 },
			launches: secs(0, 10, 20, 30, 40), changes: []string{"0s pending>up"}},
		{name: "tick 100ms, 3/2, fastInterval 1s", check: threeTwo, tick: 100 * time.Millisecond,
			launches: secs(0, 10, 20, 21, 22, 32, 33, 43), changes: []string{"0s pending>up", "22s up>down", "33s down>up"}},
		{name: "tick 100ms, interval 250ms", check: func(c *route.Check) {
			c.Interval, c.DownInterval, c.Timeout = 250*time.Millisecond, 450*time.Millisecond, 250*time.Millisecond
		},
			tick: 100 * time.Millisecond, dies: 650 * time.Millisecond, returns: 1450 * time.Millisecond, until: 2150 * time.Millisecond,
			launches: secs(0, 0.3, 0.6, 0.9, 1.4, 1.9), changes: []string{"0s pending>up", "900ms up>down", "1.9s down>up"}},
		{name: "interval 10500ms", check: func(c *route.Check) { c.Interval, c.DownInterval = 10500*time.Millisecond, 10500*time.Millisecond },
			launches: secs(0, 11, 22, 33, 44), until: 44500 * time.Millisecond, changes: []string{"0s pending>up", "11s up>down", "33s down>up"}},
		{name: "3/2, fastInterval 1s, black hole of 4.5s", check: func(c *route.Check) { threeTwo(c); c.Timeout = 4500 * time.Millisecond },
			dead: blackhole, launches: secs(0, 10, 20, 25, 30, 40, 41, 51), until: 52 * time.Second,
			changes: []string{"0s pending>up", "34.5s up>down", "41s down>up"}},
		{name: "pending, 1/1", check: func(c *route.Check) { c.InitialDelay = 10 * time.Second }, young: true, dies: 1, returns: 4500 * time.Millisecond,
			launches: secs(0, 1, 2, 3, 4, 5, 15), until: 16 * time.Second, changes: []string{"5s pending>up"}},
		{name: "pending, then down", check: func(c *route.Check) { c.InitialDelay = 2500 * time.Millisecond }, young: true, dies: 1, returns: 12 * time.Second,
			launches: secs(0, 1, 2, 3, 13, 23), until: 24 * time.Second, changes: []string{"3s pending>down", "13s down>up"}},
	}
	for i := range all {
		v := &all[i]
		if v.dies == 0 {
			v.dies, v.returns = 10500*time.Millisecond, 30500*time.Millisecond
		}
		if v.until == 0 {
			v.until = 44 * time.Second
		}
		if v.dead == nil {
			v.dead = refuse
		}
	}
	return all
}

// TestExactSchedule holds every vector to the millisecond.
func TestExactSchedule(t *testing.T) {
	for _, v := range vectors() {
		t.Run(v.name, func(t *testing.T) {
			bubble(t, Config{StartupSpread: time.Nanosecond, Tick: v.tick}, func(r *rig) { v.hold(r) })
		})
	}
}

func (v *vector) hold(r *rig) {
	const addr = "10.0.0.1:80"
	b := backend("b1", "10.0.0.1", checked(v.check))
	if !v.young {
		b.StartedAt = time.Time{}
	}
	r.net.set(addr, accept)
	if v.dies == 1 {
		r.net.set(addr, v.dead) // from the beginning
	}
	r.apply(r.set("http_api", b))
	r.run()
	if v.dies > 1 {
		r.at(v.dies)
		r.net.set(addr, v.dead)
	}
	r.at(v.returns)
	r.net.set(addr, accept)
	r.at(v.until)
	if got := r.net.dials(addr); !slices.Equal(got, v.launches) {
		r.t.Errorf("launches at %v, want %v", got, v.launches)
	}
	if got := r.ofBackend("b1"); !slices.Equal(got, v.changes) {
		r.t.Errorf("transitions %q, want %q", got, v.changes)
	}
}

// ofBackend lists the loud transitions of a backend as "at from>to".
func (r *rig) ofBackend(id string) []string {
	var out []string
	for _, line := range r.seen.loud(r.start) {
		at, rest, _ := strings.Cut(line, " ")
		if who, what, _ := strings.Cut(rest, " "); strings.HasSuffix(who, "/"+id) {
			out = append(out, at+" "+what)
		}
	}
	return out
}

// TestJitter: it only adds, at most its percentage, only to waits of more than two
// ticks, and it does something.
func TestJitter(t *testing.T) {
	for _, tt := range []struct {
		name        string
		check       func(*route.Check)
		least, most time.Duration // gaps between launches
	}{
		{"10s and 50%", func(c *route.Check) { c.Jitter = 50 }, 10 * time.Second, 15 * time.Second},
		{"10s and 10%", func(c *route.Check) { c.Jitter = 10 }, 10 * time.Second, 11 * time.Second},
		{"3s and 50%", func(c *route.Check) { c.Interval, c.Jitter = 3*time.Second, 50 }, 3 * time.Second, 4 * time.Second},
		{"two ticks have none", func(c *route.Check) { c.Interval, c.Jitter = 2*time.Second, 50 }, 2 * time.Second, 2 * time.Second},
		{"0% is none", func(c *route.Check) { c.Jitter = 0 }, 10 * time.Second, 10 * time.Second},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", accept)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(tt.check))))
			r.run()
			r.at(time.Hour)
			at := r.net.dials("10.0.0.1:80")
			var least, most time.Duration = time.Hour, 0
			for i := 1; i < len(at); i++ {
				gap := at[i] - at[i-1]
				least, most = min(least, gap), max(most, gap)
				if at[i]%time.Second != 0 {
					t.Fatalf("%s: a launch at %s is on no tick", tt.name, at[i])
				}
			}
			if least < tt.least || most > tt.most || most-least != tt.most-tt.least {
				t.Errorf("%s: gaps from %s to %s, want %s to %s", tt.name, least, most, tt.least, tt.most)
			}
		})
	}
}
