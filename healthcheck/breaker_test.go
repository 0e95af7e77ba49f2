package healthcheck

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestBreakerTable walks a circuit through its states, without an engine.
func TestBreakerTable(t *testing.T) {
	ok, bad, void := route.Outcome{Status: 200}, route.Outcome{Status: 503}, route.Outcome{Void: true}
	options := route.DefaultOptions()
	options.Breaker = route.Breaker{Threshold: 0.5, MinRequests: 4, Cooldown: 10 * time.Second}
	start := time.Unix(1_000_000, 0)
	for _, tt := range []struct {
		name  string
		steps func(b *breaker, now *time.Time)
		phase route.PassivePhase
		turns string
	}{
		{"too few", func(b *breaker, now *time.Time) { b.feed(*now, bad, bad, bad) }, route.PhaseClosed, ""},
		{"half of enough", func(b *breaker, now *time.Time) { b.feed(*now, ok, ok, bad, bad) }, route.PhaseOpen, "closed>open"},
		{"below the threshold", func(b *breaker, now *time.Time) { b.feed(*now, ok, ok, ok, bad, ok, ok, ok, bad) }, route.PhaseClosed, ""},
		{"old failures fall out", func(b *breaker, now *time.Time) { b.feed(*now, bad, ok, ok, ok, bad) }, route.PhaseClosed, ""},
		{"a success does not open it", func(b *breaker, now *time.Time) { b.feed(*now, bad, bad, bad, ok) }, route.PhaseClosed, ""},
		{"void outcomes count nothing", func(b *breaker, now *time.Time) { b.feed(*now, bad, void, void, void, bad, bad) }, route.PhaseClosed, ""},
		{"late outcomes of an open one", func(b *breaker, now *time.Time) {
			b.feed(*now, bad, bad, bad, bad, bad, ok)
			b.Leave(0, ok, *now)
		}, route.PhaseOpen, "closed>open"},
		{"cooled", func(b *breaker, now *time.Time) {
			b.feed(*now, bad, bad, bad, bad)
			*now = now.Add(10 * time.Second)
			b.Enter(*now)
		}, route.PhaseHalfOpen, "closed>open open>half_open"},
		{"trial succeeds", func(b *breaker, now *time.Time) { b.try(now, bad, bad, bad, bad, ok) }, route.PhaseClosed, "closed>open open>half_open half_open>closed"},
		{"trial fails", func(b *breaker, now *time.Time) { b.try(now, bad, bad, bad, bad, bad) }, route.PhaseOpen, "closed>open open>half_open half_open>open"},
		{"trial says nothing", func(b *breaker, now *time.Time) { b.try(now, bad, bad, bad, bad, void) }, route.PhaseHalfOpen, "closed>open open>half_open"},
	} {
		now := start
		b := &breaker{circuit: circuit{phase: route.PhaseClosed}}
		b.set(&options)
		tt.steps(b, &now)
		var turns []string
		for _, n := range b.take(now) {
			turns = append(turns, string(n.from)+">"+string(n.to))
		}
		if got := strings.Join(turns, " "); b.phase() != tt.phase || got != tt.turns {
			t.Errorf("%s: %s %q, want %s %q", tt.name, b.phase(), got, tt.phase, tt.turns)
		}
	}
}

// feed lets outcomes of requests that entered freely leave.
func (b *breaker) feed(now time.Time, outcomes ...route.Outcome) {
	for _, o := range outcomes {
		b.Leave(0, o, now)
	}
}

// try opens the circuit with all outcomes but the last, which is that of the trial.
func (b *breaker) try(now *time.Time, outcomes ...route.Outcome) {
	last := len(outcomes) - 1
	b.feed(*now, outcomes[:last]...)
	*now = now.Add(10 * time.Second)
	lease, _, _ := b.Enter(*now)
	b.Leave(lease, outcomes[last], *now)
}

// TestBreakerTrialIsOneAndItsLeaseExpires: one of 100 at once gets the trial; one that
// never returns gives way after the longest time of a trial, and is then without effect.
func TestBreakerTrialIsOneAndItsLeaseExpires(t *testing.T) {
	options := route.DefaultOptions()
	options.Breaker = route.Breaker{Threshold: 1, MinRequests: 1, Cooldown: time.Second}
	now := time.Unix(1_000_000, 0)
	b := &breaker{circuit: circuit{phase: route.PhaseClosed}}
	b.set(&options)
	b.feed(now, route.Outcome{Transport: true, Kind: route.KindTimeout})
	if _, wait, ok := b.Enter(now.Add(300 * time.Millisecond)); ok || wait != 700*time.Millisecond {
		t.Errorf("open: %v %v", wait, ok)
	}
	now = now.Add(time.Second)
	leases := make(chan uint64, 100)
	for range cap(leases) {
		go func() { lease, _, _ := b.Enter(now); leases <- lease }()
	}
	var got []uint64
	for range cap(leases) {
		if l := <-leases; l != 0 {
			got = append(got, l)
		}
	}
	if len(got) != 1 {
		t.Fatalf("%d trials at once", len(got))
	}
	now = now.Add(30 * time.Second) // never below backendTimeout
	second, _, ok := b.Enter(now)
	if !ok || second == got[0] {
		t.Fatalf("the lost trial keeps its lease: %d %v", second, ok)
	}
	b.Leave(got[0], route.Outcome{Status: 200}, now)
	if b.phase() != route.PhaseHalfOpen {
		t.Error("a trial whose lease has expired closed the circuit")
	}
	b.Leave(second, route.Outcome{Status: 200}, now)
	b.Leave(second, route.Outcome{Status: 503}, now)
	if b.phase() != route.PhaseClosed {
		t.Error("the trial succeeded, and a second end of it counted")
	}
}

