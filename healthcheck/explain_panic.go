package healthcheck

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// panicReason says why unverified backends serve, what is wrong with them, and whether
// the fault may lie in the check rather than in the backends.
func (en *entry) panicReason() string {
	t := &en.counts
	if en.decision.scarce {
		return en.scarcity() + en.causes()
	}
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
	return fmt.Sprintf("no backend is verified; %s (panic=%s)", which, en.entrypoint.Options.Panic) + en.causes()
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

// causes is what is wrong with those that serve unverified, with a mark before it.
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
