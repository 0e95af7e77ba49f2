package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// alarm is what was told of an entrypoint that was removed before it was over. Whoever was
// woken by it hears of its end when the entrypoint is there again and serves; that the
// entrypoint is gone ends nothing.
type alarm struct {
	state   route.EntrypointState // down or panic, "" for neither
	tripped bool                  // its circuit breaker opened
}

// mostAlarms bounds what is remembered of entrypoints that never come back.
const mostAlarms = 10_000

// enter makes the entry of an entrypoint that is new, or there again.
func (e *Engine) enter(id string, now time.Time) *entry {
	a := e.alarms[id]
	delete(e.alarms, id)
	en := &entry{id: id, since: now, tripped: a.tripped}
	en.heir(&a)
	e.entries[id] = en
	return en
}

// heir gives an entry what was told about its id before.
func (en *entry) heir(a *alarm) {
	en.told, en.outage = a.state, a.state == route.EntrypointDown
}

// alarm is what was told of the entry and is not over.
func (en *entry) alarm() alarm {
	a := alarm{tripped: en.tripped}
	if en.outage || en.told == route.EntrypointPanic {
		a.state = en.told
	}
	return a
}

// leave notes the alarm of an entrypoint that is gone. It is one about an id, which is what
// people were told: whoever has it next ends it.
func (e *Engine) leave(en *entry) {
	if a := en.alarm(); a != (alarm{}) && len(e.alarms) < mostAlarms {
		e.alarms[en.id] = a
	}
}

// untrip tells the end of a circuit breaker that was open and is no more: it is turned off,
// or its entrypoint is another one.
func (e *Engine) untrip(en *entry, now time.Time) {
	why := anotherBreaker
	if en.breaker == nil {
		why = "it has no circuit breaker any more (circuitBreaker.threshold is not set)"
	}
	en.tripped = false
	e.circuit(en, &route.Transition{At: now, From: string(route.PhaseOpen), To: string(route.PhaseClosed), Cause: causeConfig, Message: why, InRotation: true})
}

const anotherBreaker = "the entrypoint is new, and its circuit breaker closed"

// circuit notes what became of an entrypoint's circuit breaker.
func (e *Engine) circuit(en *entry, t *route.Transition) {
	t.Rev, t.Entrypoint, t.Layer = e.rev, en.id, layerRoute
	en.history = remember(en.history, *t)
	e.deferred = append(e.deferred, notice{transition: *t, entry: true})
}
