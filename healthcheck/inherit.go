package healthcheck

import "fairlead/router/route"

// twin is another placement of the same check, one with equal rules if there is any. What is
// in maintenance knows only how it was before.
func (p *placement) twin() *placement {
	var twin *placement
	for _, other := range p.check.users {
		if other != p && !other.inMaintenance() && (twin == nil || other.rules == p.rules) {
			twin = other
		}
	}
	return twin
}

// heeds reports whether requests have a part in the placement's active layer
// (passive.feedsActive).
func (p *placement) heeds() bool {
	if p.active.fed > 0 {
		return true
	}
	if p.passive == nil {
		return false
	}
	r, _ := p.passive.now()
	return r.FeedsActive
}

// inherit takes over what the same probes have already shown.
func (p *placement) inherit(twin *placement) {
	if twin.heeds() {
		p.active = p.rules.judge(twin)
	} else {
		p.active = twin.active
	}
	p.active.ok, p.active.fail = min(p.active.ok, p.rules.healthy-1), min(p.active.fail, p.rules.unhealthy)
	if p.active.status == route.StateUp {
		p.active.fail = min(p.active.fail, p.rules.unhealthy-1)
	}
	p.last, p.ticks, p.anew = twin.last, twin.ticks.fork(), twin.anew
	if p.backend().Provider == twin.backend().Provider && p.state() == twin.shown {
		p.since = twin.since
	}
}

// judge is what the results of another placement's probes say by these rules: the requests to
// its entrypoint that count there say nothing about any other one.
func (r *activeRules) judge(of *placement) active {
	a, _ := newActive(true)
	for _, tick := range of.ticks.list() {
		if tick.At.After(of.anew) {
			a, _ = a.result(r, &Result{OK: tick.OK, Kind: tick.Kind}, tick.At)
		}
	}
	if a.failed.Equal(of.active.probed.failed) {
		a.blame, a.probed = of.active.probed, of.active.probed // in words
	}
	a.succeeded = of.active.succeeded
	return a
}
