package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// changeOrder: an operator's word about a placement is another one now.
const changeOrder change = "order"

// settleOperator gives a placement the word that is in force for it. A word that only
// says the same again does not begin anew: since stays. One of somebody else, or for
// another reason, is another order with a time of its own.
func (e *Engine) settleOperator(p *placement, _ time.Time) {
	o := e.orderFor(p)
	switch {
	case o != nil:
		admin := o.admin
		if sameWord(&p.admin, &admin) && !p.admin.Since.IsZero() {
			admin.Since = p.admin.Since
		}
		if p.admin.State != admin.State || p.ordered.IsZero() {
			p.ordered = admin.Since
		}
		p.admin = admin
	case p.admin.State != route.AdminReady:
		p.admin = route.Admin{State: route.AdminReady}
	}
	p.passive.heed(!p.inMaintenance())
}

// sameWord reports whether two orders say the same, but for their times.
func sameWord(a, b *route.Admin) bool {
	return a.State == b.State && a.Actor == b.Actor && a.Reason == b.Reason && a.Scope == b.Scope
}

// replaces notes whose order that of a placement took the place of, until it is told.
func (p *placement) replaces(before *route.Admin) {
	if before.State != route.AdminReady && p.admin.State != route.AdminReady && !sameWord(before, &p.admin) {
		p.replaced = *before
	}
}

// tickOperator ends orders whose time is over, and the service of bound clients.
func (e *Engine) tickOperator(p *placement, moves []move, now time.Time) []move {
	before := p.admin
	e.settleOperator(p, now)
	if p.admin.State != before.State || p.admin.State != route.AdminReady && !sameWord(&before, &p.admin) {
		p.replaces(&before)
		if p.admin.State == route.AdminReady {
			p.admin.Since, p.admin.Reason = now, expired(&before)
		}
		e.follows(p, before.State, now)
		return append(moves, move{p, changeOrder, causeTimer})
	}
	if p.bound() && !p.servesBound(now) {
		return append(moves, move{p, changeNone, causeTimer})
	}
	return moves
}

// follows does what a new word of the operator entails. Nothing of what was before an
// order is brought back: the rotation is computed from the layers as they are, and
// after a time without probes nothing is known until the next one.
func (e *Engine) follows(p *placement, before route.AdminState, now time.Time) {
	after := p.admin.State
	if after == before || after != route.AdminMaintenance && before != route.AdminMaintenance {
		return
	}
	c := p.check
	if after == route.AdminMaintenance {
		if c != nil && !c.wanted() {
			c.cancel()
		}
		e.decide(p)
	} else {
		p.active, p.anew = p.active.unknown(), now
		p.staleResult()
		if c != nil {
			e.expedite(c, now)
		}
	}
	if c != nil {
		e.touchCheck(c)
	}
}

// unknown is the layer after a time without probes: the next result decides.
func (a active) unknown() active {
	if a.status == route.StateUnchecked {
		return a
	}
	return active{status: route.StatePending, succeeded: a.succeeded, checked: a.checked}
}

// inMaintenance reports whether the operator keeps everything from the placement.
func (p *placement) inMaintenance() bool { return p.admin.State == route.AdminMaintenance }

// unprobed reports whether the placement wants no probes although it has a check.
func (p *placement) unprobed() bool { return p.leaving() || p.inMaintenance() }

// servesBound reports whether the placement drains and still serves the clients that a
// cookie binds to it: until drain.timeout, and only while it could serve without the order.
func (p *placement) servesBound(now time.Time) bool {
	if p.admin.State != route.AdminDrain || p.entry.entrypoint.FailClosed != nil || !now.Before(p.boundUntil()) {
		return false
	}
	c, r := p.candidate(), p.entry.rules()
	c.admin = route.AdminReady
	return c.standing(&r) > standsDown
}

// boundUntil is when clients that are bound to a draining placement move.
func (p *placement) boundUntil() time.Time {
	return p.ordered.Add(p.entry.entrypoint.Options.DrainTimeout)
}

// bound reports whether the published rotation has the placement for bound clients.
func (p *placement) bound() bool {
	if p.entry.rotation == nil {
		return false
	}
	for _, m := range p.entry.rotation.Sticky {
		if m.Placement == p.current {
			return true
		}
	}
	return false
}
