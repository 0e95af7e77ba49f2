package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// transport is the backend adapter: requests go out through transports of the
// upstream's own.
type transport struct {
	up     *upstream
	pooled atomic.Pointer[http.Transport]
	fresh  *http.Transport // a connection for each request
	scheme string
}

func newTransport(u *upstream) *transport {
	t := &transport{up: u, scheme: "http"}
	if u.tls != nil {
		t.scheme = "https"
	}
	t.pooled.Store(t.open())
	t.fresh = t.open()
	t.fresh.DisableKeepAlives = true
	return t
}

func (t *transport) open() *http.Transport {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return t.up.dial(ctx) }
	limits, timeouts := t.up.proxy.cfg.Limits, t.up.proxy.cfg.Timeouts
	h2c := t.up.backend.Scheme == route.SchemeH2C
	rt := &http.Transport{
		DialContext:            dial,
		DialTLSContext:         dial,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    1024,
		IdleConnTimeout:        timeouts.BackendIdle,
		MaxResponseHeaderBytes: int64(limits.ResponseHeaderBytes),
		ExpectContinueTimeout:  timeouts.Continue,
		Protocols:              new(http.Protocols),
	}
	rt.Protocols.SetHTTP1(!h2c)
	rt.Protocols.SetUnencryptedHTTP2(h2c)
	return rt
}

// closeIdle implements pool.
func (t *transport) closeIdle() {
	t.pooled.Load().CloseIdleConnections()
	t.fresh.CloseIdleConnections()
}

// send implements pool.
func (t *transport) send(c *call, fresh bool) (*response, error) {
	rt := t.pooled.Load()
	if fresh || t.up.single.Load() || ownsConnection(c.x.Header.Get("Authorization")) {
		rt = t.fresh
	}
	c.dialling()
	req := t.request(c)
	res, err := rt.RoundTrip(req)
	if err != nil {
		t.forsake(rt, c)
		if errors.Is(context.Cause(req.Context()), errNotProcessed) {
			err = errNotProcessed
		}
		return nil, err
	}
	if err := checkHead(res, false); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	c.conn.conn.restoreLast(res)
	t.up.idle.sawHeader(header(res.Header))
	if tiesLogin(res.Header) {
		t.up.single.Store(true)
		t.pooled.Load().CloseIdleConnections() // nothing becomes idle there again
	}
	return fromHTTP(res), nil
}

// deadAfter is how long a connection of HTTP/2 may say nothing at all, while an answer is
// awaited on it, before other requests get another one.
const deadAfter = 2 * time.Second

// forsake lets further requests go over another connection of HTTP/2 where a call ended
// on one that gives no sign of life; what is in flight on it may still end. A call of
// HTTP/1 takes its connection with it, but net/http would go on with this one until 250
// calls have failed. Its pings, which tell more, are no choice: gRPC servers close a
// connection on which they come more often than some minutes apart without other traffic.
func (t *transport) forsake(rt *http.Transport, c *call) {
	if !c.conn.got || c.conn.conn == nil {
		return
	}
	quiet := c.conn.conn.quiet()
	dead := quiet >= deadAfter || quiet > 0 && errors.Is(context.Cause(c.ctx), errBackendTimeout)
	if dead && t.pooled.CompareAndSwap(rt, t.open()) {
		rt.CloseIdleConnections()
	}
}

// checkHead refuses what net/http lets pass in a final response head. A switch to
// WebSocket is one only where it was asked for.
func checkHead(res *http.Response, upgrade bool) error {
	switch {
	case upgrade && res.StatusCode == http.StatusSwitchingProtocols:
		if h := header(res.Header); !strings.EqualFold(h.List("Upgrade"), "websocket") || !exchange.HasToken(h.List("Connection"), "Upgrade") {
			return errors.New("the backend switches to another protocol than websocket")
		}
	case res.StatusCode < 200, res.StatusCode > 999:
		return fmt.Errorf("the backend answered with status %d, which is no final one", res.StatusCode)
	}
	for name := range res.Header {
		if !exchange.IsToken(name) {
			return errors.New("the backend's response has a field whose name is not a token (RFC 9110 section 5.1)")
		}
	}
	return nil
}

// maxInterim bounds the interim answers to one request.
const maxInterim = 32

// outgoing is what a request needs of memory, in one piece.
type outgoing struct {
	call    *call
	trace   httptrace.ClientTrace
	url     url.URL
	tries   int // connections that the transport took for it
	interim int
	once    once // for HTTP/2 alone
	on      atomic.Pointer[conn]
}

