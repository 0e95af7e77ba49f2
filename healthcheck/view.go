package healthcheck

import (
	"cmp"
	"slices"
	"time"

	"fairlead/router/route"
)

// viewCache is the last view and the order of the checks in it.
type viewCache struct {
	view   *route.HealthView
	checks []*check  // sorted by id; nil after a change
	day    time.Time // of the last tick
}

func (v *viewCache) forget()        { v.view = nil }
func (v *viewCache) checksChanged() { v.checks = nil }

// dayTurns reports whether a tick is the first of its day. What was of today in the texts of
// orders and ejections is of another day then.
func (v *viewCache) dayTurns(now time.Time) bool {
	before := v.day
	v.day = now.UTC().Truncate(24 * time.Hour)
	return !before.IsZero() && !v.day.Equal(before)
}

// touch notes a change of an entry.
func (e *Engine) touch(en *entry) {
	en.rev, en.view = e.rev, nil
}

// touchCheck notes a change of a check, which all of its users show.
func (e *Engine) touchCheck(c *check) {
	e.rev++
	c.view = nil
	for _, p := range c.users {
		e.touch(p.entry)
	}
}

// View returns the current picture. It is immutable, and the same pointer until
// something changes; what did not change since the last one is shared with it.
func (e *Engine) View() *route.HealthView {
	e.mu.Lock()
	defer e.mu.Unlock()
	if v := e.views.view; v != nil && v.Rev == e.rev {
		return v
	}
	now := time.Now()
	v := &route.HealthView{
		Rev:         e.rev,
		Sets:        e.sets,
		Entrypoints: make(map[string]route.EntrypointHealth, len(e.entries)),
		Checks:      e.checkViews(now),
		Settled:     e.settled,
		Global:      e.global(now),
	}
	for id, en := range e.entries {
		if en.view == nil {
			en.view = e.entryView(en, now)
		}
		v.Entrypoints[id] = *en.view
	}
	e.views.view = v
	return v
}

// checkViews lists the checks by id.
func (e *Engine) checkViews(now time.Time) []route.CheckView {
	if e.views.checks == nil {
		e.views.checks = make([]*check, 0, len(e.ids))
		for _, c := range e.ids {
			e.views.checks = append(e.views.checks, c)
		}
		slices.SortFunc(e.views.checks, func(a, b *check) int { return cmp.Compare(a.id, b.id) })
	}
	list := make([]route.CheckView, len(e.views.checks))
	for i, c := range e.views.checks {
		list[i] = *e.checkView(c, now)
	}
	return list
}

// checkView is a check as answers show it; its bound is the largest among its users.
func (e *Engine) checkView(c *check, now time.Time) *route.CheckView {
	if c.view != nil && c.dueSince.IsZero() {
		return c.view
	}
	_, pace := c.pace(e.cfg.Tick)
	v := &route.CheckView{
		ID:          c.id,
		Check:       c.spec.Check,
		Target:      c.target.Address(),
		Incarnation: c.key.incarnation,
		Pace:        pace,
		QueueDelay:  c.delay,
		InFlight:    c.inFlight != nil,
	}
	v.Check.Path = redactQuery(v.Check.Path)
	if c.inFlight == nil && c.wanted() {
		v.NextLaunch = c.nextAt
	}
	if !c.dueSince.IsZero() {
		v.QueueDelay = max(now.Sub(c.dueSince), 0)
	}
	for _, p := range c.users {
		v.SharedWith = append(v.SharedWith, p.entry.id)
		v.DetectionBound = max(v.DetectionBound, e.bound(p))
	}
	slices.Sort(v.SharedWith)
	c.view = v
	return v
}

// bound is the detection bound of a placement: its thresholds on its check.
func (e *Engine) bound(p *placement) time.Duration {
	c := p.check.spec.Check
	c.UnhealthyThreshold = p.rules.unhealthy
	return detectionBound(&c, e.cfg.Tick)
}

