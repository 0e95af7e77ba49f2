package router

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fairlead/router/route"
)

// picture is what the Controller publishes for views: all but health.
type picture struct {
	table       *Table
	entrypoints []*live                // sorted by id
	stale       map[string]bool        // providers that are not connected
	providers   []route.ProviderStatus // sorted by name
	candidates  []route.CandidateDiagnostics
	rejected    []route.Rejected
	unrouted    []route.Unrouted
	global      []route.Diagnostic
}

// describe fills in what does not depend on the table.
func (p *picture) describe(known []route.ProviderStatus, snapshots map[string]route.Snapshot) {
	status := map[string]route.ProviderStatus{}
	for _, s := range known {
		status[s.Name] = s
	}
	p.stale = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(snapshots)) {
		s := snapshots[name]
		s.Status.Name = cmp.Or(s.Status.Name, name)
		s.Status.Rejected = len(s.Rejected)
		status[name] = s.Status
		p.stale[name] = s.Status.Phase == route.PhaseStale || s.Status.Enabled && !s.Status.Connected
		p.candidates = append(p.candidates, s.Candidates...)
		p.rejected = append(p.rejected, s.Rejected...)
		p.unrouted = append(p.unrouted, s.Unrouted...)
		p.global = append(p.global, s.Global...)
	}
	for _, name := range slices.Sorted(maps.Keys(status)) {
		p.providers = append(p.providers, status[name])
	}
	slices.SortStableFunc(p.candidates, func(a, b route.CandidateDiagnostics) int {
		return strings.Compare(a.CandidateID, b.CandidateID)
	})
	slices.SortStableFunc(p.rejected, func(a, b route.Rejected) int {
		return strings.Compare(a.CandidateID, b.CandidateID)
	})
}

// sameDescription reports whether two pictures differ in their tables at most.
func (p *picture) sameDescription(q *picture) bool {
	return reflect.DeepEqual(p.providers, q.providers) && reflect.DeepEqual(p.candidates, q.candidates) &&
		reflect.DeepEqual(p.rejected, q.rejected) && reflect.DeepEqual(p.unrouted, q.unrouted) && reflect.DeepEqual(p.global, q.global)
}

// view puts a picture and the health engine's together.
func (p *picture) view(generation uint64, health *route.HealthView, notices []route.Diagnostic) *View {
	v := &View{
		Generation:  generation,
		Table:       p.table,
		Entrypoints: make([]EntrypointView, len(p.entrypoints)),
		Providers:   p.providers,
		Candidates:  p.candidates,
		Rejected:    p.rejected,
		Unrouted:    p.unrouted,
		Global:      p.global,
		Health:      health,
	}
	if len(health.Global)+len(notices) > 0 {
		v.Global = slices.Concat(p.global, health.Global, notices)
	}
	for i, l := range p.entrypoints {
		e := l.entry.Entrypoint
		known, ok := health.Entrypoints[e.ID]
		if !ok {
			known = startHealth(l)
		}
		v.Entrypoints[i] = EntrypointView{
			Entrypoint:  e,
			Health:      known,
			Traffic:     &l.entry.Cell.Traffic,
			ShadowedBy:  p.table.ShadowedBy(e.ID),
			Stale:       p.stale[e.Source],
			Diagnostics: slices.Concat(e.Diagnostics, l.diagnostics, l.failures, p.table.Diagnostics(e.ID)),
		}
	}
	return v
}
