package healthcheck

import (
	"testing"
	"time"

	"fairlead/router/route"
)

// TestMaintenanceSetsNoPace: a check that two entrypoints share is probed as the one wants
// whose backend is not in maintenance, whatever the other one was when the order came.
func TestMaintenanceSetsNoPace(t *testing.T) {
	restored := []route.StandingOrder{{Entrypoint: "web", Container: "a", Admin: route.Admin{State: route.AdminMaintenance, Actor: "ops"}}}
	for _, c := range []struct {
		name   string
		orders []route.StandingOrder
		opens  bool          // the port, which is closed at 25 s, again at 46 s
		after  time.Duration // of the order
		probes int           // between 60 s and 120 s
		pace   string
		class  class
	}{
		{"before the first verdict, by the state file", restored, true, 0, 6, paceNormal, classUp},
		{"while it confirms", nil, false, 30500 * time.Millisecond, 3, paceDown, classDown},
		{"while it is up", nil, false, 5 * time.Second, 3, paceDown, classDown},
		{"while it is down", nil, true, 45 * time.Second, 6, paceNormal, classUp},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			at := func(unhealthy int) route.Backend {
				b := backend("a", "10.0.0.1", checked(func(c *route.Check) {
					c.UnhealthyThreshold, c.FastInterval, c.DownInterval = unhealthy, 2*time.Second, 20*time.Second
				}))
				b.StartedAt = time.Time{} // an order is bound to the start of a container
				return b
			}
			r.net.set("10.0.0.1:80", accept)
			r.engine.Restore(c.orders)
			r.apply(r.set("web", at(5)), r.set("api", at(1)))
			r.run()
			for _, step := range []struct {
				at time.Duration
				do func()
			}{
				{5 * time.Second, nil},
				{25 * time.Second, func() { r.net.set("10.0.0.1:80", refuse) }},
				{30500 * time.Millisecond, nil},
				{45 * time.Second, nil},
				{46 * time.Second, func() {
					if c.opens {
						r.net.set("10.0.0.1:80", accept)
					}
				}},
			} {
				r.at(step.at)
				if step.do != nil {
					step.do()
				}
				if c.after == step.at {
					r.must("web", "a", forced(maintenance))
				}
			}
			r.at(60*time.Second - 1)
			before := len(r.net.dials("10.0.0.1:80"))
			r.at(120*time.Second - 1)
			if n := len(r.net.dials("10.0.0.1:80")) - before; n != c.probes {
				t.Errorf("%s: %d probes in a minute, want %d", c.name, n, c.probes)
			}
			r.wantState("web", "a", route.StateMaintenance, "")
			if v := r.engine.View().Checks; len(v) != 1 || v[0].Pace != c.pace {
				t.Errorf("%s: the pace is %+v, want %s", c.name, v, c.pace)
			}
			for _, check := range r.engine.checks {
				if got := check.class(); got != c.class || check.share(got).unproven != (c.class == classDown) {
					t.Errorf("%s: class %d, %+v", c.name, got, check.share(got))
				}
			}
			r.must("api", "a", forced(maintenance))
			if v := r.engine.View().Checks[0]; v.Pace != paceNormal || !v.NextLaunch.IsZero() {
				t.Errorf("%s: both in maintenance: %s %s", c.name, v.Pace, v.NextLaunch)
			}
		})
	}
}

// TestMaintenanceIsNoTwin: another entrypoint on a container that is in maintenance in one
// takes over no verdict from before the order; that of a third one, which is probed, it does.
func TestMaintenanceIsNoTwin(t *testing.T) {
	for _, third := range []bool{false, true} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", accept)
			a := backend("a", "10.0.0.1")
			sets := []route.PlacementSet{r.set("web", a)}
			if third {
				sets = append(sets, r.set("admin", a))
			}
			r.apply(sets...)
			r.run()
			r.at(5 * time.Second)
			r.must("web", "a", forced(maintenance))
			r.net.set("10.0.0.1:80", refuse)
			r.at(60*time.Second + 300*time.Millisecond)
			r.apply(append(sets, r.set("api", a))...)
			if third {
				r.wantState("api", "a", route.StateDown, "")
			} else {
				r.wantState("api", "a", route.StatePending, "")
			}
			r.at(61 * time.Second)
			r.wantState("api", "a", route.StateDown, "")
		})
	}
}