func (e *Engine) entryView(en *entry, now time.Time) *route.EntrypointHealth {
	t, s := &en.counts, &en.summary
	h := &route.EntrypointHealth{
		State: s.state, Total: t.total, Healthy: t.healthy, Unhealthy: t.unhealthy, Pending: t.pending,
		Disabled: t.disabled, InRotation: t.inRotation, BackupsServing: en.decision.backups,
		Since: en.since, Rev: en.rev, Reason: s.reason, Code: s.code,
		Panic:    route.PanicView{Active: s.state == route.EntrypointPanic, Mode: en.entrypoint.Options.Panic, Threshold: en.entrypoint.Options.PanicThreshold, Since: en.panicSince},
		Breaker:  en.breaker.view(),
		Backends: make([]route.BackendHealth, len(en.placements)),
		History:  en.history,
	}
	if s.reason != route.ReasonNone {
		h.ServesWhenDown = en.entrypoint.Options.StatusFor(s.reason)
	}
	if h.Panic.Active {
		h.Panic.Reason = en.panicReason()
	}
	for i, p := range en.placements {
		h.Backends[i] = e.backendView(p, now)
		if p.check != nil {
			h.DetectionBound = max(h.DetectionBound, h.Backends[i].Check.DetectionBound)
		}
	}
	h.Explain = en.explain(h)
	return h
}

func (e *Engine) backendView(p *placement, now time.Time) route.BackendHealth {
	b := p.backend()
	h := route.BackendHealth{
		Backend: *b, State: p.shown, Healthy: healthy(p.shown), InRotation: p.in, RotationReason: p.reason,
		Source: p.source(), Since: p.since, LastChecked: p.active.checked, Counters: p.counters,
		LastResult: p.last, Probes: p.ticks.list(), History: p.history,
	}
	h.Kind, h.Message = p.cause(p.shown)
	h.Admin, h.Passive, h.Warmup = p.admin, p.passive.view(), p.warm.view(now)
	h.Counters.ConsecutiveOK, h.Counters.ConsecutiveFail = p.active.ok, p.active.fail
	if p.in {
		h.EffectiveWeight = max(b.Weight, 1)
	}
	if p.warms() {
		h.EffectiveWeight = max(h.EffectiveWeight*p.warm.percent(now)/full, 1)
	}
	if l := p.current.Load; l != nil {
		h.InFlight, h.Tunnels, h.Load = l.InFlight.Load(), l.Tunnels.Load(), l
	}
	if c := p.check; c != nil {
		v := *e.checkView(c, now)
		v.DetectionBound = e.bound(p)
		v.Check.UnhealthyThreshold, v.Check.HealthyThreshold = p.rules.unhealthy, p.rules.healthy
		v.Check.Initial = p.rules.initial
		h.Check, h.NextCheckAt, h.InFlightProbe = &v, v.NextLaunch, v.InFlight
		if p.unprobed() {
			h.NextCheckAt, h.InFlightProbe = time.Time{}, false
		}
	}
	h.Hint = hint(p)
	h.Explain = explain(p, &h, now)
	return h
}

// source is the layer that decided the shown state.
func (p *placement) source() string {
	switch {
	case p.shown == route.StateMaintenance, p.shown == route.StateDraining:
		return "admin"
	case p.shown == route.StateEjected, p.shown == route.StateTrial:
		return "passive"
	case p.backend().Provider == route.ProviderLeaving,
		p.backend().Provider == route.ProviderUnhealthy,
		p.backend().Provider == route.ProviderStarting:
		return "provider"
	case p.check == nil:
		return "none"
	}
	return "active"
}

// What the diagnostic about the router's own resources says.
const (
	localCode = "W131"
	localHint = "raise the limit of open files (ulimit -n, LimitNOFILE) or lower healthCheck.concurrency"
)

// global lists what is wrong with probing as a whole.
func (e *Engine) global(now time.Time) []route.Diagnostic {
	if e.local.consecutive < localErrorsShown {
		return nil
	}
	return []route.Diagnostic{route.Diagnose(localCode, localHint,
		"probes fail in the router itself since %s: %s; verdicts are kept as they were",
		moment(e.local.since, now), e.local.message)}
}

// clock writes a time of day.
func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }
