package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// fakeHealth records what it is told and publishes a rotation of everybody.
type fakeHealth struct {
	controller *Controller
	applied    []uint64
	sets       []route.PlacementSet
	before     []uint64 // the table's generation at the time of each Apply
	view       atomic.Pointer[route.HealthView]
	stuck      bool // its view never follows
}

func (h *fakeHealth) Apply(generation uint64, sets []route.PlacementSet) {
	h.applied = append(h.applied, generation)
	h.before = append(h.before, h.controller.Table().Generation())
	h.sets = sets
	v := &route.HealthView{Rev: generation, Sets: generation, Entrypoints: map[string]route.EntrypointHealth{}}
	for _, s := range sets {
		var members []route.Member
		for _, p := range s.Placements {
			members = append(members, route.Member{Placement: p, Weight: 1, Reason: route.InVerified})
		}
		s.Cell.Store(route.NewRotation(generation, route.TierVerified, members))
		v.Entrypoints[s.Entrypoint.ID] = route.EntrypointHealth{State: route.EntrypointOK, Rev: generation}
	}
	if !h.stuck {
		h.view.Store(v)
	}
}

func (h *fakeHealth) View() *route.HealthView { return h.view.Load() }

// fakeUpstream is one that was opened.
type fakeUpstream struct {
	address string
	retired *route.Drain
	// reinstated counts.
	reinstated int
}

func (*fakeUpstream) CloseIdle()             {}
func (u *fakeUpstream) Retire(d route.Drain) { u.retired = &d }
func (u *fakeUpstream) CloseTunnels(string)  {}
func (u *fakeUpstream) Reinstate()           { u.retired = nil; u.reinstated++ }

type fakeUpstreams struct {
	opened []*fakeUpstream
	refuse error
}

func (f *fakeUpstreams) Open(b route.Backend) (route.Upstream, error) {
	if f.refuse != nil && b.TLS.CA != "" {
		return nil, f.refuse
	}
	u := &fakeUpstream{address: b.Address()}
	f.opened = append(f.opened, u)
	return u, nil
}

// rig is a running Controller with its fakes.
type rig struct {
	*Controller
	health    *fakeHealth
	upstreams *fakeUpstreams
	in        chan route.Snapshot
	log       *bytes.Buffer
	prepared  *[]string
	doubts    *[]string
}

// run gives a rig to a test inside a bubble.
func run(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{health: &fakeHealth{}, upstreams: &fakeUpstreams{}, in: make(chan route.Snapshot), log: &bytes.Buffer{}, prepared: &[]string{}, doubts: &[]string{}}
		r.Controller = NewController(ControllerConfig{
			Health: r.health, Upstreams: r.upstreams, Log: zerolog.New(r.log),
			Prepare: func(e *route.Entrypoint) any {
				*r.prepared = append(*r.prepared, e.ID)
				return len(*r.prepared)
			},
			Doubt: func(on bool) {
				*r.doubts = append(*r.doubts, fmt.Sprintf("%v at %d", on, r.Table().Generation()))
			},
			Providers: []route.ProviderStatus{{Name: "docker", Enabled: true, Phase: route.PhasePending}, {Name: "file"}},
		})
		r.health.controller = r.Controller
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx, r.in) }()
		test(t, r)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// send delivers a snapshot and waits until it is in force.
func (r *rig) send(provider string, list ...*route.Entrypoint) {
	r.snapshot(route.Snapshot{Provider: provider, Entrypoints: list, Status: connected(provider)})
}

func (r *rig) snapshot(s route.Snapshot) {
	r.in <- s
	synctest.Wait()
}

func connected(provider string) route.ProviderStatus {
	return route.ProviderStatus{Name: provider, Enabled: true, Configured: true, Connected: true, Phase: route.PhaseReady}
}

// lines returns the messages logged since the last call.
func (r *rig) lines(t *testing.T) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(r.log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, fmt.Sprintf("%v %v %v", fields["level"], fields["message"], fields["route"]))
	}
	r.log.Reset()
	return out
}

func placementsOf(h *fakeHealth, id string) []*route.Placement {
	for _, s := range h.sets {
		if s.Entrypoint.ID == id {
			return s.Placements
		}
	}
	return nil
}

func TestControllerAppliesHealthBeforeTheTable(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		if r.Table() == nil || r.Table().Len() != 0 {
			t.Fatal("no empty table at the start")
		}
		r.send("docker", entrypoint(t, "http_a", "a.example"))
		r.send("docker", entrypoint(t, "http_a", "a.example"), entrypoint(t, "http_b", "b.example"))
		if !slices.Equal(r.health.applied, []uint64{1, 2}) || !slices.Equal(r.health.before, []uint64{0, 1}) {
			t.Errorf("applied %v while the table was %v", r.health.applied, r.health.before)
		}
		got := r.Table().Match(get("b.example", "/"))
		if idOf(got) != "http_b" || len(got.Cell.Load().Members) != 1 || got.Prepared != 2 {
			t.Errorf("%+v", got)
		}
		if !slices.Equal(r.lines(t), []string{"info route added http_a", "info route added http_b"}) {
			t.Errorf("log: %s", r.log)
		}
	})
}

