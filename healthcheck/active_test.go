package healthcheck

import (
	"testing"
	"time"

	"fairlead/router/route"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func success() *Result { return &Result{OK: true, Message: "connected"} }

func failure(kind route.Kind) *Result { return &Result{Kind: kind, Message: string(kind)} }

// TestActiveTable holds every row of the active layer's table.
func TestActiveTable(t *testing.T) {
	const refused, slow = route.KindConnectionRefused, route.KindTimeout
	old := activeRules{unhealthy: 3, healthy: 2, initialDelay: 10 * time.Second, started: t0.Add(-time.Minute)}
	young := old
	young.started = t0.Add(-5 * time.Second)
	static := old
	static.started = time.Time{}
	pending, up := active{status: route.StatePending}, active{status: route.StateUp, succeeded: true}
	down := active{status: route.StateDown, fail: 3, blame: blame{kind: refused}}
	with := func(a active, f func(*active)) active { f(&a); return a }
	for _, tt := range []struct {
		name       string
		rules      activeRules
		from       active
		result     *Result
		status     route.State
		ok, fail   int
		stale      bool
		emits      change
		wantedKind route.Kind
	}{
		{"pending, success", old, pending, success(), route.StateUp, 0, 0, false, changeSuccess, ""},
		{"pending, success while young", young, pending, success(), route.StateUp, 0, 0, false, changeSuccess, ""},
		{"pending, failure while young", young, pending, failure(refused), route.StatePending, 0, 1, false, changeNone, refused},
		{"pending, failures while young saturate", young, with(pending, func(a *active) { a.fail = 3 }), failure(refused), route.StatePending, 0, 3, false, changeNone, refused},
		{"pending, failure", old, pending, failure(refused), route.StateDown, 0, 3, false, changeFailure, refused},
		{"pending, failure of a static backend", static, pending, failure(refused), route.StateDown, 0, 3, false, changeFailure, refused},
		{"up, success", old, up, success(), route.StateUp, 0, 0, false, changeNone, ""},
		{"up, success after a failure", old, with(up, func(a *active) { a.fail = 2 }), success(), route.StateUp, 0, 0, false, changeRecovered, ""},
		{"up, first failure", old, up, failure(slow), route.StateUp, 0, 1, false, changeFailing, slow},
		{"up, last failure", old, with(up, func(a *active) { a.fail = 2 }), failure(slow), route.StateDown, 0, 3, false, changeDown, slow},
		{"down, same failure", old, down, failure(refused), route.StateDown, 0, 3, false, changeNone, refused},
		{"down, failure clears successes", old, with(down, func(a *active) { a.ok = 1 }), failure(refused), route.StateDown, 0, 3, false, changeNone, refused},
		{"down, other failure", old, down, failure(slow), route.StateDown, 0, 3, false, changeReason, slow},
		{"down, first success", old, down, success(), route.StateDown, 1, 0, false, changeNone, refused},
		{"down, last success", old, with(down, func(a *active) { a.ok = 1 }), success(), route.StateUp, 0, 0, false, changeUp, ""},
		{"stale up, success", old, with(up, func(a *active) { a.stale = true }), success(), route.StateUp, 0, 0, false, changeNone, ""},
		{"stale up, failure decides alone", old, with(up, func(a *active) { a.stale = true }), failure(slow), route.StateDown, 0, 3, false, changeDown, slow},
		{"stale up, failure while young", young, with(up, func(a *active) { a.stale = true }), failure(slow), route.StateUp, 0, 1, true, changeNone, slow},
		{"stale down, success decides alone", old, with(down, func(a *active) { a.stale = true }), success(), route.StateUp, 0, 0, false, changeUp, ""},
		{"stale down, failure", old, with(down, func(a *active) { a.stale = true }), failure(refused), route.StateDown, 0, 3, false, changeNone, refused},
	} {
		got, what := tt.from.result(&tt.rules, tt.result, t0)
		if got.status != tt.status || got.ok != tt.ok || got.fail != tt.fail || got.stale != tt.stale || what != tt.emits {
			t.Errorf("%s: %s ok=%d fail=%d stale=%v emits %q, want %s %d %d %v %q",
				tt.name, got.status, got.ok, got.fail, got.stale, what, tt.status, tt.ok, tt.fail, tt.stale, tt.emits)
		}
		if tt.wantedKind != "" && got.kind != tt.wantedKind {
			t.Errorf("%s: kind %q, want %q", tt.name, got.kind, tt.wantedKind)
		}
		if !got.checked.Equal(t0) {
			t.Errorf("%s: an applied result did not move the time of the last check", tt.name)
		}
		if went := !got.wentBad.IsZero(); went != (tt.status == route.StateDown && tt.from.status != route.StateDown) {
			t.Errorf("%s: went bad %v", tt.name, got.wentBad)
		}
	}
}

// TestActiveConfig holds the rows about changes of settings.
func TestActiveConfig(t *testing.T) {
	rules := func(u, h int) *activeRules { return &activeRules{unhealthy: u, healthy: h} }
	for _, tt := range []struct {
		name   string
		got    func() (active, change)
		status route.State
		emits  change
	}{
		{"added, checked", func() (active, change) { return newActive(true) }, route.StatePending, changeAdded},
		{"added, unchecked", func() (active, change) { return newActive(false) }, route.StateUnchecked, changeNone},
		{"threshold lowered to the failures", func() (active, change) {
			return active{status: route.StateUp, fail: 2}.thresholds(rules(2, 1), t0)
		}, route.StateDown, changeDown},
		{"threshold raised", func() (active, change) {
			return active{status: route.StateUp, fail: 2}.thresholds(rules(5, 1), t0)
		}, route.StateUp, changeNone},
		{"threshold lowered, no failure", func() (active, change) {
			return active{status: route.StateUp}.thresholds(rules(1, 1), t0)
		}, route.StateUp, changeNone},
		{"successes suffice now", func() (active, change) {
			return active{status: route.StateDown, ok: 2, fail: 3}.thresholds(rules(3, 2), t0)
		}, route.StateUp, changeUp},
		{"down without success stays", func() (active, change) {
			return active{status: route.StateDown, fail: 3}.thresholds(rules(9, 1), t0)
		}, route.StateDown, changeNone},
		{"a stale verdict waits", func() (active, change) {
			return active{status: route.StateUp, fail: 1, stale: true}.thresholds(rules(1, 1), t0)
		}, route.StateUp, changeNone},
		{"content of up", func() (active, change) { return active{status: route.StateUp, fail: 1}.content() }, route.StateUp, changeRecheck},
		{"content of pending", func() (active, change) { return active{status: route.StatePending}.content() }, route.StatePending, changeRecheck},
		{"turned off", func() (active, change) { return active{status: route.StateDown}.disabled() }, route.StateUnchecked, changeDisabled},
		{"off already", func() (active, change) { return active{status: route.StateUnchecked}.disabled() }, route.StateUnchecked, changeNone},
		{"turned on", func() (active, change) { return active{status: route.StateUnchecked}.enabled() }, route.StatePending, changeEnabled},
		{"on already", func() (active, change) { return active{status: route.StateUp}.enabled() }, route.StateUp, changeNone},
	} {
		got, what := tt.got()
		if got.status != tt.status || what != tt.emits {
			t.Errorf("%s: %s %q, want %s %q", tt.name, got.status, what, tt.status, tt.emits)
		}
	}
	if a, _ := (active{status: route.StateUp, ok: 1, fail: 1}).content(); !a.stale || a.ok != 0 || a.fail != 0 {
		t.Errorf("a change of content leaves %+v", a)
	}
	if a, _ := (active{status: route.StateUnchecked}).enabled(); !a.serving {
		t.Error("a check that is turned on takes the backend out of service")
	}
	if a, _ := (active{status: route.StatePending, serving: true}).result(rules(1, 1), failure("x"), t0); a.serving {
		t.Error("it goes on serving after its first result")
	}
}

// TestActiveInterleave: results that are not in a row never add up
// (cumulative_failures, active_counters_not_reset).
func TestActiveInterleave(t *testing.T) {
	rules := &activeRules{unhealthy: 3, healthy: 3}
	a := active{status: route.StateUp}
	for i := range 300 {
		r := failure(route.KindTimeout)
		if i%3 == 2 {
			r = success()
		}
		if a, _ = a.result(rules, r, t0); a.status != route.StateUp {
			t.Fatalf("down after %d results", i)
		}
	}
	a = active{status: route.StateDown, blame: blame{kind: route.KindTimeout}}
	for i := range 300 {
		r := success()
		if i%3 == 2 {
			r = failure(route.KindTimeout)
		}
		if a, _ = a.result(rules, r, t0); a.status != route.StateDown {
			t.Fatalf("up after %d results", i)
		}
	}
}

// TestActiveOrderOfConfigAndResult: a lowered threshold and a result give one state in
// either order; a raised one after the next result at the latest (R12).
func TestActiveOrderOfConfigAndResult(t *testing.T) {
	next := &activeRules{unhealthy: 2, healthy: 1}
	before := &activeRules{unhealthy: 3, healthy: 1}
	for _, from := range []active{{status: route.StateUp}, {status: route.StateUp, fail: 1}, {status: route.StateUp, fail: 2}, {status: route.StateDown, fail: 3}} {
		for _, r := range []*Result{success(), failure(route.KindTimeout)} {
			a, _ := from.result(before, r, t0)
			a, _ = a.thresholds(next, t0)
			b, _ := from.thresholds(next, t0)
			b, _ = b.result(next, r, t0)
			if !r.OK && a.status != b.status {
				t.Errorf("from %s fail=%d: %s or %s", from.status, from.fail, a.status, b.status)
			}
			a, _ = a.result(next, r, t0)
			b, _ = b.result(next, r, t0)
			if a.status != b.status {
				t.Errorf("from %s fail=%d, one result later: %s or %s", from.status, from.fail, a.status, b.status)
			}
		}
	}
}
