package proxy

import (
	"time"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/middleware"
	"fairlead/router/route"
)

// failure is why a contact with a backend brought no response.
type failure struct {
	reason route.Reason
	kind   route.Kind
	// unsent is set when nothing of the request reached the backend: it may be sent
	// to another one whatever its method.
	unsent bool
	// ours is set when it says nothing about the backend (the client left, a local fault).
	ours bool
	err  error
}

// maxRepicks bounds how often a backend that retired meanwhile is picked anew.
const maxRepicks = 3

// handle serves one exchange whose request part is complete.
func (p *Proxy) handle(x *exchange.Exchange) {
	p.setClient(x)
	r := p.cfg.Tables.Table().Match(x)
	if r == nil {
		p.refuse(x, route.ReasonNoRoute)
		return
	}
	x.Route = r
	if r.Entrypoint.FailClosed != nil {
		p.refuse(x, route.ReasonMisconfigured)
		return
	}
	if chain, ok := r.Prepared.(middleware.Chain); ok {
		if reason := chain.Before(x); reason != route.ReasonNone {
			p.refuse(x, reason)
			return
		}
	}
	p.setForwarding(x)
	r.Cell.InFlight.Add(1)
	defer r.Cell.InFlight.Add(-1)
	p.forward(x, r)
}

// forward picks backends until one answers, the tries are used up, or nothing is left.
func (p *Proxy) forward(x *exchange.Exchange, r *router.Route) {
	var room [8]*route.Placement
	tried := room[:0]
	var last *failure
	for {
		target, up, reason := pick(r, tried)
		if target == nil {
			if last != nil {
				reason = last.reason
			}
			p.refuse(x, reason)
			return
		}
		x.Attempts++
		fail := p.attempt(x, target, up)
		if fail == nil {
			return
		}
		last = fail
		if !p.mayRetry(x, r, fail) {
			p.refuse(x, fail.reason)
			return
		}
		r.Cell.Retrying.Add(1)
		defer r.Cell.Retrying.Add(-1)
		tried = append(tried, target)
	}
}

// pick takes a backend of the current rotation. Tried ones are used again only
// when nothing else is left.
func pick(r *router.Route, tried []*route.Placement) (*route.Placement, *upstream, route.Reason) {
	rot := r.Cell.Load()
	for range maxRepicks {
		target, ok := router.Pick(rot, r.Cell, r.Entrypoint.Options.LoadBalancer, tried)
		if !ok && len(tried) > 0 {
			target, ok = router.Pick(rot, r.Cell, r.Entrypoint.Options.LoadBalancer, nil)
		}
		if !ok {
			break
		}
		if up, isOurs := target.Upstream.(*upstream); isOurs && !up.retired.Load() {
			return target, up, route.ReasonNone
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
func (p *Proxy) mayRetry(x *exchange.Exchange, r *router.Route, fail *failure) bool {
	if !fail.unsent || fail.ours || x.Attempts >= r.Entrypoint.Options.RetryAttempts || x.Context.Err() != nil {
		return false
	}
	return r.Cell.Retrying.Load() < max(3, r.Cell.InFlight.Load()/5)
}

// attempt contacts one backend and relays its response. A failure means that the
// client has seen nothing yet.
func (p *Proxy) attempt(x *exchange.Exchange, target *route.Placement, up *upstream) *failure {
	load := target.Load
	load.InFlight.Add(1)
	load.Requests.Add(1)
	defer load.InFlight.Add(-1)

	c := up.begin(x, x.Route.Entrypoint.Options.BackendTimeout)
	defer up.end(c)
	res, fail := up.send(c, x)
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
		p.tunnel(x, up, res)
		return nil
	}
	p.relay(x, c, res)
	return nil
}

func (p *Proxy) report(o route.Outcome) {
	if p.cfg.Outcomes != nil {
		p.cfg.Outcomes.Report(o)
	}
}

// now is when Retry-After is counted from.
func now() time.Time { return time.Now() }
