package api

import (
	"fairlead/router"
	"fairlead/router/route"
)

// Entrypoint is one object of GET /entrypoints: Sōzune's fields and ours.
type Entrypoint struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Protocol    string             `json:"protocol"` // Http, Tcp or Udp
	Source      string             `json:"source"`   // the provider's name
	Project     *string            `json:"project"`  // compose project
	Backends    []Backend          `json:"backends"`
	Config      EntrypointConfig   `json:"config"`
	Diagnostics []route.Diagnostic `json:"diagnostics"`
	// UnhealthyBackends are those of BackendHealth that failed a probe, that traffic
	// ejected or that Docker calls unhealthy. Pending and leaving ones are not among
	// them, nor those that the operator took out.
	UnhealthyBackends []BackendHealth  `json:"unhealthy_backends"`
	BackendHealth     []BackendHealth  `json:"backend_health"`
	Health            EntrypointHealth `json:"health"`
	// Traffic is null where no requests are counted: offline, and for other protocols
	// than HTTP.
	Traffic *Traffic `json:"traffic"`
	// Absent explains the containers that belong to the entrypoint but are no
	// backends now.
	Absent []Absence `json:"absent"`
	// ExpiresAt is when a retained entrypoint goes away, in epoch seconds.
	ExpiresAt *int64 `json:"expires_at"`
	// ShadowedBy is the id of the entrypoint that takes all of its requests.
	ShadowedBy *string `json:"shadowed_by"`
	// Stale is set while the provider does not know better: this is what it gave last.
	Stale bool `json:"stale"`
	// StaleSince is since when, in epoch seconds; null while it is not stale.
	StaleSince *int64 `json:"stale_since"`
}

// Backend is one of Sōzune's backends: where requests are sent to.
type Backend struct {
	Address string `json:"address"` // IP address or name, without a port
	Port    uint16 `json:"port"`
	Weight  int    `json:"weight"`
}

// Absence is a container that belongs to an entrypoint but is no backend now.
type Absence struct {
	CandidateID string `json:"candidate_id"`
	Name        string `json:"name"`
	Reason      string `json:"reason"` // retained, paused, restarting, no_address, refused
	// Detail is what the provider says about it: how it ended, how often it was restarted.
	Detail *string `json:"detail"`
	Until  *int64  `json:"until"` // epoch seconds, null when it has no end
}

// EntrypointHealth is the health of an entrypoint's rotation.
type EntrypointHealth struct {
	State          string `json:"state"` // ok, partial, panic, down, pending, unchecked
	Total          int    `json:"total"`
	Healthy        int    `json:"healthy"` // up or unchecked, and in rotation
	Unhealthy      int    `json:"unhealthy"`
	Pending        int    `json:"pending"`
	Disabled       int    `json:"disabled"`    // not probed
	InRotation     int    `json:"in_rotation"` // without those that are full now
	BackupsServing bool   `json:"backups_serving"`
	Since          int64  `json:"since"`
	Rev            uint64 `json:"rev"`
	// Reason says why nothing serves (the vocabulary of Proxy-Status), else null.
	Reason *string `json:"reason"`
	// Code is the diagnostic that closed the route, else null.
	Code    *string `json:"code"`
	Explain string  `json:"explain"`
	Panic   Panic   `json:"panic"`
	// Breaker is null while no circuit breaker is set.
	Breaker *Breaker `json:"breaker"`
	// DetectionBoundMS is the longest time in which a failed backend is noticed, null
	// when nothing is probed.
	DetectionBoundMS *int64 `json:"detection_bound_ms"`
	// ServesWhenDown is the status that clients get now, null while it serves.
	ServesWhenDown *int `json:"serves_when_down"`
	// Flapping is that of the entrypoint or of one of its backends; null unless one changed
	// between serving and failing again and again lately.
	Flapping *Flapping `json:"flapping"`
	// History is only in the answer for one entrypoint, oldest first.
	History []Transition `json:"history,omitempty"`
}

// Panic says whether unverified backends serve because nothing is verified.
type Panic struct {
	Active           bool    `json:"active"`
	Mode             string  `json:"mode"` // all, last, off
	ThresholdPercent int     `json:"threshold_percent"`
	Since            *int64  `json:"since"`
	Reason           *string `json:"reason"`
}

