package healthcheck

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// schedule is the dispatcher's state: budgets in use and what waits for them.
type schedule struct {
	concurrency, perHost int

	running  int
	down     int // probes of class 2
	hosts    map[string]int
	waiting  []due // sorted, what could not be launched at the last tick
	scratch  []due
	origin   time.Time // of the grid of ticks
	lastTick time.Time // on the grid, not later than now
}

// due is a check whose time has come, with what it is sorted by.
type due struct {
	check *check
	class class
}

func newSchedule(concurrency, perHost int) schedule {
	return schedule{concurrency: concurrency, perHost: perHost, hosts: map[string]int{}}
}

func (s *schedule) start(now time.Time, tick time.Duration) {
	s.origin, s.lastTick = now, now
	s.advance(now, tick)
}

// advance moves to the latest tick of the grid. Launches are booked on the grid, so
// a timer that fires a little late neither shifts the pace nor adds up.
func (s *schedule) advance(now time.Time, tick time.Duration) {
	s.lastTick = s.origin.Add(now.Sub(s.origin).Truncate(tick))
}

// room reports whether the budgets allow a probe (rule 3).
func (s *schedule) room(c class, host string) bool {
	return s.running < s.concurrency && s.hosts[host] < s.perHost &&
		(c != classDown || s.down < max(s.concurrency/2, 1))
}

func (s *schedule) take(c class, host string) {
	s.running++
	s.hosts[host]++
	if c == classDown {
		s.down++
	}
}

func (s *schedule) release(c class, host string) {
	s.running--
	if s.hosts[host]--; s.hosts[host] == 0 {
		delete(s.hosts, host)
	}
	if c == classDown {
		s.down--
	}
}

// collectDue lists every check whose time has come, most urgent first.
func (e *Engine) collectDue(now time.Time) {
	s := &e.schedule
	list := s.scratch[:0]
	for _, c := range e.checks {
		if c.inFlight != nil || c.nextAt.After(now) || !c.wanted() {
			continue
		}
		if c.dueSince.IsZero() {
			c.dueSince = s.lastTick
		}
		list = append(list, due{check: c, class: c.class()})
	}
	slices.SortFunc(list, func(a, b due) int {
		return cmp.Or(cmp.Compare(a.class, b.class), a.check.nextAt.Compare(b.check.nextAt),
			cmp.Compare(a.check.generation, b.check.generation))
	})
	s.scratch, s.waiting = s.waiting[:0], list
}

// launchWaiting launches what waits and has room. It runs at each tick and whenever
// a slot is free again.
func (e *Engine) launchWaiting(now time.Time) {
	if e.probing == nil || e.stopped {
		return
	}
	s := &e.schedule
	kept := s.waiting[:0]
	for i, d := range s.waiting {
		if s.running >= s.concurrency {
			kept = append(kept, s.waiting[i:]...)
			break
		}
		switch {
		case d.check.inFlight != nil, e.checks[d.check.key] != d.check, d.check.nextAt.After(now), !d.check.wanted():
		case s.room(d.class, d.check.target.Host):
			e.launch(d.check, d.class, now)
		default:
			kept = append(kept, d)
		}
	}
	clear(s.waiting[len(kept):])
	s.waiting = kept
}

// task is one probe on its way.
type task struct {
	check   *check
	class   class
	seq     uint64
	started time.Time
	tick    time.Time // on the grid: the next launch counts from it
	cancel  context.CancelCauseFunc
	// orphans left the check while the probe was in flight.
	orphans []*placement
}

// launch starts a probe.
func (e *Engine) launch(c *check, cl class, now time.Time) {
	ctx, cancel := context.WithCancelCause(e.probing)
	c.seq++
	t := &task{check: c, class: cl, seq: c.seq, started: now, tick: e.schedule.lastTick, cancel: cancel}
	c.inFlight, c.again, c.expedited = t, false, false
	c.delay, c.dueSince = now.Sub(c.dueSince), time.Time{}
	e.schedule.take(cl, c.target.Host)
	e.touchCheck(c)
	e.probes.Go(func() {
		ctx, stop := context.WithDeadlineCause(ctx, now.Add(c.spec.Check.Timeout), errProbeDeadline)
		r := e.probe(ctx, t)
		stop()
		cancel(nil)
		e.finish(t, &r)
	})
}

// plan books the next launch after an applied result (rule 5).
func (e *Engine) plan(c *check, t *task, now time.Time) {
	base, _ := c.pace(e.cfg.Tick)
	if base > 2*e.cfg.Tick {
		base += jitter(c.key.timing.jitter, base)
	}
	c.nextAt = t.tick.Add(base)
	if c.again {
		c.again, c.expedited = false, true
		c.nextAt = now
	}
	if c.nextAt.Before(now) {
		c.nextAt = now
	}
}

func jitter(percent int, base time.Duration) time.Duration {
	most := base * time.Duration(percent) / 100
	if most <= 0 {
		return 0
	}
	return rand.N(most + 1)
}

// spread books the first launches of new checks so that many do not start at once.
func (e *Engine) spread(fresh []*check, now time.Time) {
	most := min(e.cfg.StartupSpread, 10*time.Millisecond*time.Duration(len(fresh)))
	for _, c := range fresh {
		c.nextAt = now
		if most > 0 {
			c.nextAt = now.Add(rand.N(most))
		}
	}
}
