package healthcheck

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"fairlead/router/route"
)

// maxRedirects is how many redirects a probe follows.
const maxRedirects = 3

// httpProber asks by HTTP/1.1 on a connection of its own, in the clear or by TLS.
type httpProber struct {
	links *links
	agent string
}

// httpAsk is one probe by HTTP: its redirects are further requests of it.
type httpAsk struct {
	prober  *httpProber
	spec    *Spec
	secure  *tls.Config // nil in the clear
	request request
}

// Probe implements Prober.
func (p *httpProber) Probe(ctx context.Context, target Target, spec *Spec) Result {
	c := &spec.Check
	a := &httpAsk{prober: p, spec: spec, request: request{
		method: c.Method, path: c.Path, host: c.Host, agent: p.agent, headers: c.Headers, connection: "close",
	}}
	if spec.flaw != "" {
		return misconfigured(spec.flaw, clueNone)
	}
	if _, err := a.request.bytes(); err != nil {
		return misconfigured(err.Error(), clueNone)
	}
	var wrong *misfit
	if a.secure, wrong = p.links.configFor(spec, alpnHTTP1); wrong != nil {
		return misconfigured(wrong.message, wrong.clue)
	}
	return a.follow(ctx, target)
}

// follow asks, and asks again where a redirect within the backend leads.
func (a *httpAsk) follow(ctx context.Context, target Target) Result {
	spent := noPhases()
	for hop := 0; ; hop++ {
		r, next := a.ask(ctx, target)
		r.Phases = together(spent, r.Phases)
		switch {
		case next == "" && r.OK && hop > 0:
			r.Message += fmt.Sprintf(" after %d redirects", hop)
			if hop == 1 {
				r.Message = r.Message[:len(r.Message)-1]
			}
			return r
		case next == "":
			return r
		case hop == maxRedirects:
			return r.fail(verdict{kind: route.KindRedirectBlocked, message: fmt.Sprintf("more than %d redirects", maxRedirects)})
		}
		spent, a.request.path = r.Phases, next
		target = pinned(target, r.Remote)
	}
}

// ask makes one request. It returns where a redirect leads, "" when the result stands.
func (a *httpAsk) ask(ctx context.Context, target Target) (Result, string) {
	watch := startWatch()
	conn, r := a.prober.links.open(ctx, target, a.spec, a.secure, watch)
	if conn == nil {
		return r, ""
	}
	defer func() { _ = conn.Close() }()
	a.request.show(r.Exchange)
	text, err := a.request.bytes()
	if err != nil {
		return r.fail(verdict{kind: route.KindRedirectBlocked, message: "the redirect leads to a path that cannot be asked for"}), ""
	}
	in, head, r := converse(conn, text, r, watch)
	if head == nil {
		return r, ""
	}
	return a.judge(target, in, head, r, watch)
}

// judge says what a response means: redirects first, then the status, then the body.
func (a *httpAsk) judge(target Target, in *bufio.Reader, h *head, r Result, watch *stopwatch) (Result, string) {
	c := &a.spec.Check
	if c.FollowRedirects && redirects(h.status) {
		if location, found := h.get("Location"); found {
			next, why := redirectWithin(c, target, a.request.path, location)
			if why != "" {
				return r.fail(verdict{kind: route.KindRedirectBlocked, message: fmt.Sprintf("answered %d, a redirect to %s", h.status, why)}), ""
			}
			return r, next
		}
	}
	if !c.Status.Contains(h.status) {
		v := verdict{kind: route.KindBadStatus, message: fmt.Sprintf("answered %d, wanted %s", h.status, c.Status)}
		if h.status == 400 && c.Scheme != route.SchemeHTTPS && wantsTLS(in) {
			v.clue = clueTLSAnswer
		}
		return r.fail(v), ""
	}
	r.OK, r.Message = true, fmt.Sprintf("answered %d", h.status)
	if a.spec.body == nil && c.BodyContains == "" {
		return r, ""
	}
	return a.spec.judgeBody(in, h, r, watch), ""
}

// converse writes a request and reads the head of the answer; head is nil and the
// result failed where there is none.
func converse(conn *link, text []byte, r Result, watch *stopwatch) (*bufio.Reader, *head, Result) {
	_, writeErr := conn.Write(text)
	// A server may answer and close before it has read all: its answer counts.
	in := bufio.NewReaderSize(conn, 4096)
	h, err := readResponse(in)
	var malformed *protocolError
	switch {
	case errors.As(err, &malformed):
		r.Phases.FirstByte = watch.lap()
		return nil, nil, r.fail(malformed.verdict())
	case err != nil && writeErr != nil:
		return nil, nil, r.fail(conn.classify(writeErr, phaseWrite))
	case err != nil:
		return nil, nil, r.fail(conn.classify(err, phaseRead))
	}
	r.Phases.FirstByte = watch.lap()
	r.Status = h.status
	h.show(r.Exchange)
	return in, h, r
}

// wantsTLS reports whether the part of a 400's body that has come says that the
// port speaks TLS, as Go's and nginx's do.
func wantsTLS(in *bufio.Reader) bool {
	body, _ := in.Peek(in.Buffered())
	return bytes.Contains(body, []byte("HTTPS server")) || bytes.Contains(body, []byte("HTTPS port"))
}
