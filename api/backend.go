package api

import (
	"fairlead/router"
	"fairlead/router/route"
)

// BackendHealth is the whole truth about one backend of one entrypoint.
type BackendHealth struct {
	Address        string     `json:"address"` // host:port
	Kind           *string    `json:"kind"`    // how it fails, null while it does not
	Message        string     `json:"message"`
	Since          int64      `json:"since"`
	LastChecked    *int64     `json:"last_checked"`
	InRotation     bool       `json:"in_rotation"`
	ID             string     `json:"id"`
	Name           *string    `json:"name"`
	Container      *Container `json:"container"` // null for backends of a file
	Incarnation    string     `json:"incarnation"`
	State          string     `json:"state"`
	Healthy        *bool      `json:"healthy"` // null while not known
	Tier           string     `json:"tier"`    // primary, backup
	RotationReason string     `json:"rotation_reason"`
	Source         string     `json:"source"` // the layer that decided
	Scheme         string     `json:"scheme"` // http, https, h2c
	Weight         Weight     `json:"weight"`
	Check          *Check     `json:"check"` // null when it is not probed
	Counters       Counters   `json:"counters"`
	LastResult     *Result    `json:"last_result"`
	NextCheckAt    *int64     `json:"next_check_at"`
	InFlightProbe  bool       `json:"in_flight_probe"`
	Passive        *Passive   `json:"passive"` // null while traffic ejects nobody
	Admin          Admin      `json:"admin"`
	Provider       Provision  `json:"provider"`
	Load           Load       `json:"load"`
	Warmup         *Warmup    `json:"warmup"`   // null unless it starts slowly
	Traffic        *Traffic   `json:"traffic"`  // null where no requests are counted
	Flapping       *Flapping  `json:"flapping"` // null unless it changed again and again lately
	Hint           *string    `json:"hint"`
	Code           *string    `json:"code"`
	Explain        string     `json:"explain"`
	// Probes are the last results, oldest first, at most 30; absent in lists of
	// entrypoints.
	Probes []Tick `json:"probes,omitempty"`
	// History is oldest first; absent in lists of entrypoints.
	History []Transition `json:"history,omitempty"`
}

// Container is the container behind a backend.
type Container struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Image     *string `json:"image"`
	StartedAt *int64  `json:"started_at"`
	Health    *string `json:"health"` // none, starting, healthy, unhealthy
}

// Weight is a backend's share of the traffic.
type Weight struct {
	Configured int     `json:"configured"` // 0 is a backup
	Effective  float64 `json:"effective"`  // 0 out of rotation
}

// Counters are those of the probes of one backend.
type Counters struct {
	ConsecutiveOK   int    `json:"consecutive_ok"`
	ConsecutiveFail int    `json:"consecutive_fail"`
	Probes          uint64 `json:"probes"`
	Failures        uint64 `json:"failures"`
	Transitions     uint64 `json:"transitions"`
	LateResults     uint64 `json:"late_results"`
}

// Result is one finished probe.
type Result struct {
	At         int64   `json:"at"`
	OK         bool    `json:"ok"`
	Kind       *string `json:"kind"`
	Message    string  `json:"message"`
	Status     *int    `json:"status"`
	GRPCStatus *int    `json:"grpc_status"` // null unless it was a gRPC probe that got one
	Remote     *string `json:"remote"`
	DurationMS float64 `json:"duration_ms"`
	PhasesMS   Phases  `json:"phases_ms"`
	Stale      bool    `json:"stale"`
}

// Phases are the parts of a probe in milliseconds, null when not reached.
type Phases struct {
	DNS       *float64 `json:"dns"`
	Connect   *float64 `json:"connect"`
	TLS       *float64 `json:"tls"`
	FirstByte *float64 `json:"first_byte"`
	Body      *float64 `json:"body"`
}

// Transition is one change of state.
type Transition struct {
	At         int64              `json:"at"`
	AtMS       int64              `json:"at_ms"` // epoch milliseconds
	Rev        uint64             `json:"rev"`
	Layer      string             `json:"layer,omitempty"`
	From       string             `json:"from"`
	To         string             `json:"to"`
	Cause      string             `json:"cause"`
	Kind       *string            `json:"kind"`
	Message    string             `json:"message"`
	Actor      *string            `json:"actor"`  // who ordered it, null for what happened by itself
	Reason     *string            `json:"reason"` // the operator's words
	Counters   TransitionCounters `json:"counters"`
	InRotation bool               `json:"in_rotation"`
}

// TransitionCounters are the consecutive counters at a transition.
type TransitionCounters struct {
	OK   int `json:"ok"`
	Fail int `json:"fail"`
}

// maxHistory is how many transitions an answer holds.
const maxHistory = 20

