package route

import (
	"fmt"
	"strings"
	"time"
)

// State is the state of a backend as the layers together give it (json.md).
type State string

// Backend states, in order of precedence.
const (
	StateMaintenance State = "maintenance"
	StateLeaving     State = "leaving"
	StateDraining    State = "draining"
	StateGated       State = "gated"
	StateDown        State = "down"
	StateEjected     State = "ejected"
	StateTrial       State = "trial"
	StatePending     State = "pending"
	StateUnchecked   State = "unchecked"
	StateUp          State = "up"
)

// Faulty reports whether a backend in the state is out for what its probes, its traffic or
// Docker say of it.
func (s State) Faulty() bool { return s == StateDown || s == StateGated || s == StateEjected }

// Kind classifies a failure of a probe or of a contact with a backend (json.md).
type Kind string

// Kinds of failures.
const (
	KindNone               Kind = ""
	KindConnectionRefused  Kind = "connection_refused"
	KindConnectionReset    Kind = "connection_reset"
	KindNoRouteToHost      Kind = "no_route_to_host"
	KindNetworkUnreachable Kind = "network_unreachable"
	KindHostUnreachable    Kind = "host_unreachable"
	KindTimeout            Kind = "timeout"
	KindDNSFailure         Kind = "dns_failure"
	KindBadStatus          Kind = "bad_status"
	KindHTTPError          Kind = "http_error"
	KindTLSFailure         Kind = "tls_failure"
	KindProtocolError      Kind = "protocol_error"
	KindBadBody            Kind = "bad_body"
	KindRedirectBlocked    Kind = "redirect_blocked"
	KindGRPCNotServing     Kind = "grpc_not_serving"
	KindGRPCUnimplemented  Kind = "grpc_unimplemented"
	KindGRPCError          Kind = "grpc_error"
	KindWebSocketRefused   Kind = "websocket_refused"
	KindEjectedFailures    Kind = "ejected_failures"
	KindEjectedLatency     Kind = "ejected_latency"
	KindAdminDrain         Kind = "admin_drain"
	KindAdminMaintenance   Kind = "admin_maintenance"
	KindProbeBlocked       Kind = "probe_blocked"
	KindConfigError        Kind = "config_error"
	KindLocalError         Kind = "local_error"
	KindDockerUnhealthy    Kind = "docker_unhealthy"
	KindDockerStarting     Kind = "docker_starting"
	KindLeaving            Kind = "leaving"
	KindOther              Kind = "other"
)

// EntrypointState is the state of an entrypoint's rotation.
type EntrypointState string

// Entrypoint states (json.md).
const (
	EntrypointOK        EntrypointState = "ok"
	EntrypointPartial   EntrypointState = "partial"
	EntrypointPanic     EntrypointState = "panic"
	EntrypointDown      EntrypointState = "down"
	EntrypointPending   EntrypointState = "pending"
	EntrypointUnchecked EntrypointState = "unchecked"
)

// HealthView is an immutable picture of the health engine. Rev grows with every
// change in it, applied results included. Sets names the Controller's generation
// whose placements it shows.
type HealthView struct {
	Rev         uint64
	Sets        uint64
	Entrypoints map[string]EntrypointHealth // by entrypoint id
	Checks      []CheckView                 // sorted by ID
	// Settled is set when every placement of each provider's first snapshot has a verdict,
	// or its time for one is over. A provider that is read for the first time later unsets it.
	Settled bool
	Global  []Diagnostic
}

// EntrypointHealth is the health of one entrypoint.
type EntrypointHealth struct {
	State          EntrypointState
	Total          int
	Healthy        int // up or unchecked, and in rotation
	Unhealthy      int
	Pending        int
	Disabled       int // unchecked
	InRotation     int
	BackupsServing bool
	Since          time.Time
	Rev            uint64
	Reason         Reason // why nothing serves, or ""
	Code           string // diagnostic code that closed the route, or ""
	Explain        string // one sentence
	Panic          PanicView
	Breaker        *BreakerView // nil without a breaker
	// DetectionBound is the largest published bound among the checks, 0 without any.
	DetectionBound time.Duration
	// ServesWhenDown is the status that clients get now, 0 while it serves.
	ServesWhenDown int
	Backends       []BackendHealth // sorted by backend ID
	History        []Transition    // oldest first, at most 20
}

// PanicView says whether unverified backends serve, since when and why.
type PanicView struct {
	Active    bool
	Mode      PanicMode
	Threshold int       // percent, 0 is off
	Since     time.Time // zero unless active
	Reason    string
}

// PassivePhase is the state of the passive layer, and of a circuit breaker.
type PassivePhase string

// Phases: closed lets all traffic through, open none, half-open one trial at a time.
const (
	PhaseClosed   PassivePhase = "closed"
	PhaseOpen     PassivePhase = "open"
	PhaseHalfOpen PassivePhase = "half_open"
)

