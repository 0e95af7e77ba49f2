package api

import (
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

// Ready is the answer of GET /ready.
type Ready struct {
	Status string `json:"status"`
	// Policy is "process": a dead application never makes the shared router unready.
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
	// Detail names the entrypoints; only with admin.verbose.
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

// newReady judges a view. It only reads: it must answer at once under any load.
func newReady(v *router.View, shuttingDown, accepting, verbose bool) Ready {
	out := Ready{Status: ReadyOK, Policy: "process", Phases: map[string]string{}}
	for i := range v.Providers {
		if s := &v.Providers[i]; s.Enabled {
			out.Phases[s.Name] = string(phaseOf(s))
		}
	}
	initializing := !accepting || !Initialized(v)
	out.Entrypoints = countEntrypoints(v, verbose)
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

func countEntrypoints(v *router.View, verbose bool) ReadyCounts {
	var c ReadyCounts
	if verbose {
		c.Detail = make(map[string]ReadyDetail, len(v.Entrypoints))
	}
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
		if verbose {
			h := &e.Health
			c.Detail[e.Entrypoint.ID] = ReadyDetail{h.Healthy, h.Unhealthy, h.Total, h.Pending, h.InRotation, string(state)}
		}
	}
	c.Degraded = c.Panic + c.Down
	c.Total = c.Healthy + c.Degraded
	return c
}
