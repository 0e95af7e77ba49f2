package healthcheck

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"fairlead/router/route"
)

// Apply replaces the engine's knowledge of all placements. Every rotation is
// published before it returns; it never waits for a probe. Sets that did not change
// cost a comparison of pointers. The generation is shown in the view.
func (e *Engine) Apply(generation uint64, sets []route.PlacementSet) {
	e.mu.Lock()
	now := time.Now()
	e.batch++
	e.sets = generation
	e.rev++
	e.views.forget()
	step := &applyStep{engine: e, now: now}
	step.refind(sets)
	var changed []*entry
	for i := range sets {
		if en := step.set(&sets[i]); en != nil {
			changed = append(changed, en)
		}
	}
	step.removeUnnamed()
	e.forgetOrders(now)
	e.spread(step.fresh, now)
	e.begin(changed, now)
	for _, en := range changed {
		e.publish(en, causeConfig, now)
	}
	for _, m := range step.moves {
		e.emit(m.placement, m.what, m.cause, now)
	}
	e.announce()
	e.mu.Unlock()
	e.flush()
}

// applyStep is one Apply on its way.
type applyStep struct {
	engine *Engine
	now    time.Time
	fresh  []*check // new ones, not booked yet
	loose  []*check // may have lost their last user
	ended  []*entry // whose cells no set has
	moves  []move
}

// move is what the step did to a placement.
type move struct {
	placement *placement
	what      change
	cause     string
}

// refind finds the entries of entrypoints that have another id now: all that is known of one
// goes with its cell. One without a set ends, whoever has its id.
func (s *applyStep) refind(sets []route.PlacementSet) {
	e := s.engine
	var open []*route.PlacementSet
	for i := range sets {
		if en := e.entries[sets[i].Entrypoint.ID]; en != nil && en.cell == sets[i].Cell {
			en.batch = e.batch
		} else {
			open = append(open, &sets[i])
		}
	}
	left := map[*route.RotationCell]*entry{}
	for id, en := range e.entries {
		if en.batch != e.batch {
			left[en.cell] = en
			delete(e.entries, id)
		}
	}
	renamed := map[*entry]string{}
	for _, set := range open {
		if en := left[set.Cell]; en != nil {
			delete(left, set.Cell)
			renamed[en] = set.Entrypoint.ID
		}
	}
	s.ended = slices.Collect(maps.Values(left))
	for _, en := range s.ended {
		e.leave(en) // before another one may get its id
	}
	for en, id := range renamed {
		e.rename(en, id, s.now)
	}
}

// set brings one set into force and returns its entry when anything changed.
func (s *applyStep) set(set *route.PlacementSet) *entry {
	e, id := s.engine, set.Entrypoint.ID
	en := e.entries[id]
	if en == nil {
		en = e.enter(id, s.now)
		en.cell = set.Cell
	} else if en.same(set) {
		return nil
	}
	en.batch = e.batch
	changed := en.entrypoint != set.Entrypoint
	en.entrypoint = set.Entrypoint
	e.book.follow(en)
	known := en.breaker != nil
	en.settleBreaker()
	if en.tripped && (!known || en.breaker == nil) {
		e.untrip(en, s.now)
	}
	s.replace(en, set.Placements, changed)
	return en
}

// same reports whether a set is what the entry already knows, by pointers.
func (en *entry) same(set *route.PlacementSet) bool {
	if en.entrypoint != set.Entrypoint || en.cell != set.Cell || len(en.placements) != len(set.Placements) {
		return false
	}
	for i, p := range en.placements {
		if p.current != set.Placements[i] {
			return false
		}
	}
	return true
}

// replace makes the entry's placements those of the set. State hangs on the
// incarnation: what stays keeps it, whatever else about the backend changed. changed: the
// options of the entrypoint may have, which a placement that stays the same has its layers
// from (passive.*).
func (s *applyStep) replace(en *entry, placements []*route.Placement, changed bool) {
	old := make(map[string]*placement, len(en.placements))
	for _, p := range en.placements {
		old[p.backend().Incarnation] = p
	}
	en.placements = make([]*placement, 0, len(placements))
	named := make(map[string]bool, len(placements))
	for _, rp := range placements {
		key := rp.Backend.Incarnation
		if named[key] {
			continue // one placement per identity
		}
		named[key] = true
		p := old[key]
		if p == nil {
			p = s.add(en, rp)
		} else if changed || p.current != rp {
			s.change(p, rp)
		}
		en.placements = append(en.placements, p)
	}
	slices.SortFunc(en.placements, byBackendID)
	for key, p := range old {
		if !named[key] {
			s.remove(p)
		}
	}
}

