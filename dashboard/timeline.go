package dashboard

import (
	"cmp"
	"slices"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// transition is one change of state as the timeline shows it.
type transition struct {
	Key        string
	At         moment
	Entrypoint string
	Backend    string // its name, "" for the entrypoint itself
	From, To   mark
	Cause      string
	Message    string
	InRotation bool
	Same       bool // only the reason changed
	// Actor is who ordered it and Words what they said, "" for changes without a person.
	Actor, Words string
}

// By is who ordered it and why, in plain words, "" for changes without a person.
func (t transition) By() string {
	if t.Actor == "" || t.Words == "" {
		return t.Actor
	}
	return t.Actor + ": " + t.Words
}

// event is a transition with what it happened to.
type event struct {
	t    *route.Transition
	id   string
	name string
}

// newest keeps the latest events; it is pruned now and then, so that ten thousand
// histories need little room.
type newest struct {
	most int
	list []event
	cut  time.Time // what is older than this is not among them
}

func (n *newest) add(e event) {
	if e.t.At.Before(n.cut) {
		return
	}
	n.list = append(n.list, e)
	if len(n.list) >= 4*n.most {
		n.prune()
	}
}

func (n *newest) prune() []event {
	slices.SortStableFunc(n.list, func(a, b event) int {
		return cmp.Or(b.t.At.Compare(a.t.At), cmp.Compare(b.t.Rev, a.t.Rev), cmp.Compare(a.id, b.id), cmp.Compare(a.name, b.name))
	})
	if len(n.list) >= n.most {
		n.list = n.list[:n.most]
		n.cut = n.list[n.most-1].t.At
	}
	return n.list
}

func (n *newest) addEntrypoint(v *router.EntrypointView) {
	id := v.Entrypoint.ID
	for i := range v.Health.History {
		n.add(event{&v.Health.History[i], id, ""})
	}
	for i := range v.Health.Backends {
		b := &v.Health.Backends[i]
		for j := range b.History {
			n.add(event{&b.History[j], id, nameOf(&b.Backend)})
		}
	}
}

// transitions are the latest of all entrypoints, newest first.
func (q *request) transitions(most int) []transition {
	n := newest{most: most}
	for i := range q.view.Entrypoints {
		n.addEntrypoint(&q.view.Entrypoints[i])
	}
	return q.transitionsOf(n.prune())
}

// transitionsOfOne are the latest of one entrypoint.
func (q *request) transitionsOfOne(v *router.EntrypointView, most int) []transition {
	n := newest{most: most}
	n.addEntrypoint(v)
	return q.transitionsOf(n.prune())
}

func (q *request) transitionsOf(events []event) []transition {
	list := make([]transition, len(events))
	for i, e := range events {
		list[i] = transition{
			Key: e.id + "/" + e.t.Backend + "/" + e.t.At.UTC().Format("20060102T150405.000000"),
			At:  momentOf(e.t.At, q.now), Entrypoint: e.id, Backend: e.name, From: markOf(e.t.From), To: markOf(e.t.To),
			Cause: words(e.t.Cause), Message: e.t.Message, InRotation: e.t.InRotation, Same: e.t.From == e.t.To,
			Actor: e.t.Actor, Words: e.t.Reason,
		}
		outAnyway := e.t.Layer == "admin" && route.State(e.t.To).Faulty()
		if list[i].To.Level == levelCalm || list[i].Actor != "" && !outAnyway {
			list[i].Message = "" // that a probe passed says the state already, and so do those who gave an order
		}
	}
	return list
}
