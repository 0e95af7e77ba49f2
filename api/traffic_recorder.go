package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// Tables gives the current table: one atomic load, never nil.
type Tables interface {
	Table() *router.Table
}

// TrafficRecorder keeps ten minutes of what the counters of every entrypoint did, in
// steps of five seconds, and a minute for backends. Entrypoints without traffic in
// that time cost nothing, and all of it goes with its entrypoint. Its methods are
// safe for concurrent use; those that read work on a nil recorder, which knows
// nothing.
type TrafficRecorder struct {
	tables   Tables
	unrouted *route.Traffic

	mu      sync.Mutex
	samples uint64                // taken so far
	times   [trafficSteps]instant // of the last samples, by number
	last    time.Time             // of the last sample, or of the start
	entries map[string]*trackedEntry
	total   tracked // of all entrypoints; its counts are those since the start
	turned  uint64  // requests that were turned away in line since the start
	none    tracked // of requests without a route
}

// instant is when a step ended and how long it was.
type instant struct {
	at   time.Time
	step time.Duration
}

// tracked is one object with counters.
type tracked struct {
	counts route.TrafficCounts // at the last sample
	series *series             // nil without traffic in its time
}

// trackedEntry is an entrypoint that had traffic, by the cell that it lives in.
type trackedEntry struct {
	tracked
	cell     *route.RotationCell
	backends map[*route.Load]*trackedBackend
	seen     uint64 // the last sample with it
	turned   uint64 // requests that were turned away in its line, at the last sample
}

// trackedBackend is a backend that was there while its entrypoint had traffic.
type trackedBackend struct {
	tracked
	incarnation string
}

// NewTrafficRecorder returns a recorder of the table's entrypoints and of the
// requests without a route. It starts nothing.
func NewTrafficRecorder(tables Tables, unrouted *route.Traffic) *TrafficRecorder {
	return &TrafficRecorder{tables: tables, unrouted: unrouted, entries: map[string]*trackedEntry{}}
}

// Run samples until ctx ends and returns nil. It must be called once.
func (r *TrafficRecorder) Run(ctx context.Context) error {
	r.mu.Lock()
	r.last = time.Now()
	r.mu.Unlock()
	tick := time.NewTicker(trafficStep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.sample(time.Now())
		}
	}
}

// sample ends a step.
func (r *TrafficRecorder) sample(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[r.samples%trafficSteps] = instant{at: now, step: now.Sub(r.last)}
	r.last = now
	r.samples++
	var all measure
	for each := range r.tables.Table().Routes() {
		r.sampleRoute(each, &all)
	}
	for id, e := range r.entries {
		if e.seen != r.samples {
			r.end(id, e, &all)
		}
	}
	r.total.counts = plus(&r.total.counts, &all.counts)
	r.total.append(&all, trafficSteps)
	if r.unrouted != nil {
		r.none.advance(r.unrouted, 0, trafficSteps)
	}
}

// sampleRoute ends the step of one entrypoint. Most have no traffic: they cost the
// reading of their counters.
func (r *TrafficRecorder) sampleRoute(from *router.Route, all *measure) {
	id := from.Entrypoint.ID
	e := r.entries[id]
	if e != nil && e.cell != from.Cell {
		r.end(id, e, all)
		e = nil
	}
	inFlight := max(from.Cell.InFlight.Load(), 0)
	if e == nil {
		counts := from.Cell.Traffic.Counts()
		if inFlight == 0 && counts == (route.TrafficCounts{}) {
			return
		}
		e = &trackedEntry{cell: from.Cell, backends: map[*route.Load]*trackedBackend{}}
		r.entries[id] = e
	}
	e.seen = r.samples
	m := e.advance(&from.Cell.Traffic, uint64(inFlight), trafficSteps)
	all.counts = plus(&all.counts, &m.counts)
	all.slowest, all.inFlight = max(all.slowest, m.slowest), all.inFlight+m.inFlight
	r.countTurned(e)
	e.sampleBackends(from)
}

// sampleBackends ends the step of an entrypoint's backends, those out of rotation too:
// they may have served in this step, and may come back. One that has left the entrypoint
// is forgotten.
func (e *trackedEntry) sampleBackends(from *router.Route) {
	for _, p := range from.Cell.Placements() {
		if p.Load != nil && e.backends[p.Load] == nil {
			e.backends[p.Load] = &trackedBackend{incarnation: p.Backend.Incarnation}
		}
	}
	backends := from.Entrypoint.Backends
	for load, b := range e.backends {
		if !slices.ContainsFunc(backends, func(known route.Backend) bool { return known.Incarnation == b.incarnation }) {
			delete(e.backends, load)
			continue
		}
		b.advance(&load.Traffic, uint64(max(load.InFlight.Load(), 0)), trafficMinutes)
	}
}

