package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// rename gives an entry another id. An id is what people are told alarms about: those of the
// old one end, what goes on is told anew about the new one, and what was told about that one
// before is the entry's to end.
func (e *Engine) rename(en *entry, id string, now time.Time) {
	own, next := en.alarm(), e.alarms[id]
	delete(e.alarms, id)
	e.rev++
	end := route.Transition{At: now, Cause: causeConfig, Message: "the entrypoint is " + id + " now", Renamed: id}
	if own.state != "" {
		t := end
		t.Rev, t.Entrypoint, t.Layer, t.From, t.To = e.rev, en.id, layerRoute, string(own.state), string(route.EntrypointPending)
		en.history = remember(en.history, t)
		e.deferred = append(e.deferred, notice{transition: t, entry: true})
	}
	if own.tripped {
		t := end
		t.From, t.To = string(route.PhaseOpen), string(route.PhaseClosed)
		e.circuit(en, &t)
	}
	was := en.id
	en.id = id
	for _, p := range en.placements {
		e.retell(p, was, end)
	}
	e.entries[id] = en
	en.heir(&next)
	e.retellCircuit(en, own.tripped, next.tripped, now)
}

// retellCircuit tells that a circuit is open about another id, or the end of another one that
// was open by that id.
func (e *Engine) retellCircuit(en *entry, own, next bool, now time.Time) {
	t := route.Transition{At: now, From: string(route.PhaseOpen), To: string(route.PhaseClosed), Cause: causeConfig}
	switch {
	case own == next:
		return
	case own:
		t.From, t.To = t.To, t.From
		t.Message = en.breaker.explain(en.entrypoint.Options.StatusFor(route.ReasonCircuitOpen))
	default:
		t.Message, t.InRotation = anotherBreaker, true
	}
	e.circuit(en, &t)
}

// retell ends what was told of a placement of an entrypoint that has another id now, and tells
// it anew. Nothing about the placement changes by it.
func (e *Engine) retell(p *placement, was string, end route.Transition) {
	states := []route.State{p.shown}
	switch {
	case p.shown == route.StateTrial:
		states = []route.State{route.StateEjected, route.StateTrial}
	case p.shown == route.StateGated && p.backend().Provider != route.ProviderUnhealthy, // of a start
		!p.shown.Faulty() && p.shown != route.StateDraining && p.shown != route.StateMaintenance:
		return
	}
	from := route.StatePending
	for i, to := range states {
		t := p.transition(from, to, changeNone, causeConfig, end.At)
		p.ofTraffic(&t, from, to, changeNone)
		t.Rev = e.rev
		if i == 0 {
			over := t
			over.Entrypoint, over.From, over.To = was, string(p.shown), string(from)
			over.Kind, over.Message, over.Renamed, over.Actor, over.Reason = route.KindNone, end.Message, end.Renamed, "", ""
			e.tell(p, over)
		}
		e.tell(p, t)
		from = to
	}
}

// tell notes a transition that is not one of the placement's layers.
func (e *Engine) tell(p *placement, t route.Transition) {
	p.history = remember(p.history, t)
	e.notify(notice{transition: t})
}
