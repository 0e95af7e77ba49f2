package healthcheck

import (
	"math"
	"sync"
	"time"

	"fairlead/router/route"
)

// circuit is the state of an entrypoint's circuit breaker (health.md, "Route circuit
// breaker"). Its steps are pure but for the ring of outcomes, which it owns.
type circuit struct {
	phase route.PassivePhase
	// ring holds the last outcomes: nil for a success, and the count of its sort for a
	// failure; failed counts those.
	ring   []*mishap
	next   int
	filled int
	failed int
	until  time.Time // of the cool-down, while open
	lease  uint64    // of the last trial, never reused
	held   bool      // the trial is on its way
	expiry time.Time // of the lease
	// ratio is what opened it.
	ratio   float64
	samples int
	most    fault // with what most of those failed
	all     bool  // all of those did so
	// retried is the failure of the trial that opened it again, nil for the requests above.
	retried *fault
	sorts   map[fault]*mishap
	opens   uint64 // times that it opened
}

// mishap is one sort of failure and how many of the last outcomes are of it.
type mishap struct {
	fault fault
	n     int
}

// add notes an outcome, nil for a success, and returns whether the circuit must open.
func (c *circuit) add(f *fault, rules *route.Breaker) bool {
	if len(c.ring) != rules.MinRequests {
		c.forget()
		c.ring = make([]*mishap, max(rules.MinRequests, 1))
	}
	if old := c.ring[c.next]; c.filled == len(c.ring) && old != nil {
		c.failed--
		if old.n--; old.n == 0 {
			delete(c.sorts, old.fault)
		}
	}
	c.ring[c.next] = c.count(f)
	c.next = (c.next + 1) % len(c.ring)
	c.filled = min(c.filled+1, len(c.ring))
	return f != nil && c.filled == len(c.ring) && c.failed >= enough(rules.Threshold, c.filled)
}

// enough is how many of n are the ratio: 0.07 of 100 are 7, though their product is a
// little more in binary.
func enough(ratio float64, n int) int { return int(math.Ceil(ratio*float64(n) - 1e-9)) }

// count counts a failure among those of its sort.
func (c *circuit) count(f *fault) *mishap {
	if f == nil {
		return nil
	}
	c.failed++
	key := *f
	key.latency = 0 // so that there are few sorts
	s := c.sorts[key]
	if s == nil {
		if c.sorts == nil {
			c.sorts = map[fault]*mishap{}
		}
		s = &mishap{fault: key}
		c.sorts[key] = s
	}
	s.n++
	return s
}

// majority notes with what most of the last requests failed.
func (c *circuit) majority() {
	var most *mishap
	for _, s := range c.sorts {
		if most == nil || s.n > most.n || s.n == most.n && s.fault.before(&most.fault) {
			most = s
		}
	}
	if most != nil {
		c.most, c.all = most.fault, most.n == c.failed
	}
}

// open begins a cool-down.
func (c *circuit) open(rules *route.Breaker, now time.Time) {
	if c.filled > 0 {
		c.ratio, c.samples, c.retried = float64(c.failed)/float64(c.filled), c.filled, nil
		c.majority()
	}
	c.phase, c.until, c.held = route.PhaseOpen, now.Add(rules.Cooldown), false
	c.opens++
	c.forget()
}

// forget begins the count anew.
func (c *circuit) forget() {
	clear(c.ring)
	clear(c.sorts)
	c.next, c.filled, c.failed = 0, 0, 0
}

// cooled moves an open circuit on whose cool-down is over.
func (c *circuit) cooled(now time.Time) bool {
	if c.phase != route.PhaseOpen || now.Before(c.until) {
		return false
	}
	c.phase = route.PhaseHalfOpen
	return true
}

// breaker is the circuit breaker of one entrypoint: it lives as long as the
// entrypoint's id. A nil one is none.
type breaker struct {
	mu      sync.Mutex
	rules   route.Breaker
	passive route.Passive // what counts as a failure
	trial   time.Duration // longest time of a trial
	circuit circuit
	// news are the changes that the engine has not told yet.
	news []turn
}

