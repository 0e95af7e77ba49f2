package router

import (
	"fmt"

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
	return p.view(1, health)
}

// startHealth is an entrypoint's health before any probe.
func startHealth(l *live) route.EntrypointHealth {
	e := l.entry.Entrypoint
	h := route.EntrypointHealth{
		Total:    len(l.placements),
		Backends: make([]route.BackendHealth, len(l.placements)),
		Panic:    route.PanicView{Mode: e.Options.Panic},
	}
	for i, p := range l.placements {
		h.Backends[i] = startBackend(&p.Backend)
	}
	chooseTier(&h)
	for i := range h.Backends {
		count(&h, &h.Backends[i])
	}
	h.State, h.Reason = startState(e, &h)
	if e.FailClosed != nil {
		h.Code = e.FailClosed.Code
	}
	h.ServesWhenDown = h.Reason.Info().Status
	h.Explain = startExplain(&h)
	return h
}

// startBackend judges a backend by its provider's word alone.
func startBackend(b *route.Backend) route.BackendHealth {
	h := route.BackendHealth{Backend: *b, Source: "none", State: route.StatePending}
	switch {
	case b.Provider == route.ProviderLeaving:
		h.State, h.RotationReason, h.Source = route.StateLeaving, route.OutLeaving, "provider"
		h.Kind, h.Explain = route.KindLeaving, "Out of rotation: the container is stopping."
	case b.Provider == route.ProviderUnhealthy:
		h.State, h.RotationReason, h.Source = route.StateGated, route.OutDockerUnhealthy, "provider"
		h.Kind, h.Explain = route.KindDockerUnhealthy, "Out of rotation: Docker's HEALTHCHECK says unhealthy."
	case b.Provider == route.ProviderStarting:
		h.RotationReason, h.Source, h.Kind = route.OutDockerStarting, "provider", route.KindDockerStarting
		h.Explain = "Pending: Docker's HEALTHCHECK is still starting."
	case b.Check == nil:
		h.State, h.RotationReason = route.StateUnchecked, route.InUnchecked
		h.Explain = "Not probed: it counts as healthy."
	case b.Check.Initial == route.InitialUp:
		h.RotationReason = route.InInitialUp
		h.Explain = "Pending: it counts as healthy until the first verdict (healthCheck.initial=up)."
	case b.Check.Initial == route.InitialDown:
		h.RotationReason = route.OutInitialDown
		h.Explain = "Out of rotation until the first successful probe (healthCheck.initial=down)."
	default:
		h.RotationReason = route.InPendingNoVerified
		h.Explain = "Pending: not probed yet; it serves while nothing is verified."
	}
	return h
}

// chooseTier decides who serves: at a start verified and pending backends are one
// tier, primaries before backups.
func chooseTier(h *route.EntrypointHealth) {
	primaries := false
	for i := range h.Backends {
		primaries = primaries || eligible(&h.Backends[i]) && h.Backends[i].Backend.Weight > 0
	}
	for i := range h.Backends {
		b := &h.Backends[i]
		if !eligible(b) {
			continue
		}
		backup := b.Backend.Weight == 0
		if backup && primaries {
			b.RotationReason = route.OutBackupStandby
			continue
		}
		b.InRotation = true
		b.EffectiveWeight = max(b.Backend.Weight, 1)
		switch {
		case b.RotationReason == route.OutDockerStarting:
			b.RotationReason = route.InPendingNoVerified
		case backup && b.State == route.StateUnchecked:
			b.RotationReason = route.InBackupActive
		}
		h.BackupsServing = h.BackupsServing || backup
	}
}

func eligible(b *route.BackendHealth) bool {
	switch b.RotationReason {
	case route.InUnchecked, route.InInitialUp, route.InPendingNoVerified, route.OutDockerStarting:
		return true
	default:
		return false
	}
}

func count(h *route.EntrypointHealth, b *route.BackendHealth) {
	if b.InRotation {
		h.InRotation++
	}
	switch b.State {
	case route.StatePending:
		h.Pending++
	case route.StateUnchecked:
		h.Disabled++
		if b.InRotation {
			h.Healthy++
		}
	case route.StateGated:
		h.Unhealthy++
	default:
	}
}

func startState(e *route.Entrypoint, h *route.EntrypointHealth) (route.EntrypointState, route.Reason) {
	switch {
	case e.FailClosed != nil:
		return route.EntrypointDown, route.ReasonMisconfigured
	case h.InRotation == 0:
		return route.EntrypointDown, emptyReason(e, h)
	case h.Healthy == 0:
		return route.EntrypointPending, route.ReasonNone
	case h.Disabled == h.Total:
		return route.EntrypointUnchecked, route.ReasonNone
	case h.Unhealthy > 0:
		return route.EntrypointPartial, route.ReasonNone
	}
	return route.EntrypointOK, route.ReasonNone
}

// emptyReason says why a rotation without members has none.
func emptyReason(e *route.Entrypoint, h *route.EntrypointHealth) route.Reason {
	switch {
	case h.Pending > 0:
		return route.ReasonInitializing
	case h.Unhealthy > 0:
		return route.ReasonDockerUnhealthy
	case h.Total > 0:
		return route.ReasonLeaving
	case !e.RetainedUntil.IsZero():
		return route.ReasonRetained
	}
	return route.ReasonNoBackends
}

func startExplain(h *route.EntrypointHealth) string {
	if h.Reason != route.ReasonNone {
		return fmt.Sprintf("Answers %d %s.", h.ServesWhenDown, h.Reason)
	}
	return fmt.Sprintf("%d of %d backends would serve; none was probed yet.", h.InRotation, h.Total)
}

// startRotation is the rotation that belongs to a start health.
func startRotation(l *live, h *route.EntrypointHealth) *route.Rotation {
	var members []route.Member
	for i := range h.Backends {
		if b := &h.Backends[i]; b.InRotation {
			members = append(members, route.Member{Placement: l.placements[i], Weight: b.EffectiveWeight, Reason: b.RotationReason})
		}
	}
	tier := route.TierPending
	if h.Healthy > 0 {
		tier = route.TierVerified
	}
	if len(members) == 0 {
		tier = route.TierNone
	}
	rot := route.NewRotation(1, tier, members)
	if len(members) == 0 {
		rot.Reason = emptyReason(l.entry.Entrypoint, h)
	}
	return rot
}
