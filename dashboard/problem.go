package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// verdictOf is the state that clients meet.
func verdictOf(v *router.EntrypointView) (route.EntrypointState, route.Reason, string) {
	return api.VerdictOf(v)
}

// problem is an entrypoint that does not serve as it should.
type problem struct {
	entry
	Explain string
	Todo    []string
	Code    string
	// Serves is what clients get now, "" while it serves.
	Serves string
}

// entry is an entrypoint as lists show it.
type entry struct {
	Root                      string
	ID, Name, Project, Source string
	Protocol                  string
	Targets                   []string // where its requests go to: hosts with the path
	More                      int      // targets beyond those
	Mark                      mark
	Since                     moment
	Segments                  []segment
	Hidden                    int // backends beyond the segments
	InRotation, Total         int
	Shadowed                  string
	Stale                     bool
	Errors, Warnings          int
	Traffic                   figures
}

// segment is one backend in the strip of an entrypoint.
type segment struct {
	Mark mark
	In   bool
	Name string
	X    int
}

// Words are what a segment says to those who do not see it.
func (s segment) Words() string {
	if s.In {
		return s.Name + ": " + s.Mark.Word + ", in rotation"
	}
	return s.Name + ": " + s.Mark.Word + ", not in rotation"
}

// Bounds of what a row shows.
const (
	mostSegments = 20
	mostTargets  = 2
	segmentWidth = 13
)

func (q *request) entryOf(v *router.EntrypointView) entry {
	e := v.Entrypoint
	state, _, _ := verdictOf(v)
	out := entry{
		Root: q.root, ID: e.ID, Name: e.Name, Project: e.Project, Source: e.Source, Protocol: string(e.Protocol), Mark: markOf(state),
		Since: momentOf(v.Health.Since, q.now), InRotation: v.Health.InRotation, Total: v.Health.Total,
		Shadowed: v.ShadowedBy, Stale: v.Stale, Traffic: q.figuresOf(e.ID),
	}
	for _, d := range v.Diagnostics {
		switch severityRank(d.Severity) {
		case 0:
			out.Errors++
		case 1:
			out.Warnings++
		}
	}
	for i := range e.Match.Hosts {
		if len(out.Targets) == mostTargets {
			out.More = len(e.Match.Hosts) - mostTargets
			break
		}
		out.Targets = append(out.Targets, e.Match.Hosts[i].Text+pathText(e.Match.Path))
	}
	out.segments(v.Health.Backends)
	return out
}

// pathText is a path rule behind a host, "" for all paths.
func pathText(p route.PathRule) string {
	switch {
	case p.Value == "" || p.Value == "/" && p.Kind == route.PathPrefix:
		return ""
	case p.Kind == route.PathExact:
		return p.Value + " (exact)"
	case p.Kind == route.PathRegex:
		return " ~ " + p.Value
	}
	return p.Value
}

