package proxy

import (
	"cmp"
	"slices"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// maxRepicks bounds how often a backend that retired meanwhile is picked anew.
const maxRepicks = 3

// begin takes hold of a backend of the current rotation and registers a call with its
// upstream: f.call is set, or the reason says why not. While every backend is full it
// waits in line; whoever comes while others wait goes to the end of it.
func (f *delivery) begin(held *stay) route.Reason {
	if f.r.Cell.Line.Waiting() == 0 {
		if reason := f.take(); reason != route.ReasonOverloaded {
			return reason
		}
	}
	return f.queue(held)
}

// queue waits in line for a slot, until the client leaves, the router stops or the time
// is over.
func (f *delivery) queue(held *stay) route.Reason {
	options, line := &f.r.Entrypoint.Options.Queue, &f.r.Cell.Line
	f.rot = f.r.Cell.Load()
	place, ok := line.Join(options.Size)
	switch {
	case ok:
	case options.Size <= 0:
		return route.ReasonOverloaded
	default:
		return route.ReasonQueueFull
	}
	defer line.Leave(place)
	failed := f.body.ahead(f.x)
	held.counted(f.r.Cell, time.Now())
	defer func(since time.Time) { f.x.Held += time.Since(since) }(time.Now())
	timer := time.NewTimer(options.Timeout)
	defer timer.Stop()
	for {
		select {
		case <-place.Turn():
			if reason := f.take(); reason != route.ReasonOverloaded {
				return reason
			}
			if f.deserted() {
				return route.ReasonLeaving
			}
		case <-timer.C:
			line.Tire()
			return route.ReasonOverloaded
		case <-held.ended:
			return route.ReasonOverloaded
		case <-failed:
			return f.body.spoilt()
		case <-f.x.Context.Done():
			return f.body.gone()
		}
	}
}

// deserted reports whether the entrypoint was removed while all of its backends were
// full: they take no more requests, and nobody will publish another rotation. It is what
// would be found out as soon as a slot is free.
func (f *delivery) deserted() bool {
	for i := range f.rot.Members {
		if up, isOurs := f.rot.Members[i].Placement.Upstream.(*upstream); !isOurs || !up.left() {
			return false
		}
	}
	return f.r.Cell.Load() == f.rot // asked last: others are published before their backends retire
}

// take is begin without waiting. Where a backend left, or was taken out by its operator,
// between its pick and its call, another one is picked. The breaker is asked last, so
// that its trial is never held by a request that finds no backend.
func (f *delivery) take() route.Reason {
	timeout := f.r.Entrypoint.Options.BackendTimeout
	var gone []*route.Placement
	for range maxRepicks {
		f.rot = f.r.Cell.Load()
		if reason := f.choose(gone); reason != route.ReasonNone {
			return reason
		}
		if !f.enter() {
			f.admission.release()
			return route.ReasonCircuitOpen
		}
		target := f.admission.member.Placement
		if up, isOurs := target.Upstream.(*upstream); isOurs {
			if f.call = up.begin(f.x, timeout, f.body); f.call != nil {
				if f.stillServes(target) {
					return route.ReasonNone
				}
				f.call.end()
				f.call = nil
			}
		}
		gone = append(gone, target)
		f.admission.release()
	}
	f.rot = f.r.Cell.Load()
	return cmp.Or(f.rot.Reason, route.ReasonLeaving)
}

// stillServes reports whether a rotation that was published since the pick has the
// target, too.
func (f *delivery) stillServes(target *route.Placement) bool {
	now := f.r.Cell.Load()
	if now == f.rot {
		return true
	}
	key := target.Key()
	return has(now.Members, key) || has(now.Fallback, key) || target.Sticky != "" && target.Sticky == f.cookie && has(now.Sticky, key)
}

// has reports whether a placement is among members.
func has(set []route.Member, key route.PlacementKey) bool {
	return slices.ContainsFunc(set, func(m route.Member) bool { return m.Placement.Key() == key })
}

// enter asks the circuit breaker.
func (f *delivery) enter() bool {
	gate := f.rot.Gate
	if gate == nil {
		return true
	}
	lease, wait, ok := gate.Enter(time.Now())
	if !ok {
		f.wait = wait
		return false
	}
	f.admission.gate, f.admission.lease = gate, lease
	return true
}

// choose takes a slot and a ticket of a member: f.admission is set, or the reason says
// why there is none. The client's own backend comes first. Those that were tried are
// used again only when nothing else is left, those that are gone are not.
func (f *delivery) choose(gone []*route.Placement) route.Reason {
	if m, fallback := f.bound(); m != nil && !slices.Contains(gone, m.Placement) && f.admit(m, fallback) == admitted {
		return route.ReasonNone
	}
	if len(f.rot.Members) == 0 {
		return cmp.Or(f.rot.Reason, route.ReasonNoBackends)
	}
	anyFull := false
	for _, out := range [...][]*route.Placement{append(slices.Clip(f.tried), gone...), gone} {
		for _, fallback := range [...]bool{false, true} {
			found, isFull := f.among(fallback, out)
			if found {
				return route.ReasonNone
			}
			anyFull = anyFull || isFull
		}
		if len(f.tried) == 0 || f.untried {
			break
		}
	}
	switch {
	case anyFull:
		return route.ReasonOverloaded
	case len(gone) > 0:
		return route.ReasonLeaving
	}
	return route.ReasonAllUnhealthy // all are on trial, and nothing else may serve
}

// among picks from the members, or from the fallback, until one admits the request. It
// reports whether one did, and whether one was full.
func (f *delivery) among(fallback bool, out []*route.Placement) (found, anyFull bool) {
	pick, set := router.Pick, f.rot.Members
	if fallback {
		pick, set = router.PickFallback, f.rot.Fallback
	}
	out = slices.Clip(out)
	for range len(set) { // each round finds one or leaves one out
		m, ok := pick(f.rot, f.r.Cell, f.r.Entrypoint.Options.LoadBalancer, out)
		if !ok {
			break
		}
		switch f.admit(m, fallback) {
		case admitted:
			return true, anyFull
		case isFull:
			anyFull = true
			for i := range set {
				if p := set[i].Placement; p != m.Placement && full(p) {
					out = append(out, p)
				}
			}
		case onTrial:
		}
		out = append(out, m.Placement)
	}
	return false, anyFull
}

// admittance is a member's answer to a request.
type admittance uint8

const (
	admitted admittance = iota
	isFull              // no slot is free
	onTrial             // it is on trial, and the trial is taken
)

// admit takes a slot and a ticket of a member. One of the fallback serves without a
// ticket where its trial is taken: it is there because nothing better is.
func (f *delivery) admit(m *route.Member, fallback bool) admittance {
	p := m.Placement
	if !reserve(&p.Load.InFlight, p.Backend.MaxConnections) {
		return isFull
	}
	f.admission = admission{member: m, cell: f.r.Cell}
	if m.Judge == nil {
		return admitted
	}
	ticket, ok := m.Judge.Begin(time.Now())
	switch {
	case ok:
		f.admission.judge, f.admission.ticket = m.Judge, ticket
	case !fallback:
		// Nobody is woken: it was free before, too.
		f.admission = admission{}
		p.Load.InFlight.Add(-1)
		return onTrial
	}
	return admitted
}

// bound returns the member that the client's cookie names, nil without one that may
// serve it now. It may drain: then it serves nobody else.
func (f *delivery) bound() (m *route.Member, fallback bool) {
	if f.cookie == "" {
		return nil, false
	}
	for i, set := range [...][]route.Member{f.rot.Members, f.rot.Fallback, f.rot.Sticky} {
		for n := range set {
			if p := set[n].Placement; p.Sticky == f.cookie && !f.wasTried(p) {
				return &set[n], i == 1
			}
		}
	}
	return nil, false
}

func (f *delivery) wasTried(p *route.Placement) bool {
	key := p.Key()
	return slices.ContainsFunc(f.tried, func(t *route.Placement) bool { return t.Key() == key })
}
