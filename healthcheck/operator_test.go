package healthcheck

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// order gives an order and returns the code of its refusal, "" when it was carried out.
func (r *rig) order(entrypoint, backend string, o route.Order) route.OrderErrorCode {
	r.t.Helper()
	err := r.engine.Order(entrypoint, backend, o)
	if refusal, ok := errors.AsType[*route.OrderError](err); ok {
		return refusal.Code
	} else if err != nil {
		r.t.Fatal(err)
	}
	return ""
}

// must gives an order that is carried out.
func (r *rig) must(entrypoint, backend string, o route.Order) {
	r.t.Helper()
	if code := r.order(entrypoint, backend, o); code != "" {
		r.t.Fatalf("%s of %s/%s is refused: %s", o.Action, entrypoint, backend, code)
	}
}

// wantLast checks the last loud transition of a backend: "from>to cause actor reason".
func (r *rig) wantLast(backend, want string) {
	r.t.Helper()
	synctest.Wait() // until what was queued is told
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	var got string
	for _, t := range r.seen.all {
		if t.Backend == backend && !t.Debug {
			got = fmt.Sprintf("%s>%s %s %s %s %s", t.From, t.To, t.Layer, t.Cause, t.Actor, t.Reason)
		}
	}
	if got != want {
		r.t.Errorf("at %s: the last transition of %s is %q, want %q", time.Since(r.start), backend, got, want)
	}
}

// sticky lists who serves bound clients only.
func (r *rig) sticky(entrypoint string) string {
	var ids []string
	for _, m := range r.cells[entrypoint].Load().Sticky {
		ids = append(ids, m.Placement.Backend.ID+" "+string(m.Reason))
	}
	return strings.Join(ids, ", ")
}

// pair is a rig of an entrypoint http_a with two verified backends a and b, at 1 s.
func pair(t *testing.T, test func(*rig)) {
	t.Helper()
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.set("http_a", backend("a", "10.0.0.1"), backend("b", "10.0.0.2")))
		r.run()
		r.at(time.Second)
		r.wantServing("http_a", "a b")
		test(r)
	})
}

var (
	drain       = route.Order{Action: route.OrderDrain, Actor: "ops", Reason: "kernel"}
	maintenance = route.Order{Action: route.OrderMaintenance, Actor: "ops"}
	ready       = route.Order{Action: route.OrderReady, Actor: "eva", Reason: "done"}
)

// forced is an order that is carried out whatever is left.
func forced(o route.Order) route.Order {
	o.Force = true
	return o
}

// TestOrderIsInForceWhenItReturns: no wait, no tick lies between an order and its effect.
func TestOrderIsInForceWhenItReturns(t *testing.T) {
	pair(t, func(r *rig) {
		rev := r.engine.View().Rev
		r.must("http_a", "a", drain)
		r.wantServing("http_a", "b")
		h := r.health("http_a", "a")
		if h.State != route.StateDraining || h.RotationReason != route.OutDraining || h.InRotation || h.Healthy != nil || h.Source != "admin" ||
			h.Kind != route.KindAdminDrain || h.Admin.Actor != "ops" || h.Admin.Reason != "kernel" || !h.Admin.Since.Equal(time.Now()) {
			t.Errorf("%+v", h)
		}
		r.wantLast("a", "up>draining admin operator ops kernel")
		if r.engine.View().Rev <= rev {
			t.Error("the view's rev does not tell")
		}
		r.must("http_a", "a", ready)
		r.wantServing("http_a", "a b")
		r.wantState("http_a", "a", route.StateUp, route.InVerified)
		r.wantLast("a", "draining>up admin operator eva done")
		if h := r.health("http_a", "a"); len(h.History) != 3 || h.History[2].Actor != "eva" {
			t.Errorf("history %+v", h.History)
		}
		lines := strings.Join(r.logs.lines(), "\n")
		for _, want := range []string{`"message":"backend drain"`, `"message":"backend ready"`, `"actor":"ops","reason":"kernel"`, `"actor":"eva","reason":"done"`} {
			if !strings.Contains(strings.ReplaceAll(lines, `"msg":`, `"message":`), want) {
				t.Errorf("no %s in\n%s", want, lines)
			}
		}
	})
}