// end takes what an entrypoint that is gone did last.
func (r *TrafficRecorder) end(id string, e *trackedEntry, all *measure) {
	counts := e.cell.Traffic.Counts()
	rest := counts.Since(&e.counts)
	all.counts, all.slowest = plus(&all.counts, &rest), max(all.slowest, e.cell.Traffic.TakeSlowest())
	r.countTurned(e)
	delete(r.entries, id)
}

// countTurned adds the requests that were turned away since the last sample.
func (r *TrafficRecorder) countTurned(e *trackedEntry) {
	_, turned := e.cell.Line.Counts()
	r.turned += turned - e.turned
	e.turned = turned
}

// advance ends a step by what the counters did in it.
func (t *tracked) advance(traffic *route.Traffic, inFlight uint64, keep int) measure {
	counts := traffic.Counts()
	m := measure{counts: counts.Since(&t.counts), slowest: traffic.TakeSlowest(), inFlight: inFlight}
	t.counts = counts
	t.append(&m, keep)
	return m
}

// append adds a step to the series, which lives as long as there is traffic in it.
func (t *tracked) append(m *measure, keep int) {
	if t.series == nil {
		if !m.busy() {
			return
		}
		t.series = &series{keep: keep}
	}
	if t.series.add(m); t.series.idle >= keep {
		t.series = nil
	}
}

// Entrypoint returns the steps of the last ten minutes, oldest first; nil when the
// entrypoint had no traffic in them.
func (r *TrafficRecorder) Entrypoint(id string) []TrafficPoint {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[id]; e != nil {
		return r.points(e.series)
	}
	return nil
}

// Total returns the steps of all entrypoints together; nil when there was no traffic.
func (r *TrafficRecorder) Total() []TrafficPoint {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.points(r.total.series)
}

// TurnedAway returns how many requests were turned away in line since the start, as Counts.
func (r *TrafficRecorder) TurnedAway() uint64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turned
}

// Counts returns what all entrypoints together have counted since the start, up to the
// last sample; those that are gone since are in it.
func (r *TrafficRecorder) Counts() route.TrafficCounts {
	if r == nil {
		return route.TrafficCounts{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total.counts
}

// Unrouted returns the steps of the requests that no route took; nil without any.
func (r *TrafficRecorder) Unrouted() []TrafficPoint {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.points(r.none.series)
}

// points unpacks a series; steps from before it began are empty.
func (r *TrafficRecorder) points(s *series) []TrafficPoint {
	if s == nil {
		return nil
	}
	n := int(min(r.samples, trafficSteps))
	out := make([]TrafficPoint, n)
	for i := range out {
		t := r.times[(r.samples-uint64(n-i))%trafficSteps]
		out[i].At, out[i].Step = t.at, t.step
	}
	i := n - s.steps
	s.each(func(m *measure) {
		p := &out[i]
		p.Requests, p.Errors, p.Classes = m.counts.Requests(), clientErrors(&m.counts), m.counts.Classes
		p.P50, p.P99 = m.quantile(0.5), m.quantile(0.99)
		p.InFlight, p.Retries, p.Held, p.Cut = int64(m.inFlight), m.counts.Retries, m.counts.Held, m.counts.Cut
		i++
	})
	return out
}

// EntrypointMinute sums up the last minute of an entrypoint.
func (r *TrafficRecorder) EntrypointMinute(id string) TrafficMinute {
	if r == nil {
		return TrafficMinute{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var s *series
	if e := r.entries[id]; e != nil {
		s = e.series
	}
	return r.minute(s, clientErrors)
}

// BackendMinute sums up the last minute of a backend: the load is that of its health.
func (r *TrafficRecorder) BackendMinute(id string, load *route.Load) TrafficMinute {
	if r == nil {
		return TrafficMinute{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var s *series
	if e := r.entries[id]; e != nil && e.backends[load] != nil {
		s = e.backends[load].series
	}
	return r.minute(s, backendErrors)
}

// TotalMinute sums up the last minute of all entrypoints.
func (r *TrafficRecorder) TotalMinute() TrafficMinute {
	if r == nil {
		return TrafficMinute{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.minute(r.total.series, clientErrors)
}

func (r *TrafficRecorder) minute(s *series, failed func(*route.TrafficCounts) uint64) TrafficMinute {
	var m TrafficMinute
	for i := range min(r.samples, trafficMinutes) {
		m.Span += r.times[(r.samples-1-i)%trafficSteps].step
	}
	if s == nil {
		return m
	}
	sum := s.minute()
	m.Requests, m.Errors, m.Abandoned = sum.counts.Requests(), failed(&sum.counts), sum.counts.Abandoned
	m.P50, m.P99 = sum.quantile(0.5), sum.quantile(0.99)
	return m
}
