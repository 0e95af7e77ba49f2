package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// full is the percent of its weight that a backend without a slow start has.
const full = 100

// settle gives a placement that is new or has new settings the layers that its
// entrypoint's options ask for.
func (s *applyStep) settle(p *placement) {
	e, now := s.engine, s.now
	e.settlePassive(p, now)
	e.settleOperator(p, now)
	e.settleWarmup(p, now)
}

// tickLayers moves what time alone moves: ejections, orders, slow starts, breakers.
// An entry that changed is published once, whatever the number of its layers that moved.
func (e *Engine) tickLayers(now time.Time) {
	e.endOrders(now)
	e.forgetOrders(now)
	day := e.views.dayTurns(now)
	for _, en := range e.entries {
		if !en.timed() {
			continue
		}
		if day {
			e.rev++
			e.touch(en)
		}
		var moves []move
		for _, p := range en.placements {
			moves = e.tickPassive(p, moves, now)
			moves = e.tickOperator(p, moves, now)
		}
		changed := en.tickWarmup(now)
		changed = e.tickBreaker(en, now) || changed
		if len(moves) == 0 && !changed {
			continue
		}
		e.rev++
		e.publish(en, causeTimer, now)
		for _, m := range moves {
			e.emit(m.placement, m.what, m.cause, now)
		}
		e.announce()
	}
}

// timed reports whether time may move a layer of the entry.
func (en *entry) timed() bool {
	if en.breaker != nil {
		return true
	}
	for _, p := range en.placements {
		if p.passive != nil || p.warm.on() || p.admin.State != "" && p.admin.State != route.AdminReady {
			return true
		}
	}
	return false
}

// judge hears what traffic sees of the placement; nil while nobody wants to know. In
// panic it turns nobody away.
func (p *placement) judge(panicking bool) route.Judge {
	switch {
	case p.passive == nil:
		return nil // not a nil *ejector in an interface
	case panicking:
		return (*lenient)(p.passive)
	}
	return p.passive
}

// gate is the entrypoint's circuit breaker, nil without one.
func (en *entry) gate() route.Gate {
	if en.breaker == nil {
		return nil
	}
	return en.breaker
}
