package healthcheck

import (
	"cmp"
	"fmt"
	"time"

	"fairlead/router/route"
)

// Why a backend was readmitted.
const (
	backByPanic = "a request succeeded that it got because nothing better was left"
	backByTrial = "the trial succeeded"
	backByTime  = "the ejection's time is over"
	// backByConfig is what turning the layer off does.
	backByConfig = "passive_disabled: traffic ejects nobody any more (passive.failures is not set)"
)

func backByProbe(n int) string {
	if n == 1 {
		return "a probe that was launched after the ejection succeeded"
	}
	return fmt.Sprintf("%d probes that were launched after the ejection succeeded", n)
}

func ejectedBy(o *route.Order) string {
	return "ejected by " + cmp.Or(o.Actor, "an operator") + inWords(o.Reason)
}

func readmittedBy(o *route.Order) string {
	return "readmitted by " + cmp.Or(o.Actor, "an operator") + inWords(o.Reason)
}

func inWords(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// sort is the kind of an ejection for the fault.
func (f *fault) sort() route.Kind {
	if f.slow {
		return route.KindEjectedLatency
	}
	return route.KindEjectedFailures
}

// text is the fault in a few words.
func (f *fault) text() string {
	switch {
	case f.kind != "":
		return title(f.kind)
	case f.slow:
		return fmt.Sprintf("answered %d after %s", f.status, short(f.latency.Round(time.Millisecond)))
	case f.status == 0:
		return "no answer"
	}
	return fmt.Sprintf("answered %d", f.status)
}

// verdict is the kind and the message of an ejection by the failures counted so far.
func (s *passive) verdict(r *passiveRules) (route.Kind, string) {
	return s.last.sort(), s.count(r) + "; last: " + s.last.text()
}

// count says how many requests failed: "5 requests in a row failed".
func (s *passive) count(r *passiveRules) string {
	switch {
	case r.Window > 0:
		return fmt.Sprintf("%s failed within %s", requests(s.fails), short(r.Window))
	case s.fails == 1:
		return "1 request failed"
	}
	return requests(s.fails) + " in a row failed"
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// blockedText says why a backend is not ejected although it fails.
func blockedText(why string, percent int) string {
	if why == blockedCap {
		return fmt.Sprintf("no more than %d %% may be ejected (passive.maxEjectionPercent)", percent)
	}
	return "no other verified backend is left"
}

// blockedCause is the kind and the message of an ejection that is not allowed.
func (j *ejector) blockedCause() (route.Kind, string) {
	r, s := j.now()
	return s.kind, s.why + "; not ejected, because " + blockedText(s.blocked, r.MaxEjectionPercent)
}

// passiveStory is what the explanation says of an ejected backend or one on trial.
func (p *placement) passiveStory(h *route.BackendHealth, now time.Time) string {
	if p.passive == nil {
		return ""
	}
	r, s := p.passive.now()
	lead := "Out of rotation"
	switch h.RotationReason {
	case route.InPanicThreshold:
		lead = fmt.Sprintf("Ejected, but it still gets requests because fewer than %d %% are verified (panicThreshold)", p.entry.entrypoint.Options.PanicThreshold)
	case route.InPanicAll:
		lead = "Ejected, but it still gets requests because nothing else is verified (panic=all)"
	case route.InPanicLast:
		lead = "Ejected, but it still gets requests because nothing is verified and it failed last (panic=last)"
	case route.InTrial:
		lead = "On trial after its ejection"
	case route.OutBackupStandby:
		lead = "A backup on trial after its ejection; primaries serve"
	default:
	}
	return fmt.Sprintf("%s: %s at %s. %s", lead, s.why, moment(s.openedAt, now), p.comeback(&r, &s, h))
}

// comeback is what brings an ejected backend back, and when.
func (p *placement) comeback(r *passiveRules, s *passive, h *route.BackendHealth) string {
	if s.timed {
		return p.timedComeback(r, s, h)
	}
	probes := ""
	if how := r.recovery(); r.tells && (how == route.RecoverAuto || how == route.RecoverProbe) {
		probes = fmt.Sprintf("%s%s launched after the ejection", successes("probe", r.heal-s.probed), p.asked())
	}
	waits := s.waits(h.RotationReason)
	if s.phase == route.PhaseHalfOpen {
		return trialText(r, s, waits) + orSooner(probes, " brings it back as well")
	}
	until := "until " + moment(s.until, s.openedAt)
	if s.ejections > 1 {
		until += fmt.Sprintf(" (ejection %d)", s.ejections)
	}
	switch r.recovery() {
	case route.RecoverProbe:
		return upper(successes("probe", r.heal-s.probed)) + p.asked() + " launched after the ejection brings it back, and nothing else (passive.recovery=probe)."
	case route.RecoverTime:
		then := ", and serves again then (passive.recovery=time)"
		if waits != "" {
			then = " (passive.recovery=time); then it waits " + waits
		}
		return "It is ejected " + until + then + orPanic(r, s, h.InRotation) + "."
	default:
	}
	then := "one request at a time is its trial"
	if waits != "" {
		then = "its trial waits " + waits
	}
	text := "It is ejected " + until + "; then " + then + orPanic(r, s, h.InRotation) + "."
	if r.Recovery == route.RecoverProbe {
		text += " passive.recovery=probe needs a check by http, grpc or websocket; here trials decide instead."
	}
	return text + orSooner(probes, " brings it back sooner")
}

// timedComeback is what brings back a backend that an order ejected for some time.
func (p *placement) timedComeback(r *passiveRules, s *passive, h *route.BackendHealth) string {
	then := "serves again"
	switch waits := s.waits(h.RotationReason); {
	case waits != "":
		then = "waits " + waits
	case s.then(r) == route.RecoverTrial:
		then = "gets one request at a time as its trial"
	}
	return fmt.Sprintf("It is ejected until %s; then it %s. Neither probes nor requests bring it back before; fairlead uneject %s %s does.",
		moment(s.until, s.openedAt), then, p.entry.id, p.backend().ID)
}

// orPanic says that what it serves in panic brings it back, too.
func orPanic(r *passiveRules, s *passive, serves bool) string {
	if !serves {
		return ""
	}
	return "; " + successes("request", r.Trials-s.good) + " in the meantime brings it back at once"
}

func orSooner(what, then string) string {
	if what == "" {
		return ""
	}
	return " " + upper(what) + then + "."
}

// waits is what keeps requests from a placement beside its ejection, and with them its
// trial; "" when nothing does.
func (s *passive) waits(reason route.RotationReason) string {
	switch reason {
	case route.OutDockerStarting:
		return "for Docker's HEALTHCHECK, which is still starting"
	case route.OutInitialDown:
		return "for the first success of its check (healthCheck.initial=down)"
	case route.OutBackupStandby:
		return "as long as primaries serve"
	case route.OutMisconfigured:
		return "until the route is open again"
	case route.OutEjected:
		if s.phase == route.PhaseHalfOpen {
			return "for the verdict of its check"
		}
	default:
	}
	return ""
}

func trialText(r *passiveRules, s *passive, waits string) string {
	text := "The next request is its trial"
	switch {
	case s.lease != 0:
		text = "A trial request is on its way, until " + clock(s.expires) + " at most"
	case waits != "":
		text = "Its trial waits " + waits
	}
	if r.Trials > 1 {
		text += fmt.Sprintf(" (%d of %d have succeeded)", s.good, r.Trials)
	}
	return text + "; a failure ejects it again."
}

// successes is "1 successful probe" or "2 successful probes in a row".
func successes(of string, n int) string {
	if n <= 1 {
		return "a successful " + of
	}
	return fmt.Sprintf("%d successful %ss in a row", n, of)
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// passiveNote is what the explanation of a backend that is not ejected says about the
// requests that fail on it; "" without any.
func (p *placement) passiveNote(h *route.BackendHealth, now time.Time) string {
	if p.passive == nil || h.State == route.StateEjected || h.State == route.StateTrial {
		return ""
	}
	r, s := p.passive.now()
	switch {
	case s.ordered && s.phase == route.PhaseOpen:
		until := ""
		if s.ends(&r) {
			until = ", until " + moment(s.until, now)
		}
		return "It is ejected, too" + until + ": " + s.why + " at " + moment(s.openedAt, now) + "."
	case s.ordered && s.phase == route.PhaseHalfOpen:
		return "It is on trial, too: " + s.why + " at " + moment(s.openedAt, now) + "."
	case s.phase != route.PhaseClosed:
		return "Traffic ejected it, too: " + s.why + " at " + moment(s.openedAt, now) + "."
	case s.fails == 0:
		return ""
	case s.blocked != "":
		return upper(s.why) + "; it is not ejected, because " + blockedText(s.blocked, r.MaxEjectionPercent) + "."
	}
	return fmt.Sprintf("%s (%s); %d would eject it.", upper(s.count(&r)), s.last.text(), r.Failures)
}