func TestEqualSnapshotIsNoSwap(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.send("docker", entrypoint(t, "http_a", "a.example", header("x", "1")))
		table, view := r.Table(), r.View()
		r.lines(t)
		r.send("docker", entrypoint(t, "http_a", "a.example", header("x", "1")))
		if r.Table() != table || r.View() != view || len(r.health.applied) != 1 || len(r.lines(t)) != 0 {
			t.Error("an equal snapshot changed something")
		}
		s := route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{entrypoint(t, "http_a", "a.example", header("x", "1"))}, Status: connected("docker")}
		s.Status.LastSync = epoch
		s.Rejected = []route.Rejected{{CandidateID: "c9", Reason: "no enable label"}}
		r.snapshot(s)
		next := r.View()
		if r.Table() != table || len(r.health.applied) != 1 || len(r.lines(t)) != 0 {
			t.Error("a status changed the table")
		}
		if next.Generation != view.Generation+1 || len(next.Rejected) != 1 || !next.Providers[0].LastSync.Equal(epoch) {
			t.Errorf("the view did not follow: %+v", next)
		}
	})
}

// Traefik 13218, Caddy 7222: a change elsewhere must keep everything alive.
func TestUnrelatedChangeKeepsCellsLoadsAndUpstreams(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(backend(1), backend(2))), entrypoint(t, "http_b", "b.example", backends(backend(3))))
		cell, placed := r.Table().Route("http_a").Cell, slices.Clone(placementsOf(r.health, "http_a"))
		rules, opened := r.Table().Route("http_a").rules, len(r.upstreams.opened)
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(backend(1), backend(2))), entrypoint(t, "http_c", "c.example", backends(backend(4))))
		if r.Table().Route("http_a").Cell != cell || !slices.Equal(placementsOf(r.health, "http_a"), placed) {
			t.Error("cell or placements of an untouched entrypoint changed")
		}
		if r.Table().Route("http_a").rules != rules {
			t.Error("rules were compiled again")
		}
		if len(r.upstreams.opened) != opened+1 {
			t.Errorf("%d upstreams were opened", len(r.upstreams.opened)-opened)
		}
		for _, u := range r.upstreams.opened {
			if gone := u.address == "10.0.0.3:80"; gone != (u.retired != nil) {
				t.Errorf("%s retired: %v", u.address, u.retired)
			}
		}
		if !slices.Equal(*r.prepared, []string{"http_a", "http_b", "http_c"}) {
			t.Errorf("prepared %v", *r.prepared)
		}
	})
}

func TestChangedSettingsKeepTheLoad(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.send("docker", entrypoint(t, "http_a", "a.example"))
		first, cell := placementsOf(r.health, "http_a")[0], r.Table().Route("http_a").Cell

		heavier := backend(1)
		heavier.Weight = 7
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(heavier)))
		second := placementsOf(r.health, "http_a")[0]
		if second == first || second.Load != first.Load || second.Upstream != first.Upstream || second.Backend.Weight != 7 {
			t.Errorf("weight: %+v after %+v", second, first)
		}
		if r.Table().Route("http_a").Cell != cell || len(*r.prepared) != 1 {
			t.Error("the cell or the filters were made anew")
		}

		heavier.Scheme = route.SchemeHTTPS
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(heavier), func(e *route.Entrypoint) {
			e.Options.DrainTimeout = 5 * time.Second
		}))
		third := placementsOf(r.health, "http_a")[0]
		if third.Load != first.Load || third.Upstream == first.Upstream || len(r.upstreams.opened) != 2 {
			t.Errorf("scheme: %+v", third)
		}
		if got := r.upstreams.opened[0].retired; got == nil || got.Timeout != int64(30*time.Second) {
			t.Errorf("the old upstream drains %v, want the drain of its last user", got)
		}
		if len(*r.prepared) != 2 {
			t.Errorf("options changed, prepared %v", *r.prepared)
		}

		restarted := heavier
		restarted.Incarnation = "docker/c1/2"
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(restarted)))
		fourth := placementsOf(r.health, "http_a")[0]
		if fourth.Load == first.Load || fourth.Upstream == third.Upstream || r.Table().Route("http_a").Cell != cell {
			t.Errorf("a restarted container inherits: %+v", fourth)
		}
		if !slices.Equal(cell.Placements(), placementsOf(r.health, "http_a")) {
			t.Errorf("the cell has the placements %v", cell.Placements())
		}
	})
}