// checkOf returns the normalized check of a placement, nil when it is not probed.
func checkOf(en *entry, b *route.Backend) *route.Check {
	if b.Check == nil || en.entrypoint.Protocol == route.UDP {
		return nil
	}
	c := normalized(*b.Check, b)
	return &c
}

func rulesOf(c *route.Check, b *route.Backend, added time.Time) activeRules {
	if c == nil {
		return activeRules{unhealthy: 1, healthy: 1, initial: route.InitialAuto}
	}
	started := b.StartedAt
	if !started.IsZero() && added.Before(started) {
		started = added // the engine's clock is ahead of ours
	}
	return activeRules{
		unhealthy: c.UnhealthyThreshold, healthy: c.HealthyThreshold,
		initial: c.Initial, initialDelay: c.InitialDelay, started: started,
	}
}

// add makes a placement. When the same check runs already (a renamed route), its
// verdict is taken over.
func (s *applyStep) add(en *entry, rp *route.Placement) *placement {
	p := &placement{entry: en, current: rp, added: s.now, since: s.now}
	c := checkOf(en, &rp.Backend)
	p.rules = rulesOf(c, &rp.Backend, s.now)
	var what change
	p.active, what = newActive(c != nil)
	if c != nil {
		p.check = s.join(p, c, keyOf(s.engine.seed, c, &rp.Backend))
		if twin := p.twin(); twin != nil {
			p.inherit(twin)
		}
	}
	s.settle(p)
	var cause string
	if p.shown, cause = s.engine.enters(p, s.now); cause == causeRestore {
		en.restored = true
	}
	s.moves = append(s.moves, move{p, what, cause})
	return p
}

// join makes a placement a user of a check, which is made when there is none.
func (s *applyStep) join(p *placement, c *route.Check, key checkKey) *check {
	e := s.engine
	known := e.checks[key]
	if known == nil {
		e.generations++
		b := p.backend()
		known = &check{
			key: key, generation: e.generations,
			spec:   newSpec(c, b),
			target: Target{Host: b.Host, Port: c.Port, Loopback: b.Loopback},
		}
		known.id = e.name(known)
		e.checks[key] = known
		s.fresh = append(s.fresh, known)
	}
	known.users = append(known.users, p)
	e.touchCheck(known)
	return known
}

// part ends a placement's use of its check.
func (s *applyStep) part(p *placement) {
	c := p.check
	p.check = nil
	c.users = slices.DeleteFunc(c.users, func(u *placement) bool { return u == p })
	if c.inFlight != nil {
		c.inFlight.orphans = append(c.inFlight.orphans, p)
	}
	s.loose = append(s.loose, c)
	s.engine.touchCheck(c)
}

// remove forgets a placement.
func (s *applyStep) remove(p *placement) {
	if p.check != nil {
		s.part(p)
	}
	s.engine.decide(p)
	s.engine.goes(p, s.now)
	s.engine.watch(p, false)
	s.engine.archive.add(p, s.now)
}

// removeUnnamed forgets what this Apply did not name, and checks without users.
func (s *applyStep) removeUnnamed() {
	e := s.engine
	for _, en := range s.ended {
		for _, p := range en.placements {
			s.remove(p)
		}
	}
	for _, c := range s.loose {
		if len(c.users) > 0 || e.checks[c.key] != c {
			continue
		}
		c.cancel()
		delete(e.checks, c.key)
		delete(e.ids, c.id)
		e.views.checksChanged()
	}
	s.fresh = slices.DeleteFunc(s.fresh, func(c *check) bool { return len(c.users) == 0 })
}

// name gives a check its id in answers.
func (e *Engine) name(c *check) string {
	base := publicID(&c.key)
	id := base
	for n := 2; e.ids[id] != nil; n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	e.ids[id] = c
	e.views.checksChanged()
	return id
}
