package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// startup waits for the first verdicts of a provider's first snapshot, so that the
// first backend that is verified does not get the traffic of all.
type startup struct {
	batch    uint64 // the Apply that began it
	waiting  int
	deadline time.Time
	over     bool
}

// maxStartup bounds the wait whatever the timeouts are.
const maxStartup = 15 * time.Second

// begin notes the placements of providers that are named for the first time.
func (e *Engine) begin(changed []*entry, now time.Time) {
	for _, en := range changed {
		st := e.startups[en.entrypoint.Source]
		if st == nil {
			st = &startup{batch: e.batch, deadline: now}
			e.startups[en.entrypoint.Source] = st
		}
		if st.batch != e.batch {
			continue
		}
		for _, p := range en.placements {
			if p.decided() || p.founding != nil {
				continue
			}
			p.founding = st
			st.waiting++
			wait := min(2*p.check.spec.Check.Timeout, maxStartup)
			if d := now.Add(wait); d.After(st.deadline) {
				st.deadline = d
			}
		}
	}
	for _, st := range e.startups {
		st.over = st.over || st.waiting == 0
	}
	e.updateSettled()
}

// decided reports whether a placement needs no first verdict any more.
func (p *placement) decided() bool {
	if p.inMaintenance() {
		return true
	}
	switch p.backend().Provider {
	case route.ProviderLeaving, route.ProviderUnhealthy:
		return true
	default:
		return p.active.status != route.StatePending
	}
}

// decide notes that a placement of a first snapshot has its verdict, or is gone.
func (e *Engine) decide(p *placement) {
	st := p.founding
	if st == nil {
		return
	}
	p.founding = nil
	if st.waiting--; st.waiting == 0 {
		st.over = true
		e.updateSettled()
	}
}

// endStartups ends the waits whose time is over: what is still pending then is
// pending as any newcomer.
func (e *Engine) endStartups(now time.Time) {
	for source, st := range e.startups {
		if st.over || now.Before(st.deadline) {
			continue
		}
		st.over, st.waiting = true, 0
		e.rev++
		for _, en := range e.entries {
			if en.entrypoint.Source != source {
				continue
			}
			for _, p := range en.placements {
				p.founding = nil
			}
			e.publish(en, causeTimer, now)
		}
	}
	e.updateSettled()
	e.announce()
}

// updateSettled looks whether any first snapshot still waits. A provider's first one unsettles
// the engine, also where another provider's verdicts were all there; later snapshots do not.
func (e *Engine) updateSettled() {
	settled := e.batch > 0
	for _, st := range e.startups {
		settled = settled && st.over
	}
	if settled != e.settled {
		e.settled = settled
		e.rev++
	}
}
