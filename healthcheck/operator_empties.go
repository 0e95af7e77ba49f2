package healthcheck

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// wouldEmpty refuses an order by which nobody would serve any more, and one to take out the
// last backends that the operator and the provider let serve. It asks the rotation what would
// be: what keeps the others out may be any layer's word.
func (en *entry) wouldEmpty(targets []*placement, o *route.Order) *route.OrderError {
	candidates := make([]candidate, len(en.placements))
	takes, rest := false, false
	for i, p := range en.placements {
		c := p.candidate()
		if slices.Contains(targets, p) {
			takes = takes || p.admin.State == route.AdminReady && o.Action != route.OrderEject
			c.heed(o.Action)
		} else {
			rest = rest || !c.ruledOut()
		}
		candidates[i] = c
	}
	d := en.rotate(candidates)
	if (!takes || rest) && (!en.serves() || slices.Contains(d.in, true)) {
		return nil
	}
	return refused(route.OrderWouldEmpty, "%s would leave %s without a backend that may serve (%s), so %s; force it if that is meant",
		o.Action, en.id, en.whoIsLeft(&d, targets, o), en.wouldGet(d.reason))
}

// heed is the candidate under an order that takes it out.
func (c *candidate) heed(action route.OrderAction) {
	if action == route.OrderEject {
		c.phase = route.PhaseOpen
		return
	}
	c.admin = adminState(action)
}

// ruledOut reports whether the operator or the provider keeps the candidate out.
func (c *candidate) ruledOut() bool {
	return c.admin == route.AdminDrain || c.admin == route.AdminMaintenance ||
		c.provider == route.ProviderLeaving || c.provider == route.ProviderUnhealthy
}

// mostLeft is how many backends a refusal names.
const mostLeft = 5

// whoIsLeft names those that an order is not about, and what keeps them out.
func (en *entry) whoIsLeft(d *decision, targets []*placement, o *route.Order) string {
	var others []string
	for i, p := range en.placements {
		if !slices.Contains(targets, p) {
			others = append(others, p.keptOutBy(d.reasons[i]))
		}
	}
	switch {
	case len(others) > mostLeft:
		others = append(others[:mostLeft], fmt.Sprintf("%d more", len(others)-mostLeft))
	case len(others) > 0:
	case len(targets) > 1 || o.Scope == route.ScopeService:
		return "the order is about all of them"
	default:
		return "it has no other"
	}
	return strings.Join(others, ", ")
}

// keptOutBy says what keeps a placement out of the rotation, for a reason of it.
func (p *placement) keptOutBy(reason route.RotationReason) string {
	switch provider := p.backend().Provider; {
	case p.admin.State != route.AdminReady:
		return p.name() + " is " + adminWord(p.admin.State)
	case provider == route.ProviderLeaving, provider == route.ProviderUnhealthy:
		return p.name() + " is " + string(provider)
	}
	switch reason {
	case route.OutInitialDown:
		return p.name() + " waits for its first success (healthCheck.initial=down)"
	case route.OutDockerStarting:
		return p.name() + " waits for Docker's HEALTHCHECK (dockerHealth=require)"
	case route.OutEjected:
		return p.name() + " is ejected"
	case route.OutPanicOff, route.OutProbeFailed:
		return p.name() + " is down"
	default:
		return p.name() + " may not serve"
	}
}

// wouldGet is what clients would get if nobody served, for a reason.
func (en *entry) wouldGet(reason route.Reason) string {
	switch en.entrypoint.Protocol {
	case route.TCP:
		return "connections would be closed"
	case route.UDP:
		return "packets would be dropped"
	default:
		return fmt.Sprintf("clients would get %d", en.entrypoint.Options.StatusFor(reason))
	}
}

// adminWord is an operator's state as an adjective.
func adminWord(s route.AdminState) string {
	switch s {
	case route.AdminDrain:
		return "drained"
	case route.AdminMaintenance:
		return "in maintenance"
	default:
		return "ready"
	}
}
