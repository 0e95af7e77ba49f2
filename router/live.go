package router

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fairlead/router/route"
)

// live is an entrypoint with everything that outlives a table.
type live struct {
	entry       Entry
	placements  []*route.Placement // sorted by backend id
	diagnostics []route.Diagnostic // of merging
	failures    []route.Diagnostic // upstreams that could not be opened
	last        uint64             // the last generation that goes on from it
}

// same reports whether a merged entrypoint is this one, unchanged.
func (l *live) same(m *merged) bool {
	return equalEntrypoints(l.entry.Entrypoint, m.entrypoint) && slices.Equal(l.diagnostics, m.diagnostics)
}

// upstreamKey says which backends share an upstream: equal ones.
type upstreamKey struct {
	incarnation string
	host        string
	port        uint16
	scheme      route.Scheme
	tls         route.BackendTLS
	dialTimeout time.Duration
	loopback    bool
}

func keyOf(b *route.Backend) upstreamKey {
	return upstreamKey{b.Incarnation, b.Host, b.Port, b.Scheme, b.TLS, b.DialTimeout, b.Loopback}
}

// sharedUpstream is an open upstream and the longest drain among its users.
type sharedUpstream struct {
	upstream route.Upstream
	drain    time.Duration
	used     uint64 // the last generation in which it had users
	stays    uint64 // the last generation in which one of them was not leaving
	retired  bool
}

// noUpstream stands where there is nothing to hold connections of.
type noUpstream struct{}

func (noUpstream) CloseIdle()          {}
func (noUpstream) CloseTunnels(string) {}
func (noUpstream) Retire(route.Drain)  {}
func (noUpstream) Reinstate()          {}

// objects owns what lives longer than a table. It belongs to one goroutine.
type objects struct {
	upstreams Upstreams
	prepare   func(*route.Entrypoint) any
	sticky    func(*route.Entrypoint, *route.Backend) string
	live      map[string]*live
	open      map[upstreamKey]*sharedUpstream
}

// changes says what one reconciliation did.
type changes struct{ added, changed, removed []*live }

// reconcile makes the live objects of a new generation from the old ones. What did
// not change keeps its pointers; nothing is retired yet.
func (o *objects) reconcile(generation uint64, all []merged) ([]*live, changes) {
	next := make(map[string]*live, len(all))
	list := make([]*live, len(all))
	var diff changes
	before := o.predecessors(all)
	for i := range all {
		m, old := &all[i], before[i]
		l := old
		switch {
		case old == nil:
			l = o.renew(&live{entry: Entry{Cell: &route.RotationCell{}}}, m, generation)
			diff.added = append(diff.added, l)
		case !old.same(m):
			l = o.renew(old, m, generation)
			diff.changed = append(diff.changed, l)
		case len(old.failures) > 0:
			l = o.renew(old, m, generation)
		default:
			o.use(l, generation)
		}
		if old != nil {
			old.last = generation
		}
		next[m.entrypoint.ID], list[i] = l, l
	}
	for _, l := range o.live {
		if l.last != generation {
			diff.removed = append(diff.removed, l)
		}
	}
	slices.SortFunc(diff.removed, func(a, b *live) int {
		return strings.Compare(a.entry.Entrypoint.ID, b.entry.Entrypoint.ID)
	})
	o.live = next
	return list, diff
}

// renew returns the successor of old for a changed entrypoint.
func (o *objects) renew(old *live, m *merged, generation uint64) *live {
	e, was := m.entrypoint, old.entry.Entrypoint
	l := &live{entry: Entry{Entrypoint: e, Cell: old.entry.Cell}, diagnostics: m.diagnostics}
	if was != nil && equalMatches(&was.Match, &e.Match) {
		l.entry.rules = old.entry.rules
	} else {
		l.entry.rules = compile(&e.Match)
	}
	switch {
	case was != nil && samePreparation(was, e):
		l.entry.Prepared = old.entry.Prepared
	case o.prepare != nil && e.Protocol == route.HTTP:
		l.entry.Prepared = o.prepare(e)
	}
	l.placements = make([]*route.Placement, 0, len(e.Backends))
	for i := range e.Backends {
		if p := o.place(old, l, &e.Backends[i], generation); p != nil {
			l.placements = append(l.placements, p)
		}
	}
	slices.SortFunc(l.placements, func(a, b *route.Placement) int { return strings.Compare(a.Backend.ID, b.Backend.ID) })
	l.entry.Cell.Place(l.placements)
	return l
}

