package healthcheck

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// held is a server that answers 200 once it is let.
func held(let <-chan struct{}) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			<-let
			serveOnce(server, ok200, nil)
		}()
		return client, nil
	}
}

func recovering(how route.Recovery) func(*route.Options) {
	return func(o *route.Options) { o.Passive.Recovery = how }
}

// TestProbesHeal: a probe that asks the application ends an ejection, one that only
// connects does not (probe_only: the app answers 200 on /health and 503 on traffic, or the
// port is open and nothing else).
func TestProbesHeal(t *testing.T) {
	for _, row := range []struct {
		recovery route.Recovery
		kind     route.ProbeType
		heals    bool
	}{
		{route.RecoverAuto, route.ProbeHTTP, true}, {route.RecoverProbe, route.ProbeHTTP, true},
		{route.RecoverTrial, route.ProbeHTTP, false}, {route.RecoverTime, route.ProbeHTTP, false},
		{route.RecoverAuto, route.ProbeTCP, false}, {route.RecoverProbe, route.ProbeTCP, false},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			many(r, 2, ejecting(recovering(row.recovery)), func(_ int, b *route.Backend) {
				if row.kind == route.ProbeHTTP {
					httpCheck("/health")(b)
				}
			})
			if row.kind == route.ProbeHTTP {
				r.net.set("10.0.0.1:80", answer(ok200))
				r.net.set("10.0.0.2:80", answer(ok200))
			}
			r.at(21 * time.Second)
			r.requests("b0", 503, 503, 503)
			r.wantState("http_api", "b0", route.StateEjected, "")
			r.at(41 * time.Second) // two probes later
			if h := r.health("http_api", "b0"); (h.State == route.StateUp) != row.heals {
				t.Errorf("%s by %s: %s, want healed=%v; %s", row.recovery, row.kind, h.State, row.heals, h.Explain)
			}
			r.stop()
			if lines := strings.Join(r.lifeOf("b0"), "\n"); row.heals && !strings.Contains(lines, "ejected>up probe backend readmitted") {
				t.Error(lines)
			}
		})
	}
}

// TestEarlierProbe: a probe that was on its way at the ejection does not end it (R8).
func TestEarlierProbe(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 2, ejecting(recovering(route.RecoverProbe)), func(_ int, b *route.Backend) { httpCheck("/health")(b) })
		r.net.set("10.0.0.1:80", answer(ok200))
		r.net.set("10.0.0.2:80", answer(ok200))
		r.at(15 * time.Second)
		let := make(chan struct{})
		r.net.set("10.0.0.1:80", held(let))
		r.at(20 * time.Second) // its probe is on its way
		r.requests("b0", 503, 503, 503)
		r.at(22 * time.Second)
		close(let)
		synctest.Wait()
		if h := r.health("http_api", "b0"); h.State != route.StateEjected || !h.LastChecked.Equal(time.Now()) {
			t.Errorf("%s, checked at %s", h.State, h.LastChecked.Sub(r.start))
		}
		r.at(29 * time.Second)
		r.wantState("http_api", "b0", route.StateEjected, "")
		r.at(31 * time.Second)
		r.wantState("http_api", "b0", route.StateUp, "")
	})
}

// TestRecoverByTime: nobody is on trial.
func TestRecoverByTime(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(recovering(route.RecoverTime)))
		r.requests("b0", 503, 503, 503)
		r.at(31 * time.Second)
		r.wantState("http_api", "b0", route.StateEjected, "")
		r.at(32 * time.Second)
		r.wantState("http_api", "b0", route.StateUp, route.InVerified)
		r.stop()
		if lines := strings.Join(r.lifeOf("b0"), "\n"); !strings.Contains(lines, "ejected>up timer backend readmitted") {
			t.Error(lines)
		}
	})
}

// TestRequestEndsEjection: a request in panic that comes between the end of an ejection
// and the next tick is the trial.
func TestRequestEndsEjection(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 2, ejecting())
		r.at(2500 * time.Millisecond)
		r.requests("b0", 503, 503, 503)
		r.net.set("10.0.0.2:80", refuse)
		r.at(32500 * time.Millisecond) // between two ticks
		r.wantState("http_api", "b0", route.StateEjected, route.InPanicAll)
		ticket, ok := r.member("b0").Judge.Begin(time.Now())
		if !ok || ticket.Lease == 0 {
			t.Fatalf("%+v %v", ticket, ok)
		}
		r.wantState("http_api", "b0", route.StateTrial, route.InTrial)
		r.member("b0").Judge.End(ticket, outcome(200), time.Now())
		r.wantState("http_api", "b0", route.StateUp, "")
	})
}

