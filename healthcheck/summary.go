package healthcheck

import (
	"slices"

	"fairlead/router/route"
)

// tally counts an entrypoint's placements.
type tally struct {
	total, healthy, unhealthy, pending, disabled, inRotation int
}

// add counts one placement by its shown state.
func (t *tally) add(state route.State, inRotation bool) {
	t.total++
	if inRotation {
		t.inRotation++
	}
	switch state {
	case route.StateUp:
		if inRotation {
			t.healthy++
		}
	case route.StateUnchecked:
		t.disabled++
		if inRotation {
			t.healthy++
		}
	case route.StatePending:
		t.pending++
	case route.StateTrial:
		t.unhealthy++
		if inRotation {
			t.healthy++ // its probes pass
		}
	case route.StateDown, route.StateGated, route.StateEjected:
		t.unhealthy++
	default:
	}
}

// state is the state of a placement as the layers together give it (json.md, "state
// precedence"): the operator's word goes first, then the provider's, whose "starting" is
// pending whatever a probe says, or gated out where it is required to end first.
func (p *placement) state() route.State {
	b, phase := p.backend(), p.passive.phase()
	starting := b.Provider == route.ProviderStarting
	switch {
	case p.admin.State == route.AdminMaintenance:
		return route.StateMaintenance
	case b.Provider == route.ProviderLeaving:
		return route.StateLeaving
	case p.admin.State == route.AdminDrain:
		return route.StateDraining
	case b.Provider == route.ProviderUnhealthy, starting && b.Docker == route.DockerHealthRequire:
		return route.StateGated
	case p.active.status == route.StateDown && !starting:
		return route.StateDown
	case phase == route.PhaseOpen:
		return route.StateEjected
	case phase == route.PhaseHalfOpen:
		return route.StateTrial
	case starting:
		return route.StatePending
	}
	return p.active.status
}

// healthy is the tri-state of BackendHealth: nil is "not known".
func healthy(state route.State) *bool {
	switch state {
	case route.StateUp:
		return new(true)
	case route.StateDown, route.StateGated, route.StateEjected, route.StateTrial:
		return new(false)
	default:
		return nil
	}
}

// summary is the state of an entrypoint and why nothing serves, if so.
type summary struct {
	state  route.EntrypointState
	reason route.Reason
	code   string
}

// summarize is the entrypoint's state: an open circuit breaker keeps everything from its
// backends, however well they are.
func (en *entry) summarize(d *decision) summary {
	s := summarize(en.entrypoint, d, &en.counts)
	switch s.reason {
	case route.ReasonNone:
		if en.counts.inRotation > 0 && en.broken() {
			return summary{state: route.EntrypointDown, reason: route.ReasonCircuitOpen}
		}
	case route.ReasonAllDraining, route.ReasonAllMaintenance:
		if !en.ordered {
			s.reason = en.emptied(s.reason)
		}
	default:
	}
	return s
}

// emptied is why nobody serves beside backends that orders keep out, where no order took
// out the last one: it left, and its successor is worth waiting for (labels.md, holdFor).
func (en *entry) emptied(otherwise route.Reason) route.Reason {
	switch {
	case slices.ContainsFunc(en.placements, (*placement).leaving):
		return route.ReasonLeaving
	case slices.ContainsFunc(en.entrypoint.Absent, func(a route.Absence) bool { return a.Why == route.AbsentRetained }):
		return route.ReasonRetained
	}
	return otherwise
}

// summarize computes an entrypoint's state from its rotation and its counts.
func summarize(e *route.Entrypoint, d *decision, t *tally) summary {
	switch {
	case e.FailClosed != nil:
		return summary{route.EntrypointDown, route.ReasonMisconfigured, e.FailClosed.Code}
	case t.inRotation == 0:
		return summary{state: route.EntrypointDown, reason: downReason(e, d, t)}
	case d.panic:
		return summary{state: route.EntrypointPanic}
	case t.healthy == 0:
		return summary{state: route.EntrypointPending}
	case t.disabled == t.total:
		return summary{state: route.EntrypointUnchecked}
	case t.unhealthy > 0:
		return summary{state: route.EntrypointPartial}
	}
	return summary{state: route.EntrypointOK}
}

// downReason refines the rotation's reason with what the entrypoint knows about
// containers that are no backends now.
func downReason(e *route.Entrypoint, d *decision, t *tally) route.Reason {
	if t.total > 0 {
		return d.reason
	}
	if !e.RetainedUntil.IsZero() {
		return route.ReasonRetained
	}
	for i := range e.Absent {
		if w := e.Absent[i].Why; w == route.AbsentNoAddress || w == route.AbsentRestarting {
			return route.ReasonInitializing
		}
	}
	return route.ReasonNoBackends
}
