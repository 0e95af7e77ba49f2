package proxy

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// refuse answers a request ourselves. The body is short and says nothing about
// what is behind the router.
func (p *Proxy) refuse(x *exchange.Exchange, reason route.Reason) { p.refuseFor(x, reason, 0) }

// refuseFor is refuse with what is known of when it is worth trying again, 0 for nothing.
func (p *Proxy) refuseFor(x *exchange.Exchange, reason route.Reason, wait time.Duration) {
	x.Reason = reason
	info := reason.Info()
	if reason == route.ReasonClientGone {
		x.Status = info.Status
		p.count(x, 0)
		x.Response.Abort()
		return
	}
	status := statusFor(x, reason)
	var fields []field
	if info.Heals && (status == 503 || status == info.Status) {
		fields = append(fields, field{"Retry-After", strconv.Itoa(retryAfter(x, reason, wait))})
	}
	p.answer(x, status, reason, fields)
}

// statusFor is the status of a reason; noBackendStatus decides where nothing may serve.
// gRPC clients read grpc-status and WebSocket clients the handshake, so that both get
// what they understand.
func statusFor(x *exchange.Exchange, reason route.Reason) int {
	if x.Route == nil || isGRPC(x) || upgrades(x) {
		return reason.Info().Status
	}
	return x.Route.Entrypoint.Options.StatusFor(reason)
}

// retryAfter is the whole seconds after which a client should try again, 1 to 30: when
// the circuit breaker lets a trial through, when a probe may change the rotation, and at
// once where it is only a question of load.
func retryAfter(x *exchange.Exchange, reason route.Reason, wait time.Duration) int {
	switch reason {
	case route.ReasonCircuitOpen:
		return int(min(max((wait+time.Second-1)/time.Second, 1), 30))
	case route.ReasonOverloaded, route.ReasonQueueFull:
		return 1
	default:
	}
	if x.Route == nil {
		return 1
	}
	return x.Route.Cell.RetryAfter(time.Now())
}

// count notes a request where its entrypoint's traffic is counted. It is called once
// for each, with the status that the client gets, 0 for none.
func (p *Proxy) count(x *exchange.Exchange, status int) {
	traffic := &p.unrouted
	if x.Route != nil {
		traffic = &x.Route.Cell.Traffic
	}
	traffic.Note(status, time.Since(x.Began))
}

// Unrouted returns what counts the requests that no route took.
func (p *Proxy) Unrouted() *route.Traffic { return &p.unrouted }

// field is one header field of an answer of ours.
type field struct{ name, value string }

// answer writes a whole response of the router itself, the origin of which it is
// (so it has a Date, RFC 9110 section 6.6.1).
func (p *Proxy) answer(x *exchange.Exchange, status int, reason route.Reason, fields []field) {
	x.Status = status
	p.count(x, status)
	fields = append(fields, field{"Date", time.Now().UTC().Format(dateFormat)}, field{"Cache-Control", "no-store"})
	if reason != route.ReasonNone {
		x.Reason = reason
		fields = append(fields, field{"Proxy-Status", proxyStatus(reason)}) // RFC 9209 section 2
	}
	if isGRPC(x) && reason != route.ReasonNone {
		p.answerGRPC(x, reason, fields)
		return
	}
	var body string
	if status >= 400 {
		var kind string
		body, kind = publicBody(x, status)
		fields = append(fields, field{"Content-Type", kind})
	}
	fields = append(fields, field{"Content-Length", strconv.Itoa(len(body))})
	x.Response.Head(status, nil, allOf(fields))
	if x.Verb != "HEAD" && body != "" {
		_, _ = x.Response.Write([]byte(body))
		x.Sent = int64(len(body))
	}
}

// dateFormat is IMF-fixdate (RFC 9110 section 5.6.7).
const dateFormat = "Mon, 02 Jan 2006 15:04:05 GMT"

func allOf(fields []field) func(add func(name, value string)) {
	return func(add func(name, value string)) {
		for _, f := range fields {
			add(f.name, f.value)
		}
	}
}

func proxyStatus(reason route.Reason) string {
	return "fairlead; error=" + reason.Info().Error + "; details=\"" + string(reason) + "\""
}

// isGRPC reports whether the client reads trailers-only answers: gRPC is always POST
// over HTTP/2. Anything else that calls itself gRPC gets the status.
func isGRPC(x *exchange.Exchange) bool {
	return x.Header != nil && x.Major >= 2 && x.Verb == "POST" && strings.HasPrefix(x.Header.Get("Content-Type"), "application/grpc")
}

// answerGRPC is a trailers-only response: gRPC clients read nothing else.
func (p *Proxy) answerGRPC(x *exchange.Exchange, reason route.Reason, fields []field) {
	fields = append(fields,
		field{"Content-Type", "application/grpc"},
		field{"Grpc-Status", grpcStatus(reason.Info().Status)},
		field{"Grpc-Message", "fairlead: " + string(reason)})
	x.Response.Head(200, nil, allOf(fields))
}

// grpcStatus maps an HTTP status as the gRPC documentation does
// (http-grpc-status-mapping): 14 is UNAVAILABLE.
func grpcStatus(status int) string {
	switch status {
	case 400, 431:
		return "13" // INTERNAL
	case 401:
		return "16" // UNAUTHENTICATED
	case 403:
		return "7" // PERMISSION_DENIED
	case 404:
		return "12" // UNIMPLEMENTED
	}
	return "14"
}

// statusText are the words of the answers we give.
func statusText(status int) (title, advice string) {
	switch status {
	case 400:
		return "Bad Request", "The request is malformed."
	case 401:
		return "Unauthorized", "This address needs a login."
	case 403:
		return "Forbidden", "Access to this address is not allowed."
	case 404:
		return "Not Found", "There is no site at this address."
	case 405:
		return "Method Not Allowed", "This method is not supported."
	case 408:
		return "Request Timeout", "The request took too long to arrive."
	case 413:
		return "Content Too Large", "The request is too large."
	case 429:
		return "Too Many Requests", "Too many requests came from your address. Please wait a little."
	case 431:
		return "Request Header Fields Too Large", "The request line or the headers of the request are longer than this server accepts."
	case 500:
		return "Internal Server Error", "The request could not be served."
	case 502:
		return "Bad Gateway", "The site did not answer properly."
	case 503:
		return "Service Unavailable", "The site cannot be reached at the moment. Please try again."
	case 504:
		return "Gateway Timeout", "The site took too long to answer."
	}
	return "Error", "The request could not be served."
}

// publicBody is a sentence, or a small page for browsers.
func publicBody(x *exchange.Exchange, status int) (body, contentType string) {
	title, advice := statusText(status)
	if x.Header == nil || !strings.Contains(x.Header.Get("Accept"), "text/html") {
		return fmt.Sprintf("%d %s\n%s\n", status, title, advice), "text/plain; charset=utf-8"
	}
	title, advice = html.EscapeString(title), html.EscapeString(advice)
	page := fmt.Sprintf("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"+
		"<title>%d %s</title>\n<h1>%d %s</h1>\n<p>%s</p>\n</html>\n", status, title, status, title, advice)
	return page, "text/html; charset=utf-8"
}
