package healthcheck

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// wantRefusal checks why an order was not carried out; "" for one that was.
func wantRefusal(t *testing.T, err error, code route.OrderErrorCode) {
	t.Helper()
	var refusal *route.OrderError
	switch errors.As(err, &refusal); {
	case code == "" && err != nil, code != "" && (refusal == nil || refusal.Code != code):
		t.Errorf("%v, want %q", err, code)
	}
}

// TestEjectByOrder: an operator ejects and readmits, with name and reason; the cap does not
// hold for people, the last verified one goes only by force.
func TestEjectByOrder(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(func(o *route.Options) { o.Passive.MaxEjectionPercent = 1 }))
		order := func(id string, action route.OrderAction, edit ...func(*route.Order)) error {
			o := route.Order{Action: action, Actor: "ana", Reason: "a test", Scope: route.ScopeBackend}
			for _, f := range edit {
				f(&o)
			}
			return r.engine.Order("http_api", id, o)
		}
		wantRefusal(t, order("b0", route.OrderUneject), route.OrderImpossible)
		wantRefusal(t, order("b0", route.OrderEject), "")
		h := r.health("http_api", "b0")
		if h.State != route.StateEjected || h.Kind != route.KindEjectedFailures || h.Message != "ejected by ana: a test" || !h.Passive.Until.Equal(time.Now().Add(30*time.Second)) {
			t.Errorf("%s %s %q until %s", h.State, h.Kind, h.Message, h.Passive.Until)
		}
		if want := "fairlead uneject http_api b0 brings it back at once"; h.Hint != want {
			t.Errorf("hint %s, want %s", h.Hint, want)
		}
		last := h.History[len(h.History)-1]
		if last.Layer != "passive" || last.Cause != "operator" || last.Actor != "ana" || last.Reason != "a test" || last.Message != "ejected by ana: a test" || last.Kind != route.KindEjectedFailures {
			t.Errorf("%+v", last)
		}
		wantRefusal(t, order("b0", route.OrderEject), route.OrderImpossible)
		wantRefusal(t, order("b1", route.OrderEject, func(o *route.Order) { o.For = 5 * time.Second }), "")
		wantRefusal(t, order("b2", route.OrderEject), route.OrderWouldEmpty)
		r.wantServing("http_api", "b2")
		r.at(7 * time.Second)
		r.wantState("http_api", "b1", route.StateTrial, "")
		wantRefusal(t, order("b2", route.OrderEject, func(o *route.Order) { o.Force = true }), "")
		wantRefusal(t, order("b1", route.OrderUneject), "")
		wantRefusal(t, order("b0", route.OrderUneject), "")
		r.wantServing("http_api", "b0 b1")
		r.stop()
		lines := strings.Join(r.lifeOf("b0"), "\n")
		if want := `"level":"warn" up>ejected operator backend ejected` + "\n" + `"level":"info" ejected>up operator backend readmitted`; lines != want {
			t.Errorf("%s\nwant\n%s", lines, want)
		}
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(func(o *route.Options) { o.Passive.Failures = 0 }))
		wantRefusal(t, r.engine.Order("http_api", "b0", route.Order{Action: route.OrderEject}), route.OrderImpossible)
		wantRefusal(t, r.engine.Order("http_api", "b0", route.Order{Action: route.OrderUneject}), route.OrderImpossible)
	})
}

// TestEjectedAndTakenOut: an order about an ejected backend leaves the ejection alone, and
// its end shows it again.
func TestEjectedAndTakenOut(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		r.requests("b0", 503, 503, 503)
		wantRefusal(t, r.engine.Order("http_api", "b0", route.Order{Action: route.OrderMaintenance}), "")
		r.wantState("http_api", "b0", route.StateMaintenance, route.OutMaintenance)
		r.at(20 * time.Second)
		wantRefusal(t, r.engine.Order("http_api", "b0", route.Order{Action: route.OrderReady}), "")
		r.wantState("http_api", "b0", route.StateEjected, route.OutEjected)
		wantRefusal(t, r.engine.Order("http_api", "b0", route.Order{Action: route.OrderMaintenance}), "")
		r.at(40 * time.Second)
		r.wantState("http_api", "b0", route.StateMaintenance, "")
		wantRefusal(t, r.engine.Order("http_api", "b0", route.Order{Action: route.OrderReady}), "")
		r.at(42 * time.Second)
		r.wantState("http_api", "b0", route.StateTrial, route.InTrial)
		r.stop()
		want := []string{"up>ejected traffic backend ejected", "ejected>maintenance operator backend maintenance",
			"maintenance>ejected operator backend ready", "ejected>maintenance operator backend maintenance", "maintenance>trial operator backend ready"}
		lines := r.lifeOf("b0")
		for i, line := range lines {
			if i >= len(want) || !strings.HasSuffix(line, want[i]) {
				t.Errorf("line %d: %s", i, line)
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%d lines", len(lines))
		}
	})
}

