package healthcheck

import (
	"fmt"
	"time"

	"fairlead/router/route"
)

// settleBreaker gives an entry the breaker that its options ask for.
func (en *entry) settleBreaker() {
	o := &en.entrypoint.Options
	switch {
	case !o.Breaker.On():
		en.breaker = nil
		return
	case en.breaker == nil:
		en.breaker = &breaker{circuit: circuit{phase: route.PhaseClosed}}
	}
	en.breaker.set(o)
}

// tickBreaker tells what became of an entry's breaker since the last tick and reports
// whether anything did.
func (e *Engine) tickBreaker(en *entry, now time.Time) bool {
	news := en.breaker.take(now)
	for _, n := range news {
		e.rev++
		t := route.Transition{
			At: n.at, Rev: e.rev, Entrypoint: en.id, Layer: layerRoute, From: string(n.from), To: string(n.to),
			Cause: n.cause, Message: n.message, InRotation: n.to == route.PhaseClosed, Debug: n.to == route.PhaseHalfOpen,
		}
		en.history = remember(en.history, t)
		e.deferred = append(e.deferred, notice{transition: t, entry: true})
	}
	return len(news) > 0
}

// broken reports whether the breaker keeps requests from the backends.
func (en *entry) broken() bool { return en.breaker.phase() != route.PhaseClosed }

// why says what opened the circuit. The caller holds the lock.
func (b *breaker) why() string {
	c := &b.circuit
	return fmt.Sprintf("%d of the last %d requests failed (circuitBreaker.threshold=%g)",
		int(c.ratio*float64(c.samples)+0.5), c.samples, b.rules.Threshold)
}

// breakerText says that the breaker closes a route, and until when.
func breakerText(v *route.BreakerView) string {
	text := fmt.Sprintf("Down: the circuit breaker is open because %.0f %% of the last %d requests failed; clients get 503", v.FailureRatio*100, v.Samples)
	if v.State == route.PhaseHalfOpen {
		return text + ". One request at a time is tried now, and a success closes it."
	}
	return text + " until " + clock(v.RetryAt) + ", then one request is tried."
}

// failed reports whether an outcome is a failure of the backend: one of the
// connection, a status of passive.status or a head later than passive.latency.
func failed(rules *route.Passive, o *route.Outcome) bool {
	switch {
	case o.Void:
		return false
	case o.Transport:
		return true
	}
	return rules.Status.Contains(o.Status) || rules.Latency > 0 && o.Latency >= rules.Latency
}

// seen is an outcome in a few words.
func seen(o *route.Outcome) string {
	switch {
	case o.Transport:
		return title(o.Kind)
	case o.Latency > 0:
		return fmt.Sprintf("answered %d after %s", o.Status, o.Latency.Round(time.Millisecond))
	}
	return fmt.Sprintf("answered %d", o.Status)
}
