package healthcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// shares are the weights of who serves an entrypoint, by backend id.
func (r *rig) shares(entrypoint string) string {
	var list []string
	for _, m := range r.cells[entrypoint].Load().Members {
		list = append(list, fmt.Sprintf("%s:%d", m.Placement.Backend.ID, m.Weight))
	}
	return strings.Join(list, " ")
}

func (r *rig) wantShares(entrypoint, want string) {
	r.t.Helper()
	if got := r.shares(entrypoint); got != want {
		r.t.Errorf("at %s: shares %q, want %q", time.Since(r.start), got, want)
	}
}

func slow(span time.Duration, least int) func(*route.Backend) {
	return func(b *route.Backend) { b.SlowStart, b.SlowStartMin = span, least }
}

// TestSlowStartShares: a newcomer beside a warm backend gets exactly the part of its
// weight that the passed part of its window is, and no less than the minimum.
func TestSlowStartShares(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.set("web", backend("a", "10.0.0.1", slow(100*time.Second, 10))))
		r.run()
		r.at(199500 * time.Millisecond)
		r.apply(r.set("web", backend("a", "10.0.0.1", slow(100*time.Second, 10)), backend("b", "10.0.0.2", slow(100*time.Second, 10))))
		r.at(200 * time.Second)
		up := r.health("web", "b").Since.Sub(r.start)
		r.wantShares("web", "a:10000 b:1000")
		for _, tt := range []struct {
			part    time.Duration
			want    string
			percent float64
			weight  int
		}{{25, "a:10000 b:2500", 25, 25}, {50, "a:10000 b:5000", 50, 50}, {99, "a:10000 b:9900", 99, 99}} {
			r.at(up.Truncate(time.Second) + (tt.part+1)*time.Second)
			r.wantShares("web", tt.want)
			h := r.health("web", "b")
			if h.Warmup == nil || h.Warmup.Percent != tt.percent || h.EffectiveWeight != tt.weight || h.Warmup.EndsAt.Sub(r.start) != up+100*time.Second {
				t.Errorf("%d s: %+v weight %d", tt.part, h.Warmup, h.EffectiveWeight)
			}
			if !strings.Contains(h.Explain, "slowStart") {
				t.Errorf("it does not say why it gets less: %s", h.Explain)
			}
		}
		r.at(up.Truncate(time.Second) + 101*time.Second)
		r.wantShares("web", "a:100 b:100")
		if h := r.health("web", "b"); h.Warmup != nil || h.EffectiveWeight != 100 {
			t.Errorf("after the window: %+v weight %d", h.Warmup, h.EffectiveWeight)
		}
	})
}

// TestSlowStartOnlyBesideWarmOnes: not at the router's own start, not for the only one,
// not in panic; after a fault it begins anew.
func TestSlowStartOnlyBesideWarmOnes(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.set("web", backend("a", "10.0.0.1", slow(20*time.Second, 10)), backend("b", "10.0.0.2", slow(20*time.Second, 10))))
		r.run()
		r.at(2 * time.Second)
		r.wantShares("web", "a:100 b:100") // the router itself is younger than the window
		r.net.set("10.0.0.2:80", refuse)
		r.at(40 * time.Second)
		r.wantServing("web", "a")
		r.net.set("10.0.0.2:80", accept)
		r.at(51 * time.Second)
		if got := r.shares("web"); got == "a:100 b:100" || !strings.HasPrefix(got, "a:10000 b:") {
			t.Errorf("b came back cold: %s", got)
		}
		r.net.set("10.0.0.1:80", refuse)
		r.at(62 * time.Second)
		r.wantServing("web", "b")
		r.wantShares("web", "b:100") // there is nobody who takes what it does not
		r.net.set("10.0.0.2:80", refuse)
		r.at(75 * time.Second)
		r.wantShares("web", "a:100 b:100") // panic
	})
}

