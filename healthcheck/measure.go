package healthcheck

import (
	"maps"
	"time"

	"fairlead/router/route"
)

// measures count the results of probes as a whole. Their number is bounded by those of
// kinds and of types.
type measures struct {
	results map[route.Kind]uint64
	took    map[route.ProbeType]*route.Traffic
}

func newMeasures() measures {
	return measures{results: map[route.Kind]uint64{}, took: map[route.ProbeType]*route.Traffic{}}
}

// note counts a result that is applied.
func (m *measures) note(probe route.ProbeType, r *Result, took time.Duration) {
	kind := r.Kind
	switch {
	case r.OK:
		kind = route.KindNone
	case kind == route.KindNone:
		kind = route.KindOther
	}
	m.results[kind]++
	t := m.took[probe]
	if t == nil {
		t = &route.Traffic{}
		m.took[probe] = t
	}
	t.Note(r.Status, took)
}

// Measures returns how many results were applied by what they saw, "" for a success, and
// how long the probes took by their type. Results that were dropped are in neither.
func (e *Engine) Measures() (results map[route.Kind]uint64, took map[route.ProbeType]route.TrafficCounts) {
	e.mu.Lock()
	defer e.mu.Unlock()
	took = make(map[route.ProbeType]route.TrafficCounts, len(e.measures.took))
	for probe, t := range e.measures.took {
		took[probe] = t.Counts()
	}
	return maps.Clone(e.measures.results), took
}
