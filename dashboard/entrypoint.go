package dashboard

import (
	"slices"
	"strings"

	"fairlead/api"
	"fairlead/router"
)

// entrypointData is the page of one entrypoint.
type entrypointData struct {
	chrome
	Problem   problem
	Entry     api.Entrypoint
	Figures   figures
	Charts    []chart
	Groups    []optionGroup
	Backends  []backend
	Absent    []absence
	Timeline  []transition
	Findings  []finding
	Panic     moment
	PanicWhy  string
	Expires   moment
	StaleFor  moment
	Bound     string
	Diagnosis string
	// Circuit is the breaker, nil without one.
	Circuit *circuit
	// Done is an order that was just carried out.
	Done done
}

// absence is a container that belongs to the entrypoint and is no backend.
type absence struct {
	Name, Reason, Detail, Advice string
	Until                        moment
}

const mostTimeline = 30

func (q *request) entrypoint(id string, plain bool) answer {
	i, ok := slices.BinarySearchFunc(q.view.Entrypoints, id, func(e router.EntrypointView, id string) int {
		return strings.Compare(e.Entrypoint.ID, id)
	})
	if !ok {
		return q.missing("There is no entrypoint "+id+".",
			"It may be gone: its containers were removed, or their labels changed. Diagnostics says what is not routed and why.")
	}
	v := &q.view.Entrypoints[i]
	if plain {
		return answer{text: q.diagnosisOf(v)}
	}
	e := api.EntrypointOf(q.view, v, true)
	data := entrypointData{
		chrome: q.chrome(pageEntrypoints, id), Entry: e, Problem: q.problem(v), Figures: q.figuresOf(id), Charts: q.chartsOf(id),
		Groups: optionGroups(v, &e), Timeline: q.transitionsOfOne(v, mostTimeline), Findings: findings(e.Diagnostics),
		Expires: epochMaybe(e.ExpiresAt, q.now), StaleFor: epochMaybe(e.StaleSince, q.now), Diagnosis: q.diagnosisOf(v), Circuit: q.circuitOf(v), Done: q.doneOn(v),
	}
	if saysCircuit(e.Health.Explain) {
		data.Circuit = nil
	}
	if e.Health.Panic.Active {
		data.Panic, data.PanicWhy = epochMaybe(e.Health.Panic.Since, q.now), text(e.Health.Panic.Reason)
	}
	if e.Health.DetectionBoundMS != nil {
		data.Bound = durationText(*e.Health.DetectionBoundMS)
	}
	for i := range e.BackendHealth {
		data.Backends = append(data.Backends, q.backend(v, i, &e.BackendHealth[i]))
	}
	for _, a := range e.Absent {
		data.Absent = append(data.Absent, absence{
			Name: a.Name, Reason: words(a.Reason), Detail: text(a.Detail), Advice: q.adviceForAbsent(&e, &a), Until: epochMaybe(a.Until, q.now),
		})
	}
	return q.found("entrypoint", data)
}