// TestOrderTable: which orders are refused, and what they leave.
func TestOrderTable(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  []route.Order // of a
		backend string
		order   route.Order
		code    route.OrderErrorCode
		serving string
	}{
		{"drain one of two", nil, "a", drain, "", "b"},
		{"maintenance of one of two", nil, "a", maintenance, "", "b"},
		{"the second one", []route.Order{drain}, "b", drain, route.OrderWouldEmpty, "b"},
		{"the second one into maintenance", []route.Order{maintenance}, "b", maintenance, route.OrderWouldEmpty, "b"},
		{"the second one by force", []route.Order{drain}, "b", forced(drain), "", ""},
		{"drain again", []route.Order{drain}, "a", drain, "", "b"},
		{"maintenance after drain", []route.Order{drain}, "a", maintenance, "", "b"},
		{"drain after maintenance", []route.Order{maintenance}, "a", drain, "", "b"},
		{"ready", []route.Order{drain}, "a", ready, "", "a b"},
		{"ready twice", []route.Order{drain, ready}, "a", ready, "", "a b"},
		{"ready without an order", nil, "a", ready, "", "a b"},
		{"all", nil, "", route.Order{Action: route.OrderDrain, Scope: route.ScopeService}, route.OrderWouldEmpty, "a b"},
		{"all by force", nil, "", route.Order{Action: route.OrderDrain, Scope: route.ScopeService, Force: true}, "", ""},
		{"unknown", nil, "c", drain, route.OrderUnknown, "a b"},
		{"nobody", nil, "", drain, route.OrderUnknown, "a b"},
		{"no order", nil, "a", route.Order{Action: "stop"}, route.OrderImpossible, "a b"},
		{"eject all", nil, "", route.Order{Action: route.OrderEject, Scope: route.ScopeService}, route.OrderImpossible, "a b"},
	} {
		pair(t, func(r *rig) {
			for _, o := range c.before {
				r.must("http_a", "a", o)
			}
			if code := r.order("http_a", c.backend, c.order); code != c.code {
				t.Errorf("%s: %q, want %q", c.name, code, c.code)
			}
			if got := r.serving("http_a"); got != c.serving {
				t.Errorf("%s: served by %q, want %q", c.name, got, c.serving)
			}
		})
	}
}

// TestOrderUnknownEntrypoint and one that is stopping.
func TestOrderUnknownEntrypoint(t *testing.T) {
	pair(t, func(r *rig) {
		if code := r.order("http_b", "a", drain); code != route.OrderUnknown {
			t.Errorf("%q", code)
		}
		r.stop()
		if code := r.order("http_a", "a", drain); code != route.OrderImpossible || len(r.seen.loud(r.start)) != 2 {
			t.Errorf("after the stop: %q, %v", code, r.seen.loud(r.start))
		}
	})
}

// TestRefusalSaysWhoIsLeft: the message names why nothing else may serve.
func TestRefusalSaysWhoIsLeft(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		gone := backend("gone", "10.0.0.3", func(b *route.Backend) { b.Provider = route.ProviderLeaving })
		sick := backend("sick", "10.0.0.4", func(b *route.Backend) { b.Provider = route.ProviderUnhealthy })
		r.apply(r.set("http_a", backend("a", "10.0.0.1"), backend("b", "10.0.0.2"), gone, sick))
		r.must("http_a", "b", maintenance)
		err := r.engine.Order("http_a", "a", drain)
		want := "drain would leave http_a without a backend that may serve (b is in maintenance, gone is leaving, sick is unhealthy), so clients would get 503; force it if that is meant"
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
		if code := r.order("http_a", "gone", drain); code != route.OrderImpossible {
			t.Errorf("an order about a leaving backend: %q", code)
		}
	})
}

