package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// transport is the backend adapter: requests go out through an http.Transport of
// the upstream's own.
type transport struct {
	up *upstream
	rt *http.Transport
	// unique is set once the backend tied a login to its connection (NTLM, Negotiate):
	// from then on connections are not reused.
	unique atomic.Bool
	host   string
}

func newTransport(u *upstream) *transport {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return u.dial(ctx) }
	t := &transport{up: u, host: "backend.invalid"}
	limits, timeouts := u.proxy.cfg.Limits, u.proxy.cfg.Timeouts
	t.rt = &http.Transport{
		DialContext:            dial,
		DialTLSContext:         dial,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    1024,
		IdleConnTimeout:        timeouts.BackendIdle,
		MaxResponseHeaderBytes: int64(limits.ResponseHeaderBytes),
		ExpectContinueTimeout:  timeouts.Header,
		Protocols:              new(http.Protocols),
	}
	t.rt.Protocols.SetHTTP1(u.backend.Scheme != route.SchemeH2C)
	t.rt.Protocols.SetUnencryptedHTTP2(u.backend.Scheme == route.SchemeH2C)
	return t
}

func (t *transport) closeIdle() { t.rt.CloseIdleConnections() }

// send implements pool.
func (t *transport) send(c *call, x *exchange.Exchange) (*response, *failure) {
	body := newSentBody(x, c)
	req := t.request(c, x, body)
	res, err := t.rt.RoundTrip(req)
	if err != nil {
		var bodyErr error
		if body != nil {
			bodyErr = body.failure()
		}
		return nil, failed(c, x.Context, bodyErr, err)
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		_ = res.Body.Close()
		return nil, &failure{reason: route.ReasonBadResponse, kind: route.KindProtocolError, err: errors.New("the backend switched protocols unasked")}
	}
	t.noticeLogin(res.Header)
	return fromHTTP(res), nil
}

// request builds the outgoing request: the client's path bytes, its Host, no header
// that it did not send, except ours.
func (t *transport) request(c *call, x *exchange.Exchange, body *sentBody) *http.Request {
	req := &http.Request{
		Method: x.Verb, Host: x.Authority, ProtoMajor: 1, ProtoMinor: 1,
		URL: t.target(x), Header: make(http.Header, 16), ContentLength: x.Length,
		Close: t.unique.Load(),
	}
	x.Outgoing(func(name, value string) {
		req.Header[http.CanonicalHeaderKey(name)] = append(req.Header[http.CanonicalHeaderKey(name)], value)
	})
	if _, sent := req.Header["User-Agent"]; !sent {
		req.Header["User-Agent"] = nil // or the transport sends its own
	}
	if exchange.HasToken(joined(x.Header, "TE"), "trailers") {
		req.Header.Set("Te", "trailers")
	}
	if body != nil {
		req.Body = body
		if x.Length < 0 {
			req.Trailer = body.trailer
		}
	}
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		// 100 is sent by the front when the body is first read; 101 is not interim.
		if code > http.StatusSwitchingProtocols {
			x.Response.Inform(code, header(h))
		}
		return nil
	}}
	return req.WithContext(httptrace.WithClientTrace(c.ctx, trace))
}

// target keeps the path as it is on the wire: Opaque is written untouched. Only a
// path of two leading slashes would turn into an absolute form there.
func (t *transport) target(x *exchange.Exchange) *url.URL {
	scheme := "http"
	if t.up.tls != nil {
		scheme = "https"
	}
	u := &url.URL{Scheme: scheme, Host: t.host, RawQuery: x.RawQuery}
	if !strings.HasPrefix(x.Path.Forward, "//") {
		u.Opaque = x.Path.Forward
		return u
	}
	if decoded, err := url.PathUnescape(x.Path.Forward); err == nil {
		u.Path, u.RawPath = decoded, x.Path.Forward
	} else {
		u.Path = x.Path.Forward
	}
	return u
}

// noticeLogin looks for schemes that authenticate the connection, not the request.
func (t *transport) noticeLogin(h http.Header) {
	for _, challenge := range h["Www-Authenticate"] {
		scheme, _, _ := strings.Cut(challenge, " ")
		if strings.EqualFold(scheme, "NTLM") || strings.EqualFold(scheme, "Negotiate") {
			t.unique.Store(true)
		}
	}
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
func readUpgrade(conn net.Conn, x *exchange.Exchange) (*response, error) {
	reader := bufio.NewReader(conn)
	for range 6 { // interim answers before the final one
		res, err := http.ReadResponse(reader, &http.Request{Method: x.Verb})
		if err != nil {
			return nil, err
		}
		switch {
		case res.StatusCode == http.StatusSwitchingProtocols:
			out := fromHTTP(res)
			out.tunnel = &tunnelEnd{conn: conn, read: reader}
			return out, nil
		case res.StatusCode < 200:
			continue
		}
		out := fromHTTP(res)
		out.body = closeBoth{res.Body, conn}
		return out, nil
	}
	return nil, errors.New("malformed HTTP: too many interim responses")
}

// closeBoth closes a body and the connection it came on.
type closeBoth struct {
	io.ReadCloser
	conn net.Conn
}

func (c closeBoth) Close() error {
	_ = c.ReadCloser.Close()
	return c.conn.Close()
}

// sentBody is the client's body on its way to the backend. The transport may read
// it from a goroutine of its own that outlives the call, so it holds what it needs.
type sentBody struct {
	call    *call
	source  io.Reader
	from    exchange.Header // the client's trailers
	trailer http.Header     // the backend's copy

	mu  sync.Mutex
	err error
}

func newSentBody(x *exchange.Exchange, c *call) *sentBody {
	if x.Body == nil {
		return nil
	}
	return &sentBody{call: c, source: x.Body, from: x.Trailer, trailer: http.Header{}}
}

func (b *sentBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	b.call.progress()
	switch {
	case errors.Is(err, io.EOF):
		if b.from != nil {
			b.from.Each(func(name, value string) bool {
				b.trailer.Add(name, value)
				return true
			})
		}
	case err != nil:
		b.mu.Lock()
		b.err = err
		b.mu.Unlock()
	}
	return n, err
}

// Close implements io.Closer. The front closes the client's body itself.
func (b *sentBody) Close() error { return nil }
