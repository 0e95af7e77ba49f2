package healthcheck

import (
	"fmt"

	"fairlead/router/route"
)

// hint says what to do about a placement's failing probes, "" when none fails.
func hint(p *placement) string {
	if p.check == nil || p.active.streak == 0 {
		return ""
	}
	text := clueHint(p.active.clue)
	if text == "" {
		text = p.kindHint()
	}
	if p.suspicious() {
		text = also(text, fmt.Sprintf("over %d real requests succeeded meanwhile, so the check itself is probably wrong", enoughProof))
	}
	if _, alike := p.entry.sameFailure(); alike {
		text = also(text, "all backends of the route fail alike, so suspect the configuration first")
	}
	return text
}

// also joins two pieces of advice.
func also(text, more string) string {
	if text == "" {
		return more
	}
	return text + " - " + more
}

// clueHint is the advice that one seen fact is enough for.
func clueHint(c clue) string {
	switch c {
	case clueTLSAnswer:
		return "the port speaks TLS: set scheme=https"
	case cluePlainAnswer:
		return "the port speaks plain HTTP: set scheme=http, or probe the TLS port"
	case clueHTTP2:
		return "the port speaks HTTP/2 only: remove healthCheck.path to probe by TCP, or set healthCheck.port to one that speaks HTTP/1.1"
	case clueUnknownCA:
		return "set backendTLS.ca to the name of the authority in the configuration, or backendTLS.insecureSkipVerify=true"
	case clueExpired:
		return "renew the backend's certificate"
	case clueWrongName:
		return "set backendTLS.serverName to a name that the certificate holds"
	case clueClientCert:
		return "the backend asks for a client certificate: set healthCheck.port to a port that does not, or remove healthCheck.path"
	case clueMissingCA:
		return "add the authority to the configuration, or correct backendTLS.ca"
	case clueOtherProtocol:
		return "the port belongs to another service: correct port or healthCheck.port, or remove healthCheck.path to probe by TCP"
	case clueNoConnection:
		return "packets get lost: do the router and the container share a network?"
	case clueSilence:
		return "the backend accepts the connection and says nothing: is the application stuck, or healthCheck.timeout too short?"
	default:
		return ""
	}
}

// kindHint is the advice for a kind, with the check's own settings in it.
func (p *placement) kindHint() string {
	c, b := &p.check.spec.Check, p.backend()
	switch p.active.kind {
	case route.KindBadStatus:
		return statusHint(p.active.answered, c)
	case route.KindConnectionRefused:
		if c.Port != b.Port {
			return fmt.Sprintf("nothing listens on healthCheck.port %d (traffic goes to %d): correct or remove healthCheck.port", c.Port, b.Port)
		}
		return fmt.Sprintf("nothing listens on port %d: is the application up, and does it listen on 0.0.0.0 rather than 127.0.0.1?", c.Port)
	case route.KindNoRouteToHost, route.KindHostUnreachable, route.KindNetworkUnreachable:
		return "the address does not answer: is the container still there, and does the router share a network with it?"
	case route.KindDNSFailure:
		return "correct the backend's name, or see that the router's resolver knows it"
	case route.KindProbeBlocked:
		return "give the backend an address of its own; healthCheck.allowLoopback or healthCheck.allowLinkLocal in the configuration permit more"
	default:
		return ""
	}
}

// statusHint is the advice for a status that was not accepted.
func statusHint(status int, c *route.Check) string {
	switch status {
	case 400, 421:
		return fmt.Sprintf("the application may refuse the Host %q: set healthCheck.host to a name that it serves", c.Host)
	case 301, 302, 303, 307, 308:
		return "the path redirects, and redirects are judged as they are: accept 3xx in healthCheck.status, or set healthCheck.path to the target"
	case 401, 403:
		return "the path wants credentials: set healthCheck.headers.Authorization, or choose a path that is open"
	case 404, 410:
		return "the application has no such path: correct healthCheck.path"
	case 405:
		return "the path does not take " + c.Method + ": choose another healthCheck.path"
	case 429:
		return "the application limits the probes: raise healthCheck.interval"
	}
	return ""
}
