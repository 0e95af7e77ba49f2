package healthcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// beside runs an entrypoint in which a is in maintenance for long and b serves, and returns
// what applies it with b in a state of its provider, or, with "gone", stopped and retained,
// or, with "forgotten", without it.
func beside(r *rig, action route.OrderAction) func(b route.ProviderState) {
	r.t.Helper()
	start := time.Now()
	word := func(p route.ProviderState) {
		e := &route.Entrypoint{ID: "http_api", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
		backends := []route.Backend{backend("a", "10.0.0.1"), backend("b", "10.0.0.2")}
		for i := range backends {
			backends[i].StartedAt = start
		}
		switch p {
		case "gone":
			backends = backends[:1]
			e.Absent = []route.Absence{{CandidateID: "b", Name: "b-name", Why: route.AbsentRetained}}
		case "forgotten":
			backends = backends[:1]
		default:
			backends[1].Provider = p
		}
		r.apply(r.setOf(e, backends...))
	}
	r.net.set("10.0.0.1:80", accept)
	r.net.set("10.0.0.2:80", accept)
	word(route.ProviderPresent)
	r.run()
	r.at(2 * time.Second)
	r.must("http_api", "a", route.Order{Action: action, Actor: "ops", Reason: "disk", Scope: route.ScopeBackend})
	r.at(time.Hour)
	return word
}

// wantEmpty holds the published rotation to be empty for a reason, and worth a wait or not.
func (r *rig) wantEmpty(reason route.Reason, held bool) {
	r.t.Helper()
	rot := r.cells["http_api"].Load()
	left := rot.HoldLeft(10*time.Second, time.Now())
	if len(rot.Members) > 0 || rot.Reason != reason || (left > 0) != held {
		r.t.Errorf("at %s: %d serve, %q, held for %s; want %q, held: %v", time.Since(r.start), len(rot.Members), rot.Reason, left, reason, held)
	}
}

// toldOfEntrypoint are the loud transitions of the entrypoint itself.
func (r *rig) toldOfEntrypoint() string {
	var told []string
	for _, one := range r.seen.loud(r.start) {
		if strings.Contains(one, "http_api/ ") {
			told = append(told, one)
		}
	}
	return strings.Join(told, ", ")
}

// TestLastActiveLeaves: the deploy of the last backend that serves, beside one that an order
// keeps out, is a deploy: requests wait, and nobody is woken before the old container is
// forgotten (labels.md, holdFor).
func TestLastActiveLeaves(t *testing.T) {
	for _, action := range []route.OrderAction{route.OrderMaintenance, route.OrderDrain} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			word := beside(r, action)
			word(route.ProviderLeaving)
			r.wantEmpty(route.ReasonLeaving, true)
			const stopping = "Down: every container that may serve is stopping; out: a (%s: by ops (disk)), b (leaving); " +
				"requests wait for up to 10s for a new one (holdFor). The command fairlead ready http_api --all brings back what orders keep out."
			aside := r.health("http_api", "a").State
			if got, want := r.engine.View().Entrypoints["http_api"].Explain, fmt.Sprintf(stopping, aside); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
			r.at(time.Hour + time.Second)
			word("gone")
			r.wantEmpty(route.ReasonRetained, true)
			want := strings.Replace(strings.Replace(fmt.Sprintf(stopping, aside), "is stopping", "has stopped", 1), ", b (leaving)", "", 1)
			if got := r.engine.View().Entrypoints["http_api"].Explain; got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
			if told := r.toldOfEntrypoint(); told != "" {
				t.Errorf("a deploy is told: %s", told)
			}
			r.at(time.Hour + time.Minute)
			word("forgotten")
			r.wantEmpty(map[route.OrderAction]route.Reason{route.OrderMaintenance: route.ReasonAllMaintenance, route.OrderDrain: route.ReasonAllDraining}[action], false)
			if told := r.toldOfEntrypoint(); told != "1h1m0s http_api/ down>down" {
				t.Errorf("told %q of what nobody replaces", told)
			}
		})
	}
}

// TestLastActiveIsOrderedOut: an order that takes out the last one is an outage at once,
// whatever stopped a short while before, or stops afterwards: nobody waits for it.
func TestLastActiveIsOrderedOut(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		word := beside(r, route.OrderMaintenance)
		r.must("http_api", "b", route.Order{Action: route.OrderDrain, Actor: "ops", Scope: route.ScopeBackend, Force: true})
		r.wantEmpty(route.ReasonAllDraining, false)
		r.at(time.Hour + time.Second)
		word(route.ProviderLeaving)
		r.wantEmpty(route.ReasonAllMaintenance, false)
		r.at(time.Hour + 2*time.Second)
		word("gone")
		r.wantEmpty(route.ReasonAllMaintenance, false)
		if told := r.toldOfEntrypoint(); told != "1h0m0s http_api/ ok>down" {
			t.Errorf("told %q", told)
		}
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		word := beside(r, route.OrderMaintenance)
		r.must("http_api", "a", route.Order{Action: route.OrderReady, Actor: "ops", Scope: route.ScopeBackend})
		r.at(time.Hour + time.Minute)
		word("gone")
		r.wantServing("http_api", "a")
		r.must("http_api", "a", route.Order{Action: route.OrderMaintenance, Actor: "ops", Scope: route.ScopeBackend, Force: true})
		r.wantEmpty(route.ReasonAllMaintenance, false)
	})
}
