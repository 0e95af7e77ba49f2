package healthcheck

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"fairlead/router/route"
)

// reports are what real traffic said since the last tick. Their number is bounded by
// that of the placements, and the lock is held for one map operation only, so the
// request path never waits for the engine.
type reports struct {
	mu sync.Mutex
	reported
	// suspects maps the *route.Load of what serves unverified to its *atomic.Int64 of
	// successes; few is their number, so that traffic pays for a look-up only in panic.
	suspects sync.Map
	few      atomic.Int64
}

// reported are placements by what was said of them.
type reported struct {
	failed keys // failures of the connection
	proved keys // enough successes while unverified
}

type keys map[route.PlacementKey]struct{}

func newReports() reports { return reports{reported: reported{failed: keys{}, proved: keys{}}} }

func (r *reports) add(to keys, key route.PlacementKey) {
	r.mu.Lock()
	to[key] = struct{}{}
	r.mu.Unlock()
}

func (r *reports) take() reported {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := reported{failed: maps.Clone(r.failed), proved: maps.Clone(r.proved)}
	clear(r.failed)
	clear(r.proved)
	return taken
}

// Report takes what traffic saw of a placement. A failure of the connection brings
// the next probe forward to the next tick; it changes neither state nor counters.
// Report never blocks.
func (e *Engine) Report(o route.Outcome) {
	switch {
	case o.Placement == nil:
	case o.Transport:
		e.reports.add(e.reports.failed, o.Placement.Key())
	case o.Kind == route.KindNone && o.Status < 500 && e.reports.few.Load() > 0:
		if proof, ok := e.reports.suspects.Load(o.Placement.Load); ok {
			if n, ok := proof.(*atomic.Int64); ok && n.Add(1) == enoughProof {
				e.reports.add(e.reports.proved, o.Placement.Key())
			}
		}
	}
}

// enoughProof is how many real requests must succeed on a backend that fails its
// probes before the check itself is suspected.
const enoughProof = 20

// watch counts the successes of a placement from now on, or ends that.
func (e *Engine) watch(p *placement, serves bool) {
	load := p.current.Load
	if serves == (p.proof != nil) || load == nil {
		return
	}
	if serves {
		p.proof = new(atomic.Int64)
		e.reports.suspects.Store(load, p.proof)
		e.reports.few.Add(1)
		return
	}
	p.proof = nil
	e.reports.suspects.Delete(load)
	e.reports.few.Add(-1)
}

// showProof notes that views of these placements say more now.
func (e *Engine) showProof(proved keys) {
	for key := range proved {
		if p := e.find(key); p != nil {
			e.rev++
			e.touch(p.entry)
		}
	}
}

// suspicious reports whether traffic contradicts the probes.
func (p *placement) suspicious() bool { return p.proof != nil && p.proof.Load() >= enoughProof }

// expediteReported hurries the checks of reported placements, each at most once per
// fast interval.
func (e *Engine) expediteReported(reported keys, now time.Time) {
	for key := range reported {
		p := e.find(key)
		if p == nil || p.check == nil || p.unprobed() {
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
	if c.dueSince.IsZero() { // one that waits for a slot keeps its place
		c.nextAt = now
	}
	e.touchCheck(c)
}
