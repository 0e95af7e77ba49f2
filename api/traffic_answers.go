package api

import (
	"net/http"

	"fairlead/router"
	"fairlead/router/route"
)

// Traffic is what an entrypoint or a backend did with requests: counters since it is
// there, and the last minute. Of an entrypoint it is what clients got, of a backend
// what it answered.
type Traffic struct {
	Requests uint64 `json:"requests"`
	// RatePerS is over the last minute; null before the first step of the recorder.
	RatePerS *float64 `json:"rate_per_s"`
	// ErrorRatio is the share of status 500 and more in the last minute, and for a
	// backend of contacts without an answer; abandoned ones do not count. It is null
	// without requests that do, P50MS and P99MS are without any. Those are estimates of the
	// time to the response head, never above the slowest one.
	ErrorRatio *float64 `json:"error_ratio"`
	P50MS      *float64 `json:"p50_ms"`
	P99MS      *float64 `json:"p99_ms"`
	InFlight   int64    `json:"in_flight"`
	// Waiting are the requests that wait for a backend now, Held those that ever did;
	// null for a backend.
	Waiting *int64  `json:"waiting"`
	Held    *uint64 `json:"held"`
	// Queued are the requests in line now because every backend is full, TurnedAway those
	// that ever found the line full or whose time in it was over; null for a backend.
	Queued     *int64  `json:"queued"`
	TurnedAway *uint64 `json:"turned_away"`
	Retries    uint64  `json:"retries"` // contacts beyond a request's first one
	Cut        uint64  `json:"cut"`     // responses that broke off after their head
	// Abandoned are a backend's contacts of class none that are no error of it: the client
	// left or broke its request off, or the router ended them; null for an entrypoint.
	Abandoned *uint64 `json:"abandoned"`
	Classes   Classes `json:"classes"`
}

// Classes are requests by the first digit of their status.
type Classes struct {
	None        uint64 `json:"none"` // the client left before an answer; for a backend: no answer
	Information uint64 `json:"1xx"`
	Success     uint64 `json:"2xx"`
	Redirection uint64 `json:"3xx"`
	ClientError uint64 `json:"4xx"`
	ServerError uint64 `json:"5xx"`
}

// TrafficSeries is the answer of GET /entrypoints/{id}/traffic, and a part of that of
// GET /traffic.
type TrafficSeries struct {
	StepMS   int64 `json:"step_ms"`
	WindowMS int64 `json:"window_ms"`
	// Traffic is null for requests without a route and for other protocols than HTTP.
	Traffic *Traffic `json:"traffic"`
	// Points are oldest first; none without traffic in the window.
	Points []TrafficStep `json:"points"`
}

// TrafficOverview is the answer of GET /traffic.
type TrafficOverview struct {
	Total    TrafficSeries `json:"total"`    // of all entrypoints, since the start
	Unrouted TrafficSeries `json:"unrouted"` // requests that no route took
}

// TrafficStep is one step of a series.
type TrafficStep struct {
	At       int64   `json:"at"` // the end of the step
	StepMS   int64   `json:"step_ms"`
	Requests uint64  `json:"requests"`
	Errors   uint64  `json:"errors"`
	RatePerS float64 `json:"rate_per_s"`
	// P50MS and P99MS are estimates, never above the slowest request; null without any.
	P50MS    *float64 `json:"p50_ms"`
	P99MS    *float64 `json:"p99_ms"`
	InFlight int64    `json:"in_flight"`
	Retries  uint64   `json:"retries"`
	Held     uint64   `json:"held"`
	Cut      uint64   `json:"cut"`
	Classes  Classes  `json:"classes"`
}

func newClasses(c *[route.StatusClasses]uint64) Classes {
	return Classes{c[0], c[1], c[2], c[3], c[4], c[5]}
}

// newTraffic reads the counters now and adds the last minute.
func newTraffic(c *route.TrafficCounts, m *TrafficMinute, inFlight int64) *Traffic {
	out := &Traffic{
		Requests: c.Requests(), InFlight: max(inFlight, 0), Retries: c.Retries, Cut: c.Cut, Classes: newClasses(&c.Classes),
	}
	if m.Span > 0 {
		rate := m.Rate()
		out.RatePerS = &rate
	}
	if m.Requests > 0 {
		p50, p99 := fraction(m.P50), fraction(m.P99)
		out.P50MS, out.P99MS = &p50, &p99
	}
	if m.Judged() > 0 {
		failed := m.ErrorRatio()
		out.ErrorRatio = &failed
	}
	return out
}

