package healthcheck

import (
	"fmt"
	"slices"
	"time"

	"fairlead/router/route"
)

// publish recomputes an entry's rotation and stores it when it differs. What it has
// to say about the entrypoint comes after what is said of the backends: see announce.
func (e *Engine) publish(en *entry, cause string, now time.Time) {
	candidates := make([]candidate, len(en.placements))
	for i, p := range en.placements {
		candidates[i] = p.candidate()
	}
	en.steps.Add(1)
	d := en.rotate(candidates)
	en.decision, en.counts = d, tally{}
	for i, p := range en.placements { // all of them, before warmUp looks at the others
		p.in, p.reason = d.in[i], d.reasons[i]
	}
	for _, p := range en.placements {
		if p.active.succeeded {
			p.current.Load.Proven.Store(true)
		}
		en.counts.add(p.state(), p.in)
		e.warmUp(p, now)
		e.watch(p, d.panic && p.in)
	}
	if serves := en.counts.inRotation > 0; serves || en.serves() {
		en.ordered = !serves && cause == causeOperator
	}
	s := en.summarize(&d)
	en.served = en.served || en.counts.inRotation > 0
	if en.served && en.counts.total == 0 && s.reason == route.ReasonInitializing {
		s.reason = route.ReasonNoBackends // it is not at its beginning: it lost what it had
	}
	empty := s.reason
	if en.counts.inRotation > 0 {
		empty = route.ReasonNone
	}
	e.store(en, &d, candidates, empty, now)
	e.summarized(en, s, cause, now)
	en.publishRetry(now)
	e.touch(en)
}

// serves reports whether somebody is in the published rotation.
func (en *entry) serves() bool { return en.rotation != nil && len(en.rotation.Members) > 0 }

// rotate decides who of the candidates serves under the entrypoint's settings.
func (en *entry) rotate(candidates []candidate) decision {
	if en.entrypoint.FailClosed != nil {
		return closed(len(candidates))
	}
	r := en.rules()
	return rotate(&r, candidates)
}

// closed is the decision of an entrypoint that fails closed: nobody serves.
func closed(n int) decision {
	d := decision{in: make([]bool, n), reasons: make([]route.RotationReason, n), reason: route.ReasonMisconfigured}
	for i := range d.reasons {
		d.reasons[i] = route.OutMisconfigured
	}
	return d
}

// rules are the entrypoint's settings that decide who serves.
func (en *entry) rules() rules {
	o := &en.entrypoint.Options
	return rules{panic: o.Panic, threshold: o.PanicThreshold, ejectedServe: o.Passive.KeepServing}
}

// members are those that a decision takes in, with their weights.
func (en *entry) members(d *decision, now time.Time) []route.Member {
	var list []route.Member
	warming := false
	for i, p := range en.placements {
		if d.in[i] {
			list = append(list, route.Member{Placement: p.current, Weight: max(p.backend().Weight, 1), Reason: d.reasons[i], Judge: p.judge(d.panic)})
			warming = warming || p.warm.percent(now) < full
		}
	}
	if !warming || d.panic || len(list) < 2 {
		return list
	}
	n := 0
	for i, p := range en.placements {
		if d.in[i] { // percents are whole numbers, so that shares are exact
			list[n].Weight *= p.warm.percent(now)
			n++
		}
	}
	return list
}

// fallback is who serves while every trial has its one request; nil unless all that
// serve are on trial.
func (en *entry) fallback(candidates []candidate, members []route.Member, now time.Time) []route.Member {
	if slices.ContainsFunc(members, func(m route.Member) bool { return m.Reason != route.InTrial }) {
		return nil
	}
	r := en.rules()
	r.taken = true
	d := rotate(&r, candidates)
	return en.members(&d, now)
}

// bound are those that serve the clients that are bound to them, and nobody else.
func (en *entry) bound(now time.Time) []route.Member {
	var list []route.Member
	for _, p := range en.placements {
		if p.servesBound(now) {
			list = append(list, route.Member{Placement: p.current, Weight: 1, Reason: route.InStickyOnly, Judge: p.judge(false)})
		}
	}
	return list
}

