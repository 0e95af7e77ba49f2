package healthcheck

import "fairlead/router/route"

// change brings new settings of a placement into force (health.md, "Reload matrix").
func (s *applyStep) change(p *placement, rp *route.Placement) {
	before, rules, id := p.backend().Provider, p.rules, p.current.Entrypoint
	if p.current.Load != rp.Load {
		s.engine.watch(p, false)
		p.storm = storm{} // of other counters
	}
	p.current = rp
	b := &rp.Backend
	cause := causeConfig
	if before != b.Provider {
		cause = causeProvider
	}
	c := checkOf(p.entry, b)
	p.rules = rulesOf(c, b, p.added)
	what := s.recheck(p, c)
	s.settle(p)
	s.follow(p, before)
	if p.check != nil && (before != b.Provider || rules != p.rules || id != rp.Entrypoint) {
		s.engine.touchCheck(p.check) // its bound and its next launch hang on its users, whom it names
	}
	if p.decided() {
		s.engine.decide(p)
	}
	s.moves = append(s.moves, move{p, what, cause})
}

// recheck settles what new settings mean for the check and the active layer.
func (s *applyStep) recheck(p *placement, c *route.Check) (what change) {
	old := p.check
	switch {
	case c == nil:
		if old != nil {
			s.part(p)
			p.last, p.ticks = nil, ticks{}
		}
		p.active, what = p.active.disabled()
		return what
	case old == nil:
		p.check = s.join(p, c, keyOf(s.engine.seed, c, p.backend()))
		p.active, what = p.active.enabled()
		return what
	}
	key := keyOf(s.engine.seed, c, p.backend())
	switch {
	case key.content != old.key.content:
		s.part(p)
		p.check = s.join(p, c, key)
		p.active, what = p.active.content()
		p.anew = s.now
		p.staleResult()
	case key.timing != old.key.timing:
		s.retime(p, c, key)
	}
	if what == changeNone {
		p.active, what = p.active.thresholds(&p.rules, s.now)
	}
	return what
}

// staleResult marks the last result as one of another question.
func (p *placement) staleResult() {
	if p.last != nil {
		old := *p.last
		old.Stale = true
		p.last = &old
	}
}

// retime moves a placement to a check that asks the same at other times: a new
// generation, due when the old one was or after one new interval, whichever is first.
func (s *applyStep) retime(p *placement, c *route.Check, key checkKey) {
	old := p.check
	due := old.nextAt
	s.part(p)
	known := s.engine.checks[key] != nil
	p.check = s.join(p, c, key)
	if known {
		return
	}
	s.fresh = s.fresh[:len(s.fresh)-1] // booked here, not spread
	base, _ := p.check.pace(s.engine.cfg.Tick)
	p.check.nextAt = s.now.Add(base)
	if due.Before(p.check.nextAt) {
		p.check.nextAt = due
	}
}

// follow reacts to the provider's new word about a backend.
func (s *applyStep) follow(p *placement, before route.ProviderState) {
	after := p.backend().Provider
	if before == after || p.check == nil {
		return
	}
	switch after {
	case route.ProviderLeaving:
		if !p.check.wanted() {
			p.check.cancel()
		}
	case route.ProviderPresent:
		s.engine.expedite(p.check, s.now)
	default:
	}
}
