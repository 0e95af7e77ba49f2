package route

import "time"

// ProbeType is how a backend is probed.
type ProbeType string

// Probe types that this version runs.
const (
	ProbeTCP       ProbeType = "tcp"
	ProbeHTTP      ProbeType = "http"
	ProbeTLS       ProbeType = "tls"
	ProbeGRPC      ProbeType = "grpc"
	ProbeWebSocket ProbeType = "websocket"
)

// Initial says what a backend counts as before its first verdict.
type Initial string

// Values of healthCheck.initial.
const (
	InitialAuto Initial = "auto"
	InitialUp   Initial = "up"
	InitialDown Initial = "down"
)

// Defaults of the active layer (health.md, "Keys").
const (
	DefaultInterval     = 10 * time.Second
	DefaultProbeTimeout = 5 * time.Second
	DefaultInitialDelay = 10 * time.Second
	DefaultJitter       = 10 // percent
)

// Check is what a backend is asked, how often, and how answers count. Content and
// timing identify a probe stream (two placements with equal ones share it);
// thresholds and Initial belong to each placement.
type Check struct {
	Type ProbeType
	// Scheme is http or https, for ProbeHTTP, ProbeGRPC (http is h2c) and ProbeWebSocket.
	Scheme  Scheme
	Port    uint16
	Path    string // begins with "/"; may hold a query, whose values are secret
	Host    string // Host header, with the port unless it is the scheme's default
	SNI     string // "" derives from Host and the backend (health.md, "Names on TLS")
	Method  string
	Headers []CheckHeader // sorted by name
	Status  StatusSet
	// FollowRedirects follows those to the same host and port, at most 3.
	FollowRedirects bool
	// BodyContains and BodyRegex (RE2) must be found in the first 64 KiB of the body.
	BodyContains string
	BodyRegex    string
	GRPCService  string // "" asks for the server as a whole

	TLS BackendTLS

	Interval     time.Duration
	FastInterval time.Duration // 0: off, Interval is used
	DownInterval time.Duration
	Timeout      time.Duration
	Jitter       int // percent, adds only
	InitialDelay time.Duration

	UnhealthyThreshold int
	HealthyThreshold   int
	Initial            Initial
}

// CheckHeader is a header that a probe sends. Value is never shown.
type CheckHeader struct {
	Name  string
	Value Secret
}

// DefaultCheck returns the TCP check that every tcp-reachable backend gets.
func DefaultCheck() Check {
	return Check{
		Type:               ProbeTCP,
		Method:             "GET",
		Status:             DefaultStatusSet(),
		Interval:           DefaultInterval,
		DownInterval:       DefaultInterval,
		Timeout:            DefaultProbeTimeout,
		Jitter:             DefaultJitter,
		InitialDelay:       DefaultInitialDelay,
		UnhealthyThreshold: 1,
		HealthyThreshold:   1,
		Initial:            InitialAuto,
	}
}
