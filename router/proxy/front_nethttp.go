package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"fairlead/router/exchange"
)

// server is the net/http front of one listener: HTTP/1.1, and HTTP/2 with prior
// knowledge.
type server struct {
	*http.Server
	clients clients
	leaving atomic.Bool // every answer ends its connection
	active  active
	tunnels tunnels
}

// Bytes of request bodies that are taken ahead of those who read them.
const (
	streamBuffer     = 256 << 10
	connectionBuffer = 16 << 20 // of all streams of an HTTP/2 connection
)

// newServer makes a front whose requests end with ctx.
func (p *Proxy) newServer(ctx context.Context) *server {
	s := &server{Server: &http.Server{
		ReadHeaderTimeout:            p.cfg.Timeouts.Header,
		IdleTimeout:                  p.cfg.Timeouts.Idle,
		MaxHeaderBytes:               p.cfg.Limits.HeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     quietLog(p),
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnContext:                  withClientConn,
		Protocols:                    new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: p.cfg.Limits.Streams,
			// A body that nobody reads yet, for its request waits in line or its backend hangs,
			// must not keep those of other streams: each has room of its own.
			MaxReceiveBufferPerStream:     streamBuffer,
			MaxReceiveBufferPerConnection: min(p.cfg.Limits.Streams*streamBuffer, connectionBuffer),
		},
	}}
	s.Handler = &front{p: p, server: s}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			// net/http looks for the preface of HTTP/2 before its own deadlines begin.
			_ = c.SetReadDeadline(time.Now().Add(p.cfg.Timeouts.Header))
		}
		s.note(c, state)
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// note keeps the account of client connections that the shutdown looks at.
func (s *server) note(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.clients.arrived(c)
	case http.StateActive:
		s.clients.busy(c)
	case http.StateIdle:
		s.clients.idle(c)
	case http.StateHijacked, http.StateClosed:
		s.clients.gone(c)
	}
}

// front turns net/http requests into exchanges.
type front struct {
	p      *Proxy
	server *server
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.server.active.add()
	defer f.server.active.done()
	s, _ := f.p.fronts.Get().(*served)
	s.begin(w, r)
	s.w.tunnels, s.w.leaving = &f.server.tunnels, &f.server.leaving
	f.p.handle(&s.x, r.RequestURI)
	if s.end() {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	}
}

// served is one request at the front. It is used again.
type served struct {
	p *Proxy
	x exchange.Exchange
	w writer
}

func newServed(p *Proxy) *served { return &served{p: p} }

func (s *served) begin(w http.ResponseWriter, r *http.Request) {
	s.w = writer{w: w, rc: *http.NewResponseController(w), idle: s.p.cfg.Timeouts.BodyIdle, h1: r.ProtoMajor == 1, interim: r.ProtoAtLeast(1, 1)}
	x := &s.x
	x.Context, x.Verb, x.Authority = r.Context(), r.Method, r.Host
	x.Major, x.Minor, x.Secure = r.ProtoMajor, r.ProtoMinor, r.TLS != nil
	x.Header, x.Length, x.Response = header(r.Header), r.ContentLength, &s.w
	x.Peer, _ = netip.ParseAddrPort(r.RemoteAddr)
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
		s.w.body = newIncoming(http.NewResponseController(w), r.Body, r.ContentLength, s.w.idle, !s.w.h1)
		if s.w.h1 && s.w.interim && r.Header.Get("Expect") != "" { // net/http lets only 100-continue pass
			s.w.body.asks = &s.w
		}
		x.Body, x.Trailer = s.w.body, trailer{r}
	}
}

// end gives the exchange back; it reports whether the connection is to be cut.
func (s *served) end() (abort bool) {
	if abort = s.w.aborted; !abort && s.w.hijacked == nil {
		s.w.deadline() // of the end of the response, which net/http writes
	}
	switch {
	case !s.w.h1:
		if c := clientConnOf(s.x.Context); c.ran(s.x.Began, s.x.Context.Err() != nil) {
			s.p.cfg.Log.Debug().Msg("client connection closed: its requests are taken back as fast as they come")
			_ = c.Close()
		}
	case abort:
		clientConnOf(s.x.Context).endWriting()
	}
	if s.w.body != nil {
		s.w.body.finish()
	}
	if s.w.hijacked != nil {
		s.w.tunnels.remove(s.w.hijacked)
	}
	s.x.Reset()
	s.w = writer{}
	s.p.fronts.Put(s)
	return abort
}

// writer is the net/http side of a response.
type writer struct {
	w       http.ResponseWriter
	rc      http.ResponseController
	body    *incoming // nil without one
	idle    time.Duration
	set     time.Time
	h1      bool
	duplex  bool
	interim bool // the client's version knows 1xx
	begun   bool
	closing bool
	leaving *atomic.Bool // the router stops: as closing
	aborted bool
	names   []string // announced trailers

	upgrade  []byte   // the head of a 101, written when the connection is taken over
	hijacked net.Conn // nil unless taken over
	tunnels  *tunnels
}

