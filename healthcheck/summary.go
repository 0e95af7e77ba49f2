package healthcheck

import "fairlead/router/route"

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
	case route.StateDown, route.StateGated:
		t.unhealthy++
	default:
	}
}

// shownState is the state of a placement as the layers together give it: the
// provider's word goes first, and its "starting" is pending whatever a probe says, or
// gated out where it is required to end first.
func shownState(b *route.Backend, active route.State) route.State {
	switch b.Provider {
	case route.ProviderLeaving:
		return route.StateLeaving
	case route.ProviderUnhealthy:
		return route.StateGated
	case route.ProviderStarting:
		if b.Docker == route.DockerHealthRequire {
			return route.StateGated
		}
		return route.StatePending
	default:
		return active
	}
}

// healthy is the tri-state of BackendHealth: nil is "not known".
func healthy(state route.State) *bool {
	switch state {
	case route.StateUp:
		return new(true)
	case route.StateDown, route.StateGated:
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
