package router

import (
	"slices"

	"fairlead/router/route"
)

// predecessors finds for every entrypoint the live one that it goes on from, nil for a new
// one. An id says nothing about that, it may be another's now: requests that were matched
// for one entrypoint wait at its cell, and must never find the backends of another there.
func (o *objects) predecessors(all []merged) []*live {
	before, open := make([]*live, len(all)), false
	for i := range all {
		if l := o.live[all[i].entrypoint.ID]; l != nil && l.goesOnAs(all[i].entrypoint) {
			before[i] = l
		} else {
			open = true
		}
	}
	if !open || len(o.live) == 0 {
		return before
	}
	left := make(map[string]*live, len(o.live)) // by key
	for _, l := range o.live {
		left[l.entry.Entrypoint.Key()] = l
	}
	for i := range all {
		e := all[i].entrypoint
		if l := left[e.Key()]; before[i] == nil && l != nil && l.goesOnAs(e) {
			before[i] = l
		}
		if before[i] != nil {
			delete(left, before[i].entry.Entrypoint.Key())
		}
	}
	byName := map[name][]*live{}
	for _, l := range left {
		byName[nameOf(l.entry.Entrypoint)] = append(byName[nameOf(l.entry.Entrypoint)], l)
	}
	for i := range all {
		if before[i] == nil {
			before[i] = successor(byName, all[i].entrypoint)
		}
	}
	return before
}

// successor takes out the live entrypoint of that name of which a backend goes on in e: its
// owner may be another one, but what answers is not.
func successor(byName map[name][]*live, e *route.Entrypoint) *live {
	list := byName[nameOf(e)]
	i := slices.IndexFunc(list, func(l *live) bool { return sharesBackend(l.entry.Entrypoint, e) })
	if i < 0 {
		return nil
	}
	l := list[i]
	byName[nameOf(e)] = slices.Delete(list, i, i+1)
	return l
}

// name is what people call an entrypoint where they declare it.
type name struct {
	source   string
	protocol route.Protocol
	name     string
}

func nameOf(e *route.Entrypoint) name { return name{e.Source, e.Protocol, e.Name} }

// goesOnAs reports whether an entrypoint is this one, whatever its id is now. One that
// takes other requests is so only while a backend of it goes on: the app moved then.
func (l *live) goesOnAs(e *route.Entrypoint) bool {
	was := l.entry.Entrypoint
	return was == e || was.Key() == e.Key() && nameOf(was) == nameOf(e) &&
		(takesTheSame(&was.Match, &e.Match) || sharesBackend(was, e))
}

// takesTheSame reports whether two matchers are equal but for their priority.
func takesTheSame(a, b *route.Match) bool {
	x := *a
	x.Priority = b.Priority
	return equalMatches(&x, b)
}

// sharesBackend reports whether a backend of one goes on in the other.
func sharesBackend(a, b *route.Entrypoint) bool {
	return slices.ContainsFunc(b.Backends, func(x route.Backend) bool {
		return slices.ContainsFunc(a.Backends, func(y route.Backend) bool { return x.Incarnation == y.Incarnation })
	})
}
