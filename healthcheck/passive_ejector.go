package healthcheck

import (
	"math/rand/v2"
	"sync"
	"time"

	"fairlead/router/route"
)

// ejector is the passive layer of one placement; a nil one is off. It lives as long as
// the placement's identity, or until the layer is turned off.
//
// Begin and End take its own small mutex and nothing else, but for the rare step that
// changes the phase: a threshold that is met, a trial that decides, an ejection whose
// time is over. That step is the engine's, on the goroutine of the request that brought
// it about: it takes the engine's mutex, which nobody holds for long but who builds a
// view, and publishes the rotation before the request goes on. Locks are taken in this
// order: the engine's, then the ejector's. The phase changes under both.
type ejector struct {
	engine    *Engine
	placement *placement
	chance    func() float64 // 0 to 1

	mu     sync.Mutex
	serial uint64 // of the last ticket
	rules  passiveRules
	state  passive
	fed    feed
	// deaf: the backend is in maintenance, and no request counts.
	deaf bool
	// refused is the entry's step at which the engine did not allow an ejection: until
	// the next one its answer is the same, and failures do not ask again.
	refused uint64
	// seen is what views show of the state that no transition tells.
	seen glimpse
	// asked are the check and its probe when the ejection began: only later ones heal.
	asked *check
	seq   uint64
}

// glimpse is what changes in views without a transition.
type glimpse struct {
	fails   int
	trial   bool
	blocked string
}

func newEjector(e *Engine, p *placement, r *passiveRules) *ejector {
	return &ejector{engine: e, placement: p, chance: rand.Float64, rules: *r, state: newPassive()}
}

// Begin implements route.Judge.
func (j *ejector) Begin(now time.Time) (route.Ticket, bool) {
	j.mu.Lock()
	if j.state.due(&j.rules, now) {
		j.mu.Unlock()
		j.engine.lapse(j, now)
		j.mu.Lock()
	}
	var t route.Ticket
	ok := true
	switch {
	case j.deaf: // one that acts on an older rotation; the zero ticket counts for nothing
	case j.state.phase == route.PhaseHalfOpen:
		j.state, t, ok = j.state.begin(&j.rules, now)
	default:
		t.Epoch = j.state.epoch
	}
	if ok {
		j.serial++
		t.Serial = j.serial
	}
	j.mu.Unlock()
	return t, ok
}

// End implements route.Judge.
func (j *ejector) End(t route.Ticket, o route.Outcome, now time.Time) {
	j.mu.Lock()
	if t.Epoch != j.state.epoch || j.calm(&o) {
		j.mu.Unlock()
		return
	}
	next, what := j.state.end(&j.rules, t, &o, now, j.answer())
	if what != changeAsk {
		j.state = next
	}
	j.feed(&o)
	j.mu.Unlock()
	if what == changeAsk {
		j.engine.hear(j, t, &o, now)
	}
}

// heed begins to count requests, or ends that and forgets those that are under way: what
// becomes of requests to a backend in maintenance says nothing.
func (j *ejector) heed(counts bool) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !counts && !j.deaf {
		j.state, j.fed = j.state.forget(), feed{}
	}
	j.deaf = !counts
}

// calm reports whether an outcome changes nothing, as most do: a success while no failure
// is counted. The caller holds the lock.
func (j *ejector) calm(o *route.Outcome) bool {
	return j.state.phase == route.PhaseClosed && j.state.fails == 0 && !j.rules.FeedsActive && !failed(&j.rules.Passive, o)
}

// answer is the engine's word as far as it is known: it said no, and nothing about the
// entrypoint has changed since. The caller holds the lock.
func (j *ejector) answer() word {
	if j.state.blocked == "" || j.refused != j.placement.entry.steps.Load() {
		return word{}
	}
	return word{given: true, blocked: j.state.blocked}
}

// lenient is an ejector in panic: nobody better is there, so that its trial never turns
// anybody away. Who comes while the trial is taken has the zero Ticket, which counts for
// nothing.
type lenient ejector

// Begin implements route.Judge.
func (l *lenient) Begin(now time.Time) (route.Ticket, bool) {
	t, _ := (*ejector)(l).Begin(now)
	return t, true
}

// End implements route.Judge.
func (l *lenient) End(t route.Ticket, o route.Outcome, now time.Time) { (*ejector)(l).End(t, o, now) }

// feed are failures on their way to the active layer (passive.feedsActive). It is
// emptied at each tick; a success takes back those that it has not seen yet.
type feed struct {
	failures int
	last     fault
	// good: a success came after the failures that the active layer has seen.
	good bool
}

// feed notes an outcome for the active layer. The caller holds the lock.
func (j *ejector) feed(o *route.Outcome) {
	switch {
	case !j.rules.FeedsActive || o.Void:
	case failed(&j.rules.Passive, o):
		j.fed.failures = min(j.fed.failures+1, mostFed)
		j.fed.last = faultOf(&j.rules.Passive, o)
	default:
		j.fed = feed{good: true}
	}
}

// mostFed bounds the failures between two ticks: no threshold is higher.
const mostFed = 100

// take hands out what is to be fed.
func (j *ejector) take() feed {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.fed
	j.fed = feed{}
	return f
}

func (j *ejector) phase() route.PassivePhase {
	if j == nil {
		return route.PhaseClosed
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.phase
}

// ejectedAt is when the last ejection began; zero without one.
func (j *ejector) ejectedAt() time.Time {
	if j == nil {
		return time.Time{}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.openedAt
}

// now returns a copy of rules and state, for texts and answers.
func (j *ejector) now() (passiveRules, passive) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rules, j.state
}

// cause is the kind and the message of an ejection, or of one that is not allowed.
func (j *ejector) cause() (route.Kind, string) {
	if j == nil {
		return route.KindNone, ""
	}
	_, s := j.now()
	return s.kind, s.why
}

// view is the layer as answers show it; nil while it is off.
func (j *ejector) view() *route.PassiveView {
	if j == nil {
		return nil
	}
	r, s := j.now()
	v := &route.PassiveView{
		State: s.phase, ConsecutiveFailures: s.fails, Threshold: r.Failures, Ejections: s.ejections,
		Failures: s.failures, Trials: s.leases,
		TrialInProgress: s.lease != 0, BlockedBy: s.blocked, Recovery: r.Recovery,
	}
	if s.phase == route.PhaseOpen {
		v.Until = s.until
	}
	if s.timed {
		v.Recovery = s.then(&r)
	}
	return v
}

// stirred reports whether views would show something else than at the last call.
func (j *ejector) stirred() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	g := glimpse{fails: j.state.fails, trial: j.state.lease != 0, blocked: j.state.blocked}
	changed := g != j.seen
	j.seen = g
	return changed
}

// returnsAt is when time may end the ejection; zero when it is not ejected, or when
// only probes end it.
func (j *ejector) returnsAt() time.Time {
	if j == nil {
		return time.Time{}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state.phase != route.PhaseOpen || !j.state.ends(&j.rules) {
		return time.Time{}
	}
	return j.state.until
}
