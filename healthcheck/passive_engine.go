package healthcheck

import (
	"cmp"
	"slices"
	"time"

	"fairlead/router/route"
)

// minLease is the least time after which a trial is given up.
const minLease = 30 * time.Second

// passiveRules are the settings of a placement's passive layer.
func (p *placement) passiveRules() passiveRules {
	o := &p.entry.entrypoint.Options
	r := passiveRules{Passive: o.Passive, heal: max(p.rules.healthy, 1), lease: max(o.BackendTimeout, minLease)}
	r.Trials = max(r.Trials, 1)
	if p.check != nil {
		switch p.check.spec.Check.Type {
		case route.ProbeHTTP, route.ProbeGRPC, route.ProbeWebSocket:
			r.tells = true
		default:
		}
	}
	return r
}

// settlePassive brings the settings of the passive layer into force: an ejection keeps
// its end, and a layer that is turned off ends it.
func (e *Engine) settlePassive(p *placement, _ time.Time) {
	r := p.passiveRules()
	switch {
	case !r.On():
		p.passive = nil
	case p.passive == nil:
		p.passive = newEjector(e, p, &r)
	default:
		j := p.passive
		j.mu.Lock()
		j.state = j.state.recount(&j.rules, &r)
		j.rules = r
		j.mu.Unlock()
	}
}

// tickPassive moves what time moves: the end of ejections, trials that never came back,
// failures on their way to the active layer.
func (e *Engine) tickPassive(p *placement, moves []move, now time.Time) []move {
	j := p.passive
	if j == nil {
		return moves
	}
	j.mu.Lock()
	var what change
	j.state, what = j.state.tick(&j.rules, now)
	j.mu.Unlock()
	cause := causeTimer
	if fed := e.feedActive(p, now); fed != changeNone {
		if what == changeNone {
			cause = causeTraffic
		}
		what = cmp.Or(what, fed)
	}
	if j.stirred() {
		e.rev++
		e.touch(p.entry)
	}
	if what != changeNone {
		moves = append(moves, move{p, what, cause})
	}
	return moves
}

// feedActive lets the active layer see what failed since the last tick, as failed
// probes (passive.feedsActive).
func (e *Engine) feedActive(p *placement, now time.Time) (what change) {
	f := p.passive.take()
	if p.check == nil || p.leaving() || f == (feed{}) {
		return changeNone
	}
	if f.good {
		p.active, what = p.active.unfed()
	}
	if f.failures == 0 {
		return what
	}
	for range min(f.failures, p.rules.unhealthy) {
		var step change
		if p.active, step = p.active.fedFailure(&p.rules, &f.last, now); step != changeNone {
			what = step
		}
	}
	if p.decided() {
		e.decide(p)
	}
	return what
}

// attached reports whether the engine still keeps the ejector: a late outcome of a
// placement that is gone moves nothing.
func (e *Engine) attached(j *ejector) bool {
	p := j.placement
	return !e.stopped && p.passive == j && e.entries[p.entry.id] == p.entry && slices.Contains(p.entry.placements, p)
}

// hear is the engine's part in an outcome that changes the phase, or would. Of many that
// meet a threshold at once the first makes the transition, and the others find a new
// epoch (race rule R7).
func (e *Engine) hear(j *ejector, t route.Ticket, o *route.Outcome, now time.Time) {
	e.mu.Lock()
	if e.attached(j) {
		w := word{given: true, blocked: e.blocks(j.placement), chance: j.chance()}
		j.mu.Lock()
		j.refused = j.placement.entry.steps.Load()
		next, what := j.state.end(&j.rules, t, o, now, w)
		j.state = next
		j.noteProbe(what)
		j.mu.Unlock()
		e.moved(j.placement, what, causeTraffic, now)
	}
	e.mu.Unlock()
	e.flush()
}

// lapse ends an ejection whose time is over, when a request comes before the tick.
func (e *Engine) lapse(j *ejector, now time.Time) {
	e.mu.Lock()
	j.mu.Lock()
	next, what := j.state.tick(&j.rules, now)
	j.state = next
	j.mu.Unlock()
	if e.attached(j) {
		e.moved(j.placement, what, causeTimer, now)
	}
	e.mu.Unlock()
	e.flush()
}

