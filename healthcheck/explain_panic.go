package healthcheck

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// panicReason says why unverified backends get the requests, what is wrong with them,
// whether the fault may lie in the check rather than in the backends, and what clients
// get as far as that is known. It does not say that they serve: that is what nobody knows.
func (en *entry) panicReason() string {
	t := &en.counts
	if en.decision.scarce {
		return en.scarcity() + en.causes()
	}
	var which string
	switch {
	case t.total == 1:
		which = "the only one gets"
	case t.inRotation == t.total:
		which = all(t.total) + " get"
	case t.inRotation == 1:
		which = fmt.Sprintf("1 of %d gets", t.total)
	default:
		which = fmt.Sprintf("%d of %d get", t.inRotation, t.total)
	}
	return fmt.Sprintf("no backend is verified; %s the requests anyway (panic=%s)", which, en.entrypoint.Options.Panic) + en.causes() + en.refusals()
}

// refusals is what clients get while everybody who gets their requests refuses the
// connections; "" when somebody does not, or when that is not known: a probe of another
// port says nothing of the traffic's.
func (en *entry) refusals() string {
	proven, others := 0, 0
	for _, p := range en.placements {
		switch {
		case !p.in:
		case p.check == nil || p.active.status != route.StateDown || p.active.request != nil || p.active.kind != route.KindConnectionRefused ||
			p.check.target.Port != p.backend().Port:
			return ""
		case p.current.Load != nil && p.current.Load.Proven.Load():
			proven++
		default:
			others++
		}
	}
	if proven+others == 0 || en.entrypoint.Protocol == route.UDP {
		return ""
	}
	while := "while they refuse connections"
	if proven+others == 1 {
		while = "while it refuses connections"
	}
	return "; " + en.refused(proven, others) + " " + while
}

// refused is what clients get when backends refuse the connections: those that have
// served before, and others, which may come yet (http.md, Reasons).
func (en *entry) refused(proven, others int) string {
	o := &en.entrypoint.Options
	first, never := route.ReasonConnectRefused, route.ReasonAllUnhealthy
	switch {
	case en.entrypoint.Protocol == route.TCP:
		return "clients' connections are closed"
	case others == 0:
		return fmt.Sprintf("clients get %d (%s)", o.StatusFor(first), first)
	case proven == 0:
		return fmt.Sprintf("clients get %d (%s)", o.StatusFor(never), never)
	default:
		return "clients get errors"
	}
}

// scarcity says that panicThreshold made all serve.
func (en *entry) scarcity() string {
	q, t := en.decision.quorum, &en.counts
	which := "all serve"
	if t.inRotation < t.total {
		which = fmt.Sprintf("%d of %d serve", t.inRotation, t.total)
	}
	return fmt.Sprintf("fewer than %d %% of the primaries are verified (%d of %d), so %s (panicThreshold)",
		en.entrypoint.Options.PanicThreshold, q.verified, q.primaries, which)
}

// causes is what is wrong with those that get requests unverified, with a mark before it.
func (en *entry) causes() string {
	if kind, ok := en.sameFailure(); ok {
		return fmt.Sprintf("; %s fail alike (%s), so suspect the configuration first", all(en.counts.total), title(kind))
	}
	var list []string
	for _, p := range en.placements {
		if !p.in {
			continue
		}
		switch why := p.why(); {
		case why == "":
		case en.counts.total == 1:
			return why
		default:
			list = append(list, p.name()+why)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "; " + few(list)
}

// few joins a list and cuts it at mostNamed, with the number of those that are left out.
func few(list []string) string {
	if more := len(list) - mostNamed; more > 0 {
		list = append(list[:mostNamed:mostNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
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
	if slices.ContainsFunc(en.placements, func(p *placement) bool {
		return p.check == nil || p.active.status != route.StateDown || p.active.streak == 0 || p.active.request != nil || p.active.kind != kind
	}) {
		return "", false
	}
	return kind, true
}
