package healthcheck

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// TestLateResultAfterShutdown: what a probe says after the stop changes nothing (R1,
// R16), and Run waits for it.
func TestLateResultAfterShutdown(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		s := &stubborn{release: make(chan struct{}), result: Result{Kind: route.KindConnectionRefused, Phases: noPhases()}}
		r.engine.probers[route.ProbeTCP] = s
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		go r.stop()
		synctest.Wait()
		close(s.release)
		synctest.Wait()
		r.wantState("http_api", "b1", route.StatePending, "")
		if got := r.engine.Stats(); got.LateResults != 1 || got.Running != 0 {
			t.Errorf("%+v", got)
		}
		if h := r.health("http_api", "b1"); h.Counters.LateResults != 1 || h.Counters.Failures != 0 {
			t.Errorf("%+v", h.Counters)
		}
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", func(b *route.Backend) { b.Provider = route.ProviderUnhealthy })))
		if len(r.seen.loud(r.start)) != 0 || len(r.seen.all) != 1 {
			t.Errorf("told after the stop: %v", r.seen.all)
		}
		r.wantServing("http_api", "")
	})
}

// TestLateResultOfReadded: a stubborn probe of a removed backend holds its slot but
// says nothing about the one that was added again (R3, R4).
func TestLateResultOfReadded(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		s := &stubborn{release: make(chan struct{}), result: Result{Kind: route.KindConnectionRefused, Phases: noPhases()}}
		good := r.engine.probers[route.ProbeTCP]
		r.engine.probers[route.ProbeTCP] = s
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.apply()
		if got := r.engine.Stats(); got.Running != 1 {
			t.Errorf("the removed probe gave its slot back before it ended: %+v", got)
		}
		r.engine.probers[route.ProbeTCP] = good
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.at(2 * time.Second)
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		close(s.release)
		synctest.Wait()
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		if got := r.engine.Stats(); got.LateResults != 1 || got.Running != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestLateSuccessIsATimeout: a success after the deadline is none.
func TestLateSuccessIsATimeout(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		s := &stubborn{release: make(chan struct{}), result: Result{OK: true, Phases: noPhases()}}
		r.engine.probers[route.ProbeTCP] = s
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.at(6 * time.Second)
		close(s.release)
		synctest.Wait()
		if h := r.health("http_api", "b1"); h.State != route.StateDown || h.Kind != route.KindTimeout {
			t.Errorf("%s %s", h.State, h.Kind)
		}
	})
}