// BreakerView is an entrypoint's circuit breaker at one moment.
type BreakerView struct {
	State        PassivePhase
	RetryAt      time.Time // zero unless open
	FailureRatio float64   // 0 to 1, over Samples
	Samples      int
	Opens        uint64 // times that it opened
}

// PassiveView is the passive layer of a backend at one moment.
type PassiveView struct {
	State               PassivePhase
	ConsecutiveFailures int // or those within the window
	Threshold           int
	Ejections           uint64    // since the start of the incarnation, as those below
	Failures            uint64    // requests that counted as such
	Trials              uint64    // requests that were sent to try it
	Until               time.Time // zero unless open
	TrialInProgress     bool
	BlockedBy           string // "cap" or "last": why it is not ejected although it should be; ""
	Recovery            Recovery
}

// WarmupView is a slow start at one moment.
type WarmupView struct {
	Percent float64 // of the weight, 0 to 100
	EndsAt  time.Time
}

// BackendHealth is the whole truth about one placement at one moment.
type BackendHealth struct {
	Backend        Backend
	State          State
	Healthy        *bool // nil when not known (pending, unchecked)
	Admin          Admin
	Passive        *PassiveView // nil while the layer is off
	Warmup         *WarmupView  // nil unless it warms up
	InRotation     bool
	RotationReason RotationReason
	// Source is the layer that decided: active, passive, admin, provider or none.
	Source          string
	Kind            Kind
	Message         string
	Since           time.Time
	LastChecked     time.Time // zero before the first applied result
	EffectiveWeight int
	Check           *CheckView // nil when not checked
	Counters        Counters
	LastResult      *ProbeResult
	Probes          []ProbeTick // the last applied results, oldest first, at most MaxProbeTicks
	NextCheckAt     time.Time   // zero when none is planned
	InFlightProbe   bool
	InFlight        int64 // when the picture was taken
	Tunnels         int64
	// Load is what the placement carries, read live; nil where there is no placement.
	Load    *Load
	Hint    string
	Code    string
	Explain string
	History []Transition // oldest first, at most 20
}

// FullExplain is Explain for one that is in rotation and full, with so many requests: it
// is passed over for the moment.
func (h *BackendHealth) FullExplain(inFlight int64) string {
	text := fmt.Sprintf("Out of rotation for the moment: it has %d requests, and maxConnections permits %d; further ones go elsewhere or wait.",
		inFlight, h.Backend.MaxConnections)
	if rest, ok := strings.CutPrefix(h.Explain, "In rotation"); ok {
		return text + " Apart from that it is in rotation" + rest
	}
	return text + " Apart from that: " + h.Explain
}

// Counters of a placement's active layer.
type Counters struct {
	ConsecutiveOK   int
	ConsecutiveFail int
	Probes          uint64
	Failures        uint64
	Transitions     uint64
	LateResults     uint64
}

// ProbeResult is one finished probe.
type ProbeResult struct {
	At       time.Time
	OK       bool
	Kind     Kind
	Message  string
	Status   int    // 0 without one
	GRPC     int    // grpc-status, -1 without one
	Remote   string // the address dialled
	Duration time.Duration
	Phases   Phases
	Stale    bool // from before the check's content changed
}

// MaxProbeTicks is how many applied results a BackendHealth lists.
const MaxProbeTicks = 30

// ProbeTick is one applied result in a list of them.
type ProbeTick struct {
	At       time.Time
	OK       bool
	Duration time.Duration
	Kind     Kind // "" for a success
}

// Phases are the parts of a probe; a negative duration means not reached.
type Phases struct {
	DNS, Connect, TLS, FirstByte, Body time.Duration
}

// Transition is one change of state, for logs, history and events.
type Transition struct {
	At         time.Time
	Rev        uint64
	Entrypoint string
	Backend    string // backend id, "" for the entrypoint itself
	Address    string
	Container  string
	Layer      string // active, passive, admin, provider, route
	From, To   string
	Cause      string // probe, traffic, timer, operator, provider, config, start, restore
	Actor      string // of an operator's order, "" otherwise
	Reason     string // the operator's words
	Kind       Kind
	Message    string
	OK, Fail   int // consecutive counters
	Threshold  int
	InRotation bool
	// Down is why nothing serves any more, of a transition of an entrypoint to down.
	Down Reason
	// Renamed is the id that the entrypoint has now, of a transition by which what was told
	// about its old id is over there; "" for any other one.
	Renamed string
	// Debug marks what is only worth a line at debug level.
	Debug bool
}

// CheckView is one distinct check: who shares it, its pace and its bound.
type CheckView struct {
	ID             string
	Check          Check
	Target         string   // host:port
	Incarnation    string   // of the backend it probes
	SharedWith     []string // entrypoint ids, sorted
	Pace           string   // normal, fast, down
	NextLaunch     time.Time
	QueueDelay     time.Duration
	DetectionBound time.Duration
	InFlight       bool
}
