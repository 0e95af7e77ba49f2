package healthcheck

import (
	"context"
	"math/rand/v2"
	"time"
)

// schedule is the dispatcher's state: budgets in use and what waits for them.
type schedule struct {
	concurrency, perHost int

	running  int
	down     int // probes of class 2
	unproven int // probes of checks that nobody is up by, class 2 included
	hosts    map[string]int
	queue    queue
	origin   time.Time // of the grid of ticks
	lastTick time.Time // on the grid, not later than now
}

func newSchedule(concurrency, perHost int) schedule {
	return schedule{concurrency: concurrency, perHost: perHost, hosts: map[string]int{}, queue: queue{parked: map[string][]due{}}}
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

// share is the budget that a probe counts in.
type share struct {
	host     string
	down     bool // of class 2: at most half
	unproven bool // nobody is up by the check: at most three quarters
}

// pool is the queue that a share waits in: each has a limit of its own.
func (h share) pool() int {
	switch {
	case h.down:
		return poolDown
	case h.unproven:
		return poolUnproven
	}
	return poolProven
}

// room reports whether the budgets allow a probe (rule 3).
func (s *schedule) room(h share) bool { return s.open(h.pool()) && s.hosts[h.host] < s.perHost }

// open reports whether a pool has room. The last quarter is for checks that somebody
// is up by: thousands of dead newcomers, which are urgent as long as they are
// pending, cannot delay them.
func (s *schedule) open(pool int) bool {
	return s.running < s.concurrency &&
		(pool != poolDown || s.down < max(s.concurrency/2, 1)) &&
		(pool == poolProven || s.unproven < max(s.concurrency*3/4, 1))
}

// book adds n to what the shares use: 1 at a launch, -1 at its end.
func (s *schedule) book(h share, n int) {
	s.running += n
	if s.hosts[h.host] += n; s.hosts[h.host] == 0 {
		delete(s.hosts, h.host)
	}
	if n < 0 {
		s.queue.unpark(h.host)
	}
	if h.down {
		s.down += n
	}
	if h.unproven {
		s.unproven += n
	}
}

// task is one probe on its way.
type task struct {
	check   *check
	share   share
	seq     uint64
	started time.Time
	tick    time.Time // on the grid: the next launch counts from it
	cancel  context.CancelCauseFunc
	// detailed: an operator waits for all that it sees.
	detailed bool
	// orphans left the check while the probe was in flight.
	orphans []*placement
}

// spec is what the probe asks.
func (t *task) spec() *Spec {
	if !t.detailed {
		return &t.check.spec
	}
	detailed := t.check.spec
	detailed.Detailed = true
	return &detailed
}

// launch starts a probe.
func (e *Engine) launch(c *check, h share, now time.Time) {
	c.seq++
	t := &task{check: c, share: h, seq: c.seq, started: now, tick: e.schedule.lastTick, detailed: len(c.asked) > 0}
	c.inFlight, c.again, c.expedited = t, false, false
	c.delay = 0
	if !c.dueSince.IsZero() {
		c.delay, c.dueSince = now.Sub(c.dueSince), time.Time{}
	}
	e.schedule.book(h, 1)
	e.touchCheck(c)
	t.cancel = e.start(func(ctx context.Context) {
		ctx, stop := context.WithDeadlineCause(ctx, now.Add(c.spec.Check.Timeout), errProbeDeadline)
		r := e.probe(ctx, t)
		stop()
		e.finish(t, &r)
	})
}

// plan books the next launch after an applied result (rule 5).
func (e *Engine) plan(c *check, t *task, now time.Time) {
	base, _ := c.pace(e.cfg.Tick)
	switch {
	case base <= 2*e.cfg.Tick:
	case c.crowded:
		// Once, early: its cycle is somewhere else than that of all the others.
		c.crowded = false
		base = (1 + rand.N(base/e.cfg.Tick)) * e.cfg.Tick
	default:
		base += jitter(c.key.timing.jitter, base, e.cfg.Tick)
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

// jitter is what is added to a wait: whole ticks, because a part of one would always be
// rounded up to one, and spread nothing.
func jitter(percent int, base, tick time.Duration) time.Duration {
	most := base * time.Duration(percent) / 100 / tick
	if most <= 0 {
		return 0
	}
	return rand.N(most+1) * tick
}