// moved publishes and tells what a step of the passive layer changed.
func (e *Engine) moved(p *placement, what change, cause string, now time.Time) {
	if what == changeNone {
		return
	}
	e.rev++
	if what != changeBlocked {
		e.publish(p.entry, cause, now)
	}
	e.touch(p.entry)
	e.emit(p, what, cause, now)
	e.announce()
}

// noteProbe remembers which probes began before an ejection (race rule R8). The caller
// holds the locks of engine and ejector.
func (j *ejector) noteProbe(what change) {
	if what != changeEjected {
		return
	}
	if j.asked = j.placement.check; j.asked != nil {
		j.seq = j.asked.seq
	}
}

// later reports whether a probe was launched after the ejection. The caller holds the
// locks of engine and ejector.
func (j *ejector) later(t *task) bool {
	if t.check == j.asked {
		return t.seq > j.seq
	}
	return t.started.After(j.state.openedAt)
}

// heal lets the passive layer see the result of a probe; the caller publishes. R8: only
// one that was launched after the ejection counts.
func (p *placement) heal(t *task, ok bool, now time.Time) change {
	j := p.passive
	if j == nil {
		return changeNone
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.later(t) {
		return changeNone
	}
	var what change
	j.state, what = j.state.probe(&j.rules, ok, now)
	return what
}

// blocks says why a placement may not be ejected now, "" when it may: the cap, counted
// after the ejection with those on trial, or that it is the last one that is verified.
// The first ejection is within every cap. With passive.panic=false the owner prefers no
// answer to that of a failing backend, so that the last one goes, too.
func (e *Engine) blocks(p *placement) string {
	en := p.entry
	rules := &en.entrypoint.Options.Passive
	r := en.rules()
	var ejected, all int
	for _, other := range en.placements {
		c := other.candidate()
		if c.standing(&r) == standsOut || (c.weight == 0) != (p.backend().Weight == 0) {
			continue
		}
		all++
		if other != p && c.phase != route.PhaseClosed && c.phase != "" {
			ejected++
		}
	}
	switch {
	case rules.KeepServing && p.lastVerified():
		return blockedLast
	case ejected > 0 && (ejected+1)*100 > rules.MaxEjectionPercent*all:
		return blockedCap
	}
	return ""
}

// lastVerified reports whether no other placement of the entrypoint is verified.
func (p *placement) lastVerified() bool {
	r := p.entry.rules()
	return !slices.ContainsFunc(p.entry.placements, func(other *placement) bool {
		c := other.candidate()
		return other != p && c.standing(&r) == standsVerified
	})
}

// ofTraffic completes a transition that the passive layer made: what it says of itself
// goes before what the other layers say.
func (p *placement) ofTraffic(t *route.Transition, from, to route.State, what change) {
	j := p.passive
	switch {
	case what == changeBlocked && j != nil:
		t.Layer = layerPassive
		t.Kind, t.Message = j.blockedCause()
		return
	case t.Cause == causeOperator && j != nil && (what == changeEjected || what == changeReadmitted):
		p.ofPassiveOrder(t, what)
		return
	case from == to || !judged(from) || !judged(to) || !ejectedOrTrial(from) && !ejectedOrTrial(to):
		return
	}
	t.Layer, t.Actor, t.Reason = layerPassive, "", ""
	if j == nil {
		t.Message = backByConfig
		return
	}
	r, s := j.now()
	t.Fail, t.Threshold = s.fails, r.Failures
	if !ejectedOrTrial(to) {
		t.Kind, t.Message = route.KindNone, s.back
	}
}

// ofPassiveOrder completes the transition of an operator's eject or uneject, also where
// another layer hides it.
func (p *placement) ofPassiveOrder(t *route.Transition, what change) {
	r, s := p.passive.now()
	t.Layer, t.Actor, t.Reason = layerPassive, s.actor, s.reason
	t.Fail, t.Threshold = s.fails, r.Failures
	t.Kind, t.Message = s.kind, s.why
	if what == changeReadmitted {
		t.Kind, t.Message = route.KindNone, s.back
	}
}

func ejectedOrTrial(s route.State) bool { return s == route.StateEjected || s == route.StateTrial }

// judged reports whether nothing but the verdict of traffic stands between two such
// states, as long as one of them is its own.
func judged(s route.State) bool {
	switch s {
	case route.StateEjected, route.StateTrial, route.StateUp, route.StateUnchecked, route.StatePending:
		return true
	default:
		return false
	}
}
