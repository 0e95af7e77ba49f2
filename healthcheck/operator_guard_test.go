package healthcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// signalled reports whether the orders have changed since it was asked last.
func (r *rig) signalled() bool {
	select {
	case <-r.engine.OrdersChanged():
		return true
	default:
		return false
	}
}

// TestOrderThatEndsSaysSo: since when the backend is ready, why, and to who keeps orders.
func TestOrderThatEndsSaysSo(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", route.Order{Action: route.OrderDrain, Actor: "ops", For: 30 * time.Second})
		if !r.signalled() {
			t.Error("an order is no change of the orders")
		}
		r.at(40 * time.Second)
		h := r.health("http_a", "a")
		if at := h.Admin.Since.Sub(r.start); at < 31*time.Second || at > 32*time.Second || h.Admin.Reason != "the drain that ops ordered was to end now" {
			t.Errorf("ready since %s because %q", at, h.Admin.Reason)
		}
		if !r.signalled() || r.signalled() {
			t.Error("the end of an order is one change of the orders")
		}
		// An exception from an order about all ends with that order.
		r.must("http_a", "", route.Order{Action: route.OrderDrain, Scope: route.ScopeService, Force: true, For: 20 * time.Second})
		r.must("http_a", "a", ready)
		if h := r.health("http_a", "b"); h.Admin.Scope != route.ScopeService || len(r.engine.Orders()) != 2 {
			t.Errorf("%+v of %+v", h.Admin, r.engine.Orders())
		}
		r.at(62 * time.Second)
		if got := r.engine.Orders(); len(got) != 0 {
			t.Errorf("left are %+v", got)
		}
	})
}

// TestOrderEndsAmidApplies: new settings between the end of an order and the tick neither
// hide that end nor let a verdict from before the order serve.
func TestOrderEndsAmidApplies(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		a, b := backend("a", "10.0.0.1"), backend("b", "10.0.0.2")
		r.apply(r.set("http_a", a, b))
		r.run()
		r.at(5200 * time.Millisecond)
		r.must("http_a", "b", route.Order{Action: route.OrderMaintenance, Actor: "ops", For: time.Minute})
		r.net.set("10.0.0.2:80", refuse)
		r.at(65300 * time.Millisecond)
		for range 3 {
			b.Weight--
			r.apply(r.set("http_a", a, b))
			r.wantServing("http_a", "a")
			r.wantState("http_a", "b", route.StateMaintenance, route.OutMaintenance)
		}
		r.at(66900 * time.Millisecond)
		r.wantServing("http_a", "a")
		var got []string
		for _, tr := range r.health("http_a", "b").History[1:] {
			got = append(got, fmt.Sprintf("%s %s>%s %s", tr.At.Sub(r.start), tr.From, tr.To, tr.Cause))
		}
		if want := "5.2s up>maintenance operator, 1m6s maintenance>pending timer, 1m6s pending>down probe"; strings.Join(got, ", ") != want {
			t.Errorf("%v, want %s", got, want)
		}
		if len(r.engine.Orders()) != 0 {
			t.Error("it is in the book still")
		}
	})
}

// TestOrderSaidAgain begins nothing anew: neither its time nor a transition; who takes out
// what is out empties nothing.
func TestOrderSaidAgain(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", drain)
		r.at(10 * time.Second)
		before := r.health("http_a", "a")
		r.must("http_a", "a", drain)
		if h := r.health("http_a", "a"); !h.Admin.Since.Equal(r.start.Add(time.Second)) || h.Counters.Transitions != before.Counters.Transitions || len(h.History) != len(before.History) {
			t.Errorf("%+v with %d transitions, %+v", h.Admin, h.Counters.Transitions, h.History)
		}
		if kept := r.engine.Orders()[0].Admin; !kept.Since.Equal(r.start.Add(time.Second)) {
			t.Errorf("kept as since %s", kept.Since)
		}
		r.must("http_a", "b", forced(drain))
		r.must("http_a", "b", maintenance) // without force: nobody served before either
		r.wantState("http_a", "b", route.StateMaintenance, "")
	})
}

// TestOrderTellsOfTheEntrypoint at once as well: what it does to the whole waits for no tick.
func TestOrderTellsOfTheEntrypoint(t *testing.T) {
	pair(t, func(r *rig) {
		var told []string
		for _, action := range []route.OrderAction{route.OrderDrain, route.OrderReady} {
			r.must("http_a", "", route.Order{Action: action, Scope: route.ScopeService, Force: true})
			synctest.Wait()
			r.seen.mu.Lock()
			last := r.seen.all[len(r.seen.all)-1]
			r.seen.mu.Unlock()
			told = append(told, last.Layer+" "+last.From+">"+last.To+" "+last.Cause)
		}
		if want := []string{"route ok>down operator", "route down>ok operator"}; !slices.Equal(told, want) {
			t.Errorf("%q, want %q", told, want)
		}
	})
}

