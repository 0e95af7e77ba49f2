package dashboard

import (
	"cmp"
	"slices"
	"strings"

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
	// Evidence is what is known beyond the explanation.
	Evidence []string
	Todo     []string
	Code     string
	// Serves is what clients get now, "" while it serves.
	Serves string
	// Failing is how many requests failed lately, "" while few did.
	Failing string
	// Circuit is the breaker while it refuses something, nil otherwise.
	Circuit *circuit
	// Suspects are why a check itself is probably wrong.
	Suspects []string
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
	// Notes are how many of its backends are ejected, out by order, full or warming, and
	// a breaker that refuses something.
	Notes []mark
}

// Bounds of what a row shows.
const (
	mostSegments = 20
	mostTargets  = 2
)

func (q *request) entryOf(v *router.EntrypointView) entry {
	e := v.Entrypoint
	state, _, _ := verdictOf(v)
	out := entry{
		Root: q.root, ID: e.ID, Name: e.Name, Project: otherThan(e.Name, e.Project), Source: e.Source, Protocol: string(e.Protocol), Mark: markOf(state),
		Since: momentOf(v.Health.Since, q.now), InRotation: servingOf(&v.Health), Total: v.Health.Total,
		Shadowed: v.ShadowedBy, Stale: v.Stale, Traffic: q.figuresOf(e.ID), Notes: q.notesOf(v),
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
	if isTripped(v) {
		c := q.circuitOf(v)
		out.Mark, out.Since = c.Mark, c.Since
	}
	return out
}

// servingOf counts the backends that take requests now: full ones are in rotation by
// their health, and take none.
func servingOf(h *route.EntrypointHealth) int {
	n := h.InRotation
	for i := range h.Backends {
		if b := &h.Backends[i]; b.InRotation && isFull(b) {
			n--
		}
	}
	return n
}

// otherThan is the project unless the service has its name: then it says nothing new.
func otherThan(name, project string) string {
	if project == name {
		return ""
	}
	return project
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

func nameOf(b *route.Backend) string {
	if b.Container != nil && b.Container.Name != "" {
		return b.Container.Name
	}
	return cmp.Or(b.Name, b.ID)
}

func (q *request) problem(v *router.EntrypointView) problem {
	e := api.EntrypointOf(q.view, v, false)
	p := problem{entry: q.entryOf(v), Explain: e.Health.Explain, Todo: q.todo(&e), Code: text(e.Health.Code)}
	if c := q.circuitOf(v); c.Loud() && !saysCircuit(p.Explain) {
		p.Circuit = c
	}
	p.suspect(&e)
	for _, a := range e.Absent {
		if a.Detail != nil && !strings.Contains(p.Explain, *a.Detail) {
			p.Evidence = append(p.Evidence, a.Name+": "+*a.Detail)
		}
	}
	q.overlay(&p, v)
	if s := e.Health.ServesWhenDown; s != nil {
		p.Serves = "clients get " + grouped(*s)
		if e.Health.Reason != nil {
			p.Serves += " (" + words(*e.Health.Reason) + ")"
		}
	} else {
		p.Failing = p.Traffic.failing()
	}
	return p
}

// overlay marks what is well by its state alone, and says why it is a problem.
func (q *request) overlay(p *problem, v *router.EntrypointView) {
	calm := p.Mark.Level == levelCalm
	if f := v.Health.Flapping(); f.At(q.now) {
		if calm {
			p.Mark, p.Since = flappingMark(), momentOf(f.Since, q.now)
		}
		p.Explain = "It is flapping, " + f.Words() + ". " + p.Explain
	}
	if v.ShadowedBy != "" {
		if calm {
			p.Mark = mark{"warn", "shadowed", levelWatch, "bang"}
		}
		p.Explain = "Shadowed: " + v.ShadowedBy + " takes all of its requests. " + p.Explain
	}
}

// saysCircuit reports whether an explanation tells of the breaker already.
func saysCircuit(explain string) bool { return strings.Contains(explain, "circuit breaker is") }

// suspect collects why checks are probably wrong, each sentence once.
func (p *problem) suspect(e *api.Entrypoint) {
	for i := range e.UnhealthyBackends {
		if s := suspicion(text(e.UnhealthyBackends[i].Hint)); s != "" && !slices.Contains(p.Suspects, s) {
			p.Suspects = append(p.Suspects, s)
		}
	}
}

// todo is what to do about an entrypoint, each advice once.
func (q *request) todo(e *api.Entrypoint) []string {
	a := advice{said: e.Health.Explain}
	for _, d := range e.Diagnostics {
		if e.Health.Code != nil && d.Code == *e.Health.Code || e.ShadowedBy != nil && d.Code == codeShadowed {
			a.add(d.Hint)
		}
	}
	for i := range e.UnhealthyBackends {
		a.add(adviceFor(&e.UnhealthyBackends[i]))
	}
	if len(a.list) == 0 && e.Health.State != string(route.EntrypointOK) {
		for i := range e.Absent {
			a.add(q.adviceForAbsent(e, &e.Absent[i]))
		}
	}
	if len(a.list) == 0 && e.Health.Total == 0 {
		a.add(errorHint(e.Diagnostics))
	}
	return a.list
}

// errorHint is what the first error says to do, "" without one.
func errorHint(list []route.Diagnostic) string {
	for _, d := range list {
		if d.Severity == route.SeverityError && d.Hint != "" {
			return d.Hint
		}
	}
	return ""
}

// hintOf is what the errors of a candidate say to do, "" when there are none.
func (q *request) hintOf(candidate string) string {
	for i := range q.view.Candidates {
		if c := &q.view.Candidates[i]; c.CandidateID == candidate {
			return errorHint(c.Diagnostics)
		}
	}
	return ""
}

// codeShadowed is the diagnostic of an entrypoint whose requests another one takes.
const codeShadowed = "W018"

// advice collects what to do. The health engine joins several pieces with a dash; those
// that another backend gave already are left out.
type advice struct {
	list []string
	said string // what stands above it
}

const mostAdvice = 3

// suspect is advice that the health engine gives in its sentence about an entrypoint too.
const suspect = "suspect the configuration first"

func (a *advice) add(text string) {
	for part := range strings.SplitSeq(text, " - ") {
		repeated := strings.Contains(part, suspect) && strings.Contains(a.said, suspect) || suspicion(part) != ""
		if part != "" && len(a.list) < mostAdvice && !slices.Contains(a.list, part) && !repeated {
			a.list = append(a.list, part)
		}
	}
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

// adviceForAbsent is what to do about a container that is no backend now. Of one that is
// refused its own diagnostics know, or else those of its entrypoint.
func (q *request) adviceForAbsent(e *api.Entrypoint, a *api.Absence) string {
	if route.AbsenceReason(a.Reason) == route.AbsentRefused {
		return cmp.Or(q.hintOf(a.CandidateID), errorHint(e.Diagnostics))
	}
	return adviceForAbsent(a)
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
