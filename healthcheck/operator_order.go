package healthcheck

import (
	"fmt"
	"time"

	"fairlead/router/route"
)

// Order carries out an operator's word about a backend, or about every backend of its
// entrypoint (ScopeService; backend may then be ""). The rotation is published and the
// transitions are queued before it returns; it waits for nothing. A refusal is an
// *route.OrderError.
func (e *Engine) Order(entrypoint, backend string, o route.Order) error {
	e.mu.Lock()
	refusal := e.order(entrypoint, backend, &o, time.Now())
	e.mu.Unlock()
	e.flush()
	if refusal != nil {
		return refusal // not a nil *OrderError in an interface
	}
	return nil
}

func (e *Engine) order(entrypoint, backend string, o *route.Order, now time.Time) *route.OrderError {
	en, targets, refusal := e.targets(entrypoint, backend, o)
	if refusal != nil {
		return refusal
	}
	switch o.Action {
	case route.OrderEject, route.OrderUneject:
		return e.orderPassive(targets[0], o, now)
	case route.OrderDrain, route.OrderMaintenance:
		if refusal := en.wouldEmpty(targets, o); refusal != nil && !o.Force {
			return refusal
		}
	case route.OrderReady:
	default:
		return refused(route.OrderImpossible, "there is no order %q", o.Action)
	}
	e.enforce(en, targets, o, now)
	return nil
}

func refused(code route.OrderErrorCode, format string, args ...any) *route.OrderError {
	return &route.OrderError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// targets finds the placements that an order is about.
func (e *Engine) targets(entrypoint, backend string, o *route.Order) (*entry, []*placement, *route.OrderError) {
	en := e.entries[entrypoint]
	switch {
	case e.stopped:
		return nil, nil, refused(route.OrderImpossible, "the router is stopping: give the order again when it runs")
	case en == nil:
		return nil, nil, refused(route.OrderUnknown, "there is no entrypoint %q", entrypoint)
	}
	passive := o.Action == route.OrderEject || o.Action == route.OrderUneject
	if o.Scope == route.ScopeService && passive {
		return nil, nil, refused(route.OrderImpossible, "%s is about one backend, not about all of an entrypoint", o.Action)
	}
	if o.Scope == route.ScopeService && backend == "" {
		return en, en.placements, nil
	}
	p := en.named(backend)
	switch {
	case p == nil:
		return nil, nil, refused(route.OrderUnknown, "entrypoint %s has no backend %q", entrypoint, backend)
	case o.Scope == route.ScopeService:
		return en, en.placements, nil
	case p.leaving():
		return nil, nil, refused(route.OrderImpossible,
			"backend %s is leaving already: its container is stopping and gets no new requests; an order about it would mean nothing", p.name())
	}
	return en, []*placement{p}, nil
}

// named is the placement of a backend id, nil without one.
func (en *entry) named(id string) *placement {
	for _, p := range en.placements {
		if p.backend().ID == id {
			return p
		}
	}
	return nil
}

// enforce brings an order into force for its targets, in one step.
func (e *Engine) enforce(en *entry, targets []*placement, o *route.Order, now time.Time) {
	e.record(en, targets, o, now)
	e.rev++
	var moves []move
	for _, p := range targets {
		before := p.admin
		e.settleOperator(p, now)
		if o.Action == route.OrderReady && before.State != route.AdminReady {
			p.admin.Actor, p.admin.Reason, p.admin.Since = o.Actor, o.Reason, now
		}
		if p.admin == before {
			continue // said before
		}
		p.replaces(&before)
		e.follows(p, before.State, now)
		moves = append(moves, move{p, changeOrder, causeOperator})
	}
	e.publish(en, causeOperator, now)
	for _, m := range moves {
		e.emit(m.placement, m.what, m.cause, now)
	}
	e.announce()
}

// record writes an order into the book. The last word counts: one about all replaces
// those about single backends, and one about a backend is an exception from it.
func (e *Engine) record(en *entry, targets []*placement, o *route.Order, now time.Time) {
	admin := route.Admin{State: adminState(o.Action), Actor: o.Actor, Reason: o.Reason, Since: now, Scope: route.ScopeBackend}
	if o.For > 0 && o.Action != route.OrderReady {
		admin.ExpiresAt = now.Add(o.For)
	}
	defer e.book.tell()
	all := service(en.key)
	if o.Scope == route.ScopeService {
		admin.Scope = route.ScopeService
		if old := e.book.orders[all]; old != nil && sameWord(&old.admin, &admin) {
			admin.Since = old.admin.Since
		}
		for key := range e.book.orders {
			if key.entrypoint == en.key {
				delete(e.book.orders, key)
			}
		}
		if o.Action != route.OrderReady {
			e.book.orders[all] = &order{id: en.id, admin: admin}
		}
		return
	}
	p := targets[0]
	if o.Action == route.OrderReady && e.book.orders[all] == nil {
		delete(e.book.orders, p.orderKey())
		return
	}
	if sameWord(&p.admin, &admin) && !p.admin.Since.IsZero() {
		admin.Since = p.admin.Since
	}
	e.book.orders[p.orderKey()] = &order{id: en.id, admin: admin}
}

func adminState(a route.OrderAction) route.AdminState {
	switch a {
	case route.OrderDrain:
		return route.AdminDrain
	case route.OrderMaintenance:
		return route.AdminMaintenance
	default:
		return route.AdminReady
	}
}

// orderPassive ejects a placement, or ends its ejection.
func (e *Engine) orderPassive(p *placement, o *route.Order, now time.Time) *route.OrderError {
	if o.Action == route.OrderUneject {
		return e.unejectByOrder(p, o, now)
	}
	return e.ejectByOrder(p, o, now)
}
