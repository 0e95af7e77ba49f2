package dashboard

import (
	"cmp"
	"slices"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// found is an entrypoint that is a problem, before its words are made.
type found struct {
	view *router.EntrypointView
	rank int
	at   time.Time
}

// troubles are the entrypoints that do not serve as they should: the worst first, and
// among equals what broke last.
func (q *request) troubles() []found {
	var hits []found
	for i := range q.view.Entrypoints {
		v := &q.view.Entrypoints[i]
		rank, ok := problemRank(v, q.now)
		if !ok {
			continue
		}
		at := v.Health.Since
		switch rank {
		case rankCircuit:
			at = phaseSince(v.Health.History, route.PhaseOpen)
		case rankFlapping:
			at = v.Health.Flapping().Since
		}
		if rank > rankFailing && rank < rankFlapping && q.figuresOf(v.Entrypoint.ID).Mostly {
			rank = rankFailing
		}
		hits = append(hits, found{v, rank, at})
	}
	slices.SortStableFunc(hits, func(a, b found) int { return cmp.Or(a.rank-b.rank, b.at.Compare(a.at)) })
	return hits
}

// Ranks of problems.
const (
	rankDown    = iota
	rankFailing // any of the following while most requests fail
	rankCircuit
	rankPanic
	rankPartial
	rankStuck
	rankShadowed
	rankFlapping // well at the moment
)

// isStuck reports whether an entrypoint is pending although its probes were answered, or
// not answered in time: they fail.
func isStuck(v *router.EntrypointView) bool {
	if state, _, _ := verdictOf(v); state != route.EntrypointPending {
		return false
	}
	return slices.ContainsFunc(v.Health.Backends, func(h route.BackendHealth) bool {
		return h.State == route.StatePending && h.LastResult != nil && !h.LastResult.OK
	})
}

func problemRank(v *router.EntrypointView, now time.Time) (int, bool) {
	state, _, _ := verdictOf(v)
	if isTripped(v) {
		return rankCircuit, true
	}
	switch state {
	case route.EntrypointDown:
		return rankDown, true
	case route.EntrypointPanic:
		return rankPanic, true
	case route.EntrypointPartial:
		return rankPartial, true
	case route.EntrypointPending:
		if isStuck(v) {
			return rankStuck, true
		}
	case route.EntrypointOK, route.EntrypointUnchecked:
	}
	if v.ShadowedBy != "" {
		return rankShadowed, true
	}
	return rankFlapping, flaps(v, now)
}

// flaps reports whether an entrypoint or a backend of it changes again and again.
func flaps(v *router.EntrypointView, now time.Time) bool { return v.Health.Flapping().At(now) }
