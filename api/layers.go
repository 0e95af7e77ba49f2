package api

import (
	"fairlead/router"
	"fairlead/router/route"
)

// Admin is the operator's word about a backend.
type Admin struct {
	State  string  `json:"state"` // ready, drain, maintenance
	Actor  *string `json:"actor"` // who said so
	Reason *string `json:"reason"`
	Since  *int64  `json:"since"`
	// ExpiresAt is when it is ready again by itself, null for never.
	ExpiresAt *int64  `json:"expires_at"`
	Scope     *string `json:"scope"` // backend, service; null while nobody said anything
}

// Passive is what real traffic says about a backend.
type Passive struct {
	State               string `json:"state"`                // closed, open (ejected), half_open (on trial)
	ConsecutiveFailures int    `json:"consecutive_failures"` // or those within passive.window
	Threshold           int    `json:"threshold"`
	Ejections           uint64 `json:"ejections"` // since the start of its container
	Until               *int64 `json:"until"`     // when an ejection ends, null unless open
	TrialInProgress     bool   `json:"trial_in_progress"`
	// BlockedBy is why it is not ejected although it fails: cap, last; null otherwise.
	BlockedBy *string `json:"blocked_by"`
	Recovery  string  `json:"recovery"` // auto, time, probe, trial
}

// Warmup is a slow start.
type Warmup struct {
	Percent float64 `json:"percent"` // of the weight
	EndsAt  int64   `json:"ends_at"`
}

// Provision is the provider's word about a backend.
type Provision struct {
	Name  string `json:"name"`
	State string `json:"state"` // present, starting, unhealthy, leaving
	Stale bool   `json:"stale"`
}

// Load is what a backend carries now.
type Load struct {
	InFlight int64  `json:"in_flight"`
	Max      *int64 `json:"max"`  // maxConnections, null without a limit
	Full     bool   `json:"full"` // new requests go elsewhere, or wait
	Tunnels  int64  `json:"tunnels"`
}

func newAdmin(a *route.Admin) Admin {
	out := Admin{
		State: string(a.State), Actor: known(a.Actor), Reason: known(a.Reason),
		Since: epoch(a.Since), ExpiresAt: epoch(a.ExpiresAt), Scope: known(a.Scope),
	}
	if out.State == "" {
		out.State = string(route.AdminReady)
	}
	return out
}

func newPassive(p *route.PassiveView) *Passive {
	if p == nil {
		return nil
	}
	return &Passive{
		State: string(p.State), ConsecutiveFailures: p.ConsecutiveFailures, Threshold: p.Threshold,
		Ejections: p.Ejections, Until: epoch(p.Until), TrialInProgress: p.TrialInProgress,
		BlockedBy: known(p.BlockedBy), Recovery: string(p.Recovery),
	}
}

func newWarmup(w *route.WarmupView) *Warmup {
	if w == nil {
		return nil
	}
	return &Warmup{Percent: min(max(w.Percent, 0), 100), EndsAt: epochOrZero(w.EndsAt)}
}

// newLoad reads the counters now: the picture is as old as the last change of health.
func newLoad(h *route.BackendHealth) Load {
	inFlight, tunnels := h.InFlight, h.Tunnels
	if h.Load != nil {
		inFlight, tunnels = h.Load.InFlight.Load(), h.Load.Tunnels.Load()
	}
	out := Load{InFlight: max(inFlight, 0), Tunnels: max(tunnels, 0)}
	if most := int64(h.Backend.MaxConnections); most > 0 {
		out.Max, out.Full = &most, out.InFlight >= most
	}
	return out
}

// Full reports whether a backend has as many requests as maxConnections permits, now.
func Full(h *route.BackendHealth) bool { return newLoad(h).Full }

// passedOver shows a full backend as the request path treats it: out of rotation for the
// moment. Load is never health, so its state and the counts of healthy ones stay.
func (b *BackendHealth) passedOver(h *route.BackendHealth) {
	if !b.Load.Full || !b.InRotation {
		return
	}
	b.InRotation, b.RotationReason, b.Weight.Effective = false, string(route.OutFull), 0
	b.Explain = h.FullExplain(b.Load.InFlight)
}

// takingPart is how many backends of an entrypoint get requests now: full ones do not.
func takingPart(h *route.EntrypointHealth) int {
	n := h.InRotation
	for i := range h.Backends {
		if b := &h.Backends[i]; b.InRotation && Full(b) {
			n--
		}
	}
	return max(n, 0)
}

// Breaker is the state of a circuit breaker.
type Breaker struct {
	State   string `json:"state"`    // closed, open, half_open
	RetryAt *int64 `json:"retry_at"` // when it lets a trial through, null unless open
	// FailureRatio is that of the last outcomes, 0 to 1; Samples is their number.
	FailureRatio float64 `json:"failure_ratio"`
	Samples      int     `json:"samples"`
}

func newBreaker(b *route.BreakerView) *Breaker {
	if b == nil {
		return nil
	}
	return &Breaker{
		State: string(b.State), RetryAt: epoch(b.RetryAt), FailureRatio: min(max(b.FailureRatio, 0), 1), Samples: max(b.Samples, 0),
	}
}

// newPanic shows the settings of panic as the entrypoint has them, with its state.
func newPanic(v *router.EntrypointView) Panic {
	p, o := &v.Health.Panic, &v.Entrypoint.Options
	return Panic{
		Active: p.Active, Mode: string(o.Panic), ThresholdPercent: o.PanicThreshold,
		Since: epoch(p.Since), Reason: known(p.Reason),
	}
}
