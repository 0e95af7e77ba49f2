package dashboard

import (
	"cmp"
	"slices"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// healthData is the page of every backend that is not simply up.
type healthData struct {
	chrome
	Groups   []healthGroup
	Pager    pager
	Timeline []transition
	Checks   int
}

// healthGroup are the backends of one kind of trouble.
type healthGroup struct {
	ID, Title, Words string
	Level            string
	Count            int
	Backends         []backend // those on this page
}

// placed is a backend in its entrypoint.
type placed struct {
	view  *router.EntrypointView
	index int
	group int
}

// groupsOfHealth are the kinds of trouble, the worst first.
func groupsOfHealth() []healthGroup {
	return []healthGroup{
		{ID: "unhealthy", Title: "Unhealthy", Words: "a probe or Docker says that they fail", Level: levelAlarm},
		{ID: "ejected", Title: "Ejected", Words: "requests of clients failed on them; trials or probes bring them back", Level: levelAlarm},
		{ID: "ordered", Title: "Taken out by people", Words: "they drain or are in maintenance until somebody makes them ready, or the order ends", Level: levelWatch},
		{ID: "leaving", Title: "Leaving", Words: "they are stopping; what is in flight may end", Level: levelWatch},
		{ID: "pending", Title: "Pending", Words: "they have no verdict yet", Level: levelWatch},
	}
}

// groupOf is where a backend is listed, below 0 when it is not.
func groupOf(s route.State) int {
	switch s {
	case route.StateDown, route.StateGated:
		return 0
	case route.StateEjected, route.StateTrial:
		return 1
	case route.StateDraining, route.StateMaintenance:
		return 2
	case route.StateLeaving:
		return 3
	case route.StatePending:
		return 4
	case route.StateUnchecked, route.StateUp:
	}
	return -1
}

func (q *request) health() answer {
	data := healthData{chrome: q.chrome(pageHealth, "Health"), Timeline: q.transitions(mostTimeline)}
	groups := groupsOfHealth()
	var hits []placed
	for i := range q.view.Entrypoints {
		v := &q.view.Entrypoints[i]
		for j := range v.Health.Backends {
			if g := groupOf(v.Health.Backends[j].State); g >= 0 {
				groups[g].Count++
				hits = append(hits, placed{v, j, g})
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b placed) int {
		return cmp.Or(a.group-b.group, b.view.Health.Backends[b.index].Since.Compare(a.view.Health.Backends[a.index].Since))
	})
	data.Pager = q.pager(len(hits), "backend")
	for _, h := range hits[data.Pager.start:data.Pager.end] {
		b := api.BackendHealthOf(h.view, &h.view.Health.Backends[h.index], false)
		groups[h.group].Backends = append(groups[h.group].Backends, q.backend(h.view, h.index, &b))
	}
	data.Groups = slices.DeleteFunc(groups, func(g healthGroup) bool { return g.Count == 0 })
	if q.view.Health != nil {
		data.Checks = len(q.view.Health.Checks)
	}
	return q.found("health", data)
}
