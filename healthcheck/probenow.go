package healthcheck

import (
	"context"
	"fmt"
	"time"

	"fairlead/router/route"
)

// probeNowPause is the time between probes of one backend that operators ask for.
const probeNowPause = time.Second

// ProbeNow runs a backend's check now and reports what it saw. Without count it is a dry
// run: nothing of the backend changes. With count the result is applied as that of any
// scheduled probe; one that is in flight already is waited for and another one follows.
// Each backend takes at most one such probe a second, and none when the probes' budget is
// used up (an *route.OrderError with OrderTooOften). It returns when the probe has a
// result, or soon after ctx ends.
func (e *Engine) ProbeNow(ctx context.Context, entrypoint, backend string, count bool) (route.ProbeReport, error) {
	e.mu.Lock()
	done, stop, refusal := e.probeNow(entrypoint, backend, count, time.Now())
	e.mu.Unlock()
	if refusal != nil {
		return route.ProbeReport{}, refusal
	}
	select {
	case got := <-done:
		if got.refusal != nil {
			return route.ProbeReport{}, got.refusal
		}
		return got.report, nil
	case <-ctx.Done():
		stop(errProbeObsolete)
		return route.ProbeReport{}, fmt.Errorf("the probe of %s/%s had no result in time: %w", entrypoint, backend, context.Cause(ctx))
	}
}

// asked is a counted probe that somebody waits for.
type asked struct {
	seq  uint64 // the result of this launch answers it, or of a later one
	done chan<- answered
}

// answered is how a probe ended that somebody waits for.
type answered struct {
	report  route.ProbeReport
	refusal *route.OrderError
}

// probeNow launches what ProbeNow waits for. stop ends a dry run early.
func (e *Engine) probeNow(entrypoint, backend string, count bool, now time.Time) (<-chan answered, context.CancelCauseFunc, *route.OrderError) {
	_, targets, refusal := e.targets(entrypoint, backend, &route.Order{})
	if refusal != nil {
		return nil, nil, refusal
	}
	p := targets[0]
	switch {
	case e.start == nil:
		return nil, nil, refused(route.OrderImpossible, "the router is starting: ask again in a moment")
	case p.check == nil:
		return nil, nil, refused(route.OrderImpossible, "backend %s is not probed (healthCheck=false, or UDP), so there is no check to run", p.name())
	case count && p.inMaintenance():
		return nil, nil, refused(route.OrderImpossible, "backend %s is in maintenance, where no probe counts: ask for a dry run, or order ready, which probes it", p.name())
	case !p.probedNow.IsZero() && now.Sub(p.probedNow) < probeNowPause:
		return nil, nil, refused(route.OrderTooOften, "backend %s was probed by order less than %s ago: ask again in a moment", p.name(), short(probeNowPause))
	}
	done := make(chan answered, 1)
	if count {
		p.probedNow = now
		e.probeCounted(p.check, done, now)
		return done, func(error) {}, nil
	}
	h := p.check.share(p.check.class())
	if !e.schedule.room(h) {
		return nil, nil, refused(route.OrderTooOften, "all probes that may run at once are running: ask again in a moment")
	}
	p.probedNow = now
	return done, e.probeDry(p, h, done, now), nil
}

// probeCounted makes a probe of the check answer at done: one that is launched now or,
// where there is no room or one is in flight, by the dispatcher (race rule R9).
func (e *Engine) probeCounted(c *check, done chan<- answered, now time.Time) {
	c.asked = append(c.asked, asked{seq: c.seq + 1, done: done})
	if h := c.share(c.class()); c.inFlight == nil && e.schedule.room(h) {
		e.launch(c, h, now)
		return
	}
	e.expedite(c, now)
}

// probeDry runs a probe beside the check's own, within the budget.
func (e *Engine) probeDry(p *placement, h share, done chan<- answered, now time.Time) context.CancelCauseFunc {
	t := &task{check: p.check, share: h, started: now, detailed: true}
	view, port := *e.checkView(t.check, now), p.backend().Port
	e.schedule.book(h, 1)
	return e.start(func(ctx context.Context) {
		ctx, stop := context.WithDeadlineCause(ctx, now.Add(t.check.spec.Check.Timeout), errProbeDeadline)
		r := e.probe(ctx, t)
		stop()
		e.mu.Lock()
		e.schedule.book(h, -1)
		e.stats.Probes++
		stopped := e.stopped
		e.launchWaiting(time.Now())
		e.mu.Unlock()
		out := answered{report: report(&r, &t.check.spec, t.check.target, port, view, now)}
		if stopped {
			out.refusal = refused(route.OrderImpossible, "the router is stopping")
		}
		done <- out
	})
}

// answer tells those who wait for a result of the check, as far as this launch answers
// them.
func (e *Engine) answer(t *task, r *Result, counted bool, now time.Time) {
	c := t.check
	if len(c.asked) == 0 {
		return
	}
	var later []asked
	for _, a := range c.asked {
		if a.seq > t.seq {
			later = append(later, a)
			continue
		}
		out := report(r, &c.spec, c.target, c.users[0].backend().Port, *e.checkView(c, now), t.started)
		out.Counted = counted
		a.done <- answered{report: out}
	}
	c.asked = later
}

// giveUp tells those who wait for a result of the check that none will come.
func (c *check) giveUp() {
	for _, a := range c.asked {
		a.done <- answered{refusal: refused(route.OrderImpossible,
			"the backend or its check changed before the probe had a result: ask again")}
	}
	c.asked = nil
}