func newBackendHealth(v *router.EntrypointView, h *route.BackendHealth, detailed bool, r *TrafficRecorder) BackendHealth {
	b := &h.Backend
	out := BackendHealth{
		Address: b.Address(), Kind: kindOf(h), Message: h.Message, Since: epochOrZero(h.Since),
		LastChecked: epoch(h.LastChecked), InRotation: h.InRotation,
		ID: b.ID, Name: known(b.Name), Container: newContainer(b.Container), Incarnation: b.Incarnation,
		State: string(h.State), Healthy: healthy(h), Tier: tierOf(b), RotationReason: string(h.RotationReason),
		Source: sourceOf(h), Scheme: string(b.Scheme),
		Weight: Weight{Configured: b.Weight, Effective: float64(h.EffectiveWeight)},
		Check:  newCheck(h.Check),
		Counters: Counters{
			ConsecutiveOK: h.Counters.ConsecutiveOK, ConsecutiveFail: h.Counters.ConsecutiveFail,
			Probes: h.Counters.Probes, Failures: h.Counters.Failures,
			Transitions: h.Counters.Transitions, LateResults: h.Counters.LateResults,
		},
		LastResult: newResult(h.LastResult, h.Check), NextCheckAt: epoch(h.NextCheckAt), InFlightProbe: h.InFlightProbe,
		Passive:  newPassive(h.Passive),
		Admin:    newAdmin(&h.Admin),
		Provider: Provision{Name: v.Entrypoint.Source, State: string(b.Provider), Stale: v.Stale},
		Load:     newLoad(h),
		Warmup:   newWarmup(h.Warmup),
		Traffic:  r.trafficOfBackend(v, h),
		Flapping: newFlapping(route.FlappingOf(h.History)),
		Hint:     known(h.Hint), Code: known(h.Code), Explain: h.Explain,
	}
	out.passedOver(h)
	if detailed {
		out.Probes = newTicks(h.Probes)
		out.History = newHistory(h.History)
	}
	return out
}

// unhealthy reports whether a probe, traffic or Docker says that the backend fails. What
// the operator or its end takes out is not unhealthy, and what is not known is not.
func (b *BackendHealth) unhealthy() bool {
	switch route.State(b.State) {
	case route.StateDown, route.StateGated, route.StateEjected, route.StateTrial:
		return true
	case route.StateLeaving, route.StateDraining, route.StateMaintenance, route.StatePending, route.StateUnchecked, route.StateUp:
	}
	return false
}

// healthy is a verdict only where there is one: pending and unchecked have none.
func healthy(h *route.BackendHealth) *bool {
	verdict := true
	switch h.State {
	case route.StateUp:
		return &verdict
	case route.StateDown, route.StateGated, route.StateEjected, route.StateTrial:
		verdict = false
		return &verdict
	case route.StateLeaving, route.StateDraining, route.StateMaintenance:
		return h.Healthy
	case route.StatePending, route.StateUnchecked:
	}
	return nil
}

// kindOf says how a backend fails; what a single probe of a pending backend saw
// stands in last_result.
func kindOf(h *route.BackendHealth) *string {
	switch h.State {
	case route.StateUp:
		return nil
	case route.StatePending, route.StateUnchecked:
		if h.Kind != route.KindDockerStarting {
			return nil
		}
	case route.StateDown, route.StateGated, route.StateEjected, route.StateTrial:
		if h.Kind == route.KindNone {
			return known(route.KindOther)
		}
	case route.StateLeaving, route.StateDraining, route.StateMaintenance:
		if h.Healthy != nil && *h.Healthy {
			return nil // what is healthy does not fail, whatever takes it out
		}
	}
	return known(h.Kind)
}

func sourceOf(h *route.BackendHealth) string {
	if h.Source == "" {
		return "none"
	}
	return h.Source
}

func tierOf(b *route.Backend) string {
	if b.Weight == 0 {
		return "backup"
	}
	return "primary"
}

func newContainer(c *route.Container) *Container {
	if c == nil {
		return nil
	}
	return &Container{ID: c.ID, Name: c.Name, Image: known(c.Image), StartedAt: epoch(c.StartedAt), Health: known(c.Health)}
}

// newResult shows a grpc-status only of probes that ask for one.
func newResult(r *route.ProbeResult, c *route.CheckView) *Result {
	if r == nil {
		return nil
	}
	out := &Result{
		At: epochOrZero(r.At), OK: r.OK, Kind: known(r.Kind), Message: r.Message,
		Remote: known(r.Remote), DurationMS: fraction(r.Duration), PhasesMS: newPhases(r.Phases), Stale: r.Stale,
	}
	if r.Status != 0 {
		out.Status = &r.Status
	}
	if c != nil && c.Check.Type == route.ProbeGRPC && r.GRPC >= 0 {
		out.GRPCStatus = &r.GRPC
	}
	return out
}

func newHistory(in []route.Transition) []Transition {
	if len(in) > maxHistory {
		in = in[len(in)-maxHistory:]
	}
	out := make([]Transition, len(in))
	for i := range in {
		out[i] = newTransition(&in[i])
	}
	return out
}

func newTransition(t *route.Transition) Transition {
	return Transition{
		At: epochOrZero(t.At), AtMS: max(t.At.UnixMilli(), 0), Rev: t.Rev, Layer: t.Layer, From: t.From, To: t.To,
		Cause: t.Cause, Kind: known(t.Kind), Message: t.Message,
		Actor: known(t.Actor), Reason: known(t.Reason),
		Counters: TransitionCounters{OK: t.OK, Fail: t.Fail}, InRotation: t.InRotation,
	}
}