// newEntrypoint maps one entrypoint of a view; detailed adds the histories. What the
// recorder does not know is null.
func newEntrypoint(view *router.View, v *router.EntrypointView, detailed bool, r *TrafficRecorder) Entrypoint {
	e := v.Entrypoint
	out := Entrypoint{
		ID: e.ID, Name: e.Name, Protocol: protocolName(e.Protocol), Source: e.Source, Project: known(e.Project),
		Backends:          make([]Backend, len(e.Backends)),
		Config:            newConfig(e),
		Diagnostics:       list(v.Diagnostics),
		UnhealthyBackends: []BackendHealth{},
		BackendHealth:     make([]BackendHealth, len(v.Health.Backends)),
		Health:            newEntrypointHealth(v, detailed),
		Traffic:           r.trafficOf(view, v),
		Absent:            make([]Absence, len(e.Absent)),
		ExpiresAt:         epoch(e.RetainedUntil),
		ShadowedBy:        known(v.ShadowedBy),
		Stale:             v.Stale,
		StaleSince:        sourceStaleSince(view, v),
	}
	for i := range e.Backends {
		b := &e.Backends[i]
		out.Backends[i] = Backend{Address: b.Host, Port: b.Port, Weight: b.Weight}
	}
	for i := range v.Health.Backends {
		b := newBackendHealth(v, &v.Health.Backends[i], detailed, r)
		out.BackendHealth[i] = b
		if b.unhealthy() {
			out.UnhealthyBackends = append(out.UnhealthyBackends, b)
		}
	}
	for i, a := range e.Absent {
		out.Absent[i] = Absence{CandidateID: a.CandidateID, Name: a.Name, Reason: string(a.Why), Detail: known(a.Detail), Until: epoch(a.Until)}
	}
	return out
}

func protocolName(p route.Protocol) string {
	switch p {
	case route.TCP:
		return "Tcp"
	case route.UDP:
		return "Udp"
	case route.HTTP:
	}
	return "Http"
}

func newEntrypointHealth(v *router.EntrypointView, detailed bool) EntrypointHealth {
	h := &v.Health
	state, reason, code := verdict(v)
	out := EntrypointHealth{
		State: string(state), Total: h.Total, Healthy: h.Healthy, Unhealthy: h.Unhealthy,
		Pending: h.Pending, Disabled: h.Disabled, InRotation: takingPart(h), BackupsServing: h.BackupsServing,
		Since: epochOrZero(h.Since), Rev: h.Rev, Reason: known(reason), Code: known(code), Explain: h.Explain,
		Panic: newPanic(v), Breaker: newBreaker(h.Breaker), Flapping: newFlapping(h.Flapping()),
	}
	if h.Breaker != nil && h.Breaker.State == route.PhaseOpen && reason == route.ReasonNone {
		out.Reason, reason = known(route.ReasonCircuitOpen), route.ReasonCircuitOpen
	}
	if h.DetectionBound > 0 {
		bound := millis(h.DetectionBound)
		out.DetectionBoundMS = &bound
	}
	if status := reason.Info().Status; h.ServesWhenDown != 0 || status != 0 {
		if h.ServesWhenDown != 0 {
			status = h.ServesWhenDown
		}
		out.ServesWhenDown = &status
	}
	if detailed {
		out.History = newHistory(h.History)
	}
	return out
}

// verdict is the state that clients meet: a closed or retained route is down
// whatever its backends are.
func verdict(v *router.EntrypointView) (route.EntrypointState, route.Reason, string) {
	e, h := v.Entrypoint, &v.Health
	switch {
	case e.FailClosed != nil:
		return route.EntrypointDown, route.ReasonMisconfigured, e.FailClosed.Code
	case len(e.Backends) == 0 && !e.RetainedUntil.IsZero():
		return route.EntrypointDown, route.ReasonRetained, h.Code
	case h.State == "":
		return route.EntrypointPending, h.Reason, h.Code
	}
	return h.State, h.Reason, h.Code
}