// samePreparation reports whether a filter chain stays valid; the id is in the name of its
// cookie.
func samePreparation(a, b *route.Entrypoint) bool {
	return a.ID == b.ID && a.Protocol == b.Protocol && equalOptions(&a.Options, &b.Options) &&
		equalMatches(&a.Match, &b.Match) && equalPointers(a.FailClosed, b.FailClosed)
}

// place returns a backend's placement: the old one when nothing changed, else a new
// value with the old Load and, with equal transport settings, the old Upstream.
// It is nil when the upstream cannot be opened.
func (o *objects) place(old, l *live, b *route.Backend, generation uint64) *route.Placement {
	id := l.entry.Entrypoint.ID
	upstream, err := o.upstream(l.entry.Entrypoint, b, generation)
	if err != nil {
		l.failures = append(l.failures, route.Diagnose("W109", "correct the setting that the message names",
			"backend %s is not used: %v", cmp.Or(b.Name, b.ID), err))
		return nil
	}
	load, sticky := &route.Load{}, ""
	if o.sticky != nil && l.entry.Entrypoint.Protocol == route.HTTP {
		sticky = o.sticky(l.entry.Entrypoint, b)
	}
	for _, was := range old.placements {
		if was.Backend.Incarnation != b.Incarnation {
			continue
		}
		if was.Entrypoint == id && was.Upstream == upstream && was.Sticky == sticky && equalBackends(&was.Backend, b) {
			return was
		}
		load = was.Load
	}
	return &route.Placement{Entrypoint: id, Backend: *b, Load: load, Upstream: upstream, Sticky: sticky}
}

func (o *objects) upstream(e *route.Entrypoint, b *route.Backend, generation uint64) (route.Upstream, error) {
	if e.Protocol != route.HTTP {
		return noUpstream{}, nil
	}
	key := keyOf(b)
	shared := o.open[key]
	if shared == nil {
		upstream, err := o.upstreams.Open(*b)
		if err != nil {
			return nil, err
		}
		shared = &sharedUpstream{upstream: upstream}
		o.open[key] = shared
	}
	shared.mark(generation, e.Options.DrainTimeout, b)
	return shared.upstream, nil
}

// mark notes a user of this generation and its drain. A backend that was leaving and
// stays takes requests again before any rotation names it.
func (s *sharedUpstream) mark(generation uint64, drain time.Duration, b *route.Backend) {
	if s.used != generation {
		s.used, s.drain = generation, 0
	}
	s.drain = max(s.drain, drain)
	if b.Provider == route.ProviderLeaving {
		return
	}
	s.stays = generation
	if s.retired {
		s.retired = false
		s.upstream.Reinstate()
	}
}

// use marks the upstreams of an unchanged entrypoint.
func (o *objects) use(l *live, generation uint64) {
	e := l.entry.Entrypoint
	if e.Protocol != route.HTTP {
		return
	}
	for _, p := range l.placements {
		if shared := o.open[keyOf(&p.Backend)]; shared != nil {
			shared.mark(generation, e.Options.DrainTimeout, &p.Backend)
		}
	}
}

// retire begins the drain of upstreams whose backends are leaving, and ends those that
// nobody uses since the generation.
func (o *objects) retire(generation uint64) {
	for key, shared := range o.open {
		if shared.used != generation {
			delete(o.open, key)
		}
		if shared.stays != generation && !shared.retired {
			shared.retired = true
			shared.upstream.Retire(route.Drain{Timeout: int64(shared.drain)})
		}
	}
}
