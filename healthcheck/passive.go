package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// passiveRules are the settings that a placement's passive layer obeys.
type passiveRules struct {
	route.Passive
	// tells: the check's probes ask the application, not only its port, so that their
	// successes say something about requests.
	tells bool
	heal  int           // successful probes in a row that end an ejection
	lease time.Duration // after which a trial is given up
}

// recovery is how an ejected backend comes back. By probes alone it never would where
// no probe can tell: trials decide there.
func (r *passiveRules) recovery() route.Recovery {
	if r.Recovery == route.RecoverProbe && !r.tells {
		return route.RecoverTrial
	}
	return r.Recovery
}

// fault is what the last request that failed saw. It is built on the request path, so
// it holds no text.
type fault struct {
	kind    route.Kind // of a failure of the connection, "" for a response
	status  int
	latency time.Duration
	slow    bool // the response is a failure for its latency alone
}

// faultOf is what an outcome that failed saw. The status of a response that broke off is
// not what was wrong with it.
func faultOf(r *route.Passive, o *route.Outcome) fault {
	if o.Transport {
		return fault{kind: o.Kind, latency: o.Latency}
	}
	return fault{status: o.Status, latency: o.Latency, slow: !r.Status.Contains(o.Status)}
}

// passive is the passive layer of one placement (health.md, "Passive layer"). Its steps
// are pure: they take the rules, what happened and the time, and return the new state.
type passive struct {
	phase route.PassivePhase
	// epoch changes with every transition: an outcome of an older one is about a state
	// that is over. It is never 0, so that the zero Ticket is nobody's.
	epoch uint64

	fails   int         // in a row or within the window, saturating at the threshold; those that ejected it until it is back
	recent  []time.Time // of the failures within the window; what is in it never changes
	last    fault
	undo    int    // failures that the last success forgot
	undoBy  uint64 // serial of that success
	blocked string // "cap" or "last": why it is not ejected although it should be

	n               int // length of the ejection in base periods
	ejections       uint64
	failures        uint64 // requests that counted as such, ever
	openedAt, until time.Time
	closedAt        time.Time
	good            int // successful requests in a row since it is open, or trials since it is half open
	probed          int // successful probes in a row since the ejection

	lease   uint64 // of the trial on its way, 0 for none
	leases  uint64 // handed out
	expires time.Time

	kind route.Kind
	why  string // it was ejected
	back string // why it was readmitted
	// ordered: the ejection is an operator's, not one for failures.
	ordered bool
	// timed: the order says for how long, so that nothing else ends it but another order.
	timed  bool
	actor  string // who ejected or readmitted it by an order
	reason string
}

// newPassive is the state of a placement that traffic says nothing about yet.
func newPassive() passive { return passive{phase: route.PhaseClosed, epoch: 1} }

// changes of the passive layer.
const (
	changeEjected    change = "ejected"
	changeTrial      change = "trial"
	changeReadmitted change = "readmitted"
	changeBlocked    change = "ejection_blocked"
	// changeAsk: the step needs the engine's word, and has done nothing.
	changeAsk change = "ask"
)

// Why an ejection is not allowed (json.md, blocked_by).
const (
	blockedCap  = "cap"
	blockedLast = "last"
)

// word is the engine's part in a step: whether an ejection is allowed, and chance.
type word struct {
	given   bool
	blocked string  // "" allows it
	chance  float64 // 0 to 1, for the jitter of the ejection's end
}

// begin hands out a ticket: always, but while a trial is on its way.
func (s passive) begin(r *passiveRules, now time.Time) (passive, route.Ticket, bool) {
	if s.phase != route.PhaseHalfOpen {
		return s, route.Ticket{Epoch: s.epoch}, true
	}
	if s = s.expire(now); s.lease != 0 {
		return s, route.Ticket{}, false
	}
	s.leases++
	s.lease, s.expires = s.leases, now.Add(r.lease)
	return s, route.Ticket{Epoch: s.epoch, Lease: s.lease}, true
}

// expire gives up a trial that did not come back in time; its ticket is dead.
func (s passive) expire(now time.Time) passive {
	if s.lease != 0 && !now.Before(s.expires) {
		s.lease = 0
	}
	return s
}