func TestUpstreamIsSharedAndRetiredWithItsLastUser(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		short := func(e *route.Entrypoint) { e.Options.DrainTimeout = time.Second }
		a, b := entrypoint(t, "http_a", "a.example"), entrypoint(t, "http_b", "b.example", short)
		r.send("docker", a, b)
		if len(r.upstreams.opened) != 1 || placementsOf(r.health, "http_a")[0].Upstream != placementsOf(r.health, "http_b")[0].Upstream {
			t.Fatalf("%d upstreams for one incarnation", len(r.upstreams.opened))
		}
		if placementsOf(r.health, "http_a")[0].Load == placementsOf(r.health, "http_b")[0].Load {
			t.Error("two placements share a load")
		}
		r.send("docker", b)
		if r.upstreams.opened[0].retired != nil {
			t.Fatal("retired though it is used")
		}
		r.send("docker")
		if got := r.upstreams.opened[0].retired; got == nil || got.Timeout != int64(time.Second) {
			t.Errorf("drain %v", got)
		}
		if !slices.Contains(r.lines(t), "info route removed http_b") {
			t.Error("the removal is not in the log")
		}
		r.send("docker", b)
		if len(r.upstreams.opened) != 2 {
			t.Error("a retired upstream was used again")
		}
	})
}

func TestUpstreamThatCannotBeOpened(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		bad := backend(2)
		bad.TLS.CA = "internal"
		r.upstreams.refuse = errors.New(`backendTLS.ca "internal" is not known`)
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(backend(1), bad)))
		if got := placementsOf(r.health, "http_a"); len(got) != 1 || got[0].Backend.ID != "b1" {
			t.Errorf("placements %v", got)
		}
		d := r.View().Entrypoints[0].Diagnostics
		if len(d) != 1 || d[0].Code != "W109" || !strings.Contains(d[0].Message, "app-2") || !strings.Contains(d[0].Message, "internal") {
			t.Errorf("%+v", d)
		}
		if !slices.Contains(r.lines(t), "warn backend not used http_a") {
			t.Error("not in the log")
		}
		r.upstreams.refuse = nil
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(backend(1), bad)), entrypoint(t, "http_b", "b.example"))
		if got := placementsOf(r.health, "http_a"); len(got) != 2 || len(r.View().Entrypoints[0].Diagnostics) != 0 {
			t.Errorf("not tried again: %v", got)
		}
	})
}

func TestStreamEntrypointsHaveHealthButNoRoute(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.send("docker", entrypoint(t, "tcp_db", "*", func(e *route.Entrypoint) { e.Protocol = route.TCP }))
		if r.Table().Len() != 0 || len(r.upstreams.opened) != 0 || len(*r.prepared) != 0 {
			t.Error("a tcp entrypoint reached the HTTP side")
		}
		p := placementsOf(r.health, "tcp_db")
		if len(p) != 1 || p[0].Upstream == nil {
			t.Fatalf("%v", p)
		}
		p[0].Upstream.CloseIdle()
		p[0].Upstream.Retire(route.Drain{})
		if len(r.View().Entrypoints) != 1 {
			t.Error("not in the view")
		}
		r.send("docker", entrypoint(t, "http_a", "a.example"), entrypoint(t, "tcp_db", "*", func(e *route.Entrypoint) { e.Protocol = route.TCP }))
	})
}

func TestFirstSyncIsAppliedEvenWhenEmpty(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		r.snapshot(route.Snapshot{Provider: "docker", Status: route.ProviderStatus{Phase: route.PhaseFailed, LastError: "no socket"}})
		if len(r.health.applied) != 0 || r.View().Providers[0].LastError != "no socket" {
			t.Errorf("applied %v, providers %+v", r.health.applied, r.View().Providers)
		}
		r.send("docker")
		r.send("docker")
		r.send("file")
		if !slices.Equal(r.health.applied, []uint64{1}) {
			t.Errorf("applied %v", r.health.applied)
		}
	})
}

func TestSharedNamesAcrossProviders(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		from := func(provider string) option { return func(e *route.Entrypoint) { e.Source = provider } }
		r.send("file", entrypoint(t, "http_a", "file.example", from("file"), claimed(5)))
		if r.Table().Route("http_a").Entrypoint.Source != "file" {
			t.Fatal("no http_a")
		}
		r.send("docker", entrypoint(t, "http_a", "docker.example"), entrypoint(t, "http_a@file", "odd.example"))
		for host, want := range map[string]string{"docker.example": "http_a", "file.example": "http_a@file'", "odd.example": "http_a@file"} {
			if got := idOf(r.Table().Match(get(host, "/"))); got != want {
				t.Errorf("%s: %q, want %q", host, got, want)
			}
		}
		v := r.View()
		if v.Entrypoints[0].Diagnostics[0].Code != "I105" || v.Entrypoints[2].Diagnostics[0].Code != "I105" || len(v.Entrypoints[1].Diagnostics) != 0 {
			t.Errorf("%+v", v.Entrypoints)
		}
		r.send("docker")
		if got := idOf(r.Table().Match(get("file.example", "/"))); got != "http_a" {
			t.Errorf("the name is not given back: %q", got)
		}
	})
}
