package healthcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestOrderEndsWhileAway: the end of an order is told when its backend is there again, if it
// went away in the course of it: the container was off the network, or its route was away.
func TestOrderEndsWhileAway(t *testing.T) {
	limited := func(action route.OrderAction, scope route.OrderScope) route.Order {
		return route.Order{Action: action, Scope: scope, Actor: "ops", Force: true, For: 3 * time.Minute}
	}
	for _, tt := range []struct {
		name  string
		order route.Order
		whole bool // the route goes away, not only its backend
		back  time.Duration
		want  string
	}{
		{"drain, off the network", limited(route.OrderDrain, route.ScopeBackend), false, 10 * time.Minute,
			"a draining>pending timer; the drain that ops ordered ended while the backend was away, at 00:04:00 UTC"},
		{"maintenance, off the network", limited(route.OrderMaintenance, route.ScopeBackend), false, 10 * time.Minute,
			"a maintenance>pending timer; the maintenance that ops ordered ended while the backend was away, at 00:04:00 UTC"},
		{"drain, its route away", limited(route.OrderDrain, route.ScopeBackend), true, 10 * time.Minute,
			"a draining>pending timer; the drain that ops ordered ended while the backend was away, at 00:04:00 UTC"},
		{"all, their route away", limited(route.OrderMaintenance, route.ScopeService), true, 10 * time.Minute,
			"a maintenance>pending timer; the maintenance that ops ordered ended while the backend was away, at 00:04:00 UTC"},
		{"still in force", limited(route.OrderDrain, route.ScopeBackend), false, 3 * time.Minute,
			"a pending>draining operator; drained by ops, until 00:04:00 UTC"},
		{"forgotten", limited(route.OrderDrain, route.ScopeBackend), false, 70 * time.Minute, ""},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", accept)
			r.net.set("10.0.0.2:80", accept)
			r.net.set("10.0.0.3:80", accept)
			a, b := backend("a", "10.0.0.1"), backend("b", "10.0.0.2")
			other := r.set("http_other", backend("c", "10.0.0.3"))
			all := func() []route.PlacementSet { return []route.PlacementSet{r.set("http_a", a, b), other} }
			r.apply(all()...)
			r.run()
			r.at(time.Minute)
			r.must("http_a", map[route.OrderScope]string{route.ScopeBackend: "a"}[tt.order.Scope], tt.order)
			r.at(2 * time.Minute)
			if r.apply(r.set("http_a", b), other); tt.whole {
				r.apply(other)
			}
			r.at(tt.back)
			delete(r.cells, map[bool]string{true: "http_a"}[tt.whole])
			r.apply(all()...)
			var got []string
			for _, tr := range r.seen.all {
				if tr.Backend == "a" && !tr.Debug && tr.At.Sub(r.start) >= tt.back {
					got = append(got, fmt.Sprintf("%s %s>%s %s; %s", tr.Backend, tr.From, tr.To, tr.Cause, tr.Message))
					if tr.Layer != layerAdmin {
						t.Errorf("%s: of layer %s", tt.name, tr.Layer)
					}
				}
			}
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("%s: told %q, want %q", tt.name, got, tt.want)
			}
			told := len(got)
			if tt.back == 3*time.Minute {
				return
			}
			r.apply(r.set("http_a", b), other) // once is enough
			r.apply(all()...)
			r.at(tt.back + time.Minute)
			for _, tr := range r.seen.all {
				if tr.Backend == "a" && tr.Layer == layerAdmin && tr.At.Sub(r.start) >= tt.back {
					told--
				}
			}
			if told != 0 {
				t.Errorf("%s: told again", tt.name)
			}
		})
	}
}

// TestAddressChangesUnderAnOrder: what takes the place of a backend in the same step has its
// order, so that nothing is left to tell later.
func TestAddressChangesUnderAnOrder(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		at := func(host string) route.Backend {
			return backend("a", host, func(b *route.Backend) { b.StartedAt = r.start })
		}
		b := backend("b", "10.0.0.2")
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.set("http_a", at("10.0.0.1"), b))
		r.run()
		r.at(time.Minute)
		r.must("http_a", "a", drain)
		r.apply(r.set("http_a", at("10.0.0.3"), b))
		r.wantState("http_a", "a", route.StateDraining, "")
		r.must("http_a", "a", ready)
		r.apply(r.set("http_a", b))
		r.apply(r.set("http_a", at("10.0.0.3"), b))
		if n := len(r.engine.book.away); n != 0 {
			t.Errorf("%d are remembered", n)
		}
		if h := r.health("http_a", "a"); len(h.History) != 0 {
			t.Errorf("told %+v", h.History)
		}
	})
}

// TestRestoredOrderOfAClockThatWasAhead lasts as long as it was to.
func TestRestoredOrderOfAClockThatWasAhead(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		day := r.start.Add(24 * time.Hour)
		r.engine.Restore([]route.StandingOrder{
			{Entrypoint: "http_a", Address: "10.0.0.1:80", Admin: route.Admin{State: route.AdminDrain, Since: day, ExpiresAt: day.Add(10 * time.Minute)}},
			{Entrypoint: "http_a", Address: "10.0.0.2:80", Admin: route.Admin{State: route.AdminDrain, Since: day}},
			{Entrypoint: "http_b", Address: "10.0.0.2:80", Admin: route.Admin{State: route.AdminDrain, ExpiresAt: day}},
		})
		for i, want := range []time.Time{r.start.Add(10 * time.Minute), {}, day} {
			if a := r.engine.Orders()[i].Admin; !a.Since.Equal(r.start) || !a.ExpiresAt.Equal(want) {
				t.Errorf("order %d: since %s until %s, want until %s", i, a.Since, a.ExpiresAt, want)
			}
		}
		r.apply(r.set("http_a", static("10.0.0.1"), static("10.0.0.2")))
		r.run()
		r.at(9 * time.Minute)
		r.wantServing("http_a", "")
		r.at(11 * time.Minute)
		r.wantServing("http_a", "10.0.0.1:80")
	})
}

// TestProbeAfterALongMaintenance: the next probe is said to come now, not when one was planned
// before, and its delay is not the time without probes.
func TestProbeAfterALongMaintenance(t *testing.T) {
	for _, after := range []route.Order{ready, drain} {
		pair(t, func(r *rig) {
			r.must("http_a", "a", maintenance)
			r.at(3*time.Hour + 500*time.Millisecond)
			r.must("http_a", "a", after)
			h := r.health("http_a", "a")
			if !h.NextCheckAt.Equal(time.Now()) || !strings.Contains(h.Explain, "Next probe at 03:00:00 UTC.") {
				t.Errorf("%s: next at %s; %s", after.Action, h.NextCheckAt, h.Explain)
			}
		})
	}
	pair(t, func(r *rig) { // it waited for a slot when the maintenance began
		c := r.engine.entries["http_a"].named("a").check
		r.engine.mu.Lock()
		c.dueSince = time.Now()
		r.engine.mu.Unlock()
		r.must("http_a", "a", maintenance)
		r.at(time.Hour)
		r.must("http_a", "a", ready)
		r.at(time.Hour + time.Second)
		if c.delay > time.Second {
			t.Errorf("a delay of %s", c.delay)
		}
	})
}
