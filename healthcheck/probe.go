package healthcheck

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"fairlead/router/route"
)

// probe runs one probe and judges its time: what comes after the deadline is a
// timeout, whatever it says.
func (e *Engine) probe(ctx context.Context, t *task) Result {
	spec := &t.check.spec
	r := e.ask(ctx, t)
	return r.timed(time.Since(t.started), spec.Check.Timeout, context.Cause(ctx))
}

// ask calls the prober. A panic in it is a bug of ours: it costs this backend a
// failed probe and the log a stack, not everybody the router.
func (e *Engine) ask(ctx context.Context, t *task) (r Result) {
	defer func() {
		if v := recover(); v != nil {
			e.cfg.Log.Error().Str("check", t.check.id).Str("panic", fmt.Sprintf("%T", v)).
				Bytes("stack", debug.Stack()).Msg("a prober panicked; please report this bug")
			r = misconfigured("the prober failed inside the router (a bug; the log has the stack)", clueNone)
		}
	}()
	p := e.probers[t.check.spec.Check.Type]
	if p == nil {
		return misconfigured(fmt.Sprintf("probes of type %q are not in this version", t.check.spec.Check.Type), clueNone)
	}
	return p.Probe(ctx, t.check.target, t.spec())
}

// finish takes a probe's result. Its slot is returned here and nowhere else.
func (e *Engine) finish(t *task, r *Result) {
	e.mu.Lock()
	now := time.Now()
	e.schedule.book(t.share, -1)
	e.stats.Probes++
	became := traceOK
	switch {
	case e.stopped || e.checks[t.check.key] != t.check || t.check.inFlight != t || t.check.seq != t.seq:
		became = traceLate
		e.late(t)
	case r.Kind == route.KindLocalError:
		became = traceLocal
		e.localError(t, r, now)
	default:
		if !r.OK {
			became = traceFailed
		}
		e.apply(t, r, now)
	}
	e.trace(t, r, became, now)
	e.launchWaiting(now)
	e.mu.Unlock()
	e.flush()
}

// late counts a result that is about nothing any more (race rule R1).
func (e *Engine) late(t *task) {
	e.stats.LateResults++
	e.rev++
	if e.stopped {
		t.check.giveUp()
	}
	for _, p := range append(t.orphans, t.check.users...) {
		p.counters.LateResults++
		e.touch(p.entry)
	}
}

// apply lets every placement of the check see the result, and publishes what
// follows from it, in the same critical section (race rules R5, R18).
func (e *Engine) apply(t *task, r *Result, now time.Time) {
	c := t.check
	c.inFlight = nil
	e.localEnds()
	e.rev++
	seen := r.seen(now, now.Sub(t.started))
	e.measures.note(c.spec.Check.Type, r, now.Sub(t.started))
	if !r.OK {
		e.stats.Failures++
	}
	for _, p := range c.users {
		if p.unprobed() {
			continue
		}
		before := p.active
		var what change
		p.active, what = p.active.result(&p.rules, r, now)
		p.last = seen
		p.ticks.add(seen)
		p.weather()
		p.counters.Probes++
		if !r.OK {
			p.counters.Failures++
		}
		if p.decided() {
			e.decide(p)
		}
		if healed := p.heal(t, r.OK, now); what == changeNone {
			what = healed
		}
		e.step(p, &before, what, causeProbe, now)
	}
	e.announce()
	e.plan(c, t, now)
	e.touchCheck(c)
	for _, p := range c.users {
		p.entry.publishRetry(now)
	}
	e.answer(t, r, true, now)
}

// step completes a placement's step: the rotation, then one transition.
func (e *Engine) step(p *placement, before *active, what change, cause string, now time.Time) {
	if what != changeNone || before.status != p.active.status || before.fail != p.active.fail || before.serving != p.active.serving {
		e.publish(p.entry, cause, now)
	}
	e.touch(p.entry)
	e.emit(p, what, cause, now)
}

// localFaults counts failures of the router's own resources in a row.
type localFaults struct {
	consecutive int
	message     string
	since       time.Time
}

// localErrorsShown is how many of them in a row raise a diagnostic.
const localErrorsShown = 3

// localError leaves every verdict alone and tries again at the next tick.
func (e *Engine) localError(t *task, r *Result, now time.Time) {
	t.check.inFlight = nil
	t.check.nextAt = t.tick.Add(e.cfg.Tick)
	e.stats.LocalErrors++
	e.rev++
	e.touchCheck(t.check)
	e.answer(t, r, false, now)
	if e.local.consecutive++; e.local.consecutive == 1 {
		e.local.since = now
	}
	e.local.message = r.Message
	if e.local.consecutive == localErrorsShown {
		e.notify(notice{local: r.Message})
		e.globalChanged()
	}
}

// localEnds notes a result that this machine did not prevent.
func (e *Engine) localEnds() {
	shown := e.local.consecutive >= localErrorsShown
	if e.local.consecutive = 0; shown {
		e.globalChanged()
	}
}

func (e *Engine) globalChanged() {
	if e.cfg.OnGlobal != nil {
		e.cfg.OnGlobal()
	}
}

// short writes a duration as people do: 5s, not 5.000000000s.
func short(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}
