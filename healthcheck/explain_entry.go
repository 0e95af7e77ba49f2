package healthcheck

import (
	"fmt"
	"strings"

	"fairlead/router/route"
)

// explain is one sentence or two about an entrypoint.
func (en *entry) explain(h *route.EntrypointHealth) string {
	switch h.State {
	case route.EntrypointOK:
		if h.InRotation == h.Total {
			return fmt.Sprintf("Healthy: %s in rotation, verified.", backends(h.InRotation)) + en.missing()
		}
		return fmt.Sprintf("Healthy: %d of %s in rotation%s.", h.InRotation, backends(h.Total), en.others()) + en.missing()
	case route.EntrypointPartial:
		return fmt.Sprintf("Degraded: %d of %s in rotation%s.", h.InRotation, backends(h.Total), en.others()) + en.missing()
	case route.EntrypointUnchecked:
		return fmt.Sprintf("Not probed: %d of %s in rotation.", h.InRotation, backends(h.Total)) + en.missing()
	case route.EntrypointPending:
		return fmt.Sprintf("Starting: %d of %s serving before the first verdict%s.", h.InRotation, backends(h.Total), en.others()) + en.missing()
	case route.EntrypointPanic:
		return "Panic: " + en.panicReason() + "." + en.missing()
	default:
		return en.downExplain(h)
	}
}

func backends(n int) string {
	if n == 1 {
		return "1 backend"
	}
	return fmt.Sprintf("%d backends", n)
}

// others names what is not in rotation and why, a few of them.
func (en *entry) others() string {
	const most = 3
	var names []string
	more := 0
	for _, p := range en.placements {
		switch {
		case p.in:
		case len(names) == most:
			more++
		default:
			names = append(names, p.name()+" ("+strings.ReplaceAll(string(p.reason), "_", " ")+p.why()+")")
		}
	}
	if len(names) == 0 {
		return ""
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "; out: " + strings.Join(names, ", ")
}

func (p *placement) name() string {
	b := p.backend()
	if b.Name != "" {
		return b.Name
	}
	return b.ID
}

// why is what took a placement out by order, by probes or by traffic, with a colon
// before it.
func (p *placement) why() string {
	if text := p.adminWhy(); text != "" {
		return text
	}
	switch p.shown {
	case route.StateDown, route.StateEjected, route.StateTrial:
	default:
		return ""
	}
	if _, message := p.cause(p.shown); message != "" {
		return ": " + message
	}
	return ""
}

// panicReason says why unverified backends serve, and whether the fault may lie in
// the check rather than in the backends.
func (en *entry) panicReason() string {
	t := &en.counts
	var which string
	switch {
	case t.total == 1:
		which = "the only one serves anyway"
	case t.inRotation == t.total && t.total == 2:
		which = "both serve anyway"
	case t.inRotation == t.total:
		which = fmt.Sprintf("all %d serve anyway", t.total)
	default:
		which = fmt.Sprintf("serving anyway: %d of %d", t.inRotation, t.total)
	}
	text := fmt.Sprintf("no backend is verified; %s (panic=%s)", which, en.entrypoint.Options.Panic)
	if kind, ok := en.sameFailure(); ok {
		text += fmt.Sprintf("; %s fail alike (%s), so suspect the configuration first", all(t.total), title(kind))
	}
	return text
}

// all names every one of two or more.
func all(n int) string {
	if n == 2 {
		return "both"
	}
	return fmt.Sprintf("all %d", n)
}

// sameFailure reports whether two or more backends all fail with one kind.
func (en *entry) sameFailure() (route.Kind, bool) {
	if len(en.placements) < 2 {
		return "", false
	}
	kind := en.placements[0].active.kind
	for _, p := range en.placements {
		if p.check == nil || p.active.status != route.StateDown || p.active.streak == 0 || p.active.kind != kind {
			return "", false
		}
	}
	return kind, true
}

// holding says that requests wait for the successors of what left.
func (en *entry) holding() string {
	if limit := en.entrypoint.Options.HoldFor; limit > 0 {
		return fmt.Sprintf("; requests wait for up to %s for a new one (holdFor)", limit)
	}
	return ""
}

// downTexts say why nothing serves.
func (en *entry) downExplain(h *route.EntrypointHealth) string {
	switch h.Reason {
	case route.ReasonCircuitOpen:
		return breakerText(en.breaker.view())
	case route.ReasonMisconfigured:
		f := en.entrypoint.FailClosed
		return fmt.Sprintf("Closed: the label %s protects the route and is wrong or not available (%s), so every request gets 503.", f.Label, f.Code)
	case route.ReasonAllDraining, route.ReasonAllMaintenance:
		return en.takenOut()
	case route.ReasonRetained:
		return "Down: every container has stopped; the route is kept until " + clock(en.entrypoint.RetainedUntil) + " in case one returns."
	case route.ReasonNoBackends:
		return "Down: no container can be sent to" + en.absent() + "."
	case route.ReasonLeaving:
		return "Down: every container is stopping" + en.holding() + "."
	case route.ReasonDockerUnhealthy:
		return "Down: Docker's HEALTHCHECK says unhealthy" + en.others() + "."
	case route.ReasonInitializing:
		return "Not serving yet: waiting for the first backend that may be used" + en.absent() + en.others() + "."
	default:
		text := "Down: no backend is verified" + en.others() + "."
		if kind, ok := en.sameFailure(); ok {
			text += fmt.Sprintf(" Suspect the configuration first: %s fail alike (%s).", all(len(en.placements)), title(kind))
		}
		return text
	}
}