// TestEjectionIsAboutOne, also where its scope says otherwise.
func TestEjectionIsAboutOne(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		for _, backend := range []string{"", "b0"} {
			if code := r.order("http_api", backend, route.Order{Action: route.OrderEject, Scope: route.ScopeService}); code != route.OrderImpossible {
				t.Errorf("%q: %q", backend, code)
			}
		}
		r.wantServing("http_api", "b0 b1 b2")
	})
}

// TestReadyKnowsWhatItIsFor: an unchecked backend serves at once, one that has proved
// itself once waits with those that are pending, not with those that never answered.
func TestReadyKnowsWhatItIsFor(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		free := backend("free", "10.0.0.2", func(b *route.Backend) { b.Check = nil })
		proven := backend("proven", "10.0.0.1", checked(func(c *route.Check) { c.Initial = route.InitialDown }))
		r.apply(r.set("http_a", free), r.set("http_b", proven))
		r.run()
		r.at(2 * time.Second)
		checked := r.health("http_b", "proven").LastChecked
		for id, backend := range map[string]string{"http_a": "free", "http_b": "proven"} {
			r.must(id, backend, forced(maintenance))
			r.wantServing(id, "")
			r.must(id, backend, ready)
			r.wantServing(id, backend)
		}
		r.wantState("http_a", "free", route.StateUnchecked, "")
		r.wantState("http_b", "proven", route.StatePending, route.InPendingNoVerified)
		if h := r.health("http_b", "proven"); !h.LastChecked.Equal(checked) || checked.IsZero() {
			t.Errorf("checked last at %s, was %s", h.LastChecked, checked)
		}
	})
}

// TestNobodyWaitsForMaintenance: the first verdicts that the router's start waits for are
// those of backends that are probed.
func TestNobodyWaitsForMaintenance(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", blackhole)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.set("http_a", backend("a", "10.0.0.1"), backend("b", "10.0.0.2")))
		r.run()
		r.at(500 * time.Millisecond)
		r.must("http_a", "a", maintenance)
		if n := r.engine.startups["docker"].waiting; n != 0 || !r.engine.startups["docker"].over {
			t.Errorf("the start waits for %d", n)
		}
	})
}

// TestDrainOfWhatFailsClosed binds nobody to it.
func TestDrainOfWhatFailsClosed(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		e := &route.Entrypoint{ID: "http_a", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions(), FailClosed: &route.FailClosed{Code: "E113"}}
		e.Options.DrainTimeout = time.Minute
		r.apply(r.setOf(e, backend("a", "10.0.0.1")))
		r.run()
		r.at(time.Second)
		r.must("http_a", "a", forced(drain))
		if got := r.sticky("http_a"); got != "" {
			t.Errorf("served by %q", got)
		}
	})
}

// TestOrderIsMissedAnHour without a break, and a restored one that was seen to match is as
// any other.
func TestOrderIsMissedAnHour(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		a := backend("a", "10.0.0.1", func(b *route.Backend) { b.StartedAt = r.start })
		b := backend("b", "10.0.0.2")
		ahead := route.Admin{State: route.AdminDrain, Since: r.start.Add(time.Hour)}
		r.engine.Restore([]route.StandingOrder{
			{Entrypoint: "http_s", Address: "10.0.0.3:80", Admin: ahead}, {Entrypoint: "http_t", Address: "10.0.0.5:80", Admin: route.Admin{State: route.AdminDrain}},
		})
		for _, o := range r.engine.Orders() {
			if !o.Admin.Since.Equal(r.start) {
				t.Errorf("%s is in force since %s", o.Entrypoint, o.Admin.Since)
			}
		}
		r.apply(r.set("http_a", a, b), r.set("http_s", static("10.0.0.3"), static("10.0.0.4")))
		r.run()
		r.must("http_a", "a", drain)
		r.at(time.Second)
		r.apply(r.set("http_a", b), r.set("http_s", static("10.0.0.4")))
		r.at(40 * time.Minute)
		r.apply(r.set("http_a", a, b), r.set("http_s", static("10.0.0.3"), static("10.0.0.4")))
		r.wantState("http_s", "10.0.0.3:80", route.StatePending, "")
		r.at(41 * time.Minute)
		r.apply(r.set("http_a", b))
		r.at(95 * time.Minute)
		r.apply(r.set("http_a", a, b))
		r.wantState("http_a", "a", route.StateDraining, "")
		names := []string{}
		for _, o := range r.engine.Orders() {
			names = append(names, o.Entrypoint)
		}
		if !slices.Equal(names, []string{"http_a"}) {
			t.Errorf("in force: %s", strings.Join(names, ", "))
		}
	})
}

// TestMaintenanceShowsNoProbe, also where the picture of the check was made before it.
func TestMaintenanceShowsNoProbe(t *testing.T) {
	pair(t, func(r *rig) {
		r.net.set("10.0.0.1:80", blackhole)
		r.at(12 * time.Second)
		if h := r.health("http_a", "a"); !h.Check.InFlight {
			t.Fatal("no probe is in flight")
		}
		r.must("http_a", "a", maintenance)
		if h := r.health("http_a", "a"); h.Check.InFlight || h.InFlightProbe {
			t.Error("a probe is shown as in flight")
		}
	})
}