// turn is one change of a breaker's phase.
type turn struct {
	at       time.Time
	from, to route.PassivePhase
	cause    string
	message  string
}

// maxTurns bounds the untold changes: the engine asks at each tick.
const maxTurns = 16

// Enter implements route.Gate.
func (b *breaker) Enter(now time.Time) (lease uint64, wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &b.circuit
	if c.cooled(now) {
		b.turned(route.PhaseOpen, causeTimer, "the cool-down is over; one request at a time is let through", now)
	}
	switch c.phase {
	case route.PhaseOpen:
		return 0, c.until.Sub(now), false
	case route.PhaseHalfOpen:
		if c.held && now.Before(c.expiry) {
			return 0, time.Second, false
		}
		c.lease++
		c.held, c.expiry = true, now.Add(b.trial)
		return c.lease, 0, true
	default:
		return 0, 0, true
	}
}

// Leave implements route.Gate.
func (b *breaker) Leave(lease uint64, o route.Outcome, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &b.circuit
	switch {
	case lease != 0:
		b.tried(lease, o, now)
	case c.phase != route.PhaseClosed || o.Void: // it began before the circuit opened
	case c.add(b.fault(&o), &b.rules):
		c.open(&b.rules, now)
		b.turned(route.PhaseClosed, causeTraffic, b.why(), now)
	}
}

// tried ends a trial. One whose lease has expired says nothing any more.
func (b *breaker) tried(lease uint64, o route.Outcome, now time.Time) {
	c := &b.circuit
	if lease != c.lease || !c.held || c.phase != route.PhaseHalfOpen {
		return
	}
	c.held = false
	switch {
	case o.Void:
	case failed(&b.passive, &o):
		c.open(&b.rules, now)
		c.retried = b.fault(&o)
		b.turned(route.PhaseHalfOpen, causeTraffic, "the trial failed: "+seen(&o), now)
	default:
		c.phase = route.PhaseClosed
		c.forget()
		b.turned(route.PhaseHalfOpen, causeTraffic, "the trial succeeded", now)
	}
}

// turned notes a change of the phase. The caller holds the lock.
func (b *breaker) turned(from route.PassivePhase, cause, message string, now time.Time) {
	if len(b.news) == maxTurns {
		b.news = b.news[1:]
	}
	b.news = append(b.news, turn{at: now, from: from, to: b.circuit.phase, cause: cause, message: message})
}

// set brings new rules into force. An open circuit keeps its cool-down.
func (b *breaker) set(o *route.Options) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules, b.passive, b.trial = o.Breaker, o.Passive, max(o.BackendTimeout, minTrial)
}

// minTrial is the least time that a trial gets before another one may begin.
const minTrial = 30 * time.Second

// take moves the circuit on by time and hands out what the engine has not told yet.
func (b *breaker) take(now time.Time) []turn {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.circuit.cooled(now) {
		b.turned(route.PhaseOpen, causeTimer, "the cool-down is over; one request at a time is let through", now)
	}
	news := b.news
	b.news = nil
	return news
}

// phase is the present one. Safe on a nil breaker.
func (b *breaker) phase() route.PassivePhase {
	if b == nil {
		return route.PhaseClosed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.circuit.phase
}

// view is the breaker as answers show it; nil without one.
func (b *breaker) view() *route.BreakerView {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &b.circuit
	v := &route.BreakerView{State: c.phase, Samples: c.filled, Opens: c.opens}
	switch {
	case c.phase != route.PhaseClosed: // what opened it
		v.FailureRatio, v.Samples = c.ratio, c.samples
	case c.filled > 0:
		v.FailureRatio = float64(c.failed) / float64(c.filled)
	}
	if c.phase == route.PhaseOpen {
		v.RetryAt = c.until
	}
	return v
}
