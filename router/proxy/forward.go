package proxy

import (
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
}

// maxRepicks bounds how often a backend that retired meanwhile is picked anew.
const maxRepicks = 3

// forward picks backends until one answers, the tries are used up, or nothing is left.
func (p *Proxy) forward(x *exchange.Exchange, r *router.Route) {
	var room [4]*route.Placement
	tried := room[:0]
	body := newBody(x)
	defer body.release()
	for {
		target, c, reason := p.begin(x, r, tried, body)
		if c == nil {
			p.refuse(x, reason)
			return
		}
		x.Attempts++
		fail := p.attempt(x, c, target)
		if fail == nil {
			return
		}
		if !mayRetry(x, r, fail) {
			p.refuse(x, fail.reason)
			return
		}
		r.Cell.Retrying.Add(1)
		defer r.Cell.Retrying.Add(-1)
		tried = append(tried, target)
	}
}

// begin picks a backend of the current rotation and registers the call with its
// upstream. A backend that left between the two is picked anew; tried ones are used
// again only when nothing else is left. Without a call the reason says why.
func (p *Proxy) begin(x *exchange.Exchange, r *router.Route, tried []*route.Placement, body *body) (*route.Placement, *call, route.Reason) {
	rot := r.Cell.Load()
	for range maxRepicks {
		target, ok := router.Pick(rot, r.Cell, r.Entrypoint.Options.LoadBalancer, tried)
		if !ok && len(tried) > 0 {
			target, ok = router.Pick(rot, r.Cell, r.Entrypoint.Options.LoadBalancer, nil)
		}
		if !ok {
			break
		}
		if up, isOurs := target.Upstream.(*upstream); isOurs {
			if c := up.begin(x, r.Entrypoint.Options.BackendTimeout, body); c != nil {
				return target, c, route.ReasonNone
			}
		}
		rot = r.Cell.Load()
	}
	if rot.Reason == route.ReasonNone {
		return nil, nil, route.ReasonLeaving
	}
	return nil, nil, rot.Reason
}

// mayRetry decides whether the request goes to another backend. Only what was
// never sent does; the budget keeps a dead rotation from multiplying its load.
func mayRetry(x *exchange.Exchange, r *router.Route, fail *failure) bool {
	if !fail.unsent || fail.ours || x.Attempts >= r.Entrypoint.Options.RetryAttempts || x.Context.Err() != nil {
		return false
	}
	return r.Cell.Retrying.Load() < max(3, r.Cell.InFlight.Load()/5)
}

// attempt contacts one backend and relays its response. A failure means that the
// client has seen nothing yet.
func (p *Proxy) attempt(x *exchange.Exchange, c *call, target *route.Placement) *failure {
	defer c.end()
	load := target.Load
	load.InFlight.Add(1)
	defer load.InFlight.Add(-1)
	load.Requests.Add(1)

	x.Response.Duplex()
	res, fail := c.up.send(c)
	if fail != nil {
		if !fail.ours {
			p.report(route.Outcome{Placement: target, Kind: fail.kind, Transport: true})
		}
		return fail
	}
	c.headReceived()
	load.Served.Store(true)
	p.report(route.Outcome{Placement: target, Status: res.status})
	x.Status = res.status
	if res.tunnel != nil {
		load.Tunnels.Add(1)
		defer load.Tunnels.Add(-1)
		p.tunnel(c, res)
		return nil
	}
	if err := p.relay(c, res); err != nil {
		// The head was a success; that the rest of it broke off is told, too.
		p.report(route.Outcome{Placement: target, Kind: bodyKind(c, err), Transport: true, Status: res.status})
	}
	return nil
}
