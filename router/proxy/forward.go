package proxy

import (
	"cmp"
	"slices"
	"time"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/route"
)

// failure is why a contact with a backend brought no response.
type failure struct {
	reason route.Reason
	kind   route.Kind
	// unsent is set when nothing of the request reached the backend: it may be sent
	// to another one whatever its method.
	unsent bool
	// ours is set when it says nothing about the backend: the client left, we cut the
	// call, or a local fault.
	ours bool
	// unanswered is set when the backend ended the connection before the first byte of
	// its answer, and the request may and can be sent again. That alone is no reason to
	// do so: a request that kills its backend must not be spread.
	unanswered bool
}

// maxRepicks bounds how often a backend that retired meanwhile is picked anew.
const maxRepicks = 3

// forward picks backends until one answers, the tries are used up, or nothing is left.
func (p *Proxy) forward(x *exchange.Exchange, r *router.Route, held *stay) {
	f := delivery{x: x, r: r, body: newBody(x)}
	defer f.done()
	for {
		reason := f.begin()
		if f.call == nil {
			if reason = held.forRotation(x, r, f.rot, reason); reason == route.ReasonNone {
				continue
			}
			p.refuse(x, reason)
			return
		}
		x.Attempts++
		fail := p.attempt(x, f.call, f.target, held)
		if fail == nil {
			return
		}
		if reason := f.again(fail, held); reason != route.ReasonNone {
			p.refuse(x, reason)
			return
		}
	}
}

// delivery is one request on its way through the backends of its route.
type delivery struct {
	x    *exchange.Exchange
	r    *router.Route
	body *body

	rot    *route.Rotation // that target was picked from
	target *route.Placement
	call   *call

	tried []*route.Placement
	tries int // contacts that count: not those with backends that left or are not there yet
	// retries is its share of the entrypoint's budget.
	retries int64
}

// begin picks a backend of the current rotation and registers a call with its
// upstream. A backend that left between the two is picked anew; tried ones are used
// again only when nothing else is left. Without a call the reason says why.
func (f *delivery) begin() route.Reason {
	f.call, f.rot = nil, f.r.Cell.Load()
	options := &f.r.Entrypoint.Options
	for range maxRepicks {
		m, ok := router.Pick(f.rot, f.r.Cell, options.LoadBalancer, f.tried)
		if !ok && len(f.tried) > 0 {
			m, ok = router.Pick(f.rot, f.r.Cell, options.LoadBalancer, nil)
		}
		if !ok {
			break
		}
		target := m.Placement
		if up, isOurs := target.Upstream.(*upstream); isOurs {
			if f.call = up.begin(f.x, options.BackendTimeout, f.body); f.call != nil {
				f.target = target
				return route.ReasonNone
			}
		}
		f.rot = f.r.Cell.Load()
	}
	return cmp.Or(f.rot.Reason, route.ReasonLeaving)
}

// again decides what follows a contact that failed: ReasonNone is another one, any
// other reason the answer to the client. What was never sent goes out again, and what
// a backend that stops did not accept any more.
func (f *delivery) again(fail *failure, held *stay) route.Reason {
	leaving := fail.kind == route.KindLeaving
	if fail.ours && !leaving || f.x.Context.Err() != nil {
		return fail.reason
	}
	f.tried = append(f.tried, f.target)
	if !fail.unsent {
		return f.unanswered(fail, held)
	}
	switch {
	case leaving, f.left(): // it was picked as it left: not a failure
		return route.ReasonNone
	case fail.kind == route.KindConnectionRefused && !f.target.Load.Proven.Load():
		return f.notYet(held)
	}
	f.tries++
	more := f.tries < f.r.Entrypoint.Options.RetryAttempts
	if more && f.others() && f.retry() {
		return route.ReasonNone
	}
	if mayLeave(fail.kind) && f.leaves(held) || more && f.retry() {
		return route.ReasonNone
	}
	return fail.reason
}