// Duplex implements exchange.Writer. Without it net/http reads the body away before
// it sends a head.
func (w *writer) Duplex() {
	if w.body != nil && w.h1 && !w.duplex {
		_ = w.rc.EnableFullDuplex() // HTTP/2 is
	}
	w.duplex = true
}

// Inform implements exchange.Writer.
func (w *writer) Inform(status int, h exchange.Header) {
	if w.begun || !w.interim {
		return
	}
	if w.body != nil { // its reader may be about to say 100
		w.body.mu.Lock()
		defer w.body.mu.Unlock()
	}
	w.deadline()
	// An interim head has its own fields; those of the final one are not set yet.
	own := w.w.Header()
	h.Each(func(name, value string) bool {
		own.Add(name, value)
		return true
	})
	w.w.WriteHeader(status)
	w.free()
	clear(own)
}

// proceed tells an HTTP/1.1 client to send its body. net/http would do so at the first
// read, which is another goroutine's than the one that informs, and bar neither from the
// connection meanwhile; after this it does not.
func (w *writer) proceed() {
	w.deadline()
	w.w.WriteHeader(http.StatusContinue)
}

// Head implements exchange.Writer.
func (w *writer) Head(status int, trailers []string, fields func(add func(name, value string))) {
	w.begun = true
	if w.body != nil {
		w.body.answer()
	}
	h := w.w.Header()
	lines := make([]string, 0, 16) // the values, in one piece of memory
	fields(func(name, value string) { lines = addLine(h, lines, name, value) })
	if status == http.StatusSwitchingProtocols {
		w.upgrade = head101(h)
		return
	}
	switch {
	case w.body == nil:
	case !w.duplex:
		w.body.unwanted()
	case w.h1 && w.body.unfinished():
		w.closing = true
	}
	if w.closing || w.leaving != nil && w.leaving.Load() {
		h.Set("Connection", "close") // HTTP/2 makes a GOAWAY of it
	}
	// net/http adds these when they are absent; a proxy must not.
	for _, name := range [...]string{"Date", "Content-Type"} {
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
	for _, name := range trailers {
		h.Add("Trailer", name)
	}
	w.names = trailers
	w.w.WriteHeader(status)
}

func head101(h http.Header) []byte {
	var b strings.Builder
	b.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = h.Write(&b) // a builder never fails
	b.WriteString("\r\n")
	return []byte(b.String())
}

// deadline bounds the time that a client may take no bytes.
func (w *writer) deadline() {
	if at := time.Now(); at.Sub(w.set) > w.idle/16 {
		w.set = at
		_ = w.rc.SetWriteDeadline(at.Add(w.idle))
	}
}

// free takes the deadline back after what it bounds, where it is a timer that resets the
// stream also while nothing is written (HTTP/2).
func (w *writer) free() {
	if !w.h1 && !w.set.IsZero() {
		w.set = time.Time{}
		_ = w.rc.SetWriteDeadline(time.Time{})
	}
}

// Write implements exchange.Writer.
func (w *writer) Write(p []byte) (int, error) {
	w.deadline()
	n, err := w.w.Write(p)
	w.free()
	return n, err
}

// Flush implements exchange.Writer.
func (w *writer) Flush() error {
	w.deadline()
	err := w.rc.Flush()
	w.free()
	return err
}

// Trailers implements exchange.Writer.
func (w *writer) Trailers(h exchange.Header) {
	own := w.w.Header()
	announced := make(map[string]bool, len(w.names))
	for _, n := range w.names {
		announced[http.CanonicalHeaderKey(n)] = true
	}
	h.Each(func(name, value string) bool {
		key := http.CanonicalHeaderKey(name)
		if !announced[key] {
			key = http.TrailerPrefix + key
		}
		own[key] = append(own[key], value)
		return true
	})
}

// Begun implements exchange.Writer.
func (w *writer) Begun() bool { return w.begun }

// Abort implements exchange.Writer. What was written before reaches the client.
func (w *writer) Abort() {
	if w.begun && w.upgrade == nil {
		_ = w.Flush()
	}
	w.aborted = true
}

// CloseAfter implements exchange.Writer.
func (w *writer) CloseAfter() { w.closing = true }

var errShutdown = errors.New("shutdown is past the time of tunnels")

// Hijack implements exchange.Writer.
func (w *writer) Hijack() (net.Conn, io.Reader, error) {
	conn, rw, err := w.rc.Hijack()
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(w.idle))
	if _, err := conn.Write(w.upgrade); err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	if w.hijacked = conn; !w.tunnels.add(conn) {
		_ = conn.Close()
		return nil, nil, errShutdown
	}
	return conn, bufferedFirst(rw.Reader, conn), nil
}
