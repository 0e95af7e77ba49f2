package healthcheck

import (
	"fmt"
	"slices"
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
		return fmt.Sprintf("Degraded: %d of %s in rotation%s%s.", h.InRotation, backends(h.Total), en.trials(), en.others()) + en.missing()
	case route.EntrypointUnchecked:
		return fmt.Sprintf("Not probed: %d of %s in rotation%s.", h.InRotation, backends(h.Total), en.others()) + en.missing()
	case route.EntrypointPending:
		return en.startingExplain(h)
	case route.EntrypointPanic:
		return "Panic: " + en.panicReason() + "." + en.missing()
	default:
		lead, text := en.downExplain()
		return lead + text
	}
}

func backends(n int) string {
	if n == 1 {
		return "1 backend"
	}
	return fmt.Sprintf("%d backends", n)
}

// mostNamed is how many backends a sentence names.
const mostNamed = 3

// others names what is not in rotation and why, a few of them. Backups that stand by are
// where they belong.
func (en *entry) others() string {
	var out, standby []string
	for _, p := range en.placements {
		switch {
		case p.in:
		case p.reason == route.OutBackupStandby:
			standby = append(standby, p.name())
		default:
			out = append(out, p.name()+" ("+strings.ReplaceAll(string(p.reason), "_", " ")+p.why()+")")
		}
	}
	var text string
	if len(out) > 0 {
		text = "; out: " + few(out)
	}
	if len(standby) > 0 {
		text += "; standing by as a backup: " + few(standby)
	}
	return text
}

// trials names those in rotation that traffic ejected and that are tried now.
func (en *entry) trials() string {
	var list []string
	for _, p := range en.placements {
		if p.in && p.reason == route.InTrial {
			list = append(list, p.name()+" ("+strings.TrimPrefix(p.why(), ": ")+")")
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "; on trial, one request at a time: " + few(list)
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
	state := p.state() // not what was shown last: the step under way may not have told it yet
	switch state {
	case route.StateDown, route.StateEjected, route.StateTrial:
	default:
		return ""
	}
	if _, message := p.cause(state); message != "" {
		return ": " + message
	}
	return ""
}

// holding says that requests wait for the successors of what left.
func (en *entry) holding() string {
	if limit := en.entrypoint.Options.HoldFor; limit > 0 {
		return fmt.Sprintf("; requests wait for up to %s for a new one (holdFor)", limit)
	}
	return ""
}

// keptAside goes on about an entrypoint whose containers left beside some that an order
// keeps out.
func (en *entry) keptAside() string {
	return en.others() + en.holding() + ". The command fairlead ready " + en.id + " --all brings back what orders keep out."
}

// outcome is why nothing serves and what clients get, for transitions.
func (en *entry) outcome() string {
	get := en.get()
	_, text := en.downExplain()
	text = strings.Replace(text, ", so "+get, "", 1) // said already
	return fmt.Sprintf("%s (%s): %s", get, en.summary.reason, strings.TrimSuffix(text, "."))
}

// get is what clients get while nothing serves.
func (en *entry) get() string {
	switch en.entrypoint.Protocol {
	case route.TCP:
		return "connections are closed"
	case route.UDP:
		return "packets are dropped"
	default:
		return fmt.Sprintf("clients get %d", en.entrypoint.Options.StatusFor(en.summary.reason))
	}
}

// downExplain says why nothing serves, and what to do: the lead apart, "Down: " or a
// finer one.
func (en *entry) downExplain() (lead, text string) {
	lead = "Down: "
	switch en.summary.reason {
	case route.ReasonCircuitOpen:
		return lead, en.breaker.explain(en.entrypoint.Options.StatusFor(route.ReasonCircuitOpen))
	case route.ReasonMisconfigured:
		f := en.entrypoint.FailClosed
		return "Closed: ", fmt.Sprintf("the label %s protects the route and is wrong or not available (%s), so %s.", f.Label, f.Code, en.get())
	case route.ReasonAllDraining, route.ReasonAllMaintenance:
		return lead, en.takenOut()
	case route.ReasonRetained:
		if len(en.placements) > 0 {
			return lead, "every container that may serve has stopped" + en.keptAside()
		}
		return lead, "every container has stopped; the route is kept until " + clock(en.entrypoint.RetainedUntil) + " in case one returns."
	case route.ReasonNoBackends:
		if len(en.entrypoint.Absent) == 0 { // of a file: no container is meant
			return lead, "there is no backend, so " + en.get() + "."
		}
		return lead, "no container can be sent to" + en.absent() + "."
	case route.ReasonLeaving:
		if slices.ContainsFunc(en.placements, func(p *placement) bool { return !p.leaving() }) {
			return lead, "every container that may serve is stopping" + en.keptAside()
		}
		return lead, "every container is stopping" + en.holding() + "."
	case route.ReasonDockerUnhealthy:
		return lead, "Docker's HEALTHCHECK says unhealthy" + en.others() + "." + en.dockerAdvice()
	case route.ReasonInitializing:
		if en.served {
			return "Not serving: ", "waiting for a backend that may be used" + en.absent() + en.others() + "."
		}
		return "Not serving yet: ", "waiting for the first backend that may be used" + en.absent() + en.others() + "."
	default:
		return lead, "no backend is verified" + en.others() + "." + en.keptOut()
	}
}

// dockerAdvice is the command that shows what a HEALTHCHECK printed.
func (en *entry) dockerAdvice() string {
	for _, p := range en.placements {
		if text := p.gatedHint(); text != "" {
			return " The command " + text + "."
		}
	}
	return ""
}

// keptOut names the settings that keep unverified backends out, and what to look at.
func (en *entry) keptOut() string {
	var text string
	if kind, ok := en.sameFailure(); ok {
		text = fmt.Sprintf(" Suspect the configuration first: %s fail alike (%s).", all(len(en.placements)), title(kind))
	}
	o := &en.entrypoint.Options
	for _, p := range en.placements {
		if p.state() != route.StateEjected {
			continue
		}
		if o.Panic != route.PanicOff && !o.Passive.KeepServing {
			text += " passive.panic=false keeps ejected backends out although nothing else is left; with passive.panic=true they would serve."
		}
		if h := p.ejectedHint(); h != "" {
			text += " " + upper(h) + "."
		}
		break
	}
	if o.Panic == route.PanicOff {
		text += " panic=off keeps unverified backends out; with panic=all they would serve."
	}
	return text
}
