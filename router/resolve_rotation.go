package router

import (
	"time"

	"fairlead/router/route"
)

// rotation lists the winner's backends and returns the one that an upstream URL is
// made for, nil when nothing may serve. One that is full is shown as the request path
// treats it: passed over for the moment.
func (r *resolver) rotation(e *route.Entrypoint, h *route.EntrypointHealth, rot *route.Rotation) *route.Backend {
	would := map[string]bool{}
	for _, p := range wouldPick(e, rot, r.winner.Cell) {
		would[p.Backend.ID] = true
	}
	var next *route.Backend
	for i := range h.Backends {
		b := &h.Backends[i]
		pick := would[b.Backend.ID] && e.FailClosed == nil
		if pick && next == nil {
			next = &b.Backend
		}
		shown := ResolvedBackend{
			Backend: b.Backend.ID, Name: b.Backend.Name, Address: b.Backend.Address(), State: b.State,
			InRotation: b.InRotation, Reason: b.RotationReason, Explain: b.Explain, WouldPick: pick,
		}
		if b.InRotation && full(b.Load, &b.Backend) {
			shown.InRotation, shown.Reason = false, route.OutFull
			shown.Explain = b.FullExplain(b.Load.InFlight.Load())
		}
		r.res.Rotation = append(r.res.Rotation, shown)
	}
	return next
}

// full reports whether a backend has as many requests as maxConnections permits.
func full(load *route.Load, b *route.Backend) bool {
	return load != nil && b.MaxConnections > 0 && load.InFlight.Load() >= int64(b.MaxConnections)
}

// wouldPick returns the placements that the next request may go to: none when all are full.
func wouldPick(e *route.Entrypoint, rot *route.Rotation, cell *route.RotationCell) []*route.Placement {
	var free, busy []*route.Placement
	for i := range rot.Members {
		p := rot.Members[i].Placement
		if full(p.Load, &p.Backend) {
			busy = append(busy, p)
		} else {
			free = append(free, p)
		}
	}
	if len(free) == 0 || e.Options.LoadBalancer == route.Random || e.Options.LoadBalancer == route.PowerOfTwo {
		return free
	}
	if m, ok := pickAt(rot.Members, rot.Uniform, cell.Cursor.Load(), e.Options.LoadBalancer, busy); ok {
		return []*route.Placement{m.Placement}
	}
	return nil
}

// pickNone takes back what rotation marked: no backend is asked.
func (r *resolver) pickNone() {
	for i := range r.res.Rotation {
		r.res.Rotation[i].WouldPick = false
	}
}

// allFull says what becomes of a request while every backend has its maxConnections.
func (r *resolver) allFull(e *route.Entrypoint) {
	q, waiting := &e.Options.Queue, r.winner.Cell.Line.Waiting()
	reason := route.ReasonOverloaded
	if q.Size > 0 && waiting >= q.Size {
		reason = route.ReasonQueueFull
	}
	status := e.Options.StatusFor(reason)
	r.answer(OutcomeUnavailable, status, reason)
	r.say("%s takes it, but every backend in rotation is full (maxConnections).", e.ID)
	switch {
	case q.Size <= 0:
		r.say("Nobody waits in line (maxConnections.queue=0): it gets %d %s at once.", status, reason)
	case reason == route.ReasonQueueFull:
		r.say("The line is full, too: %d of %d wait (maxConnections.queue). It gets %d %s at once.", waiting, q.Size, status, reason)
	default:
		r.say("It waits in line, where %d of %d wait (maxConnections.queue), for a backend to become free. After %s (maxConnections.queueTimeout) it gets %d %s; where the line is full by then, further ones get %d %s at once.",
			waiting, q.Size, q.Timeout, status, reason, e.Options.StatusFor(route.ReasonQueueFull), route.ReasonQueueFull)
	}
}

// circuitRefuses reports whether the circuit breaker lets nothing through at now. When
// its cool-down is over the next request is a trial.
func circuitRefuses(h *route.EntrypointHealth, now time.Time) bool {
	if h.Reason != route.ReasonCircuitOpen {
		return false
	}
	b := h.Breaker
	return b == nil || b.State != route.PhaseHalfOpen && (b.RetryAt.IsZero() || now.Before(b.RetryAt))
}

// neverServed reports whether no member of a rotation ever answered a probe or a
// request, so that a refusal is no failed contact (502) to its clients.
func neverServed(rot *route.Rotation) bool {
	for i := range rot.Members {
		if load := rot.Members[i].Placement.Load; load == nil || load.Proven.Load() {
			return false
		}
	}
	return len(rot.Members) > 0
}

// neverAnswered reports whether no member ever answered a probe or a request, and each
// refused the last probe.
func neverAnswered(h *route.EntrypointHealth, rot *route.Rotation) bool {
	for i := range h.Backends {
		b := &h.Backends[i]
		if b.InRotation && (b.LastResult == nil || b.LastResult.OK || b.LastResult.Kind != route.KindConnectionRefused) {
			return false
		}
	}
	return neverServed(rot)
}

// refusedSoFar says what clients of backends get that nobody ever heard from.
func (r *resolver) refusedSoFar(e *route.Entrypoint) {
	status, wait := e.Options.StatusFor(route.ReasonInitializing), "at once"
	if e.Options.HoldFor > 0 {
		wait = "when they have waited " + e.Options.HoldFor.String() + " (holdFor)"
	}
	r.say("It is only tried: every probe so far was refused. While it refuses the connection clients get %d %s %s.", status, route.ReasonInitializing, wait)
}