// segments puts the worst first when not all fit.
func (e *entry) segments(all []route.BackendHealth) {
	order := make([]*route.BackendHealth, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	if len(all) > mostSegments {
		slices.SortStableFunc(order, func(a, b *route.BackendHealth) int { return cmp.Compare(stateRank(a.State), stateRank(b.State)) })
		e.Hidden = len(all) - mostSegments
		order = order[:mostSegments]
	}
	for i, h := range order {
		e.Segments = append(e.Segments, segment{Mark: markOf(h.State), In: h.InRotation, Name: nameOf(&h.Backend), X: i * segmentWidth})
	}
}

// Width of the strip in its own units.
func (e entry) Width() int { return max(len(e.Segments)*segmentWidth, 1) }

func nameOf(b *route.Backend) string {
	if b.Container != nil && b.Container.Name != "" {
		return b.Container.Name
	}
	return cmp.Or(b.Name, b.ID)
}

// stateRank orders backends, the worst first.
func stateRank(s route.State) int {
	switch s {
	case route.StateDown, route.StateGated:
		return 0
	case route.StateLeaving:
		return 1
	case route.StatePending:
		return 2
	case route.StateUnchecked, route.StateUp:
	}
	return 3
}

// found is an entrypoint that is a problem, before its words are made.
type found struct {
	view *router.EntrypointView
	rank int
	at   time.Time
}

// problems are the entrypoints that do not serve as they should: the worst first, and
// among equals what broke last. At most limit of them are made; all says how many there
// are.
func (q *request) problems(limit int) (list []problem, all int) {
	var hits []found
	for i := range q.view.Entrypoints {
		v := &q.view.Entrypoints[i]
		if rank, ok := problemRank(v); ok {
			hits = append(hits, found{v, rank, v.Health.Since})
		}
	}
	slices.SortStableFunc(hits, func(a, b found) int { return cmp.Or(a.rank-b.rank, b.at.Compare(a.at)) })
	all = len(hits)
	for _, h := range hits[:min(limit, all)] {
		list = append(list, q.problem(h.view))
	}
	return list, all
}

func problemRank(v *router.EntrypointView) (int, bool) {
	state, _, _ := verdictOf(v)
	switch state {
	case route.EntrypointDown:
		return 0, true
	case route.EntrypointPanic:
		return 1, true
	case route.EntrypointPartial:
		return 2, true
	case route.EntrypointOK, route.EntrypointPending, route.EntrypointUnchecked:
	}
	return 3, v.ShadowedBy != ""
}

func (q *request) problem(v *router.EntrypointView) problem {
	e := api.EntrypointOf(q.view, v, false)
	p := problem{entry: q.entryOf(v), Explain: e.Health.Explain, Todo: todo(&e), Code: text(e.Health.Code)}
	if e.ShadowedBy != nil {
		if p.Mark.Level == levelCalm {
			p.Mark = mark{"warn", "shadowed", levelWatch, "bang"}
		}
		p.Explain = "Shadowed: " + *e.ShadowedBy + " takes all of its requests. " + p.Explain
	}
	if s := e.Health.ServesWhenDown; s != nil {
		p.Serves = "clients get " + grouped(*s)
		if e.Health.Reason != nil {
			p.Serves += " (" + words(*e.Health.Reason) + ")"
		}
	}
	return p
}

// todo is what to do about an entrypoint, each advice once.
func todo(e *api.Entrypoint) []string {
	const most = 3
	var list []string
	add := func(advice string) {
		if advice != "" && len(list) < most && !slices.Contains(list, advice) {
			list = append(list, advice)
		}
	}
	if e.Health.Code != nil {
		for _, d := range e.Diagnostics {
			if d.Code == *e.Health.Code {
				add(d.Hint)
			}
		}
	}
	if e.ShadowedBy != nil {
		for _, d := range e.Diagnostics {
			if d.Code == "W018" {
				add(d.Hint)
			}
		}
	}
	for i := range e.UnhealthyBackends {
		add(adviceFor(&e.UnhealthyBackends[i]))
	}
	if len(list) == 0 && e.Health.State != string(route.EntrypointOK) {
		for _, a := range e.Absent {
			add(adviceForAbsent(&a))
		}
	}
	return list
}

// adviceFor is what to do about one unhealthy backend.
func adviceFor(b *api.BackendHealth) string {
	hint := text(b.Hint)
	switch {
	case hint != "":
	case b.Container == nil:
	case route.State(b.State) == route.StateGated:
		hint = "docker inspect --format '{{json .State.Health}}' " + b.Container.Name + " shows what its HEALTHCHECK printed"
	default:
		hint = "docker logs --tail 50 " + b.Container.Name
	}
	return hint
}

func adviceForAbsent(a *api.Absence) string {
	switch route.AbsenceReason(a.Reason) {
	case route.AbsentRetained:
		return "docker start " + a.Name + " brings it back; docker logs " + a.Name + " tells why it ended"
	case route.AbsentPaused:
		return "docker unpause " + a.Name
	case route.AbsentRestarting:
		return "docker logs --tail 50 " + a.Name + " tells why it ends again and again"
	case route.AbsentNoAddress:
		return "docker network connect gives " + a.Name + " an address on a network that the router shares"
	case route.AbsentRefused:
	}
	return ""
}

// firstLine keeps texts that come from outside to one line.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
