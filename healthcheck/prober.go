package healthcheck

import (
	"context"
	"time"

	"fairlead/router/route"
)

// Prober runs probes of one kind. Probe returns when it has a result, at the
// context's deadline or soon after the context ends, whichever comes first; what it
// opened is closed then. It is safe for concurrent use and does not judge whether
// it was cancelled: the caller knows.
type Prober interface {
	Probe(ctx context.Context, target Target, spec *Spec) Result
}

// Target is where a probe connects to. The host is always the backend's.
type Target struct {
	Host string // IP literal without brackets, or a name
	Port uint16
	// Loopback permits loopback addresses (route.BlockedTarget).
	Loopback bool
}

// Address returns host:port.
func (t Target) Address() string { return route.JoinHostPort(t.Host, t.Port) }

// Spec is what a probe asks. It is immutable.
type Spec struct {
	Check route.Check
	// ServerName is the name on TLS: SNI and verification (health.md, "Names on TLS").
	ServerName string
}

// Result is what one probe saw. Message is a phrase for people; it holds neither
// header nor query values.
type Result struct {
	OK      bool
	Kind    route.Kind // "" when OK
	Message string
	Status  int    // 0 without one
	Remote  string // the address dialled, "" when none was
	Phases  route.Phases
	clue    clue
}

// clue is a fact about a failure that a hint can be made of.
type clue uint8

const (
	clueNone          clue = iota
	clueTLSAnswer          // TLS bytes, or words about them, in answer to plain HTTP
	cluePlainAnswer        // a TLS handshake was answered in plain text
	clueHTTP2              // HTTP/2 frames in answer to HTTP/1.1
	clueUnknownCA          // certificate of an authority that is not trusted
	clueExpired            // certificate outside its validity
	clueWrongName          // certificate of another name
	clueClientCert         // the backend asks for a client certificate
	clueMissingCA          // the named CA is not configured
	clueOtherProtocol      // another protocol's greeting
	clueNoConnection       // the connection was not answered at all
	clueSilence            // connected, then nothing
)

// noPhases are the phases of a probe that reached nothing.
func noPhases() route.Phases {
	return route.Phases{DNS: -1, Connect: -1, TLS: -1, FirstByte: -1, Body: -1}
}

// misconfigured is the result of a probe that cannot be made as configured.
func misconfigured(message string, c clue) Result {
	return Result{Kind: route.KindConfigError, Message: message, Phases: noPhases(), clue: c}
}

// stopwatch measures the phases of a probe.
type stopwatch struct{ last time.Time }

// lap returns the time since the last one.
func (s *stopwatch) lap() time.Duration {
	now := time.Now()
	d := now.Sub(s.last)
	s.last = now
	return d
}