// request builds the outgoing request: the client's path bytes, its Host, no header
// that it did not send, except ours.
func (t *transport) request(c *call) *http.Request {
	x := c.x
	o := &outgoing{call: c}
	o.trace = httptrace.ClientTrace{GotConn: o.gotConn, GotFirstResponseByte: o.firstByte, Got1xxResponse: o.got1xx}
	t.target(&o.url, x)
	ctx := c.ctx
	if t.up.backend.Scheme == route.SchemeH2C {
		ctx = o.once.limit(ctx, &o.trace)
	}
	req := (&http.Request{}).WithContext(httptrace.WithClientTrace(ctx, &o.trace))
	req.Method, req.Host, req.URL = x.Verb, x.Authority, &o.url
	req.ProtoMajor, req.ProtoMinor = 1, 1
	size := len(x.Edits) + 8
	if h, ok := x.Header.(header); ok {
		size = len(x.Edits) + len(h)
	}
	req.Header = make(http.Header, size)
	lines := make([]string, 0, size) // the values, in one piece of memory
	x.Outgoing(func(name, value string) { lines = addLine(req.Header, lines, name, value) })
	if _, sent := req.Header["User-Agent"]; !sent {
		req.Header["User-Agent"] = nil // or the transport sends its own
	}
	if exchange.HasToken(x.Header.List("TE"), "trailers") {
		req.Header["Te"] = []string{"trailers"}
	}
	if !route.Idempotent(x.Verb) {
		hideIdempotencyKey(req.Header)
	}
	t.setBody(req, c)
	return req
}

