package healthcheck

import (
	"cmp"
	"fmt"

	"fairlead/router/route"
)

// hint says what to do about a placement: about what keeps it out, and about its failing
// probes, or about a check that sees too little. "" when nothing is wrong.
func hint(p *placement) string {
	text := cmp.Or(p.gatedHint(), p.stormHint())
	if p.shown == route.StateEjected || p.shown == route.StateTrial {
		text = p.ejectedHint()
	}
	switch probes := probeHint(p); {
	case probes == "", probes == text:
		return text
	case text == "":
		return probes
	default:
		return also(text, probes)
	}
}

// gatedHint is the command that shows why Docker's word keeps a placement out.
func (p *placement) gatedHint() string {
	c := p.backend().Container
	if p.state() != route.StateGated || c == nil {
		return ""
	}
	return "docker inspect --format '{{json .State.Health}}' " + c.Name + " shows what its HEALTHCHECK printed"
}

// ejectedHint says what to look at after an ejection, or that it was an order.
func (p *placement) ejectedHint() string {
	if p.passive == nil {
		return ""
	}
	_, s := p.passive.now()
	switch {
	case s.ordered:
		return "fairlead uneject " + p.entry.id + " " + p.backend().ID + " brings it back at once"
	default:
		return s.last.hint(logs(p.backend()))
	}
}

