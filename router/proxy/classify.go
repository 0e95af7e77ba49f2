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
// health engine.
func failed(c *call, err error) *failure {
	f := &failure{kind: kindOf(err, route.KindHTTPError)}
	client, cause := c.body.failure(), context.Cause(c.ctx)
	var dial *dialError
	switch {
	case errors.Is(cause, errStopped): // it may end what the client sends, too
		f.reason, f.ours = route.ReasonBackendClosed, true
	case client != nil: // it also ends the client's context
		f.reason, f.ours = clientReason(client), true
	case c.x.Context.Err() != nil:
		f.reason, f.ours = route.ReasonClientGone, true
	case errors.Is(cause, errBackendTimeout):
		f.reason, f.kind = route.ReasonBackendTimeout, route.KindTimeout
	case errors.Is(cause, errRetired): // cut by us; with a connection the backend had the request
		f.reason, f.kind, f.ours, f.unsent = route.ReasonBackendClosed, route.KindLeaving, true, !c.conn.got
	case errors.As(err, &dial):
		f.unsent, f.kind, f.reason = true, dial.kind, dialReason(dial)
		f.ours = dial.kind == route.KindLocalError || dial.kind == route.KindLeaving
	case unprocessed(err):
		f.reason, f.kind, f.ours = route.ReasonBackendClosed, route.KindLeaving, true
		_, f.unsent = c.body.take()
	case strings.HasPrefix(err.Error(), "net/http: invalid "): // the request, before anything was sent
		f.reason, f.ours = route.ReasonBadRequest, true
	default:
		f.reason = answerReason(err)
		f.refused = f.reason == route.ReasonBackendClosed && (c.body.unfinished() || c.conn.conn != nil && c.conn.conn.broke.Load())
		switch {
		case f.reason == route.ReasonTLSFailed:
			f.kind = route.KindTLSFailure
		case f.reason != route.ReasonBackendClosed && f.kind == route.KindHTTPError:
			f.kind = route.KindProtocolError
		}
	}
	return f
}

// bodyKind classifies an error of a response body.
func bodyKind(c *call, err error) route.Kind {
	if errors.Is(context.Cause(c.ctx), errBodyIdle) {
		return route.KindTimeout
	}
	return kindOf(err, route.KindHTTPError)
}

// clientReason judges an error of reading the client's request body.
func clientReason(err error) route.Reason {
	switch {
	case kindOf(err, route.KindOther) == route.KindTimeout:
		return route.ReasonClientTimeout
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return route.ReasonClientGone
	}
	return route.ReasonBadRequest
}

// closedByBackend reports whether the backend ended the connection.
func closedByBackend(err error) bool {
	var dial *dialError
	return !errors.As(err, &dial) && answerReason(err) == route.ReasonBackendClosed
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

// errHeadTooLong is a response head beyond the limit.
var errHeadTooLong = errors.New("the backend's response head exceeds the router's limit for response headers")

// What net/http says of HTTP/2. Its errors have no types to match, or lose them where it
// adds that it cannot send a body again.
const (
	textGoAway      = "http2: Transport received Server's graceful shutdown GOAWAY" // and the stream is beyond its last one
	textGoAwayFirst = "http2: Transport received GOAWAY from server ErrCode:"       // the same of a connection's first stream, with an error
	textRefused     = "; REFUSED_STREAM; received from peer"
	textGoAwayEnd   = "http2: server sent GOAWAY and closed the connection" // with debug data of the backend
	textForceClosed = "http2: client connection force closed"               // as a write on it failed
	textConnClosed  = "http2: client conn is closed"
)

// unprocessed reports whether a backend says that it did nothing with a request, so that it
// may be sent again whatever its method (RFC 9113 sections 6.8 and 8.7).
func unprocessed(err error) bool {
	if errors.Is(err, errNotProcessed) {
		return true
	}
	text := err.Error()
	return !strings.Contains(text, textGoAwayEnd) &&
		(strings.Contains(text, textGoAway) || strings.Contains(text, textGoAwayFirst) || strings.Contains(text, textRefused))
}

// answerReason judges an error after the request was sent. The texts are those of
// net/http, which has no types for them.
func answerReason(err error) route.Reason {
	text := err.Error()
	switch {
	case errors.Is(err, errHeadTooLong), strings.Contains(text, "response headers exceeded"):
		return route.ReasonResponseTooLong
	case strings.Contains(text, "remote error: tls: "): // TLS 1.3 refuses a client certificate after the handshake
		return route.ReasonTLSFailed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), strings.Contains(text, "server closed"), strings.Contains(text, "EOF"),
		strings.Contains(text, textGoAwayEnd), strings.Contains(text, textForceClosed), strings.Contains(text, textConnClosed):
		return route.ReasonBackendClosed
	}
	return route.ReasonBadResponse
}
