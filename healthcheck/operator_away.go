package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// awayOrder is what was told of a placement that went away while an order was in force for
// it: the order may end before the placement is there again, and nobody could be told then.
type awayOrder struct {
	admin route.Admin
	since time.Time // it is away
}

// mostAway bounds what is remembered of backends that may never come back.
const mostAway = 10_000

// goes notes what was told of a placement that is removed, unless another one has its place.
func (e *Engine) goes(p *placement, now time.Time) {
	if p.admin.State == route.AdminReady || len(e.book.away) >= mostAway {
		return
	}
	key := p.orderKey()
	for _, en := range e.entries {
		for _, other := range en.placements {
			if other != p && en.key == p.entry.key && other.orderKey() == key {
				return
			}
		}
	}
	e.book.away[key] = awayOrder{p.admin, now}
}

// returns is enters for a placement without an order: one that was away when its order ended
// comes out of it now.
func (e *Engine) returns(p *placement, now time.Time) (shown route.State, cause string) {
	o, ok := e.book.away[p.orderKey()]
	if !ok {
		return p.begins(), causeStart
	}
	delete(e.book.away, p.orderKey())
	p.admin.State = o.admin.State
	shown = p.state()
	p.admin = route.Admin{State: route.AdminReady, Since: now, Reason: endedAway(&o.admin, now)}
	return shown, causeTimer
}

// endedAway is the reason of a backend that is ready because an order ended while it was away.
func endedAway(a *route.Admin, now time.Time) string {
	text := "the " + string(a.State) + " that " + who(a) + " ordered ended while the backend was away"
	if at := a.ExpiresAt; !at.IsZero() && !now.Before(at) {
		text += ", at " + moment(at, now)
	}
	return text
}