// store publishes the rotation unless an equal one is there.
func (e *Engine) store(en *entry, d *decision, candidates []candidate, reason route.Reason, now time.Time) {
	members := en.members(d, now)
	fallback, bound := en.fallback(candidates, members, now), en.bound(now)
	old := en.rotation
	if old != nil && old.Tier == d.tier && old.Panic == d.panic && old.Reason == reason && old.Gate == en.gate() &&
		slices.Equal(old.Members, members) && slices.Equal(old.Fallback, fallback) && slices.Equal(old.Sticky, bound) {
		return
	}
	e.rev++
	r := route.NewRotation(e.rev, d.tier, members)
	r.At, r.Panic, r.Reason = now, d.panic, reason
	r.Fallback, r.Sticky, r.Gate = fallback, bound, en.gate()
	en.rotation = r
	en.cell.Store(r)
}

// summarized notes a change of the entrypoint's state.
func (e *Engine) summarized(en *entry, s summary, cause string, now time.Time) {
	en.become(s, now)
	from, down := en.told, s.state == route.EntrypointDown
	begins, ends := down && s.reason.Outage() && !en.outage, en.outage && !down
	en.told = s.state
	switch {
	case from == s.state && !begins:
		return
	case from != "":
	case s.state != route.EntrypointPanic && !begins:
		return // added: a first state is a transition only if its end will be told
	default:
		from, cause = route.EntrypointPending, en.beginsBy(cause)
	}
	en.outage = begins
	t := route.Transition{
		At: now, Rev: e.rev, Entrypoint: en.id, Layer: layerRoute, From: string(from), To: string(s.state), Cause: cause,
		Message: en.sentence(), InRotation: en.counts.inRotation > 0,
		Debug: from != route.EntrypointPanic && s.state != route.EntrypointPanic && !begins && !ends,
	}
	if down {
		t.Down = s.reason
	}
	en.history = remember(en.history, t)
	e.deferred = append(e.deferred, notice{transition: t, entry: true})
}

// become is the entry in a state that is computed anew.
func (en *entry) become(s summary, now time.Time) {
	if en.summary.state != s.state {
		en.since, en.panicSince = now, time.Time{}
		if s.state == route.EntrypointPanic {
			en.panicSince = now
		}
	}
	en.summary = s
}

// beginsBy is the cause of a first state that is told: orders from before the start of the
// router were told then.
func (en *entry) beginsBy(cause string) string {
	if r := en.summary.reason; en.restored && (r == route.ReasonAllDraining || r == route.ReasonAllMaintenance) {
		return causeRestore
	}
	return cause
}

func (en *entry) publishRetry(now time.Time) {
	at := en.retryAt(now)
	if at.IsZero() {
		at = time.Unix(0, 0) // nothing is planned
	}
	en.cell.SetRetryAt(at)
}

// sentence says in a few words how the entrypoint stands.
func (en *entry) sentence() string {
	t := &en.counts
	switch en.summary.state {
	case route.EntrypointPanic:
		if en.decision.scarce {
			return en.scarcity()
		}
		return fmt.Sprintf("no backend is verified; %d of %d get the requests unverified (panic=%s)", t.inRotation, t.total, en.entrypoint.Options.Panic)
	case route.EntrypointDown:
		return en.outcome()
	case route.EntrypointPending:
		return fmt.Sprintf("%d of %d backends serve before their first verdict", t.inRotation, t.total)
	default:
		return fmt.Sprintf("%d of %d backends are in rotation", t.inRotation, t.total)
	}
}

// mostHistory is how many transitions are kept.
const mostHistory = 20

// remember appends without touching the slice that views may hold.
func remember(history []route.Transition, t route.Transition) []route.Transition {
	kept := history[max(0, len(history)-mostHistory+1):]
	return append(slices.Clip(kept), t)
}
