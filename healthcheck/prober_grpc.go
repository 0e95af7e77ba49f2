package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fairlead/router/route"
)

// grpcProber asks grpc.health.v1.Health by HTTP/2 on a connection of its own: in the
// clear (h2c) or by TLS.
type grpcProber struct {
	links *links
	agent string
}

// grpcMethod is the path of the health service's unary method.
const grpcMethod = "/grpc.health.v1.Health/Check"

// Probe implements Prober.
func (p *grpcProber) Probe(ctx context.Context, target Target, spec *Spec) Result {
	c := &spec.Check
	call := &h2Call{scheme: string(c.Scheme), authority: c.Host, path: grpcMethod, body: grpcFrame(healthRequest(c.GRPCService))}
	if err := call.prepare(p.agent, c.Headers); err != nil {
		return misconfigured(err.Error(), clueNone)
	}
	secure, wrong := p.links.configFor(spec, alpnHTTP2)
	if wrong != nil {
		return misconfigured(wrong.message, wrong.clue)
	}
	watch := startWatch()
	conn, r := p.links.open(ctx, target, spec, secure, watch)
	if conn == nil {
		return r
	}
	defer func() { _ = conn.Close() }()
	call.show(r.Exchange)
	if secure != nil && conn.secure.ConnectionState().NegotiatedProtocol != alpnHTTP2 {
		return r.fail(verdict{kind: route.KindProtocolError, message: "the backend speaks TLS, but did not agree on HTTP/2 (ALPN h2)", clue: clueALPN})
	}
	a, err := call.do(conn, func() { r.Phases.FirstByte = watch.lap() })
	if r.Phases.FirstByte >= 0 && err == nil {
		r.Phases.Body = watch.lap()
	}
	r.Status, r.GRPC = a.status, a.grpcStatus
	a.show(r.Exchange)
	if err != nil {
		return r.fail(conn.classifyH2(err))
	}
	return r.judgeGRPC(a, c.GRPCService)
}

// classifyH2 says what an error of an HTTP/2 exchange means.
func (l *link) classifyH2(err error) verdict {
	var malformed *protocolError
	var failed *h2Failure
	switch {
	case errors.As(err, &malformed):
		return malformed.verdict()
	case errors.As(err, &failed):
		return verdict{kind: route.KindGRPCError, message: failed.message}
	}
	return l.classify(err, phaseRead)
}

// judgeGRPC says what a complete answer means.
func (r Result) judgeGRPC(a *h2Answer, service string) Result {
	v := verdict{kind: route.KindGRPCError}
	switch {
	case a.status != statusOK:
		v.kind, v.message = route.KindBadStatus, fmt.Sprintf("answered HTTP %d instead of gRPC", a.status)
	case !isGRPC(a.contentType):
		v.kind, v.message, v.clue = route.KindProtocolError, "answered HTTP/2, but not gRPC", clueNotGRPC
	case a.grpcStatus < 0:
		v.message = "the answer ended without a grpc-status"
	case a.grpcStatus == grpcUnimplemented:
		v.kind, v.message = route.KindGRPCUnimplemented, "the server has no service grpc.health.v1.Health (grpc-status 12, UNIMPLEMENTED)"
	case a.grpcStatus == grpcNotFound:
		v.message, v.clue = fmt.Sprintf("the health service does not know %s (grpc-status 5, NOT_FOUND)", named(service)), clueGRPCService
	case a.grpcStatus != 0:
		v.message = "answered " + grpcStatusText(a.grpcStatus)
	default:
		return r.judgeServing(a.body, service)
	}
	return r.fail(v)
}

// judgeServing says what the health service's word means.
func (r Result) judgeServing(body []byte, service string) Result {
	const (
		unknown        = 0
		serving        = 1
		notServing     = 2
		serviceUnknown = 3
	)
	message, err := grpcMessage(body)
	var status uint64
	if err == nil {
		status, err = servingStatus(message)
	}
	v := verdict{kind: route.KindGRPCNotServing}
	switch {
	case err != nil:
		v.kind, v.message = route.KindProtocolError, err.Error()
	case status == serving:
		r.OK, r.Message = true, named(service)+" is SERVING"
		return r
	case status == notServing:
		v.message = named(service) + " is NOT_SERVING"
	case status == unknown:
		v.message = "the state of " + named(service) + " is UNKNOWN"
	case status == serviceUnknown:
		v.message, v.clue = "the health service does not know "+named(service)+" (SERVICE_UNKNOWN)", clueGRPCService
	default:
		v.kind, v.message = route.KindGRPCError, fmt.Sprintf("the health service answered the state %d, which does not exist", status)
	}
	return r.fail(v)
}

func named(service string) string {
	if service == "" {
		return "the server"
	}
	return fmt.Sprintf("%q", service)
}

// isGRPC reports whether a content type is that of gRPC: application/grpc, +proto, ...
func isGRPC(contentType string) bool {
	rest, found := strings.CutPrefix(strings.ToLower(contentType), "application/grpc")
	return found && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// Codes of grpc-status that mean something of their own here.
const (
	grpcNotFound      = 5
	grpcUnimplemented = 12
)

// grpcStatusText names a status code of gRPC, 1 to 16.
func grpcStatusText(code int) string {
	names := [...]string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
		"UNAUTHENTICATED",
	}
	if code < len(names) {
		return fmt.Sprintf("grpc-status %d (%s)", code, names[code])
	}
	return fmt.Sprintf("grpc-status %d, which does not exist", code)
}
