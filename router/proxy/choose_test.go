package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"fairlead/router/route"
)

// TestOneTrialAmongMany: of 100 requests at once exactly one goes to the backend that is
// on trial; the others are served elsewhere and wait for nothing.
func TestOneTrialAmongMany(t *testing.T) {
	g := newGate()
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, g.serve), serveHTTP(t, func(http.ResponseWriter, *http.Request) {})})
	judge := &testJudge{onTrial: true}
	judged(entry, nil, judge)
	r.start()
	c := client(t)
	first := r.inBackground("GET", "app.test", "/")
	for range 2 { // one of them is the trial
		select {
		case <-g.began:
		case a := <-first:
			if a.err != nil || a.res.StatusCode != 200 {
				t.Fatalf("%+v", a)
			}
			first = r.inBackground("GET", "app.test", "/")
			continue
		}
		break
	}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if res, _ := r.doWith(c, r.request("GET", "app.test", "/", nil)); res.StatusCode != 200 {
				t.Errorf("status %d", res.StatusCode)
			}
		})
	}
	wg.Wait()
	if n := placement(entry, 0).Load.Requests.Load(); n != 1 || judge.leases != 1 {
		t.Errorf("%d requests to the one on trial, %d leases", n, judge.leases)
	}
	close(g.finish)
	<-first
	balanced(t, entry, nil, judge)
}

// TestFallbackServesWhileTrialsAreTaken, even a backend whose own trial is taken; and
// without a fallback nothing may serve.
func TestFallbackServesWhileTrialsAreTaken(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(http.ResponseWriter, *http.Request) {})})
	judge := &testJudge{onTrial: true, lease: 99, leases: 99}
	judged(entry, nil, judge)
	r.start()
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 503, route.ReasonAllUnhealthy)
	rot := *entry.Cell.Load()
	rot.Fallback = rot.Members
	entry.Cell.Store(&rot)
	if res, _ := r.get("app.test", "/"); res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
	if begun, ended, _ := judge.seen(); begun != 0 || ended != 0 {
		t.Errorf("%d begun, %d ended", begun, ended)
	}
}

// fenced_infinite_loop and R14: whatever the members are, a choice ends, takes who is
// free, and holds nothing of who is not.
func TestChoiceEndsForEveryMixture(t *testing.T) {
	const kinds = 4 // free, full, on trial and taken, retired
	r := newRig(t, func(c *Config) {
		c.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("not in a test") }
	})
	entry := r.route("app.test", []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"})
	x := exchangeFor(t, "app.test", "/")
	matched := r.Table().Match(x)
	for mixture := range kinds * kinds * kinds * 8 * 2 {
		rest, free := mixture, map[*route.Placement]bool{}
		var members []route.Member
		placements := r.rotate(entry)
		var tried []*route.Placement
		for _, p := range placements {
			m := route.Member{Placement: p, Weight: 1}
			switch kind := rest % kinds; kind {
			case 0:
				free[p] = true
			case 1:
				p.Backend.MaxConnections = 2
				p.Load.InFlight.Store(2)
			case 2:
				m.Judge = &testJudge{onTrial: true, lease: 9}
			case 3:
				p.Upstream.Retire(route.Drain{})
			}
			rest /= kinds
			if rest%2 == 1 {
				tried = append(tried, p)
			}
			rest /= 2
			members = append(members, m)
		}
		rot := route.NewRotation(1, route.TierVerified, members)
		if rest%2 == 1 {
			rot.Fallback = members[:1]
		}
		entry.Cell.Store(rot)
		for _, algo := range []route.LoadBalancer{route.RoundRobin, route.LeastConnections, route.PowerOfTwo, route.Random} {
			matched.Entrypoint.Options.LoadBalancer = algo
			f := delivery{x: x, r: matched, tried: append([]*route.Placement(nil), tried...)}
			reason := f.take()
			if f.call != nil {
				p := f.admission.member.Placement
				if !free[p] && (len(rot.Fallback) == 0 || p != placements[0]) {
					t.Fatalf("mixture %d, %s: took %s", mixture, algo, p.Backend.ID)
				}
			} else if reason == route.ReasonNone || len(free) > 0 {
				t.Fatalf("mixture %d, %s: nothing taken, %q", mixture, algo, reason)
			}
			f.done()
			for _, p := range placements {
				if n := p.Load.InFlight.Load(); n != 0 && n != 2 || p.Backend.MaxConnections == 0 && n != 0 {
					t.Fatalf("mixture %d, %s: %d in flight at %s", mixture, algo, n, p.Backend.ID)
				}
			}
		}
	}
}

// TestRotationIsLookedAtOnceMore (R17): a backend that its operator took out, or that
// drains, while it was picked gets nothing new; who is bound to it is served in its drain.
func TestRotationIsLookedAtOnceMore(t *testing.T) {
	for _, tt := range []struct {
		name   string
		next   func(all []route.Member) *route.Rotation
		cookie string
		want   string // "": nothing
		reason route.Reason
	}{
		{"maintenance", func(all []route.Member) *route.Rotation {
			return route.NewRotation(2, route.TierVerified, all[1:])
		}, "", "b1", route.ReasonNone},
		{"maintenance of the only one", func([]route.Member) *route.Rotation {
			return &route.Rotation{Reason: route.ReasonAllMaintenance}
		}, "", "", route.ReasonAllMaintenance},
		{"drain", func(all []route.Member) *route.Rotation {
			return &route.Rotation{Members: all[1:], Sticky: all[:1]}
		}, "", "b1", route.ReasonNone},
		{"drain of the client's own", func(all []route.Member) *route.Rotation {
			return &route.Rotation{Members: all[1:], Sticky: all[:1]}
		}, "name", "b0", route.ReasonNone},
		{"another revision", func(all []route.Member) *route.Rotation {
			return route.NewRotation(2, route.TierVerified, all)
		}, "", "b0", route.ReasonNone},
	} {
		r := newRig(t)
		entry := r.route("app.test", []string{"127.0.0.1:1", "127.0.0.1:2"})
		placement(entry, 0).Sticky = "name"
		once := false
		judge := &testJudge{onBegin: func() {
			if all := entry.Cell.Load().Members; !once {
				once = true
				entry.Cell.Store(tt.next(all))
			}
		}}
		judged(entry, nil, judge)
		f := waitingDelivery(t.Context(), t, r.Table().Match(exchangeFor(t, "app.test", "/")))
		f.cookie = tt.cookie
		reason := f.take()
		got := ""
		if f.call != nil {
			got = f.admission.member.Placement.Backend.ID
		}
		if got != tt.want || reason != tt.reason {
			t.Errorf("%s: %q, %q", tt.name, got, reason)
		}
		f.done()
		balanced(t, entry, nil, judge)
	}
}