// TestProbeOverridesDrain (probe_overrides_drain): no verdict of probes or Docker ends an
// order, or shows as another state.
func TestProbeOverridesDrain(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", drain)
		r.net.set("10.0.0.1:80", refuse)
		r.at(15 * time.Second)
		if h := r.health("http_a", "a"); h.State != route.StateDraining || h.LastResult.OK || h.Counters.Failures == 0 {
			t.Errorf("while it fails: %s %+v", h.State, h.LastResult)
		}
		r.net.set("10.0.0.1:80", accept)
		r.at(30 * time.Second)
		if h := r.health("http_a", "a"); h.State != route.StateDraining || !h.LastResult.OK {
			t.Errorf("after a success: %s %+v", h.State, h.LastResult)
		}
		r.wantServing("http_a", "b")
		r.net.set("10.0.0.2:80", refuse)
		r.at(45 * time.Second)
		r.wantServing("http_a", "b") // panic takes no drained one
		if e := r.engine.View().Entrypoints["http_a"]; e.State != route.EntrypointPanic {
			t.Errorf("%s", e.State)
		}
		r.wantLast("a", "up>draining admin operator ops kernel")
	})
}

// TestDrainRestoresStaleState (drain_restores_stale_state): what a backend was before an
// order plays no part in what it is after it.
func TestDrainRestoresStaleState(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", drain)
		r.net.set("10.0.0.1:80", refuse)
		r.at(15 * time.Second)
		r.must("http_a", "a", ready)
		r.wantState("http_a", "a", route.StateDown, route.OutProbeFailed)
		r.wantServing("http_a", "b")
		r.wantLast("a", "draining>down admin operator eva done")

		r.must("http_a", "a", drain)
		r.net.set("10.0.0.1:80", accept)
		r.at(35 * time.Second)
		r.must("http_a", "a", ready)
		r.wantState("http_a", "a", route.StateUp, route.InVerified)
		r.wantServing("http_a", "a b")
	})
}

// TestMaintenanceStopsProbes: none is launched and the one in flight is cancelled; idle
// connections are closed whatever onDown says, tunnels stay.
func TestMaintenanceStopsProbes(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		e := &route.Entrypoint{ID: "http_a", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
		e.Options.OnDown = route.OnDownKeep
		set := r.setOf(e, backend("a", "10.0.0.1"), backend("b", "10.0.0.2"))
		r.apply(set)
		r.run()
		r.at(5 * time.Second)
		r.net.set("10.0.0.1:80", blackhole)
		r.at(11 * time.Second) // a probe is on its way
		r.must("http_a", "a", maintenance)
		if up := set.Placements[0].Upstream.(*fakeUpstream); up.idle != 1 {
			t.Errorf("idle connections closed %d times", up.idle)
		}
		r.at(60 * time.Second)
		if got := r.net.dials("10.0.0.1:80"); len(got) != 2 {
			t.Errorf("probes at %v", got)
		}
		h := r.health("http_a", "a")
		if h.State != route.StateMaintenance || h.Counters.Failures != 0 || !h.NextCheckAt.IsZero() || h.InFlightProbe || h.Counters.LateResults != 1 {
			t.Errorf("%+v", h)
		}
		r.wantServing("http_a", "b")
	})
}

// TestReadyAfterMaintenanceProbesFirst: nothing is known after a time without probes, so
// the backend waits for the probe that is made at once.
func TestReadyAfterMaintenanceProbesFirst(t *testing.T) {
	for _, after := range []route.Order{ready, drain} {
		pair(t, func(r *rig) {
			r.must("http_a", "a", maintenance)
			r.at(100 * time.Second)
			r.must("http_a", "a", after)
			if after.Action == route.OrderReady {
				r.wantState("http_a", "a", route.StatePending, route.OutPendingVerifiedExists)
				r.wantLast("a", "maintenance>pending admin operator eva done")
				if h := r.health("http_a", "a"); !h.LastResult.Stale {
					t.Error("the last result is not stale")
				}
			}
			r.wantServing("http_a", "b")
			r.at(102 * time.Second)
			if got := r.net.dials("10.0.0.1:80"); len(got) != 2 || got[1] > 101*time.Second {
				t.Errorf("probes at %v", got)
			}
			r.must("http_a", "a", ready)
			r.wantServing("http_a", "a b")
		})
	}
}

// TestReadyAfterAShortMaintenance: the probe is brought forward, it does not wait for the
// time at which one was planned before.
func TestReadyAfterAShortMaintenance(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", maintenance)
		r.at(2 * time.Second)
		r.must("http_a", "a", ready)
		r.at(3500 * time.Millisecond)
		r.wantState("http_a", "a", route.StateUp, route.InVerified)
	})
}
