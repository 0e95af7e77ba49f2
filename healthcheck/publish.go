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
	d := rotate(en.entrypoint.Options.Panic, candidates)
	if en.entrypoint.FailClosed != nil {
		d = closed(len(candidates))
	}
	en.decision, en.counts = d, tally{}
	var members []route.Member
	for i, p := range en.placements {
		p.in, p.reason = d.in[i], d.reasons[i]
		if p.active.succeeded {
			p.current.Load.Proven.Store(true)
		}
		en.counts.add(shownState(p.backend(), p.active.status), p.in)
		e.watch(p, d.panic && p.in)
		if p.in {
			members = append(members, route.Member{Placement: p.current, Weight: max(p.backend().Weight, 1), Reason: p.reason})
		}
	}
	s := summarize(en.entrypoint, &d, &en.counts)
	en.served = en.served || en.counts.inRotation > 0
	if en.served && en.counts.total == 0 && s.reason == route.ReasonInitializing {
		s.reason = route.ReasonNoBackends // it is not at its beginning: it lost what it had
	}
	e.store(en, d, members, s.reason, now)
	e.summarized(en, s, cause, now)
	en.publishRetry(now)
	e.touch(en)
}

// closed is the decision of an entrypoint that fails closed: nobody serves.
func closed(n int) decision {
	d := decision{in: make([]bool, n), reasons: make([]route.RotationReason, n), reason: route.ReasonMisconfigured}
	for i := range d.reasons {
		d.reasons[i] = route.OutMisconfigured
	}
	return d
}

// store publishes the rotation unless an equal one is there.
func (e *Engine) store(en *entry, d decision, members []route.Member, reason route.Reason, now time.Time) {
	old := en.rotation
	if old != nil && old.Tier == d.tier && old.Panic == d.panic && old.Reason == reason && slices.Equal(old.Members, members) {
		return
	}
	e.rev++
	r := route.NewRotation(e.rev, d.tier, members)
	r.At, r.Panic, r.Reason = now, d.panic, reason
	en.rotation = r
	en.cell.Store(r)
}

// summarized notes a change of the entrypoint's state.
func (e *Engine) summarized(en *entry, s summary, cause string, now time.Time) {
	from := en.summary.state
	en.summary = s
	if from == s.state {
		return
	}
	en.since = now
	switch {
	case s.state == route.EntrypointPanic:
		en.panicSince = now
	case from == route.EntrypointPanic:
		en.panicSince = time.Time{}
	}
	if from == "" {
		return // added: the first state is no transition
	}
	t := route.Transition{
		At: now, Rev: e.rev, Entrypoint: en.id, Layer: layerRoute, From: string(from), To: string(s.state), Cause: cause,
		Message: en.sentence(), InRotation: en.counts.inRotation > 0,
		Debug: from != route.EntrypointPanic && s.state != route.EntrypointPanic,
	}
	en.history = remember(en.history, t)
	e.deferred = append(e.deferred, notice{transition: t, entry: true})
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
		return fmt.Sprintf("no backend is verified; %d of %d serve unverified (panic=%s)", t.inRotation, t.total, en.entrypoint.Options.Panic)
	case route.EntrypointDown:
		return "nothing serves: " + string(en.summary.reason)
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
