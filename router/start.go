package router

import (
	"fmt"

	"fairlead/router/route"
)

// startHealth is an entrypoint's health before any probe, as the health engine would
// have it at the start of the router.
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
	if e.FailClosed != nil {
		h.Code = e.FailClosed.Code
		closeAll(&h)
	} else {
		chooseTier(&h)
	}
	for i := range h.Backends {
		count(&h, &h.Backends[i])
	}
	h.State, h.Reason = startState(e, &h)
	h.ServesWhenDown = e.Options.StatusFor(h.Reason)
	h.Explain = startExplain(&h)
	return h
}

// startBackend judges a backend by its provider's word alone. The rotation reason
// is the one that it has when nothing better serves.
func startBackend(b *route.Backend) route.BackendHealth {
	h := route.BackendHealth{Backend: *b, Source: "none", State: route.StatePending}
	no := false
	switch {
	case b.Provider == route.ProviderLeaving:
		h.State, h.RotationReason, h.Source, h.Kind = route.StateLeaving, route.OutLeaving, "provider", route.KindLeaving
		h.Explain = "Out of rotation: the container is stopping."
	case b.Provider == route.ProviderUnhealthy:
		h.State, h.RotationReason, h.Source, h.Kind = route.StateGated, route.OutDockerUnhealthy, "provider", route.KindDockerUnhealthy
		h.Healthy, h.Explain = &no, "Out of rotation: Docker's HEALTHCHECK says unhealthy."
	case b.Provider == route.ProviderStarting && b.Docker == route.DockerHealthRequire:
		h.State, h.RotationReason, h.Source, h.Kind = route.StateGated, route.OutDockerStarting, "provider", route.KindDockerStarting
		h.Healthy, h.Explain = &no, "Out of rotation: Docker's HEALTHCHECK has not passed yet and dockerHealth=require waits for it."
	case b.Check != nil && b.Check.Initial == route.InitialDown:
		h.RotationReason, h.Source = route.OutInitialDown, "active"
		h.Explain = "Out of rotation until the first successful probe (healthCheck.initial=down)."
	case b.Provider == route.ProviderStarting:
		h.RotationReason, h.Source, h.Kind = route.InPendingNoVerified, "provider", route.KindDockerStarting
		h.Explain = "Pending: Docker's HEALTHCHECK has not passed yet; it serves while nothing is verified."
	case b.Check == nil:
		h.State, h.RotationReason = route.StateUnchecked, route.InUnchecked
		h.Explain = "Not probed: it counts as healthy."
	case b.Check.Initial == route.InitialUp:
		h.RotationReason, h.Source = route.InInitialUp, "active"
		h.Explain = "Pending: it counts as healthy until the first verdict (healthCheck.initial=up)."
	default:
		h.RotationReason, h.Source = route.InPendingNoVerified, "active"
		h.Explain = "Pending: not probed yet; it serves while nothing is verified."
	}
	return h
}

// closeAll keeps every backend of an entrypoint that fails closed out.
func closeAll(h *route.EntrypointHealth) {
	for i := range h.Backends {
		if b := &h.Backends[i]; mayServe(b) {
			b.RotationReason = route.RotationReason(route.ReasonMisconfigured)
			b.Explain = "Out of rotation: a label that protects the route is wrong or not available (" + h.Code + ")."
		}
	}
}

// chooseTier decides who serves: at a start verified and pending backends are one
// tier, primaries before backups.
func chooseTier(h *route.EntrypointHealth) {
	primaries := false
	for i := range h.Backends {
		primaries = primaries || mayServe(&h.Backends[i]) && h.Backends[i].Backend.Weight > 0
	}
	for i := range h.Backends {
		b := &h.Backends[i]
		backup := b.Backend.Weight == 0
		switch {
		case !mayServe(b):
			continue
		case backup && primaries:
			b.RotationReason = route.OutBackupStandby
			b.Explain = "A backup: it serves when no other backend can."
			continue
		case backup && b.RotationReason != route.InPendingNoVerified:
			b.RotationReason = route.InBackupActive
		}
		b.InRotation = true
		b.EffectiveWeight = max(b.Backend.Weight, 1)
		h.BackupsServing = h.BackupsServing || backup
	}
}

// mayServe reports whether a backend's start reason is one of serving.
func mayServe(b *route.BackendHealth) bool {
	switch b.RotationReason {
	case route.InUnchecked, route.InInitialUp, route.InPendingNoVerified:
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
	if h.InRotation == 0 {
		reason := emptyReason(e, h)
		if reason == route.ReasonInitializing {
			return route.EntrypointPending, reason
		}
		return route.EntrypointDown, reason
	}
	switch {
	case h.Healthy == 0:
		return route.EntrypointPending, route.ReasonNone
	case h.Unhealthy > 0:
		return route.EntrypointPartial, route.ReasonNone
	case h.Disabled == h.Total:
		return route.EntrypointUnchecked, route.ReasonNone
	}
	return route.EntrypointOK, route.ReasonNone
}

// emptyReason says why a rotation without members has none.
func emptyReason(e *route.Entrypoint, h *route.EntrypointHealth) route.Reason {
	leaving, starting := 0, 0
	for i := range h.Backends {
		leaving += int(bit(h.Backends[i].State == route.StateLeaving))
		starting += int(bit(h.Backends[i].RotationReason == route.OutDockerStarting))
	}
	switch {
	case e.FailClosed != nil:
		return route.ReasonMisconfigured
	case h.Pending > 0 || starting > 0:
		return route.ReasonInitializing
	case h.Unhealthy > 0:
		return route.ReasonDockerUnhealthy
	case leaving > 0:
		return route.ReasonLeaving
	case isRetained(e):
		return route.ReasonRetained
	}
	return route.ReasonNoBackends
}

func isRetained(e *route.Entrypoint) bool {
	for i := range e.Absent {
		if e.Absent[i].Why == route.AbsentRetained {
			return true
		}
	}
	return !e.RetainedUntil.IsZero()
}

func startExplain(h *route.EntrypointHealth) string {
	switch {
	case h.Reason == route.ReasonMisconfigured:
		return "A label that protects the route is wrong or not available (" + h.Code + "): it is closed."
	case h.Reason == route.ReasonRetained:
		return "The containers are stopped; the route is kept for a while so that they can come back."
	case h.Reason == route.ReasonDockerUnhealthy:
		return "Docker's HEALTHCHECK says unhealthy for every backend."
	case h.Reason == route.ReasonLeaving:
		return "Every backend is stopping."
	case h.Reason == route.ReasonInitializing:
		return "No backend has passed its first check yet."
	case h.Reason != route.ReasonNone:
		return "There is no backend."
	}
	return fmt.Sprintf("%d of %d backends serve; none was probed yet.", h.InRotation, h.Total)
}

// startRotation is the rotation that belongs to a start health.
func startRotation(l *live, h *route.EntrypointHealth) *route.Rotation {
	var members []route.Member
	for i := range h.Backends {
		if b := &h.Backends[i]; b.InRotation {
			members = append(members, route.Member{Placement: l.placements[i], Weight: b.EffectiveWeight, Reason: b.RotationReason})
		}
	}
	tier := route.TierNone
	switch {
	case len(members) == 0:
	case h.Healthy > 0 && h.BackupsServing:
		tier = route.TierVerifiedBackup
	case h.Healthy > 0:
		tier = route.TierVerified
	case h.BackupsServing:
		tier = route.TierPendingBackup
	default:
		tier = route.TierPending
	}
	rot := route.NewRotation(1, tier, members)
	if len(members) == 0 {
		rot.Reason = h.Reason
	}
	return rot
}