// unanswered follows a connection that ended before the answer began. A listener that
// closes resets the connections that it has not accepted yet: if the backend turns out
// to leave, the request goes to another one. It counts as a try, so that one which ends
// its backend does not end them all.
func (f *delivery) unanswered(fail *failure, held *stay) route.Reason {
	f.tries++
	if fail.unanswered && f.tries < f.r.Entrypoint.Options.RetryAttempts && f.leaves(held) {
		return route.ReasonNone
	}
	return fail.reason
}

// leaves waits a moment for the news that the backend that was contacted leaves.
func (f *delivery) leaves(held *stay) bool {
	for end := time.Now().Add(newsWait); !f.left(); {
		if !held.forNews(f.x, f.r.Cell, f.r.Cell.Load(), time.Until(end)) {
			return f.left()
		}
	}
	return true
}

// left reports whether the backend that was contacted has left the rotation since.
func (f *delivery) left() bool {
	now := f.r.Cell.Load()
	return now != f.rot && !slices.ContainsFunc(now.Members, func(m route.Member) bool {
		return m.Placement.Key() == f.target.Key()
	})
}

// mayLeave reports whether a failed dial can be the first sign of a stop.
func mayLeave(k route.Kind) bool {
	switch k {
	case route.KindConnectionRefused, route.KindConnectionReset, route.KindTLSFailure, route.KindNoRouteToHost, route.KindHostUnreachable:
		return true
	default:
		return false
	}
}

// notYet follows the refusal of a backend that never served: another one is asked at
// once, the same one again after a while.
func (f *delivery) notYet(held *stay) route.Reason {
	if f.others() {
		return route.ReasonNone
	}
	f.tried = f.tried[:0]
	return held.forListener(f.x, f.r, f.rot, &f.target.Backend)
}

// others reports whether the rotation has a member that was not tried.
func (f *delivery) others() bool {
	for i := range f.rot.Members {
		key := f.rot.Members[i].Placement.Key()
		if !slices.ContainsFunc(f.tried, func(t *route.Placement) bool { return t.Key() == key }) {
			return true
		}
	}
	return false
}

// retry takes a share of the entrypoint's budget, which keeps a dead rotation from
// multiplying its load. It is given back by done.
func (f *delivery) retry() bool {
	cell := f.r.Cell
	if cell.Retrying.Load() >= max(3, cell.InFlight.Load()/5) {
		return false
	}
	cell.Retrying.Add(1)
	f.retries++
	return true
}

// done gives back what the request holds besides its call.
func (f *delivery) done() {
	f.r.Cell.Retrying.Add(-f.retries)
	f.x.Received += f.body.release()
}

// attempt contacts one backend and relays its response. A failure means that the
// client has seen nothing yet.
func (p *Proxy) attempt(x *exchange.Exchange, c *call, target *route.Placement, held *stay) *failure {
	defer c.end()
	load := target.Load
	load.InFlight.Add(1)
	defer load.InFlight.Add(-1)
	load.Requests.Add(1)

	x.Backend = target
	began := time.Now()
	if x.Attempts > 1 {
		x.Route.Cell.Traffic.NoteRetry()
		load.Traffic.NoteRetry()
	}
	x.Response.Duplex()
	res, fail := c.up.send(c)
	took := time.Since(began)
	c.timed(took, fail != nil && fail.unsent)
	if fail != nil {
		if !fail.ours {
			load.Traffic.Note(0, took)
			p.report(route.Outcome{Placement: target, Kind: fail.kind, Transport: true})
		}
		return fail
	}
	held.leave()
	c.headReceived()
	if !load.Proven.Load() {
		load.Proven.Store(true)
	}
	p.report(route.Outcome{Placement: target, Status: res.status})
	x.Status = res.status
	load.Traffic.Note(res.status, took)
	p.count(x, res.status)
	if res.tunnel != nil {
		load.Tunnels.Add(1)
		defer load.Tunnels.Add(-1)
		p.tunnel(c, res)
		return nil
	}
	if err := p.relay(c, res); err != nil {
		// The head was a success; that the rest of it broke off is told, too.
		load.Traffic.NoteCut()
		x.Route.Cell.Traffic.NoteCut()
		x.Reason = route.ReasonBackendClosed
		p.report(route.Outcome{Placement: target, Kind: bodyKind(c, err), Transport: true, Status: res.status})
	}
	return nil
}
