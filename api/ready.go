package api

import (
	"net/http"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// The states of GET /ready.
const (
	ReadyOK           = "ok"
	ReadyDegraded     = "degraded"
	ReadyInitializing = "initializing"
	ReadyShuttingDown = "shutting_down"
)

// Readiness says what makes a router unready that has started (admin.readiness).
type Readiness string

// Policies of readiness.
const (
	// ReadinessProcess: a dead application never makes the shared router unready.
	ReadinessProcess Readiness = "process"
	// ReadinessAny: an entrypoint that serves nothing verified does.
	ReadinessAny Readiness = "any"
)

// Ready is the answer of GET /ready.
type Ready struct {
	Status string `json:"status"`
	// Policy is process or any (admin.readiness).
	Policy string `json:"policy"`
	// Phases has the phase of every enabled provider: ready, pending, stale, failed.
	Phases      map[string]string `json:"phases"`
	Entrypoints ReadyCounts       `json:"entrypoints"`
}

// ReadyCounts counts entrypoints. Degraded is Panic + Down; Total is Healthy +
// Degraded, and Pending too while the router is initializing.
type ReadyCounts struct {
	Total    int `json:"total"`
	Healthy  int `json:"healthy"` // at least one up or unchecked backend in rotation
	Degraded int `json:"degraded"`
	Panic    int `json:"panic"` // serving unverified backends
	Down     int `json:"down"`  // serving nothing
	// Partial are healthy ones with an unhealthy backend.
	Partial int `json:"partial"`
	Pending int `json:"pending"`
	// Detail names the entrypoints; only with admin.verbose or for a user.
	Detail map[string]ReadyDetail `json:"detail,omitempty"`
}

// ReadyDetail is one entrypoint in ReadyCounts.
type ReadyDetail struct {
	Healthy    int    `json:"healthy"`
	Unhealthy  int    `json:"unhealthy"`
	Total      int    `json:"total"`
	Pending    int    `json:"pending"`
	InRotation int    `json:"in_rotation"`
	State      string `json:"state"`
}

// ready answers GET /ready. Whoever reaches the listener may ask.
func (s *Server) ready(r *http.Request) (reply, *Error) {
	shuttingDown := s.cfg.Phase != nil && s.cfg.Phase()
	accepting := s.cfg.Accepting == nil || s.cfg.Accepting()
	seen := s.glance.take(s.cfg.Viewer)
	body := seen.ready(shuttingDown, accepting)
	body.Policy = string(s.readiness())
	if s.cfg.Verbose || s.knows(r) {
		body.Entrypoints.Detail = detailOf(seen.view)
	}
	out := reply{body: body}
	switch {
	case body.Status == ReadyInitializing:
		out.status, out.header = http.StatusServiceUnavailable, http.Header{"Retry-After": {"1"}}
	case body.Status == ReadyShuttingDown, body.Status == ReadyDegraded && s.readiness() == ReadinessAny:
		out.status = http.StatusServiceUnavailable
	}
	return out, nil
}

func (s *Server) readiness() Readiness {
	if s.cfg.Readiness == "" {
		return ReadinessProcess
	}
	return s.cfg.Readiness
}

// knows reports whether a request outside the guards comes from a user: one that passes
// the guards and carries valid credentials or a session.
func (s *Server) knows(r *http.Request) bool {
	if s.users.none() || r.Header.Get("Authorization") == "" && len(tokensOf(r)) == 0 || s.guard.check(r) != nil {
		return false
	}
	who, err := s.identify(r)
	return err == nil && who.name != Anonymous
}

// glances bounds what answers about readiness cost: a view is made anew when health has
// changed, and probes of thousands of backends change it all the time. However many ask,
// at most one twentieth of a core makes views for them.
type glances struct {
	turn  chan struct{} // capacity 1: who looks has put something in
	last  glance
	until time.Time // as long as last is good
}

// What a view may cost is told from the one before; the picture is never older than
// oldestGlance.
const (
	glanceShare  = 20
	oldestGlance = 100 * time.Millisecond
)

// glance is what a view says about readiness. It is immutable.
type glance struct {
	view        *router.View
	initialized bool // in this view or in one before
	counts      ReadyCounts
}

func newGlances() glances { return glances{turn: make(chan struct{}, 1)} }

func (g *glances) take(viewer router.Viewer) glance {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	begin := time.Now()
	if g.last.view != nil && begin.Before(g.until) {
		return g.last
	}
	if v := viewer.View(); v != g.last.view {
		// Once is enough: a provider that is read for the first time later takes nothing back.
		g.last = glance{v, g.last.initialized || Initialized(v), countEntrypoints(v)}
	}
	end := time.Now()
	g.until = end.Add(min(glanceShare*end.Sub(begin), oldestGlance))
	return g.last
}

// ready judges a view. It only reads: it must answer at once under any load.
func (g *glance) ready(shuttingDown, accepting bool) Ready {
	out := Ready{Status: ReadyOK, Phases: map[string]string{}, Entrypoints: g.counts}
	for i := range g.view.Providers {
		if s := &g.view.Providers[i]; s.Enabled {
			out.Phases[s.Name] = string(phaseOf(s))
		}
	}
	initializing := !accepting || !g.initialized
	if initializing {
		out.Entrypoints.Total += out.Entrypoints.Pending
	}
	switch {
	case shuttingDown:
		out.Status = ReadyShuttingDown
	case initializing:
		out.Status = ReadyInitializing
	case out.Entrypoints.Degraded > 0:
		out.Status = ReadyDegraded
	}
	return out
}

// Initialized reports whether every enabled provider was read once, or failed while
// another one gives routes, and whether the first verdicts are there.
func Initialized(v *router.View) bool {
	enabled := 0
	for i := range v.Providers {
		s := &v.Providers[i]
		if !s.Enabled {
			continue
		}
		enabled++
		switch phaseOf(s) {
		case route.PhasePending:
			return false
		case route.PhaseFailed:
			if len(v.Entrypoints) == 0 {
				return false
			}
		case route.PhaseReady, route.PhaseStale:
		}
	}
	return enabled == 0 || v.Health != nil && v.Health.Settled
}

// Unread names the enabled providers that were never read: what they would give is
// missing, and a router that has it must not be replaced by this one.
func Unread(v *router.View) []string {
	var names []string
	for i := range v.Providers {
		if s := &v.Providers[i]; s.Enabled && !WasRead(phaseOf(s)) {
			names = append(names, s.Name)
		}
	}
	return names
}

// WasRead reports whether a provider in a phase was read at least once.
func WasRead(p route.ProviderPhase) bool { return p == route.PhaseReady || p == route.PhaseStale }

func countEntrypoints(v *router.View) ReadyCounts {
	var c ReadyCounts
	for i := range v.Entrypoints {
		e := &v.Entrypoints[i]
		state, _, _ := verdict(e)
		switch {
		case state == route.EntrypointDown:
			c.Down++
		case state == route.EntrypointPanic:
			c.Panic++
		case e.Health.Healthy > 0:
			c.Healthy++
			if e.Health.Unhealthy > 0 {
				c.Partial++
			}
		default:
			c.Pending++
		}
	}
	c.Degraded = c.Panic + c.Down
	c.Total = c.Healthy + c.Degraded
	return c
}

func detailOf(v *router.View) map[string]ReadyDetail {
	detail := make(map[string]ReadyDetail, len(v.Entrypoints))
	for i := range v.Entrypoints {
		e := &v.Entrypoints[i]
		state, _, _ := verdict(e)
		h := &e.Health
		detail[e.Entrypoint.ID] = ReadyDetail{h.Healthy, h.Unhealthy, h.Total, h.Pending, h.InRotation, string(state)}
	}
	return detail
}
