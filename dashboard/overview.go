package dashboard

import (
	"fmt"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// Bounds of the overview.
const (
	mostProblems = 8
	mostRecent   = 8
)

// overviewData is the first page: what is broken, since when, why, what to do.
type overviewData struct {
	chrome
	Verdict  verdict
	Figures  figures
	Problems []problem
	// MoreProblems are those that are not listed.
	MoreProblems int
	Charts       []chart
	Providers    []providerLine
	Recent       []transition
	Empty        *emptiness
}

// verdict is the state of everything in one sentence.
type verdict struct {
	Mark mark
	Lead string
	Rest string
	// Oldest and Latest are when the troubles began, the same for a single one; Quiet is
	// the last change of a day without any.
	Oldest, Latest, Quiet moment
}

// providerLine is a provider in one line.
type providerLine struct {
	Name     string
	Mark     mark
	Engine   string
	LastSync moment
	Count    int
	Off      bool
}

func (q *request) overview() answer {
	data := overviewData{chrome: q.chrome(pageOverview, "Overview"), Figures: q.totalFigures(), Charts: q.totalCharts()}
	troubles := q.troubles()
	for _, t := range troubles[:min(mostProblems, len(troubles))] {
		data.Problems = append(data.Problems, q.problem(t.view))
	}
	data.MoreProblems = len(troubles) - len(data.Problems)
	data.Recent = q.transitions(mostRecent)
	data.Providers = q.providerLines()
	data.Empty = q.emptiness()
	data.Verdict = q.verdict(&data, troubles)
	return q.found("overview", data)
}

// verdict sums everything up.
func (q *request) verdict(data *overviewData, troubles []found) verdict {
	c := &data.Census
	if c.Degraded() == 0 {
		return q.calm(data)
	}
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{c.Down(), "down"}, {c.Circuits, "with an open circuit"}, {c.Panic(), "in panic"}, {c.Partial(), "partial"}, {c.Stuck, "pending with probes that fail"}, {c.Flapping, "flapping"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", grouped(part.n), part.word))
		}
	}
	v := verdict{Lead: strings.Join(parts, ", "), Mark: markOf(route.EntrypointPartial)}
	switch {
	case c.Down() > 0:
		v.Mark = markOf(route.EntrypointDown)
	case c.Circuits > 0:
		v.Mark = markOf(route.PhaseOpen)
	case c.Panic() > 0:
		v.Mark = markOf(route.EntrypointPanic)
	case c.Partial() > 0:
	case c.Stuck > 0:
		v.Mark = markOf(route.EntrypointPending)
	default:
		v.Mark = flappingMark()
	}
	switch well := c.Entrypoints - c.Degraded(); well {
	case 0:
		v.Rest = "Every entrypoint is affected."
	case 1:
		v.Rest = "The other entrypoint serves as it should."
	default:
		v.Rest = fmt.Sprintf("The other %s entrypoints serve as they should.", grouped(well))
	}
	v.Rest = failingText(troubles) + v.Rest
	v.began(troubles, q.now)
	return v
}

// failingText says where most requests fail although something serves, with a space
// behind it.
func failingText(troubles []found) string {
	n, name := 0, ""
	for _, t := range troubles {
		if t.rank == rankFailing {
			n, name = n+1, t.view.Entrypoint.ID
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "Most requests of " + name + " fail. "
	}
	return "Most requests of " + grouped(n) + " entrypoints in trouble fail. "
}

// began says when the troubles did.
func (v *verdict) began(troubles []found, now time.Time) {
	var oldest, latest time.Time
	for _, t := range troubles {
		if t.rank == rankShadowed || t.at.IsZero() {
			continue
		}
		if oldest.IsZero() || t.at.Before(oldest) {
			oldest = t.at
		}
		if t.at.After(latest) {
			latest = t.at
		}
	}
	v.Oldest, v.Latest = momentOf(oldest, now), momentOf(latest, now)
}

// calm is the verdict when every entrypoint serves.
func (q *request) calm(data *overviewData) verdict {
	c := &data.Census
	v := verdict{Mark: markOf(route.EntrypointOK), Lead: "All well"}
	switch {
	case c.Entrypoints == 0:
		return verdict{}
	case q.view.Health != nil && !q.view.Health.Settled:
		v = verdict{Mark: markOf(route.EntrypointPending), Lead: "Starting", Rest: "The first probes are on their way. "}
	case len(data.Banners) > 0:
		v.Lead, v.Mark = "Serving what was last known", markOf("stale")
	}
	v.Rest += fmt.Sprintf("%s, %s of %s in rotation.", countOf(c.Entrypoints, "entrypoint"), grouped(c.InRotation), countOf(c.Backends, "backend"))
	if len(data.Recent) > 0 && v.Mark.Level == levelCalm {
		v.Quiet = data.Recent[0].At
	}
	return v
}

func (q *request) providerLines() []providerLine {
	var list []providerLine
	for _, p := range api.ProvidersOf(q.view, q.now).Providers {
		if !p.Enabled {
			continue
		}
		line := providerLine{Name: p.Name, Mark: providerMark(&p), LastSync: epochMaybe(p.LastSync, q.now), Count: p.EntrypointCount}
		if p.EngineVersion != nil {
			line.Engine = "engine " + *p.EngineVersion
		}
		list = append(list, line)
	}
	return list
}

func providerMark(p *api.Provider) mark {
	switch {
	case !p.Enabled:
		return markOf("off")
	case p.Phase == string(route.PhaseReady) && p.Connected:
		return mark{"ok", "connected", levelCalm, "ball"}
	case p.Phase == string(route.PhaseReady):
		return mark{"stale", "not connected", levelAlarm, "broken"}
	case p.Phase == string(route.PhaseStale):
		return mark{"stale", "stale", levelAlarm, "broken"}
	}
	return markOf(p.Phase)
}

// seenWords says what a provider saw, without what there is none of.
func seenWords(candidates, ignored, rejected int) string {
	text := countOf(candidates, "candidate") + " seen"
	if ignored > 0 {
		text += ", " + grouped(ignored) + " without labels of ours"
	}
	if rejected > 0 {
		text += ", " + grouped(rejected) + " not routed"
	}
	return text
}

// emptiness says why there is no entrypoint, and what the first one needs.
type emptiness struct {
	Lead    string
	Steps   []string
	Example string
}

func (q *request) emptiness() *emptiness {
	if len(q.view.Entrypoints) > 0 {
		return nil
	}
	e := &emptiness{Lead: "No provider has given an entrypoint."}
	for i := range q.view.Providers {
		p := &q.view.Providers[i]
		if !p.Enabled || !p.Connected {
			continue
		}
		e.Lead = p.Name + " is connected: " + seenWords(p.Candidates, p.Ignored, len(q.view.Rejected)) + "."
		break
	}
	if len(q.view.Rejected) > 0 {
		e.Steps = append(e.Steps, "Diagnostics lists the containers that are not routed, and the fix for each.")
	}
	e.Steps = append(e.Steps, "Give a container these labels and recreate it (docker compose up -d).")
	p := q.d.cfg.Prefix
	e.Example = "services:\n  web:\n    image: my/web\n    labels:\n      " + p + ".enable: \"true\"\n      " + p +
		".http.web.host: web.localhost\n      " + p + ".http.web.port: \"8080\""
	return e
}
