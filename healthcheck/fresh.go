package healthcheck

import (
	"math/rand/v2"
	"slices"
	"time"
)

// fresh are the checks whose first probe is not launched yet. They start off the
// grid of ticks, spread out, so that a start with many backends is no herd; their
// later launches are on the grid as all others.
type fresh struct {
	waiting []*check // by nextAt
	wake    chan struct{}
}

// firstPause keeps the first probe behind the Apply that asks for it: who calls Apply
// sees the newcomer pending first.
const firstPause = time.Microsecond

// spread books the first launches of new checks: within a second, or less for few.
func (e *Engine) spread(added []*check, now time.Time) {
	if len(added) == 0 {
		return
	}
	most := min(e.cfg.StartupSpread, 10*time.Millisecond*time.Duration(len(added)))
	if e.start != nil {
		now = now.Add(firstPause)
	}
	for _, c := range added {
		c.crowded = len(added) > e.cfg.Concurrency
		c.nextAt = now
		if most > 0 {
			c.nextAt = now.Add(rand.N(most))
		}
	}
	e.fresh.waiting = append(e.fresh.waiting, added...)
	slices.SortFunc(e.fresh.waiting, func(a, b *check) int { return a.nextAt.Compare(b.nextAt) })
	select {
	case e.fresh.wake <- struct{}{}:
	default:
	}
}

// launchFresh launches the first probes whose time has come and returns how long the
// next one has; 0 when there is none. What finds no room waits for a tick.
func (e *Engine) launchFresh() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.schedule.advance(now, e.cfg.Tick)
	list := e.fresh.waiting
	if e.stopped {
		return 0
	}
	for len(list) > 0 {
		c := list[0]
		if wait := c.nextAt.Sub(now); wait > 0 {
			e.fresh.waiting = list
			return wait
		}
		list = list[1:]
		if s := c.share(c.class()); e.checks[c.key] == c && c.seq == 0 && c.wanted() && e.schedule.room(s) {
			e.launch(c, s, now)
		}
	}
	e.fresh.waiting = nil
	return 0
}
