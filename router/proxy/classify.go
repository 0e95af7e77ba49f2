package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"fairlead/router/route"
)

// kindOf classifies a transport error; fallback is used where no finer kind fits.
func kindOf(err error, fallback route.Kind) route.Kind {
	var timeout net.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return route.KindTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return route.KindConnectionRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return route.KindConnectionReset
	case errors.Is(err, syscall.EHOSTUNREACH):
		return route.KindNoRouteToHost
	case errors.Is(err, syscall.ENETUNREACH):
		return route.KindNetworkUnreachable
	case errors.Is(err, syscall.EHOSTDOWN):
		return route.KindHostUnreachable
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EADDRNOTAVAIL):
		return route.KindLocalError
	case errors.As(err, &dns):
		return route.KindDNSFailure
	}
	return fallback
}

// failed turns an error of a contact into what is told to the client and to the
// health engine. body is the error of reading the client's body, if that was it.
func failed(c *call, client context.Context, body, err error) *failure {
	f := &failure{err: err, kind: kindOf(err, route.KindHTTPError)}
	var dial *dialError
	switch {
	case client.Err() != nil:
		f.reason, f.ours = route.ReasonClientGone, true
	case body != nil && kindOf(body, route.KindOther) == route.KindTimeout:
		f.reason, f.ours = route.ReasonClientTimeout, true
	case body != nil:
		f.reason, f.ours = route.ReasonBadRequest, true
	case errors.Is(context.Cause(c.ctx), errBackendTimeout):
		f.reason, f.kind = route.ReasonBackendTimeout, route.KindTimeout
	case errors.Is(context.Cause(c.ctx), errRetired):
		f.reason, f.ours = route.ReasonLeaving, true
	case errors.As(err, &dial):
		f.unsent, f.kind, f.reason = true, dial.kind, dialReason(dial)
		f.ours = dial.kind == route.KindLocalError
	default:
		f.reason = answerReason(err)
	}
	return f
}

func dialReason(e *dialError) route.Reason {
	switch {
	case e.kind == route.KindTimeout:
		return route.ReasonConnectTimeout
	case e.tls:
		return route.ReasonTLSFailed
	case e.kind == route.KindConnectionRefused:
		return route.ReasonConnectRefused
	}
	return route.ReasonConnectFailed
}

// answerReason judges an error after the request was sent. The texts are those of
// net/http, which has no types for them.
func answerReason(err error) route.Reason {
	text := err.Error()
	switch {
	case strings.Contains(text, "response headers exceeded"):
		return route.ReasonResponseTooLong
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), strings.Contains(text, "server closed"), strings.Contains(text, "EOF"):
		return route.ReasonBackendClosed
	}
	return route.ReasonBadResponse
}
