// Package label turns a candidate's labels into declarations and diagnostics, and
// the declarations of all candidates into entrypoints. Both steps are pure
// functions: no I/O, no clock, no logging. One catalog of keys feeds the parser,
// did-you-mean, the documentation and the explanations.
package label

import (
	"time"

	"fairlead/router/route"
)

// Candidate is a container before its labels are judged.
type Candidate struct {
	ID       string // full container id
	Name     string
	Provider string
	Project  string // compose project, "" without
	Service  string // compose service, "" without
	OneOff   bool   // compose run
	Labels   map[string]string
	Image    string
	Created  time.Time
	Started  time.Time
}

// Config holds the settings that the parser depends on.
type Config struct {
	Prefix          string // "sozune" by default, lower case
	ExposeByDefault bool
	// Listeners are the declared tcp and udp ones; nil where none can be declared, so that
	// a missing one is no mistake of the label.
	Listeners   map[route.Protocol][]string
	CAs         []string      // names that backendTLS.ca may use
	ClientCerts []string      // names that backendTLS.clientCert may use
	Tick        time.Duration // scheduler tick, for I106
	// UnitsInKeys is set where the keys that people write name the unit of a time.
	UnitsInKeys bool
}

// Parsed is what one candidate's labels say.
type Parsed struct {
	// Enabled is false when the candidate is not routed; Rejected then says why,
	// unless it is only to be counted (no label of ours, enable=false).
	Enabled      bool
	Rejected     *route.Rejected
	Network      string        // value of <prefix>.network
	Declarations []Declaration // sorted by protocol and service
	Diagnostics  []route.Diagnostic
	// Unrouted are the hosts of labels that make no route; What is the service, or "" for
	// the candidate.
	Unrouted []route.Unrouted
}

// Declaration is one (protocol, service) of one candidate.
type Declaration struct {
	Protocol route.Protocol
	Service  string
	Match    route.Match
	Options  route.Options
	Backend  BackendOptions
	// Check is the entrypoint's check with the backend's own port in it; nil when off.
	// Port, Host and Scheme that are not set by a label are filled in by Group.
	Check *route.Check
	// CheckSkipVerify is healthCheck.insecureSkipVerify; nil is as traffic.
	CheckSkipVerify *bool
	FailClosed      *route.FailClosed
	// Refused is set when this declaration is not routed (E002, E109 ...): the code.
	Refused string
	// Set names the keys (lower case, relative to the service) that labels set;
	// conflicts (W111) are found with it.
	Set map[string]string // key -> value for comparison, never shown
	// Labels are those of Set that work in this version and are not the backend's own,
	// sorted by key.
	Labels []route.Origin
	// Diagnostics are those of Parsed.Diagnostics that are about this declaration.
	Diagnostics []route.Diagnostic
}

// BackendOptions are the settings that belong to each backend alone.
type BackendOptions struct {
	Port        uint16 // 0: not set by a label
	CheckPort   uint16 // healthCheck.port, 0: the backend's
	Scheme      route.Scheme
	TLS         route.BackendTLS
	DialTimeout time.Duration
	Weight      int
	// MaxConnections, SlowStart and SlowStartMin are as in route.Backend.
	MaxConnections int
	SlowStart      time.Duration
	SlowStartMin   int
	Docker         route.DockerHealth
}

// Presence says what a candidate is at the moment, by the engine's word.
type Presence string

// Presences. Present, Starting, Unhealthy and Leaving make a backend (when there is
// an address); the others keep the entrypoint alive without one.
const (
	Present    Presence = "present"
	Starting   Presence = "starting"
	Unhealthy  Presence = "unhealthy"
	Leaving    Presence = "leaving"
	Paused     Presence = "paused"
	Restarting Presence = "restarting"
	NoAddress  Presence = "no_address"
	Retained   Presence = "retained"
)

// Endpoint is the address the provider found for one declaration of a candidate.
type Endpoint struct {
	Host        string // IP literal without brackets; "" when none was found
	Port        uint16
	Loopback    bool               // the provider derived a loopback address itself
	Diagnostics []route.Diagnostic // E105-E108, W009, I002: shown with the candidate
}

// Input is one candidate as Group sees it.
type Input struct {
	Candidate Candidate
	Parsed    Parsed
	Presence  Presence
	Until     time.Time // end of the retention, for Retained
	// Endpoints run parallel to Parsed.Declarations. Nil without any address.
	Endpoints []Endpoint
	Health    string // Docker's word for display: none, starting, healthy, unhealthy
	// Detail is what the engine says about a container that is no backend: how it ended
	// and how often it was restarted.
	Detail string
}

// ClaimKey identifies a claim over recreates: (protocol, service, owner,
// matchers), the owner being a compose project and service where there are such.
type ClaimKey struct {
	Protocol       route.Protocol
	Service        string
	Owner          string // compose project, else "@" and the provider's name
	ComposeService string // service in the compose file, "" without
	Match          string // a digest of route.Match.Key, which may hold secrets
}

// Claims says since when each claim has been held. Group returns the next value;
// a provider keeps it and never changes it.
type Claims map[ClaimKey]time.Time

// Grouped is what all candidates of a provider amount to.
type Grouped struct {
	Entrypoints []*route.Entrypoint          // sorted by ID
	Candidates  []route.CandidateDiagnostics // sorted; only candidates with diagnostics
	Rejected    []route.Rejected             // sorted by candidate id
	Unrouted    []route.Unrouted             // sorted by candidate id
	Claims      Claims
}