// hideIdempotencyKey keeps net/http from sending a request again that the backend
// may have seen: it takes the key for a promise, of which the backend may know
// nothing, and looks for it in canonical spelling only.
func hideIdempotencyKey(h http.Header) {
	for _, name := range [...]string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// setBody hands the client's body over, with its length or chunked as it came, and
// its trailers.
func (t *transport) setBody(req *http.Request, c *call) {
	if c.body == nil {
		if c.x.Header.Get("Content-Length") == "0" {
			// This says "Content-Length: 0" for every method but GET and HEAD.
			req.Body, req.TransferEncoding = http.NoBody, []string{"identity"}
		}
		return
	}
	if t.up.backend.Scheme == route.SchemeH2C { // it may be refused on a fresh connection, too
		c.body.keep()
	}
	turn, _ := c.body.take()
	reader := &turnReader{body: c.body, turn: turn, call: c}
	req.Body, req.ContentLength = reader, c.body.length
	if c.body.length >= 0 {
		return
	}
	req.TransferEncoding = []string{"chunked"}
	trailer, from := http.Header{}, c.x.Trailer
	if from == nil {
		return
	}
	kept := exchange.Only{All: from, Keep: c.x.RequestTrailer()}
	for _, name := range c.body.trailerNames(from) { // announced, without values yet
		if kept.Keep(name, "") {
			trailer[http.CanonicalHeaderKey(name)] = nil
		}
	}
	req.Trailer = trailer
	reader.atEnd = func() {
		clear(trailer)
		kept.Each(func(name, value string) bool {
			trailer.Add(name, value)
			return true
		})
	}
}

// addLine adds a field line to a header. The first value of a field lives in lines.
func addLine(h http.Header, lines []string, name, value string) []string {
	key := http.CanonicalHeaderKey(name)
	if have, ok := h[key]; ok {
		h[key] = append(have, value)
		return lines
	}
	lines = append(lines, value)
	h[key] = lines[len(lines)-1 : len(lines) : len(lines)]
	return lines
}

// gotConn notes which connection the transport took.
func (o *outgoing) gotConn(info httptrace.GotConnInfo) {
	at := &o.call.conn
	at.answered.Store(false)
	at.reused.Store(info.Reused)
	at.doubt, at.making = 0, 0
	at.conn = connOf(info.Conn)
	o.on.Store(at.conn)
	if at.conn != nil {
		at.before = at.conn.written.Load()
		if !info.Reused {
			at.doubt, at.making = at.conn.doubt, at.conn.making
		}
	}
	if !at.discarded.Load() {
		o.tries++
	}
	at.discarded.Store(false)
	switch {
	case at.conn == nil:
	case o.call.up.backend.Scheme == route.SchemeH2C:
		if !o.once.again(o.tries) {
			at.conn.asked()
		}
	default:
		at.conn.took(o.call)
		// A second try goes over a fresh connection: a request that kills its backend
		// must not be sent once for each pooled one.
		if info.Reused && (o.tries > 1 || at.conn.unusable(info.IdleTime, !route.Idempotent(o.call.x.Verb))) {
			at.discarded.Store(o.tries <= 1)
			_ = info.Conn.Close()
		}
	}
	if o.tries <= 1 && !at.discarded.Load() { // of a second try the time runs already
		o.call.sending()
	}
}

func (o *outgoing) firstByte() { o.call.conn.answered.Store(true) }

// got1xx passes interim responses on. 100 is sent by the front when the body is
// first read; 101 is not interim.
func (o *outgoing) got1xx(code int, h textproto.MIMEHeader) error {
	if o.interim++; o.interim > maxInterim {
		return errors.New("the backend sent too many interim responses")
	}
	if code > http.StatusSwitchingProtocols {
		o.on.Load().restore(http.Header(h))
		o.call.inform(code, header(h))
	}
	return nil
}

func connOf(nc net.Conn) *conn {
	if secured, ok := nc.(*securedConn); ok {
		return secured.raw
	}
	c, _ := nc.(*conn)
	return c
}

// target keeps the path as it is on the wire: Opaque is written untouched. Only a
// path of two leading slashes would turn into an absolute form there.
func (t *transport) target(u *url.URL, x *exchange.Exchange) {
	*u = url.URL{Scheme: t.scheme, Host: "backend.invalid", RawQuery: x.RawQuery, ForceQuery: x.QueryMark}
	if !strings.HasPrefix(x.Path.Forward, "//") {
		u.Opaque = x.Path.Forward
		return
	}
	u.Path = x.Path.Forward
	if decoded, err := url.PathUnescape(x.Path.Forward); err == nil {
		u.Path, u.RawPath = decoded, x.Path.Forward
	}
}

// tiesLogin looks for schemes that authenticate the connection, not the request.
func tiesLogin(h http.Header) bool {
	return slices.ContainsFunc(h["Www-Authenticate"], ownsConnection)
}

func ownsConnection(challenge string) bool {
	scheme, _, _ := strings.Cut(challenge, " ")
	return strings.EqualFold(scheme, "NTLM") || strings.EqualFold(scheme, "Negotiate")
}

// fromHTTP is a net/http response as the data plane sees it.
func fromHTTP(res *http.Response) *response {
	out := &response{status: res.StatusCode, header: header(res.Header), length: res.ContentLength, body: res.Body}
	for name := range res.Trailer {
		out.announce = append(out.announce, name)
	}
	out.trailers = func() exchange.Header {
		if len(res.Trailer) == 0 {
			return nil
		}
		return header(res.Trailer)
	}
	return out
}

// readUpgrade reads the answer to an upgrade request from its own connection.
// Interim answers before the final one are passed on.
func readUpgrade(c *call, nc net.Conn) (*response, error) {
	limit := &io.LimitedReader{R: nc, N: int64(c.up.proxy.cfg.Limits.ResponseHeaderBytes)}
	reader := bufio.NewReader(limit)
	if _, err := reader.Peek(1); err != nil {
		return nil, err
	}
	c.conn.answered.Store(true)
	for range maxInterim {
		res, err := http.ReadResponse(reader, &http.Request{Method: c.x.Verb}) //nolint:bodyclose // relay closes it; interim answers and 101 have none
		if err != nil {
			if limit.N <= 0 {
				err = errHeadTooLong
			}
			return nil, err
		}
		if res.StatusCode >= 100 && res.StatusCode < 200 && res.StatusCode != http.StatusSwitchingProtocols {
			c.conn.conn.restore(res.Header)
			c.inform(res.StatusCode, header(res.Header))
			continue
		}
		if err := checkHead(res, true); err != nil {
			return nil, err
		}
		c.conn.conn.restoreLast(res)
		limit.N = 1<<63 - 1
		out := fromHTTP(res)
		if res.StatusCode == http.StatusSwitchingProtocols {
			out.tunnel = &tunnelEnd{conn: nc, read: bufferedFirst(reader, nc)}
			return out, nil
		}
		out.body = closeBoth{res.Body, nc}
		return out, nil
	}
	return nil, errors.New("the backend sent too many interim responses")
}

// closeBoth closes a body and the connection it came on.
type closeBoth struct {
	io.ReadCloser
	conn net.Conn
}

// Close implements io.Closer. The connection goes first: what is left of the body
// is of no use.
func (c closeBoth) Close() error {
	err := c.conn.Close()
	_ = c.ReadCloser.Close()
	return err
}
