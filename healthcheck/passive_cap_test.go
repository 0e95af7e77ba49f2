package healthcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// many runs an entrypoint with n backends that are up.
func many(r *rig, n int, e *route.Entrypoint, edit ...func(int, *route.Backend)) {
	r.t.Helper()
	var backends []route.Backend
	for i := range n {
		b := backend(fmt.Sprintf("b%d", i), fmt.Sprintf("10.0.0.%d", i+1))
		for _, f := range edit {
			f(i, &b)
		}
		r.net.set(b.Address(), accept)
		backends = append(backends, b)
	}
	r.run()
	r.apply(r.setOf(e, backends...))
	r.still()
	r.at(2 * time.Second)
}

// TestEjectionCap counts how many of some backends may be ejected.
func TestEjectionCap(t *testing.T) {
	for _, row := range []struct{ backends, percent, ejected int }{
		{1, 100, 0}, {2, 1, 1}, {2, 50, 1}, {2, 100, 1}, // the last verified one stays
		{3, 1, 1}, {3, 10, 1}, // cap_blocks_single_ejection: the first one is within every cap
		{3, 50, 1}, {3, 66, 1}, {3, 67, 2}, {3, 100, 2},
		{4, 49, 1}, {4, 50, 2}, {4, 75, 3}, {4, 100, 3}, {10, 50, 5}, {10, 59, 5}, {10, 100, 9},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			many(r, row.backends, ejecting(func(o *route.Options) { o.Passive.MaxEjectionPercent = row.percent }))
			for i := range row.backends {
				r.requests(fmt.Sprintf("b%d", i), 503, 503, 503)
			}
			ejected, blocked := 0, 0
			for _, h := range r.engine.View().Entrypoints["http_api"].Backends {
				if h.State == route.StateEjected {
					ejected++
				}
				if h.Passive.BlockedBy != "" {
					blocked++
				}
			}
			if ejected != row.ejected || blocked != row.backends-row.ejected {
				t.Errorf("%d backends, at most %d %%: %d ejected, %d blocked", row.backends, row.percent, ejected, blocked)
			}
		})
	}
}

// TestEjectionCapCounts: those on trial count as ejected, backups and those that the
// operator or the provider took out are not of the crowd.
func TestEjectionCapCounts(t *testing.T) {
	half := func(o *route.Options) { o.Passive.MaxEjectionPercent = 50 }
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 3, ejecting(half))
		r.requests("b0", 503, 503, 503)
		r.at(33 * time.Second)
		r.wantState("http_api", "b0", route.StateTrial, "")
		r.requests("b1", 503, 503, 503)
		r.wantState("http_api", "b1", route.StateUp, "")
		if h := r.health("http_api", "b1"); h.Passive.BlockedBy != blockedCap {
			t.Errorf("blocked by %q", h.Passive.BlockedBy)
		}
		r.request("b0", 200) // back: the next failure of the other one counts
		r.request("b1", 503)
		r.wantState("http_api", "b1", route.StateEjected, "")
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) { // of 4 primaries one is gated: 2 of 3 are too many
		many(r, 5, ejecting(half), func(i int, b *route.Backend) {
			b.Weight = []int{100, 100, 100, 100, 0}[i]
			if i == 3 {
				b.Provider = route.ProviderUnhealthy
			}
		})
		r.requests("b0", 503, 503, 503)
		r.requests("b1", 503, 503, 503)
		r.wantServing("http_api", "b1 b2")
	})
}

// TestLastVerified: one that is all that is verified stays, which is told once per
// episode, and is asked again at each failure.
func TestLastVerified(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 3, ejecting(func(o *route.Options) { o.Passive.MaxEjectionPercent = 100 }))
		r.net.set("10.0.0.3:80", refuse)
		r.at(12 * time.Second)
		r.wantState("http_api", "b2", route.StateDown, "")
		r.requests("b0", 503, 503, 503)
		r.requests("b1", 503, 503, 503, 503, 503)
		r.wantServing("http_api", "b1")
		h := r.health("http_api", "b1")
		if h.State != route.StateUp || h.Passive.BlockedBy != blockedLast || h.Passive.ConsecutiveFailures != 3 || h.Kind != "" {
			t.Errorf("%s, blocked by %q, %d failures, %s", h.State, h.Passive.BlockedBy, h.Passive.ConsecutiveFailures, h.Kind)
		}
		if !strings.Contains(h.Explain, "3 requests in a row failed; last: answered 503; it is not ejected, because no other verified backend is left.") {
			t.Error(h.Explain)
		}
		r.net.set("10.0.0.3:80", accept)
		r.at(23 * time.Second)
		r.wantState("http_api", "b2", route.StateUp, "")
		r.request("b1", 0)
		r.wantServing("http_api", "b2")
		r.stop()
		lines := r.lifeOf("b1")
		if n := strings.Count(strings.Join(lines, "\n"), `"level":"warn" up>up traffic ejection blocked`); n != 1 {
			t.Errorf("%d lines about the blocked ejection:\n%s", n, strings.Join(lines, "\n"))
		}
	})
}