// probeHint says what to do about a placement's failing probes, or the requests that count
// as such; "" when none fails.
func probeHint(p *placement) string {
	if p.check == nil || p.active.streak == 0 {
		return ""
	}
	if f := p.active.request; f != nil {
		return f.hint(logs(p.backend()))
	}
	text := advice(&complaint{
		kind: p.active.kind, clue: p.active.clue, status: p.active.answered, check: &p.check.spec.Check, trafficPort: p.backend().Port,
		log: logs(p.backend()),
	})
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

// complaint is a failure of a probe, as far as advice depends on it.
type complaint struct {
	kind        route.Kind
	clue        clue
	status      int // HTTP status, 0 without one
	check       *route.Check
	trafficPort uint16
	log         string // where the application's log is; "" is not known
}

// advice says what to do about a failure, "" when nothing in particular.
func advice(f *complaint) string {
	if text := clueHint(f.clue, f.check); text != "" {
		return text
	}
	return f.kindHint()
}

// clueHint is the advice that one seen fact is enough for.
func clueHint(c clue, check *route.Check) string {
	switch c {
	case clueTLSAnswer:
		return "the port speaks TLS: set scheme=https, or healthCheck.scheme=https for the probe alone"
	case cluePlainAnswer:
		return "the port speaks plain HTTP: set scheme=http, or probe the TLS port"
	case clueUnknownCA:
		return "set backendTLS.ca to the name of the authority in the configuration, or backendTLS.insecureSkipVerify=true"
	case clueExpired:
		return "renew the backend's certificate"
	case clueWrongName:
		return "set backendTLS.serverName to a name that the certificate holds, or healthCheck.sni for the probe alone"
	case clueClientCert:
		return "the backend asks for a client certificate: set backendTLS.clientCert to the name of one that it trusts, or probe a port that asks for none"
	case clueMissingCA:
		return "backendTLS.ca names an authority that is not in the configuration (W109): add it there, or correct the label"
	case clueMissingCert:
		return "add the client certificate to the configuration, or correct backendTLS.clientCert"
	case clueNoConnection:
		return "packets get lost: do the router and the container share a network?"
	case clueSilence:
		return "the backend accepts the connection and says nothing: is the application stuck, or healthCheck.timeout too short?"
	default:
		return protocolHint(c, check)
	}
}

// protocolHint is the advice about a port that speaks something else than the probe.
func protocolHint(c clue, check *route.Check) string {
	switch c {
	case clueHTTP2:
		return httpTwoOnly
	case clueALPN:
		switch check.Type {
		case route.ProbeGRPC:
			return "the port speaks TLS without HTTP/2, which gRPC needs: correct healthCheck.port, or turn HTTP/2 on in the server"
		case route.ProbeTLS:
			return "the port speaks TLS, but none of the traffic's protocols: correct port or healthCheck.port"
		default:
			return httpTwoOnly
		}
	case clueHTTP1:
		return "the port speaks HTTP/1.1, and gRPC needs HTTP/2: correct healthCheck.port, or set healthCheck.type=http with a path"
	case clueNotGRPC:
		return "the port speaks HTTP/2 and no gRPC: correct healthCheck.port, or set healthCheck.type=tcp"
	case clueGRPCService:
		return "correct healthCheck.grpcService, or remove it to ask for the server as a whole"
	case clueOtherProtocol:
		if check.Type != route.ProbeHTTP {
			return "the port belongs to another service: correct port or healthCheck.port, or set healthCheck.type=tcp"
		}
		return "the port belongs to another service: correct port or healthCheck.port, or remove healthCheck.path to probe by TCP"
	default:
		return ""
	}
}

const httpTwoOnly = "the port speaks HTTP/2 only: remove healthCheck.path to probe by TCP, set healthCheck.type=grpc for gRPC, or healthCheck.port to one that speaks HTTP/1.1"

const ownLog = "its own log"

// ownError is the advice for an answer by which the application itself says that it
// cannot serve.
func (f *complaint) ownError() string {
	return fmt.Sprintf("the application itself answers the check with %d: %s says why", f.status, cmp.Or(f.log, ownLog))
}

// kindHint is the advice for a kind, with the check's own settings in it.
func (f *complaint) kindHint() string {
	c := f.check
	switch f.kind {
	case route.KindBadStatus:
		if f.status >= 500 && c.Type != route.ProbeGRPC {
			return f.ownError()
		}
		return statusHint(f.status, c)
	case route.KindWebSocketRefused:
		if f.status >= 500 {
			return f.ownError()
		}
		return upgradeHint(f.status, c)
	case route.KindHTTPError, route.KindConnectionReset:
		return "the application ends the connection without an answer: " + cmp.Or(f.log, ownLog) + " may say why; correct healthCheck.port if the port belongs to another service"
	case route.KindRedirectBlocked:
		return "only redirects to the same host and port are followed, at most 3: set healthCheck.path to where they lead, or accept 3xx in healthCheck.status without healthCheck.followRedirects"
	case route.KindBadBody:
		return "look at the body with fairlead probe or curl, and correct healthCheck.body.contains or healthCheck.body.regex"
	case route.KindGRPCUnimplemented:
		return "register the health service grpc.health.v1.Health in the server, or set healthCheck.type=tcp"
	case route.KindGRPCNotServing:
		return "the application itself reports this: its own log says why"
	case route.KindConnectionRefused:
		if c.Port != f.trafficPort {
			return fmt.Sprintf("nothing listens on healthCheck.port %d (traffic goes to %d): correct or remove healthCheck.port", c.Port, f.trafficPort)
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
	if c.Type == route.ProbeGRPC {
		return "something in front of the gRPC server answered, or the port speaks no gRPC: correct healthCheck.port or healthCheck.host"
	}
	switch status {
	case 400, 421:
		return fmt.Sprintf("the application may refuse the Host %q: set healthCheck.host to a name that it serves", c.Host)
	case 301, 302, 303, 307, 308:
		return "the path redirects, and redirects are judged as they are: accept 3xx in healthCheck.status, set healthCheck.path to the target, or healthCheck.followRedirects=true"
	case 401, 403:
		return "the path wants credentials: set healthCheck.headers.Authorization, or choose a path that is open"
	case 404, 410:
		return "the application has no such path: correct healthCheck.path"
	case 405:
		return "the path does not take " + c.Method + ": set healthCheck.method, or choose another healthCheck.path"
	case 429:
		return "the application limits the probes: raise healthCheck.interval"
	}
	return ""
}

// upgradeHint is the advice for a WebSocket that was not opened.
func upgradeHint(status int, c *route.Check) string {
	switch status {
	case 101:
		return "something between the router and the application answers for it, or the path is no WebSocket: correct healthCheck.path"
	case 401:
		return "the path wants credentials: set healthCheck.headers.Authorization"
	case 403:
		return "the application may refuse the Origin or the Host: set healthCheck.headers.Origin or healthCheck.host"
	case 404, 410:
		return fmt.Sprintf("the application has no WebSocket at %s: correct healthCheck.path", redactQuery(c.Path))
	}
	return fmt.Sprintf("the path %s is no WebSocket: correct healthCheck.path, or set healthCheck.type=http", redactQuery(c.Path))
}
