package proxy

import (
	"context"
	"errors"
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
	// refused is set when the backend took no more of a request that was being sent. It may
	// be the client's doing: a server that has enough of a body closes the connection.
	refused bool
	// unanswered is set when the backend ended the connection before the first byte of
	// its answer, and the request may and can be sent again. That alone is no reason to
	// do so: a request that kills its backend must not be spread.
	unanswered bool
	// whole is set when all of the request body can be sent again.
	whole bool
	// trial is set when the attempt was the trial of a backend that was ejected.
	trial bool
}

// forward picks backends until one answers, the tries are used up, or nothing is left.
func (p *Proxy) forward(x *exchange.Exchange, r *router.Route, sticky *stickiness, held *stay) {
	f := delivery{x: x, r: r, sticky: sticky, body: held.bodyOf(x)}
	defer f.done()
	if f.body != nil && resends(&r.Entrypoint.Options.Retry, x.Verb) {
		f.body.keep()
	}
	if sticky != nil {
		f.cookie = sticky.take(x)
	}
	for {
		if f.call == nil {
			reason := f.begin(held)
			if f.call == nil {
				if reason = held.forRotation(x, r, f.rot, reason); reason == route.ReasonNone {
					continue
				}
				p.refuseFor(x, f.refusal(reason), f.wait)
				return
			}
		}
		x.Attempts++
		fail := p.attempt(&f, held)
		if fail == nil {
			return
		}
		if f.call != nil { // the response was let go for another attempt, which has begun
			continue
		}
		if reason := f.again(fail, held); reason != route.ReasonNone {
			p.refuse(x, reason)
			return
		}
	}
}

// delivery is one request on its way through the backends of its route.
type delivery struct {
	x      *exchange.Exchange
	r      *router.Route
	body   *body
	sticky *stickiness // nil without sticky sessions
	cookie string      // what the client's cookie names; "" for nothing

	rot *route.Rotation // that the next target was picked from
	// call and admission are the next attempt: it has begun and nobody has made it yet.
	call      *call
	admission admission
	target    *route.Placement // of the last attempt
	wait      time.Duration    // that the circuit breaker asks for

	tried   []*route.Placement
	untried bool         // only those that were not tried will do
	tries   int          // contacts that count: not those with backends that left or are not there yet
	first   time.Time    // when the first attempt began
	ended   time.Time    // when the last attempt had its response head, or failed
	last    route.Reason // of the last attempt that failed
	// retrying is set while the request has a share of the entrypoint's budget.
	retrying bool
	// ejected is set when the last failure itself took its backend out of rotation: that is
	// no sign that it leaves.
	ejected  bool
	replayed bool // a backend that left had it before
	excused  int  // trials that failed and did not count
}

// done gives back what the request holds.
func (f *delivery) done() {
	if f.call != nil { // begun and never made
		f.call.end()
	}
	f.admission.release()
	if f.retrying {
		f.r.Cell.Retrying.Add(-1)
	}
	f.x.Received += f.body.release()
}

// refusal is what the client is told when no further backend can be had: after a
// contact that failed, that.
func (f *delivery) refusal(why route.Reason) route.Reason {
	switch why {
	case route.ReasonCircuitOpen, route.ReasonOverloaded, route.ReasonQueueFull:
		if f.last != route.ReasonNone {
			return f.last
		}
	default:
	}
	return why
}

// attempt makes the attempt that has begun and relays its response. A failure means
// that the client has seen nothing yet. Where f.call is set afterwards the response was
// one to try again, and the next attempt has begun.
func (p *Proxy) attempt(f *delivery, held *stay) *failure {
	x, c, a := f.x, f.call, f.admission
	f.call, f.admission = nil, admission{}
	defer a.release()
	defer c.end()
	target := a.member.Placement
	load := target.Load
	load.Requests.Add(1)

	x.Backend, f.target = target, target
	began := time.Now()
	if f.first.IsZero() {
		f.first = began
	}
	if x.Attempts > 1 {
		x.Route.Cell.Traffic.NoteRetry()
		load.Traffic.NoteRetry()
	}
	x.Response.Duplex()
	res, fail := c.up.send(c)
	f.ended = time.Now()
	began = began.Add(c.doubted(f.ended.Sub(began)))
	took := f.ended.Sub(began)
	c.timed(took, fail != nil && fail.unsent)
	if fail != nil {
		fail.trial = a.trial()
		_, fail.whole = f.body.take()
		p.failed(f, &a, fail, took)
		return fail
	}
	c.headReceived()
	if !load.Proven.Load() {
		load.Proven.Store(true)
	}
	seen := route.Outcome{Placement: target, Status: res.status, Latency: f.body.since(began, took)}
	a.tell(seen, f.ended)
	p.report(seen)
	load.Traffic.Note(res.status, took)
	if f.lets(res, a.trial(), held) {
		closeUnread(res)
		return &failure{}
	}
	held.leave()
	x.Status = res.status
	p.count(x, res.status)
	p.deliver(f, c, &a, res)
	return nil
}

// failed tells all who want to know about an attempt without a response.
func (p *Proxy) failed(f *delivery, a *admission, fail *failure, took time.Duration) {
	target, before := f.target, f.r.Cell.Load()
	seen := route.Outcome{Placement: target, Kind: fail.kind, Transport: true}
	if fail.ours || fail.refused { // no failure of the backend, and a contact with it all the same
		target.Load.Traffic.NoteAbandoned(took)
	} else {
		target.Load.Traffic.Note(0, took)
		p.report(seen)
	}
	seen.Void = fail.saysNothing(target)
	a.tell(seen, f.ended)
	f.ejected = has(before.Members, target.Key()) && !has(f.r.Cell.Load().Members, target.Key())
}

// saysNothing reports whether a failure is none of the backend's: ours, a request that is
// too much for it, an address that we do not dial, or a newcomer that does not listen yet.
func (fail *failure) saysNothing(target *route.Placement) bool {
	return fail.ours || fail.refused || fail.kind == route.KindProbeBlocked ||
		fail.kind == route.KindConnectionRefused && !target.Load.Proven.Load()
}

// deliver relays a response to the client.
func (p *Proxy) deliver(f *delivery, c *call, a *admission, res *response) {
	x, target := f.x, f.target
	if f.sticky != nil && target.Sticky != "" && target.Sticky != f.cookie {
		res.cookie = f.sticky.cookie(target.Sticky, p.secure(x))
	}
	if res.tunnel != nil {
		target.Load.Tunnels.Add(1)
		defer target.Load.Tunnels.Add(-1)
		p.tunnel(c, res)
		return
	}
	if err := p.relay(c, res); err != nil {
		// The head was a success; that the rest of it broke off is told, too.
		target.Load.Traffic.NoteCut()
		x.Route.Cell.Traffic.NoteCut()
		x.Reason = route.ReasonBackendClosed
		if errors.Is(err, errRetired) || errors.Is(err, errStopped) {
			return // cut by us
		}
		if errors.Is(context.Cause(c.ctx), errBodyIdle) {
			x.Reason = route.ReasonBackendTimeout
		}
		broke := route.Outcome{Placement: target, Kind: bodyKind(c, err), Transport: true, Status: res.status}
		p.report(broke)
		a.brokeOff(broke, time.Now())
	}
}

// closeUnread lets a response go that nobody reads.
func closeUnread(res *response) {
	if res.body != nil {
		_ = res.body.Close()
	}
}
