package healthcheck

import (
	"cmp"
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
		en.tripped = n.to != route.PhaseClosed
		e.circuit(en, &route.Transition{
			At: n.at, From: string(n.from), To: string(n.to), Cause: n.cause, Message: n.message,
			InRotation: n.to == route.PhaseClosed, Debug: n.to == route.PhaseHalfOpen,
		})
	}
	return len(news) > 0
}

// broken reports whether the breaker keeps requests from the backends.
func (en *entry) broken() bool { return en.breaker.phase() != route.PhaseClosed }

// fault is what a request that failed saw, nil for one that did not. The caller holds
// the lock.
func (b *breaker) fault(o *route.Outcome) *fault {
	if !failed(&b.passive, o) {
		return nil
	}
	return new(faultOf(&b.passive, o))
}

// before orders faults, so that of equally many the same is named.
func (f *fault) before(g *fault) bool {
	return cmp.Or(cmp.Compare(f.kind, g.kind), cmp.Compare(f.status, g.status)) < 0
}

// brief is a sort of fault in a few words.
func (f *fault) brief() string {
	if f.slow {
		return fmt.Sprintf("answered %d too late", f.status)
	}
	return f.text()
}

// why says what opened the circuit. The caller holds the lock.
func (b *breaker) why() string {
	c := &b.circuit
	return fmt.Sprintf("%d of the last %d requests failed (circuitBreaker.threshold=%g)%s",
		int(c.ratio*float64(c.samples)+0.5), c.samples, b.rules.Threshold, c.mostly())
}

// mostly says with what most requests failed, with a colon before it.
func (c *circuit) mostly() string {
	if c.all {
		return ": " + c.most.brief()
	}
	return ": most of them " + c.most.brief()
}

// explain says that the breaker closes a route, why, until when and what to look at.
// status is what clients get.
func (b *breaker) explain(status int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &b.circuit
	cause, last := fmt.Sprintf("%.0f %% of the last %d requests failed%s", c.ratio*100, c.samples, c.mostly()), &c.most
	if c.retried != nil {
		cause, last = cause+"; the trial after that failed, too: "+c.retried.brief(), c.retried
	}
	advice := " " + upper(last.hint("its own log")) + "."
	if c.phase == route.PhaseHalfOpen {
		return fmt.Sprintf("the circuit breaker is half open, after %s. One request at a time is tried now while the others get %d, and a success closes it.", cause, status) + advice
	}
	return fmt.Sprintf("the circuit breaker is open because %s; clients get %d until %s, then one request is tried.", cause, status, clock(c.until)) + advice
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
