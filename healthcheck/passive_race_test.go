package healthcheck

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// atOnce runs n calls at once and waits for them.
func atOnce(n int, call func()) {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for range n {
		all.Go(func() {
			<-gate
			call()
		})
	}
	close(gate)
	all.Wait()
}

// TestOneTransition: of many failures that meet the threshold at once, one ejects (R7).
func TestOneTransition(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		judge := r.member("b0").Judge
		atOnce(200, func() {
			ticket, _ := judge.Begin(time.Now())
			judge.End(ticket, outcome(503), time.Now())
		})
		synctest.Wait()
		if h := r.health("http_api", "b0"); h.State != route.StateEjected || h.Passive.Ejections != 1 {
			t.Errorf("%s after %d ejections", h.State, h.Passive.Ejections)
		}
		seen := strings.Join(r.seen.loud(r.start), "\n")
		if n := strings.Count(seen, "up>ejected"); n != 1 {
			t.Errorf("%d transitions:\n%s", n, seen)
		}
	})
}

// halfOpen brings b0 on trial, 32 s after the start.
func halfOpen(r *rig, e *route.Entrypoint) route.Judge {
	r.t.Helper()
	trio(r, e)
	r.requests("b0", 503, 503, 503)
	r.at(32 * time.Second)
	r.wantState("http_api", "b0", route.StateTrial, route.InTrial)
	return r.member("b0").Judge
}

// TestOneTrial: among many requests at once there is one trial, and while it is taken
// nobody waits for it.
func TestOneTrial(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		judge := halfOpen(r, ejecting())
		var trials atomic.Int64
		atOnce(100, func() {
			if ticket, ok := judge.Begin(time.Now()); ok {
				trials.Add(1)
				if ticket.Lease == 0 {
					t.Error("a trial without a lease")
				}
			}
		})
		if trials.Load() != 1 {
			t.Errorf("%d trials at once", trials.Load())
		}
		r.at(33 * time.Second) // views catch up at a tick
		if h := r.health("http_api", "b0"); !h.Passive.TrialInProgress {
			t.Error("the view does not show the trial")
		}
	})
}

// TestTrialComesBack: the place is free again whatever becomes of the trial
// (half_open_leak_cancel, half_open_leak_no_backend, R11).
func TestTrialComesBack(t *testing.T) {
	for name, use := range map[string]func(r *rig, j route.Judge, t route.Ticket){
		"the client cancelled": func(_ *rig, j route.Judge, t route.Ticket) {
			j.End(t, route.Outcome{Void: true, Transport: true, Kind: route.KindOther}, time.Now())
		},
		"no backend was picked": func(_ *rig, j route.Judge, t route.Ticket) { j.End(t, route.Outcome{Void: true}, time.Now()) },
		"the handler panicked": func(_ *rig, j route.Judge, t route.Ticket) {
			defer func() { _ = recover() }()
			defer func() { j.End(t, route.Outcome{Void: true}, time.Now()) }()
			panic("a bug")
		},
		"it never returns": func(r *rig, _ route.Judge, _ route.Ticket) { r.at(92 * time.Second) },
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			judge := halfOpen(r, ejecting(func(o *route.Options) { o.BackendTimeout = time.Minute }))
			ticket, ok := judge.Begin(time.Now())
			if _, taken := judge.Begin(time.Now()); !ok || taken {
				t.Fatalf("%s: a trial was given %v, and a second %v", name, ok, taken)
			}
			use(r, judge, ticket)
			r.wantState("http_api", "b0", route.StateTrial, "")
			next, ok := judge.Begin(time.Now())
			if !ok {
				t.Fatalf("%s: the place did not come back", name)
			}
			judge.End(ticket, outcome(503), time.Now()) // dead: a second word of the first trial
			r.wantState("http_api", "b0", route.StateTrial, "")
			judge.End(next, outcome(200), time.Now())
			r.wantState("http_api", "b0", route.StateUp, "")
		})
	}
}

// TestLeaseTime: a trial has as long as a request may take, 30 s at least.
func TestLeaseTime(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Second: 30 * time.Second, time.Minute: time.Minute} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			judge := halfOpen(r, ejecting(func(o *route.Options) { o.BackendTimeout = timeout }))
			judge.Begin(time.Now())
			r.at(32*time.Second + want - time.Millisecond)
			if _, ok := judge.Begin(time.Now()); ok {
				t.Errorf("backendTimeout %s: the trial is given up too soon", timeout)
			}
			r.at(32*time.Second + want)
			if _, ok := judge.Begin(time.Now()); !ok {
				t.Errorf("backendTimeout %s: the trial is not given up", timeout)
			}
		})
	}
}

// TestLateOutcome: what began before an ejection neither makes it longer nor ends it, and
// what began in it is no trial (R6).
func TestLateOutcome(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		judge := r.member("b0").Judge
		var old []route.Ticket
		for range 5 {
			ticket, _ := judge.Begin(time.Now())
			old = append(old, ticket)
		}
		r.requests("b0", 503, 503, 503)
		until := r.health("http_api", "b0").Passive.Until
		r.at(20 * time.Second)
		for i, status := range []int{503, 0, 200} {
			judge.End(old[i], outcome(status), time.Now())
		}
		if h := r.health("http_api", "b0"); h.State != route.StateEjected || !h.Passive.Until.Equal(until) || h.Passive.Ejections != 1 {
			t.Errorf("%s until %s", h.State, h.Passive.Until)
		}
		r.at(32 * time.Second)
		judge.End(old[3], outcome(503), time.Now())
		judge.End(old[4], outcome(200), time.Now())
		r.wantState("http_api", "b0", route.StateTrial, "")
	})
}

// TestNoEngineLock: requests go on while the engine is busy, but for the one that changes
// the phase; an ejection that was refused is not asked for again (R13).
func TestNoEngineLock(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(func(o *route.Options) { o.Passive.MaxEjectionPercent = 10 }))
		r.requests("b0", 503, 503, 503)
		r.requests("b1", 503, 503, 503)
		r.engine.mu.Lock()
		r.requests("b1", 503, 0, 503, -1)
		r.requests("b2", 503, 200, 0, -1, 503)
		r.requests("b1", 200, 503)
		r.engine.mu.Unlock()
		r.wantServing("http_api", "b1 b2")
	})
}

// TestOutcomeOfTheGone: outcomes of a backend that left the table, or after the stop,
// change and tell nothing.
func TestOutcomeOfTheGone(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		e := ejecting()
		trio(r, e)
		gone, stays := r.member("b0").Judge, r.member("b1").Judge
		next := *e
		r.apply(r.setOf(&next, backend("b1", "10.0.0.2"), backend("b2", "10.0.0.3")))
		before := len(r.seen.loud(r.start))
		fail := func(j route.Judge) {
			for range 5 {
				ticket, _ := j.Begin(time.Now())
				j.End(ticket, outcome(503), time.Now())
			}
		}
		fail(gone)
		r.stop()
		fail(stays)
		if seen := r.seen.loud(r.start); len(seen) != before {
			t.Errorf("told: %v", seen[before:])
		}
	})
}
