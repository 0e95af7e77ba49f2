package healthcheck

import (
	"sync"
	"time"

	"fairlead/router/route"
)

// reports are placements on which real traffic met a failure of the connection since
// the last tick. Their number is bounded by that of the placements, and the lock is
// held for one map operation only, so the request path never waits for the engine.
type reports struct {
	mu      sync.Mutex
	pending map[route.PlacementKey]struct{}
}

func (r *reports) add(key route.PlacementKey) {
	r.mu.Lock()
	r.pending[key] = struct{}{}
	r.mu.Unlock()
}

func (r *reports) take() map[route.PlacementKey]struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		return nil
	}
	taken := r.pending
	r.pending = map[route.PlacementKey]struct{}{}
	return taken
}

// Report takes what traffic saw of a placement. A failure of the connection brings
// the next probe forward to the next tick; it changes neither state nor counters.
// Report never blocks.
func (e *Engine) Report(o route.Outcome) {
	if o.Transport && o.Placement != nil {
		e.reports.add(o.Placement.Key())
	}
}

// expediteReported hurries the checks of reported placements, each at most once per
// fast interval.
func (e *Engine) expediteReported(reported map[route.PlacementKey]struct{}, now time.Time) {
	for key := range reported {
		p := e.find(key)
		if p == nil || p.check == nil || p.leaving() {
			continue
		}
		c := p.check
		pause := c.key.timing.fast
		if pause <= 0 {
			pause = c.key.timing.interval
		}
		if !c.hurriedAt.IsZero() && now.Sub(c.hurriedAt) < pause {
			continue
		}
		c.hurriedAt = now
		e.expedite(c, now)
	}
}

func (e *Engine) find(key route.PlacementKey) *placement {
	en := e.entries[key.Entrypoint]
	if en == nil {
		return nil
	}
	for _, p := range en.placements {
		if p.backend().Incarnation == key.Incarnation {
			return p
		}
	}
	return nil
}

// expedite makes a check due now or, while a probe is in flight, once more at the
// tick after it (race rule R9).
func (e *Engine) expedite(c *check, now time.Time) {
	if c.inFlight != nil {
		c.again = true
		return
	}
	c.expedited = true
	if c.nextAt.After(now) {
		c.nextAt = now
	}
	e.touchCheck(c)
}
