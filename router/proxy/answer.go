package proxy

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// refuse answers a request ourselves. The body is short and says nothing about
// what is behind the router.
func (p *Proxy) refuse(x *exchange.Exchange, reason route.Reason) {
	x.Reason = reason
	info := reason.Info()
	if reason == route.ReasonClientGone {
		x.Status = info.Status
		x.Response.Abort()
		return
	}
	var fields []field
	if info.Heals {
		fields = append(fields, field{"Retry-After", strconv.Itoa(retryAfter(x))})
	}
	p.answer(x, info.Status, reason, fields)
}

func retryAfter(x *exchange.Exchange) int {
	if x.Route == nil {
		return 1
	}
	return x.Route.Cell.RetryAfter(now())
}

// field is one header field of an answer of ours.
type field struct{ name, value string }

// answer writes a whole response of the router itself.
func (p *Proxy) answer(x *exchange.Exchange, status int, reason route.Reason, fields []field) {
	x.Status = status
	if reason != route.ReasonNone {
		// RFC 9209 section 2.
		fields = append(fields, field{"Proxy-Status", proxyStatus(reason)})
	}
	if isGRPC(x) && reason != route.ReasonNone {
		p.answerGRPC(x, reason, fields)
		return
	}
	body, kind := publicBody(x, status)
	fields = append(fields, field{"Content-Type", kind}, field{"Content-Length", strconv.Itoa(len(body))}, field{"Cache-Control", "no-store"})
	if status == 200 {
		body, fields = "", []field{{"Content-Length", "0"}, {"Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"}}
	}
	x.Response.Head(status, int64(len(body)), nil, func(add func(name, value string)) {
		for _, f := range fields {
			add(f.name, f.value)
		}
	})
	if x.Verb != "HEAD" && body != "" {
		_, _ = x.Response.Write([]byte(body))
	}
}

func proxyStatus(reason route.Reason) string {
	return fmt.Sprintf("fairlead; error=%s; details=%q", reason.Info().Error, string(reason))
}

func isGRPC(x *exchange.Exchange) bool {
	return x.Header != nil && strings.HasPrefix(x.Header.Get("Content-Type"), "application/grpc")
}

// answerGRPC is a trailers-only response: gRPC clients read nothing else.
// 14 is UNAVAILABLE, 12 UNIMPLEMENTED, 16 and 7 the refusals.
func (p *Proxy) answerGRPC(x *exchange.Exchange, reason route.Reason, fields []field) {
	code := "14"
	switch reason.Info().Status {
	case 404:
		code = "12"
	case 401:
		code = "16"
	case 403:
		code = "7"
	case 400:
		code = "13"
	}
	x.Response.Head(200, 0, nil, func(add func(name, value string)) {
		add("Content-Type", "application/grpc")
		add("Grpc-Status", code)
		add("Grpc-Message", "fairlead: "+string(reason))
		for _, f := range fields {
			add(f.name, f.value)
		}
	})
}

// statusText are the words of the answers we give.
func statusText(status int) (title, advice string) {
	switch status {
	case 400:
		return "Bad Request", "The request is malformed."
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
	case 431:
		return "Request Header Fields Too Large", "The headers of the request are too large."
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
