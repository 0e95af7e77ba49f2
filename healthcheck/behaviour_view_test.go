package healthcheck_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/healthcheck"
	"fairlead/router/route"
)

// TestBehaviourView: the picture is the same value while nothing changes, its number
// grows with every change, and published rotations never go back.
func TestBehaviourView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", accepts)
		if v := l.engine.View(); v == nil || v.Settled {
			t.Fatalf("before the first Apply: %+v", v)
		}
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
		l.run()
		l.at(2500 * time.Millisecond)
		v := l.engine.View()
		if v != l.engine.View() {
			t.Error("two pictures of one state")
		}
		if v.Sets != 1 || !v.Settled {
			t.Errorf("sets %d, settled %v", v.Sets, v.Settled)
		}
		l.at(10500 * time.Millisecond)
		next := l.engine.View()
		if next.Rev <= v.Rev || v.Entrypoints["http_a"].Backends[0].Counters.Probes != 1 || next.Entrypoints["http_a"].Backends[0].Counters.Probes != 2 {
			t.Error("an applied result did not make a new picture, or changed the old one")
		}
		rotation := l.cells["http_a"].Load()
		l.apply()
		if got := l.engine.View(); got.Sets != 2 || len(got.Entrypoints) != 0 || len(got.Checks) != 0 || got.Rev <= next.Rev {
			t.Errorf("after the removal: %+v", got)
		}
		if rotation.Rev == 0 || rotation.Rev > next.Rev {
			t.Errorf("the rotation's revision is %d of %d", rotation.Rev, next.Rev)
		}
		l.stop()
	})
}

// TestBehaviourHistory: at most 20 transitions, oldest first.
func TestBehaviourHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", script(strings.Repeat("SF", 100)))
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
		l.run()
		l.at(10 * time.Minute)
		b := l.backend("http_a", "a")
		if len(b.History) != 20 || !slices.IsSortedFunc(b.History, func(x, y route.Transition) int { return x.At.Compare(y.At) }) {
			t.Errorf("%d entries", len(b.History))
		}
		if got := len(l.engine.View().Entrypoints["http_a"].History); got != 20 {
			t.Errorf("%d entries of the entrypoint", got)
		}
		l.stop()
	})
}

// TestBehaviourSuspectCheck: real requests succeed while every probe fails: the check
// is probably wrong, and the explanation says so.
func TestBehaviourSuspectCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", status(404))
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", httpCheck("/wrong", nil))))
		l.run()
		l.at(2500 * time.Millisecond)
		placement := l.cells["http_a"].Load().Members[0].Placement
		for range 25 {
			l.engine.Report(route.Outcome{Placement: placement, Status: 200})
		}
		l.at(4500 * time.Millisecond)
		b := l.want("http_a", "a", route.StateDown, true)
		if !strings.Contains(b.Hint+b.Explain, "check") {
			t.Errorf("hint %q, explain %q", b.Hint, b.Explain)
		}
		l.stop()
	})
}

// TestBehaviourConcurrency runs everything at once under the race detector.
func TestBehaviourConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(c *healthcheck.Config) { c.Tick = 10 * time.Millisecond })
		var all []*route.Entrypoint
		for i := range 20 {
			host := fmt.Sprintf("10.0.0.%d", i+1)
			l.net.set(host+":80", script("SFSSFF"))
			check := tcpCheck(func(c *route.Check) { c.Interval = 100 * time.Millisecond })
			all = append(all, entrypoint(fmt.Sprintf("http_%d", i), backend("a", host, check)))
		}
		l.apply(all...)
		l.run()
		var wg sync.WaitGroup
		placement := l.cells["http_0"].Load().Members[0].Placement
		for g := range 8 {
			wg.Go(func() {
				for i := range 200 {
					switch {
					case g == 0:
						l.apply(all[:10+i%11]...)
					case g < 4:
						l.engine.Report(route.Outcome{Placement: placement, Kind: route.KindConnectionRefused, Transport: i%2 == 0})
					default:
						_ = l.engine.View()
					}
					<-time.After(3 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		l.stop()
	})
}
