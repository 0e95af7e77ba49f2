package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
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
	// ALPN are the protocols that a tls probe offers: those of the traffic.
	ALPN []string
	// Detailed asks for Result.Exchange. A detailed probe sends and judges the same.
	Detailed bool

	body *regexp.Regexp // of Check.BodyRegex, nil without one
	flaw string         // why the probe cannot be made, "" when it can
}

// methodHead is the method whose answer has no body.
const methodHead = "HEAD"

// newSpec makes the spec of a normalized check on a backend.
func newSpec(c *route.Check, b *route.Backend) Spec {
	s := Spec{Check: *c, ServerName: serverName(c, b), ALPN: trafficALPN(b)}
	if c.Type != route.ProbeHTTP || c.BodyContains == "" && c.BodyRegex == "" {
		return s
	}
	if c.Method == methodHead {
		s.flaw = "an answer to HEAD has no body to look into"
	}
	if c.BodyRegex != "" {
		re, err := regexp.Compile(c.BodyRegex)
		if err != nil {
			s.flaw = "the expression for the body is not valid: " + plain(err)
		}
		s.body = re
	}
	return s
}

// trafficALPN are the protocols that traffic offers on TLS.
func trafficALPN(b *route.Backend) []string {
	if b.Scheme != route.SchemeHTTPS {
		return nil
	}
	return []string{alpnHTTP1}
}

// Names of protocols on TLS (RFC 7301).
const (
	alpnHTTP1 = "http/1.1"
	alpnHTTP2 = "h2"
)

// Result is what one probe saw. Message is a phrase for people; it holds neither
// header nor query values.
type Result struct {
	OK      bool
	Kind    route.Kind // "" when OK
	Message string
	Status  int    // 0 without one
	GRPC    int    // grpc-status, -1 without one
	Remote  string // the address dialled, "" when none was
	Phases  route.Phases
	// Exchange is what went over the wire; nil unless Spec.Detailed.
	Exchange *route.ProbeExchange
	clue     clue
}

// newResult is the result of a probe that has reached nothing yet.
func newResult() Result { return Result{GRPC: -1, Phases: noPhases()} }

// seen is the result as others are told it.
func (r *Result) seen(at time.Time, duration time.Duration) *route.ProbeResult {
	return &route.ProbeResult{
		At: at, OK: r.OK, Kind: r.Kind, Message: r.Message, Status: r.Status, GRPC: r.GRPC, Remote: r.Remote,
		Duration: duration, Phases: r.Phases,
	}
}

// timed judges a result's time: what comes after the deadline is a timeout, whatever
// it says. cause is that of the end of the probe's context, nil while it has not ended.
func (r Result) timed(took, timeout time.Duration, cause error) Result {
	late := took > timeout || !r.OK && errors.Is(cause, errProbeDeadline)
	if late && r.Kind != route.KindLocalError && r.Kind != route.KindTimeout {
		r.OK, r.Kind, r.clue = false, route.KindTimeout, clueNone
		r.Message = "no answer in time"
	}
	if r.Kind == route.KindTimeout {
		r.Message += " (" + short(timeout) + ")"
	}
	if !r.OK && r.Kind == route.KindNone {
		r.Kind = route.KindOther
	}
	return r
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
	clueMissingCert        // the named client certificate is not configured
	clueALPN               // no protocol in common on TLS
	clueHTTP1              // HTTP/1.x in answer to HTTP/2
	clueNotGRPC            // HTTP/2 that is not gRPC
	clueGRPCService        // the health service does not know the service
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
	return newResult().fail(verdict{kind: route.KindConfigError, message: message, clue: c})
}

// question is what a check asks of an address, for people.
func question(c *route.Check, address string) string {
	secure := c.Scheme == route.SchemeHTTPS
	switch c.Type {
	case route.ProbeHTTP:
		return fmt.Sprintf("%s %s://%s%s", c.Method, c.Scheme, address, redactQuery(c.Path))
	case route.ProbeWebSocket:
		scheme := "ws"
		if secure {
			scheme = "wss"
		}
		return fmt.Sprintf("WebSocket %s://%s%s", scheme, address, redactQuery(c.Path))
	case route.ProbeGRPC:
		text := "gRPC health of " + named(c.GRPCService) + " at " + address
		if secure {
			text += " by TLS"
		}
		return text
	default:
		return strings.ToUpper(string(c.Type)) + " " + address
	}
}

// newProbers returns the probers of all types, over one dialer.
func newProbers(cfg *Config) map[route.ProbeType]Prober {
	l := &links{
		dialer: &dialer{dial: cfg.Dial, resolve: cfg.Resolve, loopback: cfg.AllowLoopback, linkLocal: cfg.AllowLinkLocal},
		cas:    cfg.CAs,
		certs:  cfg.ClientCerts,
	}
	agent := "fairlead-health/" + cfg.Version
	return map[route.ProbeType]Prober{
		route.ProbeTCP:       &tcpProber{dialer: l.dialer},
		route.ProbeTLS:       &tlsProber{links: l},
		route.ProbeHTTP:      &httpProber{links: l, agent: agent},
		route.ProbeGRPC:      &grpcProber{links: l, agent: agent},
		route.ProbeWebSocket: &webSocketProber{links: l, agent: agent},
	}
}

// stopwatch measures the phases of a probe.
type stopwatch struct{ last time.Time }

func startWatch() *stopwatch { return &stopwatch{last: time.Now()} }

// lap returns the time since the last one.
func (s *stopwatch) lap() time.Duration {
	now := time.Now()
	d := now.Sub(s.last)
	s.last = now
	return d
}
