package router

import (
	"fairlead/router/route"
)

// Offline returns the view of some snapshots without a Controller and without
// health: every backend is as it would be at the moment of a start, pending or
// unchecked, and the rotations are those of that moment.
func Offline(snapshots ...route.Snapshot) *View {
	byProvider := map[string]route.Snapshot{}
	for _, s := range snapshots {
		byProvider[s.Provider] = s
	}
	p := &picture{}
	p.describe(nil, byProvider)
	health := &route.HealthView{Sets: 1, Entrypoints: map[string]route.EntrypointHealth{}}
	var entries []Entry
	for _, m := range mergeEntrypoints(byProvider) {
		l := &live{
			entry:       Entry{Entrypoint: m.entrypoint, Cell: &route.RotationCell{}},
			placements:  make([]*route.Placement, len(m.entrypoint.Backends)),
			diagnostics: m.diagnostics,
		}
		for i, b := range m.entrypoint.Backends {
			l.placements[i] = &route.Placement{Entrypoint: m.entrypoint.ID, Backend: b, Load: &route.Load{}, Upstream: noUpstream{}}
		}
		h := startHealth(l)
		l.entry.Cell.Store(startRotation(l, &h))
		health.Entrypoints[m.entrypoint.ID] = h
		p.entrypoints = append(p.entrypoints, l)
		entries = append(entries, l.entry)
	}
	p.table = Build(1, entries)
	return p.view(1, health, nil)
}