// TestBreakerIsTold: an open circuit is the entrypoint's state, reason, sentence,
// history and one line of the log, though its backends are well.
func TestBreakerIsTold(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		e := &route.Entrypoint{ID: "web", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
		e.Options.Breaker = route.Breaker{Threshold: 0.5, MinRequests: 2, Cooldown: 10 * time.Second}
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.setOf(e, backend("a", "10.0.0.1")))
		r.run()
		r.at(time.Second)
		gate := r.cells["web"].Load().Gate
		if gate == nil {
			t.Fatal("the rotation has no gate")
		}
		for range 2 {
			gate.Leave(0, route.Outcome{Status: 502}, time.Now())
		}
		r.at(2 * time.Second)
		h := r.engine.View().Entrypoints["web"]
		if h.State != route.EntrypointDown || h.Reason != route.ReasonCircuitOpen || h.ServesWhenDown != 503 ||
			h.Breaker == nil || h.Breaker.State != route.PhaseOpen || h.Breaker.FailureRatio != 1 || h.Breaker.RetryAt.Sub(r.start) != 11*time.Second {
			t.Errorf("%+v %+v", h, h.Breaker)
		}
		if want := "Down: the circuit breaker is open because 100 % of the last 2 requests failed: answered 502; clients get 503 until"; !strings.HasPrefix(h.Explain, want) {
			t.Errorf("explain: %s", h.Explain)
		}
		r.wantServing("web", "a") // who serves does not depend on it
		r.at(12 * time.Second)
		lease, _, ok := gate.Enter(time.Now())
		if !ok || lease == 0 {
			t.Fatal("no trial after the cool-down")
		}
		gate.Leave(lease, route.Outcome{Status: 200}, time.Now())
		r.at(13 * time.Second)
		if h := r.engine.View().Entrypoints["web"]; h.State != route.EntrypointOK || h.Breaker.State != route.PhaseClosed {
			t.Errorf("closed again: %s %+v", h.State, h.Breaker)
		}
		opened := slices.DeleteFunc(r.logs.lines(), func(s string) bool { return !strings.Contains(s, "route circuit") })
		if len(opened) != 2 || !strings.Contains(opened[0], `"level":"warn"`) || !strings.Contains(opened[0], "2 of the last 2 requests failed") ||
			!strings.Contains(opened[1], "route circuit closed") {
			t.Errorf("log: %s", strings.Join(opened, "\n"))
		}
	})
}

// TestBreakerOutlivesReloads: other settings leave an open circuit open; switched off it
// is gone.
func TestBreakerOutlivesReloads(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		with := func(o route.Breaker) route.PlacementSet {
			e := &route.Entrypoint{ID: "web", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
			e.Options.Breaker = o
			return r.setOf(e, backend("a", "10.0.0.1"))
		}
		r.apply(with(route.Breaker{Threshold: 0.5, MinRequests: 1, Cooldown: time.Minute}))
		gate := r.cells["web"].Load().Gate
		gate.Leave(0, route.Outcome{Status: 502}, time.Now())
		r.apply(with(route.Breaker{Threshold: 0.9, MinRequests: 5, Cooldown: time.Second}))
		if r.cells["web"].Load().Gate != gate {
			t.Error("a new gate for new settings")
		}
		if _, wait, ok := gate.Enter(time.Now()); ok || wait != time.Minute {
			t.Errorf("the open circuit lost its cool-down: %v %v", wait, ok)
		}
		r.apply(with(route.Breaker{}))
		if r.cells["web"].Load().Gate != nil {
			t.Error("the gate of a breaker that is off")
		}
	})
}

// TestBreakerOpensAtItsThreshold: 0.07 of 100 are 7, whatever their product is in binary.
func TestBreakerOpensAtItsThreshold(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for _, n := range []int{10, 20, 100} {
		for percent := 1; percent <= 100; percent++ {
			options := route.DefaultOptions()
			options.Breaker = route.Breaker{Threshold: float64(percent) / 100, MinRequests: n, Cooldown: time.Second}
			b := &breaker{circuit: circuit{phase: route.PhaseClosed}}
			b.set(&options)
			need := (percent*n + 99) / 100
			for range n - need {
				b.feed(now, route.Outcome{Status: 200})
			}
			for failed := 1; failed <= need; failed++ {
				if b.phase() != route.PhaseClosed {
					t.Fatalf("threshold %d %% of %d: open before failure %d", percent, n, failed)
				}
				b.feed(now, route.Outcome{Status: 503})
			}
			if b.phase() != route.PhaseOpen {
				t.Errorf("threshold %d %% of %d: closed after %d failures", percent, n, need)
			}
			// One failure fewer, over and over, is below it.
			low := &breaker{circuit: circuit{phase: route.PhaseClosed}}
			low.set(&options)
			for i := range 3 * n {
				o := route.Outcome{Status: 200}
				if i%n < need-1 {
					o.Status = 503
				}
				low.feed(now, o)
			}
			if low.phase() != route.PhaseClosed {
				t.Errorf("threshold %d %% of %d: open after %d failures", percent, n, need-1)
			}
		}
	}
}

// BenchmarkBreaker is what a request pays for a closed circuit.
func BenchmarkBreaker(b *testing.B) {
	options := route.DefaultOptions()
	options.Breaker = route.Breaker{Threshold: 0.5, MinRequests: 20, Cooldown: time.Second}
	g := &breaker{circuit: circuit{phase: route.PhaseClosed}}
	g.set(&options)
	now, o := time.Now(), route.Outcome{Status: 200}
	b.ReportAllocs()
	for b.Loop() {
		lease, _, _ := g.Enter(now)
		g.Leave(lease, o, now)
	}
}