// cellOf is where an entrypoint's requests in flight are counted, nil offline.
func cellOf(view *router.View, v *router.EntrypointView) *route.RotationCell {
	if view.Table == nil || v.Traffic == nil {
		return nil
	}
	if r := view.Table.Route(v.Entrypoint.ID); r != nil {
		return r.Cell
	}
	return nil
}

// trafficOf is the traffic of an entrypoint; nil where nothing counts it.
func (r *TrafficRecorder) trafficOf(view *router.View, v *router.EntrypointView) *Traffic {
	if v.Traffic == nil || v.Entrypoint.Protocol != route.HTTP {
		return nil
	}
	counts, minute := v.Traffic.Counts(), r.EntrypointMinute(v.Entrypoint.ID)
	var inFlight, waiting, queued int64
	var turned uint64
	if cell := cellOf(view, v); cell != nil {
		inFlight, waiting, queued = cell.InFlight.Load(), max(cell.Held.Load(), 0), int64(cell.Line.Waiting())
		_, turned = cell.Line.Counts()
	}
	out := newTraffic(&counts, &minute, inFlight)
	out.Waiting, out.Held, out.Queued, out.TurnedAway = &waiting, &counts.Held, &queued, &turned
	return out
}

// trafficOfBackend is the traffic of a backend; nil where nothing counts it.
func (r *TrafficRecorder) trafficOfBackend(v *router.EntrypointView, h *route.BackendHealth) *Traffic {
	if h.Load == nil || v.Entrypoint.Protocol != route.HTTP {
		return nil
	}
	counts, minute := h.Load.Traffic.Counts(), r.BackendMinute(v.Entrypoint.ID, h.Load)
	out := newTraffic(&counts, &minute, h.Load.InFlight.Load())
	out.Abandoned = &counts.Abandoned
	return out
}

func newSeries(traffic *Traffic, points []TrafficPoint) TrafficSeries {
	out := TrafficSeries{
		StepMS: millis(trafficStep), WindowMS: millis(trafficStep * trafficSteps), Traffic: traffic, Points: make([]TrafficStep, len(points)),
	}
	for i := range points {
		p := &points[i]
		s := TrafficStep{
			At: epochOrZero(p.At), StepMS: millis(p.Step), Requests: p.Requests, Errors: p.Errors, RatePerS: p.Rate(),
			InFlight: p.InFlight, Retries: p.Retries, Held: p.Held, Cut: p.Cut, Classes: newClasses(&p.Classes),
		}
		if p.Requests > 0 {
			p50, p99 := fraction(p.P50), fraction(p.P99)
			s.P50MS, s.P99MS = &p50, &p99
		}
		out.Points[i] = s
	}
	return out
}

// traffic answers GET /traffic.
func (s *Server) traffic(*http.Request) (reply, *Error) {
	r := s.cfg.Traffic
	var total *Traffic
	if r != nil {
		counts, minute := r.Counts(), r.TotalMinute()
		var inFlight, waiting, queued int64
		turned := r.TurnedAway()
		for each := range r.tables.Table().Routes() {
			inFlight += max(each.Cell.InFlight.Load(), 0)
			waiting += max(each.Cell.Held.Load(), 0)
			queued += int64(each.Cell.Line.Waiting())
		}
		total = newTraffic(&counts, &minute, inFlight)
		total.Waiting, total.Held, total.Queued, total.TurnedAway = &waiting, &counts.Held, &queued, &turned
	}
	return reply{body: TrafficOverview{Total: newSeries(total, r.Total()), Unrouted: newSeries(nil, r.Unrouted())}}, nil
}

// trafficOfOne answers GET /entrypoints/{id}/traffic.
func (s *Server) trafficOfOne(r *http.Request) (reply, *Error) {
	v, e, err := s.entrypoint(r)
	if err != nil {
		return reply{}, err
	}
	rec := s.cfg.Traffic
	return reply{body: newSeries(rec.trafficOf(v, e), rec.Entrypoint(e.Entrypoint.ID))}, nil
}

// Tick is one probe of a backend in a list of them.
type Tick struct {
	At         int64   `json:"at"`
	OK         bool    `json:"ok"`
	Kind       *string `json:"kind"` // null for a success
	DurationMS float64 `json:"duration_ms"`
}

func newTicks(in []route.ProbeTick) []Tick {
	out := make([]Tick, len(in))
	for i := range in {
		t := &in[i]
		out[i] = Tick{At: epochOrZero(t.At), OK: t.OK, Kind: known(t.Kind), DurationMS: fraction(t.Duration)}
	}
	return out
}