// end is the step for the outcome of a ticket. Whatever changes the phase, or would,
// needs the engine's word.
func (s passive) end(r *passiveRules, t route.Ticket, o *route.Outcome, now time.Time, w word) (passive, change) {
	if t.Epoch != s.epoch {
		return s, changeNone
	}
	bad := failed(&r.Passive, o)
	switch s.phase {
	case route.PhaseOpen:
		return s.panicked(r, bad, o.Void, now, w)
	case route.PhaseHalfOpen:
		return s.tried(r, t, o, bad, now, w)
	default:
	}
	switch {
	case o.Void:
		return s, changeNone
	case bad:
		if o.Late && t.Serial == s.undoBy {
			s.fails = max(s.fails, s.undo)
		}
		return s.failure(r, o, now, w)
	case r.Window <= 0:
		if s.fails > 0 {
			s.undo, s.undoBy = s.fails, t.Serial
		}
		s.fails, s.blocked = 0, ""
	}
	return s, changeNone
}

// failure counts one while closed.
func (s passive) failure(r *passiveRules, o *route.Outcome, now time.Time, w word) (passive, change) {
	before := s
	s.failures++
	s.last = faultOf(&r.Passive, o)
	if r.Window > 0 {
		s = s.within(r, now)
		s.recent = append(s.recent[max(0, len(s.recent)-r.Failures+1):], now)
		s.fails = len(s.recent)
	} else {
		s.fails = min(s.fails+1, r.Failures)
	}
	switch {
	case s.fails < r.Failures:
		s.blocked = ""
		return s, changeNone
	case !w.given:
		return before, changeAsk
	case w.blocked != "":
		first := s.blocked == ""
		s.blocked = w.blocked
		s.kind, s.why = s.verdict(r)
		if first {
			return s, changeBlocked
		}
		return s, changeNone
	}
	s.kind, s.why = s.verdict(r)
	s.ordered, s.actor, s.reason = false, "", ""
	return s.open(r, s.grown(r, now), now, w.chance), changeEjected
}

// within forgets failures that are older than the window.
func (s passive) within(r *passiveRules, now time.Time) passive {
	for len(s.recent) > 0 && now.Sub(s.recent[0]) > r.Window {
		s.recent = s.recent[1:]
	}
	s.fails = len(s.recent)
	return s
}

// grown is the length of the next ejection in base periods: one more than that of the
// last, less the whole periods without an ejection since then.
func (s passive) grown(r *passiveRules, now time.Time) int {
	n := s.n
	if base := r.EjectionTime; base > 0 && n > 0 {
		n = max(0, n-int(min(now.Sub(s.closedAt)/base, mostPeriods)))
	}
	return n + 1
}

// mostPeriods keeps the product of periods and their length within a Duration.
const mostPeriods = 1_000_000

// jitterShare is the largest part of an ejection's time that chance adds.
const jitterShare = 0.1

// open ejects for n base periods.
func (s passive) open(r *passiveRules, n int, now time.Time, chance float64) passive {
	n = min(n, mostPeriods)
	last := min(time.Duration(n)*r.EjectionTime, r.MaxEjectionTime)
	last += time.Duration(chance * jitterShare * float64(last))
	return s.openFor(n, last, now)
}

func (s passive) openFor(n int, last time.Duration, now time.Time) passive {
	s.phase, s.n, s.openedAt, s.until = route.PhaseOpen, n, now, now.Add(last)
	s.epoch++
	s.ejections++
	s.undo, s.undoBy = 0, 0
	s.recent, s.blocked = nil, ""
	s.good, s.probed, s.lease, s.timed = 0, 0, 0, false
	return s
}

// shut readmits.
func (s passive) shut(why string, now time.Time) (passive, change) {
	s.phase, s.closedAt, s.back = route.PhaseClosed, now, why
	s.epoch++
	s.fails, s.recent, s.blocked = 0, nil, ""
	s.good, s.probed, s.lease, s.timed = 0, 0, 0, false
	s.actor, s.reason = "", ""
	return s, changeReadmitted
}