// TestSlowStartNotByAChangeOfTheCheck: turning checks on or off gives nobody another share.
// One that was just readmitted goes on warming up.
func TestSlowStartNotByAChangeOfTheCheck(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		off := func(b *route.Backend) { b.Check = nil }
		trio(r, ejecting(), slow(time.Minute, 10), off)
		apply := func(edit ...func(*route.Backend)) {
			var list []route.Backend
			for i := range 3 {
				list = append(list, backend(fmt.Sprintf("b%d", i), fmt.Sprintf("10.0.0.%d", i+1), append(edit, slow(time.Minute, 10))...))
			}
			r.apply(r.setOf(ejecting(), list...))
		}
		r.at(2 * time.Minute)
		r.wantShares("http_api", "b0:100 b1:100 b2:100")
		apply()
		r.wantState("http_api", "b0", route.StatePending, route.InUnchecked)
		r.wantShares("http_api", "b0:100 b1:100 b2:100")
		r.at(122 * time.Second)
		r.wantState("http_api", "b0", route.StateUp, "")
		r.wantShares("http_api", "b0:100 b1:100 b2:100")
		r.requests("b0", 503, 503, 503)
		r.at(152 * time.Second)
		r.request("b0", 200)
		r.at(158 * time.Second)
		r.wantShares("http_api", "b0:1000 b1:10000 b2:10000")
		apply(off)
		r.wantState("http_api", "b0", route.StateUnchecked, route.InUnchecked)
		r.wantShares("http_api", "b0:1000 b1:10000 b2:10000")
		r.net.set("10.0.0.1:80", blackhole)
		apply()
		r.at(160 * time.Second)
		r.wantState("http_api", "b0", route.StatePending, route.InUnchecked)
		r.wantShares("http_api", "b0:1300 b1:10000 b2:10000")
		r.net.set("10.0.0.1:80", accept)
	})
}

// TestSlowStartNotOfOneThatServed before its first verdict, by healthCheck.initial=up, when its
// check is turned off.
func TestSlowStartNotOfOneThatServed(t *testing.T) {
	cooling(t, unchanged, []route.Backend{backend("a", "10.0.0.1")}, func(r *rig, apply func(...route.Backend)) {
		a := backend("a", "10.0.0.1")
		r.net.set("10.0.0.2:80", blackhole)
		apply(a, backend("b", "10.0.0.2", checked(func(c *route.Check) { c.Initial = route.InitialUp })))
		r.wantState("http_api", "b", route.StatePending, route.InInitialUp)
		apply(a, backend("b", "10.0.0.2", func(b *route.Backend) { b.Check = nil }))
		r.wantState("http_api", "b", route.StateUnchecked, route.InUnchecked)
		r.wantShares("http_api", "a:100 b:100")
	})
}

// TestSlowStartOfUnprobed: one that traffic took out, or an operator, comes back cold though
// no probe says so, and says it. So does one that was down when its check was turned off.
func TestSlowStartOfUnprobed(t *testing.T) {
	off := func(b *route.Backend) { b.Check = nil }
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(), slow(20*time.Second, 10), off)
		r.at(time.Minute)
		r.requests("b0", 503, 503, 503)
		r.at(92 * time.Second)
		r.wantState("http_api", "b0", route.StateTrial, route.InTrial)
		r.request("b0", 200)
		r.wantState("http_api", "b0", route.StateUnchecked, route.InUnchecked)
		r.wantShares("http_api", "b0:1000 b1:10000 b2:10000")
		want := "In rotation with 10 % of its weight, all of it at 00:01:52 UTC (slowStart); it is not probed (healthCheck=false), so it counts as healthy."
		if h := r.health("http_api", "b0"); h.Explain != want || h.EffectiveWeight != 10 {
			t.Errorf("weight %d, %s\nwant %s", h.EffectiveWeight, h.Explain, want)
		}
		r.at(113 * time.Second)
		r.wantShares("http_api", "b0:100 b1:100 b2:100")
		r.must("http_api", "b1", maintenance)
		r.must("http_api", "b1", ready)
		r.wantShares("http_api", "b0:10000 b1:1000 b2:10000")
	})
	two := []route.Backend{backend("a", "10.0.0.1"), backend("b", "10.0.0.2")}
	cooling(t, unchanged, two, func(r *rig, apply func(...route.Backend)) {
		r.net.set("10.0.0.2:80", refuse)
		r.probe1("b")
		r.wantState("http_api", "b", route.StateDown, "")
		apply(backend("a", "10.0.0.1"), backend("b", "10.0.0.2", off))
		r.wantState("http_api", "b", route.StateUnchecked, route.InUnchecked)
		r.wantShares("http_api", "a:10000 b:1000")
	})
}