// TestPassiveReload: new settings are read at once, an ejection keeps its end, and one
// whose layer is turned off is over. A new container begins anew.
func TestPassiveReload(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		apply := func(edit func(*route.Options), backends ...route.Backend) {
			if backends == nil {
				backends = []route.Backend{backend("b0", "10.0.0.1"), backend("b1", "10.0.0.2"), backend("b2", "10.0.0.3")}
			}
			r.apply(r.setOf(ejecting(edit), backends...))
			r.still()
		}
		r.requests("b1", 503, 503)
		r.requests("b0", 503, 503, 503)
		until := r.health("http_api", "b0").Passive.Until
		apply(func(o *route.Options) { o.Passive.EjectionTime, o.Passive.Failures = time.Hour, 5 })
		if h := r.health("http_api", "b0"); h.State != route.StateEjected || !h.Passive.Until.Equal(until) {
			t.Errorf("%s until %s", h.State, h.Passive.Until)
		}
		r.requests("b1", 503)
		r.at(3 * time.Second)
		if h := r.health("http_api", "b1"); h.Passive.ConsecutiveFailures != 3 || h.Passive.Threshold != 5 {
			t.Errorf("%d of %d", h.Passive.ConsecutiveFailures, h.Passive.Threshold)
		}
		judge := r.member("b1").Judge
		apply(func(o *route.Options) { o.Passive.Failures = 0 })
		r.wantState("http_api", "b0", route.StateUp, route.InVerified)
		if h := r.health("http_api", "b0"); h.Passive != nil || r.member("b0").Judge != nil {
			t.Errorf("the layer goes on: %+v", h.Passive)
		}
		for range 9 {
			ticket, _ := judge.Begin(time.Now())
			judge.End(ticket, outcome(503), time.Now())
		}
		apply(func(o *route.Options) { o.Passive.Failures = 2 })
		r.wantServing("http_api", "b0 b1 b2")
		r.requests("b0", 503, 503)
		r.wantState("http_api", "b0", route.StateEjected, "")
		apply(func(o *route.Options) { o.Passive.Failures = 2 },
			backend("b0", "10.0.0.1", func(b *route.Backend) { b.Incarnation += "restarted" }), backend("b1", "10.0.0.2"))
		r.at(5 * time.Second)
		r.wantState("http_api", "b0", route.StateUp, "")
		r.stop()
		if lines := strings.Join(r.lifeOf("b0"), "\n"); strings.Count(lines, "ejected>up config backend readmitted") != 1 {
			t.Error(lines)
		}
		var off int
		for _, line := range r.logs.lines() {
			off += strings.Count(line, "passive_disabled")
		}
		if off != 1 {
			t.Errorf("passive_disabled is said %d times", off)
		}
	})
}

// TestFeedsActive: with passive.feedsActive failed requests count as failed probes do, in
// a row; a success of a request takes back what requests counted, not what probes did.
func TestFeedsActive(t *testing.T) {
	feeds := func(o *route.Options) { o.Passive.FeedsActive, o.Passive.Failures = true, 100 }
	three := checked(func(c *route.Check) { c.UnhealthyThreshold = 3 })
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(feeds), three)
		r.requests("b0", 503, 503)
		r.at(3 * time.Second)
		if h := r.health("http_api", "b0"); h.State != route.StateUp || h.Counters.ConsecutiveFail != 2 {
			t.Errorf("%s with %d failures", h.State, h.Counters.ConsecutiveFail)
		}
		r.request("b0", 200)
		r.at(4 * time.Second)
		r.requests("b0", 503, 200, 0, -1, 503, -1) // in a row: two
		r.at(5 * time.Second)
		if h := r.health("http_api", "b0"); h.State != route.StateUp || h.Counters.ConsecutiveFail != 2 {
			t.Errorf("%s with %d failures", h.State, h.Counters.ConsecutiveFail)
		}
		r.request("b0", 503)
		r.at(6 * time.Second)
		h := r.health("http_api", "b0")
		if h.State != route.StateDown || h.Kind != route.KindBadStatus || h.Message != "a request failed: answered 503" {
			t.Errorf("%s %s %s", h.State, h.Kind, h.Message)
		}
		checkRules(t, &h)
		r.at(13 * time.Second) // its next probe
		r.wantState("http_api", "b0", route.StateUp, "")
		r.request("b1", -1)
		r.at(14 * time.Second)
		if h := r.health("http_api", "b1"); h.Counters.ConsecutiveFail != 0 {
			t.Error("a client that left was fed")
		}
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) { // what probes count stays
		trio(r, ejecting(feeds), three)
		r.net.set("10.0.0.1:80", refuse)
		r.at(12 * time.Second)
		r.requests("b0", 503)
		r.at(13 * time.Second)
		r.requests("b0", 200)
		r.at(14 * time.Second)
		if h := r.health("http_api", "b0"); h.Counters.ConsecutiveFail != 1 {
			t.Errorf("%d failures are left of one by a probe and one by a request", h.Counters.ConsecutiveFail)
		}
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) { // off: never shared
		trio(r, ejecting(func(o *route.Options) { o.Passive.Failures = 100 }), three)
		r.requests("b0", 503, 503, 503, 503)
		r.at(4 * time.Second)
		if h := r.health("http_api", "b0"); h.Counters.ConsecutiveFail != 0 || h.State != route.StateUp {
			t.Errorf("%s with %d failures", h.State, h.Counters.ConsecutiveFail)
		}
	})
}
