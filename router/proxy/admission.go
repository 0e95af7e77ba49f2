package proxy

import (
	"sync/atomic"
	"time"

	"fairlead/router/route"
)

// admission is what one attempt holds: a slot of its backend, a ticket of the backend's
// judge, and its entry through the circuit breaker. Ticket and entry end with the
// response head or with what came instead of it, the slot with the attempt. The zero
// value holds nothing.
type admission struct {
	member *route.Member // nil: nothing is held
	cell   *route.RotationCell
	judge  route.Judge // nil without a ticket that is still to be ended
	ticket route.Ticket
	gate   route.Gate // nil without an entry that is still to be left
	lease  uint64
}

// trial reports whether the attempt is the one that decides about a backend that was
// ejected.
func (a *admission) trial() bool { return a.ticket.Lease != 0 }

// tell ends the ticket and leaves the breaker with what the attempt saw. Only the first
// word counts.
func (a *admission) tell(o route.Outcome, now time.Time) {
	judge, gate := a.judge, a.gate
	a.judge, a.gate = nil, nil
	if gate != nil {
		defer gate.Leave(a.lease, o, now)
	}
	if judge != nil {
		judge.End(a.ticket, o, now)
	}
}

// brokeOff tells the judge that the response whose head was a success ended early on
// the backend's side.
func (a *admission) brokeOff(o route.Outcome, now time.Time) {
	if judge := a.member.Judge; judge != nil {
		o.Late = true
		judge.End(a.ticket, o, now)
	}
}

// release gives all back that is still held. What was not told says nothing about the
// backend.
func (a *admission) release() {
	if a.member == nil {
		return
	}
	p, cell := a.member.Placement, a.cell
	defer cell.Line.Wake()
	defer p.Load.InFlight.Add(-1)
	if a.judge != nil || a.gate != nil {
		a.tell(route.Outcome{Placement: p, Void: true}, time.Now())
	}
	*a = admission{}
}

// reserve takes a slot; false when limit ones are taken. 0 is no limit.
func reserve(inFlight *atomic.Int64, limit int) bool {
	if limit <= 0 {
		inFlight.Add(1)
		return true
	}
	for {
		n := inFlight.Load()
		if n >= int64(limit) {
			return false
		}
		if inFlight.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// full reports whether a placement has no slot now.
func full(p *route.Placement) bool {
	limit := p.Backend.MaxConnections
	return limit > 0 && p.Load.InFlight.Load() >= int64(limit)
}
