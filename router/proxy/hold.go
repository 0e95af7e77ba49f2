package proxy

import (
	"sync"
	"time"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/route"
)

const (
	// maxHeld bounds the requests of one entrypoint that wait at once.
	maxHeld = 100
	// lookAgain is how long a waiting request goes without looking: at the table, or
	// whether a backend that refused accepts now.
	lookAgain = 100 * time.Millisecond
	// newsWait is how long the refusal of a backend that served before may wait for
	// news of it: an application that is stopped closes its listener some milliseconds
	// before its engine says that it leaves.
	newsWait = 500 * time.Millisecond
)

// holds ends the waiting of all requests when the router stops: an answer with a reason
// in time is better than a cut.
type holds struct {
	ended chan struct{}
	once  sync.Once
}

func (h *holds) end() { h.once.Do(func() { close(h.ended) }) }

// stay is one request's waiting for a backend. It has a place among the held
// requests of one entrypoint from its first wait until a backend answers.
type stay struct {
	since time.Time // zero before the first wait
	cell  *route.RotationCell
	// ended is closed when the router stops and nobody may wait any more.
	ended <-chan struct{}
	body  *body // of the request, once somebody asked for it
}

// bodyOf is the request's body, one for all of its stay; nil without one.
func (s *stay) bodyOf(x *exchange.Exchange) *body {
	if s.body == nil {
		s.body = newBody(x)
	}
	return s.body
}

// leave gives the place back.
func (s *stay) leave() {
	if s.cell != nil {
		s.cell.Held.Add(-1)
		s.cell = nil
	}
}

// counted counts the request among those that waited, once.
func (s *stay) counted(cell *route.RotationCell, now time.Time) {
	if s.since.IsZero() {
		s.since = now
		cell.Traffic.NoteHeld()
	}
}

// enter takes a place; false when all are taken.
func (s *stay) enter(cell *route.RotationCell, now time.Time) bool {
	s.counted(cell, now)
	if s.cell == cell {
		return true
	}
	s.leave()
	if cell.Held.Add(1) > maxHeld {
		cell.Held.Add(-1)
		return false
	}
	s.cell = cell
	return true
}

// over reports whether the router stops and nobody may wait any more.
func (s *stay) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// left is what remains of a limit that began with the first wait.
func (s *stay) left(limit time.Duration, now time.Time) time.Duration {
	if s.over() {
		return 0
	}
	if s.since.IsZero() {
		return limit
	}
	return limit - now.Sub(s.since)
}

// forRotation waits for the rotation to be filled that rot left empty for a reason.
// ReasonNone asks to look again; any other reason is the answer to the client.
func (s *stay) forRotation(x *exchange.Exchange, r *router.Route, rot *route.Rotation, why route.Reason) route.Reason {
	now, limit := time.Now(), r.Entrypoint.Options.HoldFor
	wait := min(rot.HoldLeft(limit, now), s.left(limit, now))
	if wait <= 0 {
		return why
	}
	return s.wait(x, r.Cell, rot, wait, now)
}

// forListener waits before a backend that never served is dialled again. The reason
// is the client's answer when it has waited enough.
func (s *stay) forListener(x *exchange.Exchange, r *router.Route, rot *route.Rotation, b *route.Backend) route.Reason {
	why := route.ReasonInitializing
	if rot.Panic {
		why = route.ReasonAllUnhealthy
	}
	now, limit := time.Now(), r.Entrypoint.Options.HoldFor
	wait := s.left(limit, now)
	if (b.Check == nil || rot.Panic) && now.Sub(b.StartedAt) > limit {
		wait = 0 // it had its time, and would be waited for at every request, for ever
	}
	if wait <= 0 {
		return why
	}
	return s.wait(x, r.Cell, rot, wait, now)
}

// forNews waits for another rotation than rot, for limit at most. It reports whether
// there is one.
func (s *stay) forNews(x *exchange.Exchange, cell *route.RotationCell, rot *route.Rotation, limit time.Duration) bool {
	for end := time.Now().Add(limit); cell.Load() == rot; {
		now := time.Now()
		if left := end.Sub(now); left <= 0 || s.over() || s.wait(x, cell, rot, left, now) != route.ReasonNone {
			return false
		}
	}
	return true
}

// wait waits until there is another rotation than rot, but for lookAgain at most.
func (s *stay) wait(x *exchange.Exchange, cell *route.RotationCell, rot *route.Rotation, limit time.Duration, now time.Time) route.Reason {
	if !s.enter(cell, now) {
		return route.ReasonQueueFull
	}
	failed := s.bodyOf(x).ahead(x)
	changed := cell.Changed()
	if cell.Load() != rot {
		return route.ReasonNone
	}
	timer := time.NewTimer(min(limit, lookAgain))
	defer timer.Stop()
	defer func() { x.Held += time.Since(now) }()
	select {
	case <-changed:
	case <-timer.C:
	case <-s.ended: // it is asked again, and has no time left
	case <-failed:
	case <-x.Context.Done():
		return s.body.gone()
	}
	return s.body.spoilt()
}