// forget drops what requests told so far, and what those on their way will tell: their
// outcomes are of an older epoch. An ejection stays as it is.
func (s passive) forget() passive {
	s.epoch++
	s.undo, s.undoBy = 0, 0
	s.lease = 0
	if s.phase == route.PhaseClosed {
		s.fails, s.recent, s.blocked = 0, nil, ""
	}
	return s
}

// panicked counts a request that began while open: nothing better existed.
func (s passive) panicked(r *passiveRules, bad, void bool, now time.Time, w word) (passive, change) {
	switch {
	case void, s.timed, r.recovery() == route.RecoverProbe:
		return s, changeNone
	case bad:
		s.failures++
		s.good = 0
		return s, changeNone
	case s.good+1 < r.Trials:
		s.good++
		return s, changeNone
	case !w.given:
		return s, changeAsk
	}
	return s.shut(backByPanic, now)
}

// tried ends a trial. A ticket whose lease is over says nothing any more.
func (s passive) tried(r *passiveRules, t route.Ticket, o *route.Outcome, bad bool, now time.Time, w word) (passive, change) {
	s = s.expire(now)
	switch {
	case t.Lease == 0 || t.Lease != s.lease:
		return s, changeNone
	case o.Void:
		s.lease = 0
		return s, changeNone
	case !bad && s.good+1 < r.Trials:
		s.good++
		s.lease = 0
		return s, changeNone
	case !w.given:
		return s, changeAsk
	case !bad:
		return s.shut(backByTrial, now)
	}
	s.failures++
	s.last = faultOf(&r.Passive, o)
	s.kind, s.why = s.last.sort(), "the trial failed: "+s.last.text()
	s.ordered, s.actor, s.reason = false, "", ""
	return s.open(r, s.n+1, now, w.chance), changeEjected
}

// tick is what time alone does.
func (s passive) tick(r *passiveRules, now time.Time) (passive, change) {
	switch s.phase {
	case route.PhaseOpen:
		if s.due(r, now) {
			return s.lapse(r, now)
		}
	case route.PhaseHalfOpen:
		return s.expire(now), changeNone
	default:
		if r.Window > 0 && s.fails > 0 {
			if s = s.within(r, now); s.fails < r.Failures {
				s.blocked = ""
			}
		}
	}
	return s, changeNone
}

// due reports whether an ejection is over that time ends.
func (s *passive) due(r *passiveRules, now time.Time) bool {
	return s.phase == route.PhaseOpen && s.ends(r) && !now.Before(s.until)
}

// ends reports whether time ends an ejection.
func (s *passive) ends(r *passiveRules) bool { return s.timed || r.recovery() != route.RecoverProbe }

// then is what brings a backend back once the ejection's time is over.
func (s *passive) then(r *passiveRules) route.Recovery {
	if how := r.recovery(); how == route.RecoverTime || how == route.RecoverProbe {
		return route.RecoverTime
	}
	return route.RecoverTrial
}

// lapse ends an ejection whose time is over. One that an order limited is no matter of
// probes, which may have succeeded all the time.
func (s passive) lapse(r *passiveRules, now time.Time) (passive, change) {
	if s.then(r) == route.RecoverTime {
		return s.shut(backByTime, now)
	}
	s.phase, s.timed = route.PhaseHalfOpen, false
	s.epoch++
	s.good, s.lease = 0, 0
	return s, changeTrial
}

// probe is the step for the result of a probe that was launched after the ejection.
func (s passive) probe(r *passiveRules, ok bool, now time.Time) (passive, change) {
	if how := r.recovery(); s.phase == route.PhaseClosed || s.timed || !r.tells || how != route.RecoverAuto && how != route.RecoverProbe {
		return s, changeNone
	}
	if !ok {
		s.probed = 0
		return s, changeNone
	}
	if s.probed++; s.probed < r.heal {
		return s, changeNone
	}
	return s.shut(backByProbe(s.probed), now)
}

// recount keeps the state under new rules. Failures in a row and within a window are
// not the same: a change from one to the other begins anew.
func (s passive) recount(before, after *passiveRules) passive {
	if (before.Window > 0) != (after.Window > 0) {
		s.fails, s.recent, s.blocked = 0, nil, ""
	}
	if s.fails = min(s.fails, after.Failures); s.fails < after.Failures {
		s.blocked = ""
	}
	return s
}