// TestMaintenanceCountsNoRequest: whenever a request to a backend in maintenance began and
// ended, it ejects nobody, and what failed before is forgotten.
func TestMaintenanceCountsNoRequest(t *testing.T) {
	const before, meanwhile, after = 2 * time.Second, 4 * time.Second, 6 * time.Second // the order, and its end, lie between
	for _, tt := range []struct {
		name         string
		begins, ends time.Duration
	}{
		{"begun before, ended meanwhile", before, meanwhile},
		{"begun before, ended after", before, after},
		{"begun and ended meanwhile, on an older rotation", meanwhile, meanwhile},
		{"begun meanwhile, ended after", meanwhile, after},
		{"begun and ended before", before, before},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			trio(r, ejecting(func(o *route.Options) { o.Passive.FeedsActive = true }))
			judge, n := r.member("b0").Judge, 3
			if tt.ends == before {
				n = 2 // one more would eject it
			}
			tickets := make([]route.Ticket, n)
			step := func(now time.Duration) {
				r.at(now)
				for i := range tickets {
					if tt.begins == now {
						tickets[i], _ = judge.Begin(time.Now())
					}
					if tt.ends == now {
						judge.End(tickets[i], outcome(503), time.Now())
					}
				}
			}
			step(before)
			r.must("http_api", "b0", maintenance)
			step(meanwhile)
			r.wantState("http_api", "b0", route.StateMaintenance, "")
			r.must("http_api", "b0", ready)
			step(after)
			r.at(8 * time.Second)
			r.wantState("http_api", "b0", route.StateUp, route.InVerified)
			if v := r.health("http_api", "b0").Passive; v.State != route.PhaseClosed || v.ConsecutiveFailures != 0 {
				t.Errorf("%s: %+v", tt.name, v)
			}
			r.requests("b0", 503, 503, 503)
			r.wantState("http_api", "b0", route.StateEjected, "") // it counts again
		})
	}
}

// TestMaintenanceEndsATrial: the trial that is under way decides nothing any more, and the
// next request is another one.
func TestMaintenanceEndsATrial(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		r.still()
		r.requests("b0", 503, 503, 503)
		r.at(35 * time.Second)
		judge := r.member("b0").Judge
		trial, ok := judge.Begin(time.Now())
		if !ok || trial.Lease == 0 {
			t.Fatalf("%+v is no trial", trial)
		}
		r.must("http_api", "b0", maintenance)
		if v := r.health("http_api", "b0").Passive; v.State != route.PhaseHalfOpen || v.ConsecutiveFailures != 3 || v.TrialInProgress {
			t.Errorf("what ejected it is told still, the trial is not: %+v", v)
		}
		judge.End(trial, outcome(503), time.Now())
		r.must("http_api", "b0", ready)
		r.at(37 * time.Second)
		r.wantState("http_api", "b0", route.StateTrial, route.InTrial)
		r.request("b0", 200)
		r.wantState("http_api", "b0", route.StateUp, route.InVerified)
	})
}

// TestMaintenanceFeedsNothing: failures that were to count as failed probes at the next tick
// do not, when an order and its end come before it.
func TestMaintenanceFeedsNothing(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(func(o *route.Options) { o.Passive.FeedsActive = true }))
		r.requests("b0", 503, 503)
		r.must("http_api", "b0", maintenance)
		r.must("http_api", "b0", ready)
		r.at(5 * time.Second)
		r.wantState("http_api", "b0", route.StateUp, route.InVerified)
		for _, tr := range r.health("http_api", "b0").History {
			if tr.To == string(route.StateDown) {
				t.Errorf("%s: %s", tr.At.Sub(r.start), tr.Message)
			}
		}
	})
}