// TestPassivePanic: with passive.panic=false the last one is ejected, too, and clients get
// 503 until its trial (Caddy's behaviour); the cap still holds. Otherwise one that is
// alone is never ejected.
func TestPassivePanic(t *testing.T) {
	off := func(o *route.Options) { o.Passive.KeepServing = false }
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 1, ejecting(off), func(_ int, b *route.Backend) { b.Check = nil })
		r.requests("b0", 503, 503, 503)
		r.wantState("http_api", "b0", route.StateEjected, route.OutEjected)
		rot := r.cells["http_api"].Load()
		if len(rot.Members) > 0 || rot.Reason != route.ReasonAllUnhealthy {
			t.Errorf("%d serve, reason %q", len(rot.Members), rot.Reason)
		}
		r.at(28 * time.Second)
		if wait := r.cells["http_api"].RetryAfter(time.Now()); wait != 4 {
			t.Errorf("Retry-After %d, 4 s before the trial", wait)
		}
		r.at(32 * time.Second)
		r.wantServing("http_api", "b0")
		r.request("b0", 200)
		r.wantState("http_api", "b0", route.StateUnchecked, "")
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 2, ejecting(off))
		for _, b := range []string{"b0", "b1"} {
			r.requests(b, 503, 503, 503)
		}
		r.wantServing("http_api", "b1") // half of two is one
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 2, ejecting(off, func(o *route.Options) { o.Passive.MaxEjectionPercent = 100 }))
		for _, b := range []string{"b0", "b1"} {
			r.requests(b, 503, 503, 503)
		}
		r.wantServing("http_api", "")
	})
}

// TestEjectedInPanic: when nothing better is left an ejected backend serves, nobody is
// turned away for a trial, and its successes bring it back.
func TestEjectedInPanic(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		e := ejecting(func(o *route.Options) { o.Passive.Trials = 2 })
		many(r, 2, e)
		r.requests("b0", 503, 503, 503)
		r.net.set("10.0.0.2:80", refuse)
		r.at(13 * time.Second)
		r.wantState("http_api", "b0", route.StateEjected, route.InPanicAll)
		r.wantState("http_api", "b1", route.StateDown, route.InPanicAll)
		h := r.health("http_api", "b0")
		checkRules(t, &h)
		r.requests("b0", 200, 503, 200)
		r.wantState("http_api", "b0", route.StateEjected, "")
		r.request("b0", 200)
		r.wantState("http_api", "b0", route.StateUp, route.InVerified)
		r.wantServing("http_api", "b0")
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) { // both ejected by the cap's leave and probes
		many(r, 2, ejecting())
		r.requests("b0", 503, 503, 503)
		r.net.set("10.0.0.1:80", refuse)
		r.net.set("10.0.0.2:80", refuse)
		r.at(33 * time.Second) // b0 is half open and down
		r.wantServing("http_api", "b0 b1")
		judge := r.member("b0").Judge
		first, ok1 := judge.Begin(time.Now())
		second, ok2 := judge.Begin(time.Now())
		if !ok1 || !ok2 || first.Lease == 0 || second != (route.Ticket{}) {
			t.Errorf("panic hands out %+v (%v) and %+v (%v)", first, ok1, second, ok2)
		}
		judge.End(second, outcome(200), time.Now())
		if h := r.health("http_api", "b0"); h.Passive.State != route.PhaseHalfOpen {
			t.Errorf("a request without a trial moved it: %s", h.Passive.State)
		}
		judge.End(first, outcome(200), time.Now())
		if h := r.health("http_api", "b0"); h.Passive.State != route.PhaseClosed || h.State != route.StateDown {
			t.Errorf("the trial left it %s and %s", h.Passive.State, h.State)
		}
	})
}

// TestFallback: while the only trial is taken, what would serve without it serves.
func TestFallback(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 2, ejecting())
		r.requests("b0", 503, 503, 503)
		r.net.set("10.0.0.2:80", refuse)
		r.at(33 * time.Second)
		rot := r.cells["http_api"].Load()
		reasons := func(list []route.Member) (out []string) {
			for _, m := range list {
				out = append(out, m.Placement.Backend.ID+" "+string(m.Reason))
			}
			return out
		}
		if !slices.Equal(reasons(rot.Members), []string{"b0 trial"}) || !slices.Equal(reasons(rot.Fallback), []string{"b0 panic_all", "b1 panic_all"}) {
			t.Errorf("%v, else %v", reasons(rot.Members), reasons(rot.Fallback))
		}
		if _, ok := rot.Members[0].Judge.Begin(time.Now()); !ok {
			t.Error("no trial")
		}
		for _, m := range append(rot.Members[:1:1], rot.Fallback...) {
			_, ok := m.Judge.Begin(time.Now())
			if want := m.Reason != route.InTrial; ok != want {
				t.Errorf("%s %s takes another request: %v", m.Placement.Backend.ID, m.Reason, ok)
			}
		}
	})
}
