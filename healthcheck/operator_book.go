package healthcheck

import (
	"cmp"
	"slices"
	"time"

	"fairlead/router/route"
)

// orderKey is what an order is bound to: an entrypoint and one start of a container or
// one static address; neither for an order about every backend.
type orderKey struct {
	entrypoint string // its Key: an order never goes along with an id
	container  string // full id
	started    int64  // of the container, Unix nanoseconds
	address    string // of a static backend
}

// service is the key of the order about every backend of an entrypoint.
func service(entrypoint string) orderKey { return orderKey{entrypoint: entrypoint} }

// orderKey is what an order about this placement alone is bound to. The address of a
// container is not in it: it may change while the container runs.
func (p *placement) orderKey() orderKey {
	b := p.backend()
	if b.Container == nil {
		return orderKey{entrypoint: p.entry.key, address: b.Address()}
	}
	k := orderKey{entrypoint: p.entry.key, container: b.Container.ID}
	if !b.StartedAt.IsZero() {
		k.started = b.StartedAt.UnixNano()
	}
	return k
}

// order is one that is in force. Its state is ready only for a backend that is exempt
// from an order about all.
type order struct {
	id       string // of the entrypoint, as it was called last
	admin    route.Admin
	restored bool      // from before the start of the router, and not seen to match yet
	missing  time.Time // since when there is nothing that it is bound to; zero while there is
}

// orderMemory is how long an order waits for what it is bound to: a container that is
// off its network for a moment, an entrypoint that comes back.
const orderMemory = time.Hour

// orderBook are the orders in force.
type orderBook struct {
	orders  map[orderKey]*order
	away    map[orderKey]awayOrder
	changed chan struct{} // capacity 1
}

func newOrderBook() orderBook {
	return orderBook{orders: map[orderKey]*order{}, away: map[orderKey]awayOrder{}, changed: make(chan struct{}, 1)}
}

// tell signals a change. It never blocks: who listens reads all orders.
func (b *orderBook) tell() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// follow keeps the orders about an entrypoint with it: when it has another id, when its
// owner left what goes on to another one, and, for orders of older state files that know no
// more, from its id on.
func (b *orderBook) follow(en *entry) {
	was := cmp.Or(en.key, en.id)
	en.key = en.entrypoint.Key()
	for key, o := range b.orders {
		if key.entrypoint != en.key && key.entrypoint != was || key.entrypoint == en.key && o.id == en.id {
			continue
		}
		delete(b.orders, key)
		key.entrypoint, o.id = en.key, en.id
		b.orders[key] = o
		b.tell()
	}
}

// orderFor is the order that is in force for a placement: the one about it before the
// one about all; nil without any.
func (e *Engine) orderFor(p *placement) *order {
	if len(e.book.orders) == 0 {
		return nil
	}
	if o := e.book.orders[p.orderKey()]; o != nil {
		return o
	}
	return e.book.orders[service(p.entry.key)]
}

// enters is the state that a new placement is told to come from, and the cause of its
// first transition: an order that awaits it is one.
func (e *Engine) enters(p *placement, now time.Time) (shown route.State, cause string) {
	o := e.orderFor(p)
	if o == nil || p.admin.State == route.AdminReady {
		return e.returns(p, now)
	}
	admin := p.admin
	p.admin = route.Admin{State: route.AdminReady}
	shown, p.admin = p.begins(), admin
	if o.restored {
		return shown, causeRestore
	}
	return shown, causeOperator
}

// begins is the state that a new placement is told to come from: its own, which is no
// transition then. One that is out already, by probes of a check that it shares or by Docker's
// word, is told so, as its end will be.
func (p *placement) begins() route.State {
	s := p.state()
	if s == route.StateDown || s == route.StateGated && p.backend().Provider == route.ProviderUnhealthy {
		return route.StatePending
	}
	return s
}

// endOrders drops the orders whose time is over. Only a tick does: what follows from the
// end of an order, and that it is told, is the tick's.
func (e *Engine) endOrders(now time.Time) {
	for key, o := range e.book.orders {
		if !o.admin.ExpiresAt.IsZero() && !now.Before(o.admin.ExpiresAt) {
			delete(e.book.orders, key)
			e.book.tell()
		}
	}
}

// forgetOrders drops the orders that are bound to nothing any more: a static backend that
// was removed, a container that is gone for an hour.
func (e *Engine) forgetOrders(now time.Time) {
	for key, o := range e.book.orders {
		if e.outlived(key, o, now) {
			delete(e.book.orders, key)
			e.book.tell()
		}
	}
	for key, o := range e.book.away {
		if now.Sub(o.since) >= orderMemory {
			delete(e.book.away, key)
		}
	}
}

func (e *Engine) outlived(key orderKey, o *order, now time.Time) bool {
	switch {
	case o.admin.State == route.AdminReady && e.book.orders[service(key.entrypoint)] == nil:
		return true
	case e.matches(key):
		o.restored, o.missing = false, time.Time{}
		return false
	case key.address != "" && !o.restored:
		return true
	case o.missing.IsZero():
		o.missing = now
	}
	return now.Sub(o.missing) >= orderMemory
}

// matches reports whether there is what an order is bound to.
func (e *Engine) matches(key orderKey) bool {
	en := e.entries[e.book.orders[key].id]
	return en != nil && (key == service(en.key) ||
		slices.ContainsFunc(en.placements, func(p *placement) bool { return p.orderKey() == key }))
}

// OrdersChanged signals after changes of what Orders returns; several changes may share
// one signal.
func (e *Engine) OrdersChanged() <-chan struct{} { return e.book.changed }

// Orders returns the orders in force, sorted, as Restore takes them.
func (e *Engine) Orders() []route.StandingOrder {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]route.StandingOrder, 0, len(e.book.orders))
	for key, o := range e.book.orders {
		s := route.StandingOrder{Entrypoint: o.id, Identity: key.entrypoint, Container: key.container, Address: key.address, Admin: o.admin}
		if key.started != 0 {
			s.StartedAt = time.Unix(0, key.started).UTC()
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b route.StandingOrder) int {
		return cmp.Or(cmp.Compare(a.Entrypoint, b.Entrypoint), cmp.Compare(a.Identity, b.Identity), cmp.Compare(a.Container, b.Container),
			a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Address, b.Address))
	})
	return list
}

// Restore takes the orders that were in force when the router ended, before the first
// Apply. Those whose time is over meanwhile are left out; each of the others is in force
// as soon as what it is bound to appears, and forgotten when that does not happen within
// an hour.
func (e *Engine) Restore(list []route.StandingOrder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	for i := range list {
		s := &list[i]
		if !s.Admin.ExpiresAt.IsZero() && !now.Before(s.Admin.ExpiresAt) {
			continue
		}
		key := orderKey{entrypoint: cmp.Or(s.Identity, s.Entrypoint), container: s.Container, address: s.Address}
		if !s.StartedAt.IsZero() {
			key.started = s.StartedAt.UnixNano()
		}
		o := &order{id: s.Entrypoint, admin: s.Admin, restored: true}
		if ahead := o.admin.Since.Sub(now); o.admin.Since.IsZero() || ahead > 0 { // a clock that was ahead
			o.admin.Since = now
			if !s.Admin.Since.IsZero() && !s.Admin.ExpiresAt.IsZero() {
				o.admin.ExpiresAt = s.Admin.ExpiresAt.Add(-ahead)
			}
		}
		e.book.orders[key] = o
	}
}
