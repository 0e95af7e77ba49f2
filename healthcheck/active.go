package healthcheck

import (
	"cmp"
	"time"

	"fairlead/router/route"
)

// activeRules are the settings of a placement that its own reducer obeys. They are
// no part of a check's identity: placements that share a probe stream may differ.
type activeRules struct {
	unhealthy, healthy int // consecutive results that change the verdict, at least 1
	initial            route.Initial
	initialDelay       time.Duration
	started            time.Time // the container's start; zero: initialDelay is over
}

// young reports whether failures do not count yet.
func (r *activeRules) young(now time.Time) bool {
	return !r.started.IsZero() && now.Sub(r.started) < r.initialDelay
}

// active is the active layer of one placement (health.md, "Active layer").
type active struct {
	status   route.State // unchecked, pending, up or down
	ok, fail int         // consecutive, saturating at the threshold
	blame                // of the last failure; it stands for the verdict while the status is down
	probed   blame       // of the last probe that failed
	// streak counts failures in a row without an end; fail saturates.
	streak int
	// fed are those in the streak that were requests, not probes (passive.feedsActive).
	fed int
	// stale: the verdict is of a check whose content has changed since; the next
	// result decides alone.
	stale bool
	// serving: the check was just turned on for a placement that served unchecked.
	serving bool
	// succeeded: a probe of this incarnation has succeeded once.
	succeeded bool
	wentBad   time.Time // of the latest verdict "down"
	checked   time.Time // completion of the last applied result of a probe
}

// blame is what a failure was.
type blame struct {
	kind     route.Kind
	message  string
	answered int // HTTP status, 0 without one
	clue     clue
	failed   time.Time
	request  *fault // it was a request's; nil for a probe
}

// change says what a step did to a placement's active layer.
type change string

const (
	changeNone      change = ""
	changeAdded     change = "added"
	changeSuccess   change = "first_success"
	changeFailure   change = "first_failure"
	changeUp        change = "up"
	changeDown      change = "down"
	changeFailing   change = "failing"                    // debug
	changeRecovered change = "recovered_before_threshold" // debug
	changeReason    change = "reason_changed"
	changeRecheck   change = "recheck"
	changeDisabled  change = "check_disabled"
	changeEnabled   change = "check_enabled"
)

// newActive is the state of an added placement.
func newActive(checked bool) (active, change) {
	if !checked {
		return active{status: route.StateUnchecked}, changeNone
	}
	return active{status: route.StatePending}, changeAdded
}

// result is the step for one applied probe result.
func (a active) result(rules *activeRules, r *Result, now time.Time) (active, change) {
	a.checked = now
	if r.OK {
		return a.success(rules)
	}
	a.probed = blame{r.Kind, r.Message, r.Status, r.clue, now, nil}
	return a.failure(rules, a.probed, now)
}

func (a active) success(rules *activeRules) (active, change) {
	before := a
	a.fail, a.streak, a.fed, a.stale, a.serving, a.succeeded = 0, 0, 0, false, false, true
	decides := before.status == route.StatePending || before.stale
	switch {
	case before.status == route.StateUp:
		a.ok = 0
		if before.fail > 0 {
			return a, changeRecovered
		}
		return a, changeNone
	case !decides && a.ok+1 < rules.healthy:
		a.ok++
		return a, changeNone
	}
	a.status, a.ok = route.StateUp, 0
	if before.status == route.StatePending {
		return a, changeSuccess
	}
	return a, changeUp
}

func (a active) failure(rules *activeRules, b blame, now time.Time) (active, change) {
	before := a
	a.ok, a.serving = 0, false
	a.blame, a.streak = b, a.streak+1
	a.fail = min(a.fail+1, rules.unhealthy)
	if before.status == route.StatePending || before.stale {
		if rules.young(now) {
			return a, changeNone
		}
		a.fail = rules.unhealthy // it decides alone
	}
	a.stale = false
	switch {
	case before.status == route.StateDown:
		a.fail = rules.unhealthy
		if before.kind != a.kind {
			return a, changeReason
		}
		return a, changeNone
	case a.fail < rules.unhealthy:
		return a, changeFailing
	}
	a.status, a.wentBad = route.StateDown, now
	if before.status == route.StatePending {
		return a, changeFailure
	}
	return a, changeDown
}

// requestFailed begins the message of a failure that was a request.
const requestFailed = "a request failed: "

// fedFailure is the step for a request that failed. Of a backend that is down it only
// takes back successes: what its probes see stays its reason.
func (a active) fedFailure(rules *activeRules, f *fault, now time.Time) (active, change) {
	if a.status == route.StateDown {
		a.ok = 0
		return a, changeNone
	}
	a.fed++
	return a.failure(rules, blame{cmp.Or(f.kind, route.KindBadStatus), requestFailed + f.text(), f.status, clueNone, now, f}, now)
}

// unfed is the step for a request that succeeded: it takes back what requests counted
// in a row, and nothing that probes did.
func (a active) unfed() (active, change) {
	if a.status != route.StateUp || a.fed == 0 {
		return a, changeNone
	}
	a.fail -= min(a.fed, a.fail)
	a.streak -= min(a.fed, a.streak)
	a.fed = 0
	if a.fail == 0 {
		return a, changeRecovered
	}
	a.blame = a.probed
	return a, changeFailing
}

// thresholds re-evaluates the counters after a change of thresholds. A stale verdict
// waits for its result.
func (a active) thresholds(rules *activeRules, now time.Time) (active, change) {
	switch {
	case a.stale:
	case a.status == route.StateUp && a.fail > 0 && a.fail >= rules.unhealthy:
		a.status, a.wentBad = route.StateDown, now
		a.fail, a.ok = rules.unhealthy, 0
		return a, changeDown
	case a.status == route.StateDown && a.ok > 0 && a.ok >= rules.healthy:
		a.status, a.ok, a.fail = route.StateUp, 0, 0
		return a, changeUp
	}
	a.fail = min(a.fail, rules.unhealthy)
	return a, changeNone
}

// content keeps the verdict after a change of the check's content, but marks it
// stale.
func (a active) content() (active, change) {
	a.ok, a.fail = 0, 0
	a.stale = a.status != route.StatePending
	return a, changeRecheck
}

// disabled is the step for a check that was turned off.
func (a active) disabled() (active, change) {
	if a.status == route.StateUnchecked {
		return a, changeNone
	}
	return active{status: route.StateUnchecked, succeeded: a.succeeded}, changeDisabled
}

// enabled is the step for a check that was turned on.
func (a active) enabled() (active, change) {
	if a.status != route.StateUnchecked {
		return a, changeNone
	}
	return active{status: route.StatePending, serving: true, succeeded: a.succeeded}, changeEnabled
}

// confirming reports whether a change of the verdict has begun but is not decided.
func (a *active) confirming() bool {
	return a.status == route.StateUp && a.fail > 0 || a.status == route.StateDown && a.ok > 0
}

// undecided reports whether the next result decides alone.
func (a *active) undecided() bool { return a.status == route.StatePending || a.stale }
