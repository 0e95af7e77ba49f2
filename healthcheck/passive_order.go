package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// ejectByOrder ejects a placement because an operator says so: for o.For, which nothing but
// another order ends before, or as traffic would now. Only the last one that may serve, or is verified, is refused, unless
// o.Force is set: the cap is for faults, not for people. The caller holds the engine's
// mutex, and calls flush once it does not any more.
func (e *Engine) ejectByOrder(p *placement, o *route.Order, now time.Time) *route.OrderError {
	if refusal := e.ejectable(p, o); refusal != nil {
		return refusal
	}
	j := p.passive
	j.mu.Lock()
	s := j.state
	s.kind, s.why = route.KindEjectedFailures, ejectedBy(o)
	s.ordered, s.actor, s.reason = true, o.Actor, o.Reason
	if n := s.grown(&j.rules, now); o.For > 0 {
		j.state = s.openFor(n, o.For, now)
		j.state.timed = true
	} else {
		j.state = s.open(&j.rules, n, now, 0)
	}
	j.noteProbe(changeEjected)
	j.mu.Unlock()
	e.moved(p, changeEjected, causeOperator, now)
	return nil
}

// ejectable refuses what cannot be ejected, and the last one that may serve or is verified.
func (e *Engine) ejectable(p *placement, o *route.Order) *route.OrderError {
	j := p.passive
	switch {
	case j == nil:
		return noPassive(p)
	case p.leaving():
		return refused(route.OrderImpossible, "backend %s is leaving already: its container is stopping", p.name())
	case j.phase() == route.PhaseOpen:
		_, s := j.now()
		return refused(route.OrderImpossible, "backend %s is ejected already, until %s", p.name(), moment(s.until, s.openedAt))
	case o.Force:
		return nil
	}
	if refusal := p.entry.wouldEmpty([]*placement{p}, o); refusal != nil {
		return refusal
	}
	if p.lastVerified() {
		return refused(route.OrderWouldEmpty,
			"without %s no backend of %s is verified: the ones that are left would serve unverified; force it if that is meant", p.name(), p.entry.id)
	}
	return nil
}

// unejectByOrder readmits a placement because an operator says so. The caller holds the
// engine's mutex, and calls flush once it does not any more.
func (e *Engine) unejectByOrder(p *placement, o *route.Order, now time.Time) *route.OrderError {
	j := p.passive
	switch {
	case j == nil:
		return noPassive(p)
	case j.phase() == route.PhaseClosed:
		return refused(route.OrderImpossible, "backend %s is not ejected", p.name())
	}
	j.mu.Lock()
	j.state, _ = j.state.shut(readmittedBy(o), now)
	j.state.actor, j.state.reason = o.Actor, o.Reason
	j.mu.Unlock()
	e.moved(p, changeReadmitted, causeOperator, now)
	return nil
}

func noPassive(p *placement) *route.OrderError {
	return refused(route.OrderImpossible,
		"entrypoint %s has no passive layer that could eject %s: set passive.failures, or use drain or maintenance", p.entry.id, p.name())
}
