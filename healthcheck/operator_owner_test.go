package healthcheck

import (
	"slices"
	"testing"
	"time"

	"fairlead/router/route"
)

// known makes the set of an entrypoint that has an identity beside its id, in its own cell.
func (r *rig) known(id, identity string, cell *route.RotationCell, backends ...route.Backend) route.PlacementSet {
	set := r.set(id, backends...)
	set.Entrypoint.Identity, set.Cell = identity, cell
	return set
}

// TestAnIDChangesHands: what is known of an entrypoint goes with it, not with its id.
func TestAnIDChangesHands(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.2:80", accept)
		var one, two route.RotationCell
		a, b := backend("a", "10.0.0.1"), backend("b", "10.0.0.2")
		r.run()
		r.apply(r.known("http_web", "two", &two, b))
		r.at(2 * time.Second)
		r.wantState("http_web", "b", route.StateUp, route.InVerified)
		r.must("http_web", "b", forced(drain))
		since, past := r.health("http_web", "b").Since, len(r.engine.entries["http_web"].history)

		r.apply(r.known("http_web", "one", &one, a), r.known("http_web-p2", "two", &two, b))
		if en := r.engine.entries["http_web"]; len(en.history) > 0 {
			t.Error("a new entrypoint has the past of the one whose id it got")
		}
		if en := r.engine.entries["http_web-p2"]; len(en.history) != past+2 || past == 0 { // its outage ended by the old id, and is told by the new one
			t.Error("an entrypoint forgot its past with its id")
		}
		if h := r.health("http_web-p2", "b"); h.State != route.StateDraining || h.Since != since {
			t.Errorf("after its id changed it is %s since %s, not draining since %s", h.State, h.Since, since)
		}
		r.wantState("http_web", "a", route.StatePending, route.InPendingNoVerified)
		var named []string
		for _, c := range r.engine.View().Checks {
			named = append(named, c.SharedWith...)
		}
		slices.Sort(named)
		if !slices.Equal(named, []string{"http_web", "http_web-p2"}) {
			t.Errorf("checks name %v", named)
		}
		r.must("http_web-p2", "b", ready)
		r.wantState("http_web-p2", "b", route.StateUp, route.InVerified)

		r.apply(r.known("http_web", "two", &two, b))
		r.wantState("http_web", "b", route.StateUp, route.InVerified)
		if n := len(r.engine.View().Entrypoints); n != 1 {
			t.Errorf("%d entrypoints", n)
		}
		if n := len(r.engine.View().Checks); n != 1 {
			t.Errorf("%d checks go on", n)
		}
	})
}

// TestOrderOfALostOwnerWaits: it is in force again when its entrypoint is back, under
// whatever id, and the router's file says what it is called.
func TestOrderOfALostOwnerWaits(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		var one, two, again route.RotationCell
		a, b := backend("a", "10.0.0.1"), backend("b", "10.0.0.2")
		r.apply(r.known("http_web", "one", &one, a), r.known("http_web-p2", "two", &two, b))
		r.must("http_web", "a", route.Order{Action: route.OrderMaintenance, Scope: route.ScopeService, Force: true})
		r.apply(r.known("http_web", "two", &two, b))
		r.wantState("http_web", "b", route.StatePending, route.InPendingNoVerified)
		r.apply(r.known("http_web", "two", &two, b), r.known("http_web-p1", "one", &again, a))
		r.wantState("http_web-p1", "a", route.StateMaintenance, route.OutMaintenance)
		r.wantState("http_web", "b", route.StatePending, route.InPendingNoVerified)
		if list := r.engine.Orders(); len(list) != 1 || list[0].Entrypoint != "http_web-p1" || list[0].Identity != "one" {
			t.Errorf("%+v", list)
		}
		// Its owner leaves what goes on to another one: that is the same entrypoint.
		r.apply(r.known("http_web", "two", &two, b), r.known("http_web-p1", "three", &again, a))
		r.wantState("http_web-p1", "a", route.StateMaintenance, route.OutMaintenance)
	})
}

// TestRestoredOrderKnowsItsOwner; that of an older state file knows the id alone.
func TestRestoredOrderKnowsItsOwner(t *testing.T) {
	for _, c := range []struct {
		identity string
		want     route.State
	}{{"one", route.StatePending}, {"two", route.StateDraining}, {"", route.StateDraining}} {
		bubble(t, Config{}, func(r *rig) {
			r.engine.Restore([]route.StandingOrder{{
				Entrypoint: "http_web", Identity: c.identity, Admin: route.Admin{State: route.AdminDrain, Since: time.Now(), Scope: route.ScopeService},
			}})
			var two, three route.RotationCell
			r.apply(r.known("http_web", "two", &two, backend("b", "10.0.0.2")))
			if got := r.health("http_web", "b").State; got != c.want {
				t.Errorf("an order of %q: %s, not %s", c.identity, got, c.want)
			}
			r.apply(r.known("http_web-p2", "two", &two, backend("b", "10.0.0.2")), r.known("http_web", "three", &three, backend("c", "10.0.0.3")))
			if got := r.health("http_web", "c").State; got != route.StatePending {
				t.Errorf("an order of %q: the next one with that id is %s", c.identity, got)
			}
		})
	}
}

// TestOrderOfAStaticBackendFollowsIt to another id, and one whose owner never comes back is
// forgotten after an hour, though somebody else has the id.
func TestOrderOfAStaticBackendFollowsIt(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		var one, two route.RotationCell
		a, b := static("10.0.0.1"), static("10.0.0.2")
		r.apply(r.known("http_web", "one", &one, a), r.known("http_web@file", "two", &two, b))
		r.must("http_web", "10.0.0.1:80", route.Order{Action: route.OrderMaintenance, Scope: route.ScopeService, Force: true})
		r.must("http_web@file", "10.0.0.2:80", forced(drain))
		r.apply(r.known("http_web", "two", &two, b))
		r.wantState("http_web", "10.0.0.2:80", route.StateDraining, "")
		if n := len(r.engine.Orders()); n != 2 {
			t.Errorf("%d orders", n)
		}
		r.run()
		r.at(61 * time.Minute)
		r.wantState("http_web", "10.0.0.2:80", route.StateDraining, "")
		if list := r.engine.Orders(); len(list) != 1 || list[0].Identity != "two" {
			t.Errorf("%+v", list)
		}
	})
}
