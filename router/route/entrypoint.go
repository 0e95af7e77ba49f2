package route

import (
	"cmp"
	"time"
)

// Protocol is what an entrypoint speaks to its clients.
type Protocol string

// The protocols of the label grammar.
const (
	HTTP Protocol = "http"
	TCP  Protocol = "tcp"
	UDP  Protocol = "udp"
)

// Entrypoint is what labels (or a file) declare: matchers, options and backends.
// Traefik uses the word for a listening socket; Fairlead does not.
type Entrypoint struct {
	ID string // "http_api", or "http_api-<project>" when the name is shared
	// Identity tells an entrypoint from every other one, also from one that gets its ID: that
	// is a name, and goes to whoever has the oldest claim on it now. It is opaque; "" is the ID.
	Identity string
	Name     string // the service in the label
	Protocol Protocol
	Source   string // the provider's name
	Project  string // compose project, may be empty
	// Claim dates from the first container of this (project, service) and survives
	// a recreate within the retention. The older claim wins between equal rules.
	Claim   time.Time
	Match   Match
	Options Options
	// Backends are sorted by ID. Empty when nothing can be sent to now; Absent then
	// says why.
	Backends []Backend
	Absent   []Absence
	// RetainedUntil is set while only stopped containers keep the entrypoint alive.
	RetainedUntil time.Time
	// FailClosed is set when a label that protects is wrong or not available: the
	// route answers 503 misconfigured_protection for the requests it wins.
	FailClosed  *FailClosed
	Diagnostics []Diagnostic
	// Labels are those that set the matchers, options and the check, sorted by key; what
	// is not among them has its default.
	Labels []Origin
}

// Origin says which label set an option. Values are not in it.
type Origin struct {
	Key   string // relative to the service, in lower case: "healthcheck.path"
	Label string // as it is written; for a file the place in it
}

// Key is what everything is bound to that must never be taken for another entrypoint's.
func (e *Entrypoint) Key() string { return cmp.Or(e.Identity, e.ID) }

// CanServe reports whether any backend is present by its provider's word.
// A retained, leaving or gated entrypoint never outranks one that can serve.
func (e *Entrypoint) CanServe() bool {
	for i := range e.Backends {
		if s := e.Backends[i].Provider; s == ProviderPresent || s == ProviderStarting {
			return true
		}
	}
	return false
}

// FailClosed says which diagnostic closed a route (E104 or E113).
type FailClosed struct {
	Code  string
	Label string
}

// Absence explains a container that belongs to an entrypoint but is no backend now.
type Absence struct {
	CandidateID string
	Name        string
	Why         AbsenceReason
	Detail      string    // what the provider says about it, such as how it ended; "" for nothing
	Until       time.Time // zero when it has no end
}

// AbsenceReason is why a container of an entrypoint is no backend.
type AbsenceReason string

// Reasons for an absence.
const (
	AbsentRetained   AbsenceReason = "retained"   // stopped, kept for a while
	AbsentPaused     AbsenceReason = "paused"     // docker pause
	AbsentRestarting AbsenceReason = "restarting" // restart loop
	AbsentNoAddress  AbsenceReason = "no_address" // waiting for the engine to give one
	AbsentRefused    AbsenceReason = "refused"    // a diagnostic says why
)

// LoadBalancer names the algorithm that picks a backend of a rotation.
type LoadBalancer string

// The algorithms; all honour weights.
const (
	RoundRobin       LoadBalancer = "round_robin"
	LeastConnections LoadBalancer = "least_connections"
	PowerOfTwo       LoadBalancer = "power_of_two"
	Random           LoadBalancer = "random"
)

// Options are the settings of an entrypoint; the newest container of its own
// project and service decides. The zero value is not valid: start from
// DefaultOptions.
type Options struct {
	StripPrefix  bool
	AddPrefix    string // "" or a path that begins with "/"
	Headers      []HeaderRule
	LoadBalancer LoadBalancer
	// BackendTimeout bounds the time from sending to the response headers; 0 is none.
	BackendTimeout time.Duration
	// RetryAttempts is the number of tries in all, 1 or more.
	RetryAttempts int
	Retry         Retry
	Panic         PanicMode
	// PanicThreshold is the percent of verified primaries below which all serve; 0 is off.
	PanicThreshold int
	// NoBackendStatus is what clients get when nothing may serve, 400 to 599.
	NoBackendStatus int
	OnDown          OnDown
	Passive         Passive
	Breaker         Breaker
	Sticky          Sticky
	Queue           Queue
	// DrainTimeout bounds how long requests of a backend that left may go on.
	DrainTimeout time.Duration
	// HoldFor bounds how long a request waits for a backend while those of the
	// entrypoint are being replaced; 0 is not at all.
	HoldFor time.Duration
}

// Defaults of labels.md and health.md.
const (
	DefaultWeight         = 100
	DefaultBackendTimeout = 30 * time.Second
	DefaultDialTimeout    = 2 * time.Second
	DefaultRetryAttempts  = 2
	DefaultDrainTimeout   = 30 * time.Second
	DefaultHoldFor        = 10 * time.Second
)

// DefaultOptions returns the options of an entrypoint without any option label.
func DefaultOptions() Options {
	return Options{
		LoadBalancer:   RoundRobin,
		BackendTimeout: DefaultBackendTimeout,
		RetryAttempts:  DefaultRetryAttempts,
		Retry:          DefaultRetry(),
		Panic:          PanicAll,
		OnDown:         OnDownIdle,
		Passive:        DefaultPassive(),
		Breaker:        DefaultBreaker(),
		Sticky:         Sticky{SameSite: "Lax"},
		Queue:          DefaultQueue(),
		DrainTimeout:   DefaultDrainTimeout,
		HoldFor:        DefaultHoldFor,

		NoBackendStatus: DefaultNoBackendStatus,
	}
}

// HeaderDirection says on which message a header rule works.
type HeaderDirection string

// Directions of header rules.
const (
	OnRequest  HeaderDirection = "request"
	OnResponse HeaderDirection = "response"
	OnBoth     HeaderDirection = "both"
)

// HeaderRule sets a header, or deletes it when Value is empty. Values may be secret.
type HeaderRule struct {
	Name      string // canonical form
	Value     Secret
	Direction HeaderDirection
}

// PanicMode says what serves when no backend is verified.
type PanicMode string

// Panic modes (health.md, "Rotation").
const (
	PanicAll  PanicMode = "all"
	PanicLast PanicMode = "last"
	PanicOff  PanicMode = "off"
)
