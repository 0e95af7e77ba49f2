package router

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

func TestViewIsOneStory(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		first := r.View()
		if first.Generation == 0 || len(first.Providers) != 2 || first.Providers[0].Phase != route.PhasePending || first.Health == nil {
			t.Errorf("%+v", first)
		}
		if r.View() != first {
			t.Error("not kept while nothing changes")
		}
		stale := connected("docker")
		stale.Connected, stale.Phase = false, route.PhaseStale
		r.snapshot(route.Snapshot{
			Provider: "docker", Status: stale,
			Entrypoints: []*route.Entrypoint{
				entrypoint(t, "http_b", "a.example", claimed(1), func(e *route.Entrypoint) {
					e.Diagnostics = []route.Diagnostic{route.Diagnose("I001", "", "path defaulted")}
				}),
				entrypoint(t, "http_a", "a.example"),
			},
			Candidates: []route.CandidateDiagnostics{{CandidateID: "c2"}, {CandidateID: "c1"}},
			Rejected:   []route.Rejected{{CandidateID: "c4"}, {CandidateID: "c3"}},
			Global:     []route.Diagnostic{route.Diagnose("I108", "", "own container not found")},
		})
		v := r.View()
		if v.Generation <= first.Generation || v.Health.Sets != v.Table.Generation() || v.Table != r.Table() {
			t.Errorf("generation %d, sets %d, table %d", v.Generation, v.Health.Sets, v.Table.Generation())
		}
		if v.Candidates[0].CandidateID != "c1" || v.Rejected[0].CandidateID != "c3" || len(v.Global) != 1 {
			t.Errorf("%+v", v)
		}
		b := v.Entrypoints[1]
		if b.Entrypoint.ID != "http_b" || b.ShadowedBy != "http_a" || !b.Stale || len(b.Diagnostics) != 2 || b.Health.State != route.EntrypointOK {
			t.Errorf("%+v", b)
		}
		if !slices.Contains(r.lines(t), "warn route shadowed http_b") {
			t.Error("the shadow is not in the log")
		}

		changed := *r.health.view.Load()
		changed.Rev++
		changed.Global = []route.Diagnostic{route.Diagnose("W021", "", "probes cannot be sent")}
		r.health.view.Store(&changed)
		after := r.View()
		if after.Generation != v.Generation+1 || len(after.Global) != 2 || len(v.Global) != 1 {
			t.Errorf("health changed: %+v", after)
		}
		same := changed
		r.health.view.Store(&same)
		if again := r.View(); again == after || again.Generation != after.Generation {
			t.Error("a new health view of the same revision is a new generation")
		}
	})
}

func TestViewDoesNotWaitForABusyEngine(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.health.stuck = true
		r.send("docker", entrypoint(t, "http_a", "a.example"))
		v := r.View()
		if len(v.Entrypoints) != 1 || v.Entrypoints[0].Health.State != route.EntrypointPending || v.Entrypoints[0].Health.Pending != 1 {
			t.Errorf("%+v", v.Entrypoints)
		}
	})
}

func TestManyChangesAreOneLine(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.send("docker", manyHosts(t, 30)...)
		lines := r.lines(t)
		if len(lines) != 31 || lines[0] != "info routes changed <nil>" || lines[1] != "debug route added http_00000" {
			t.Errorf("%d lines: %q", len(lines), lines[:2])
		}
		r.send("docker", manyHosts(t, 28)...)
		if lines := r.lines(t); !slices.Equal(lines, []string{"info route removed http_00028", "info route removed http_00029"}) {
			t.Errorf("%q", lines)
		}
	})
}

// Readers never wait for the writer and never see a route without its rotation.
func TestReadersSeeWholeTablesDuringSwaps(t *testing.T) {
	health := &fakeHealth{}
	c := NewController(ControllerConfig{Health: health, Upstreams: &fakeUpstreams{}, Log: zerolog.Nop()})
	health.controller = c
	in := make(chan route.Snapshot)
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var last uint64
			for !done.Load() {
				for _, host := range []string{"a.example", "b.example"} {
					if r := c.Table().Match(get(host, "/")); r != nil {
						if _, ok := Pick(r.Cell.Load(), r.Cell, route.LeastConnections, nil); !ok {
							t.Errorf("%s has no rotation", r.Entrypoint.ID)
						}
					}
				}
				v := c.View()
				if v.Generation < last {
					t.Errorf("generation %d after %d", v.Generation, last)
				}
				last = v.Generation
				_ = Resolve(v, Query{URL: "b.example"})
			}
		})
	}
	wg.Go(func() {
		if err := c.Run(t.Context(), in); err != nil {
			t.Error(err)
		}
	})
	a, b := entrypoint(t, "http_a", "a.example"), entrypoint(t, "http_b", "b.example", backends(backend(2)))
	for i := range 200 {
		s := route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{a}, Status: connected("docker")}
		if i%2 == 0 {
			s.Entrypoints = append(s.Entrypoints, b)
		}
		in <- s
	}
	close(in)
	done.Store(true)
	wg.Wait()
	if got := c.Table().Generation(); got != 200 {
		t.Errorf("generation %d", got)
	}
}

func TestRunEndsWithItsChannel(t *testing.T) {
	c := NewController(ControllerConfig{Health: &fakeHealth{}, Upstreams: &fakeUpstreams{}})
	in := make(chan route.Snapshot)
	close(in)
	if err := c.Run(t.Context(), in); err != nil {
		t.Error(err)
	}
}
