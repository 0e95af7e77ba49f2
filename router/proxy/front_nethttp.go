package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// header is a net/http header as the data plane reads it.
type header http.Header

// Get implements exchange.Header.
func (h header) Get(name string) string { return http.Header(h).Get(name) }

// Each implements exchange.Header.
func (h header) Each(yield func(name, value string) bool) {
	for name, values := range h {
		for _, v := range values {
			if !yield(name, v) {
				return
			}
		}
	}
}

// newServer is the net/http front: HTTP/1.1, and HTTP/2 with prior knowledge.
func (p *Proxy) newServer() *http.Server {
	s := &http.Server{
		Handler:                      front{p},
		ReadHeaderTimeout:            p.cfg.Timeouts.Header,
		IdleTimeout:                  p.cfg.Timeouts.Idle,
		MaxHeaderBytes:               p.cfg.Limits.HeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     quietLog(p),
		Protocols:                    new(http.Protocols),
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: p.cfg.Limits.Streams},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// front turns net/http requests into exchanges.
type front struct{ p *Proxy }

// ServeHTTP implements http.Handler.
func (f front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &writer{w: w, rc: http.NewResponseController(w), idle: f.p.cfg.Timeouts.BodyIdle}
	x := f.exchange(r, out)
	f.serve(x, r)
	if out.aborted {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	}
}

// serve handles one exchange; a panic in it costs this request only.
func (f front) serve(x *exchange.Exchange, r *http.Request) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		f.p.panicked(x, v)
		if x.Response.Begun() {
			x.Response.Abort()
			return
		}
		f.p.answer(x, http.StatusInternalServerError, "internal_error", nil)
	}()
	switch {
	case r.Method == http.MethodConnect:
		x.Response.CloseAfter()
		f.p.answer(x, http.StatusMethodNotAllowed, route.ReasonBadRequest, nil)
		return
	case r.RequestURI == "*" && r.Method == http.MethodOptions:
		f.p.answer(x, http.StatusOK, route.ReasonNone, nil)
		return
	}
	if err := setTarget(x, r.RequestURI); err != nil {
		f.refuse(x, err)
		return
	}
	f.p.handle(x)
}

func (f front) refuse(x *exchange.Exchange, err error) {
	f.p.cfg.Log.Debug().AnErr("cause", err).Str(route.FieldReason, string(route.ReasonBadRequest)).Msg("request refused")
	if errors.Is(err, errNoHost) {
		f.p.refuse(x, route.ReasonNoRoute)
		return
	}
	x.Response.CloseAfter()
	f.p.refuse(x, route.ReasonBadRequest)
}

func (f front) exchange(r *http.Request, out *writer) *exchange.Exchange {
	x := &exchange.Exchange{
		Context: r.Context(), Verb: r.Method, Authority: r.Host,
		Major: r.ProtoMajor, Minor: r.ProtoMinor, Secure: r.TLS != nil,
		Header: header(r.Header), Length: r.ContentLength, Response: out,
	}
	x.Peer, _ = netip.ParseAddrPort(r.RemoteAddr)
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
		x.Body = &body{rc: out.rc, r: r, idle: f.p.cfg.Timeouts.BodyIdle}
		x.Trailer = trailer{r}
	}
	x.Expects = strings.EqualFold(r.Header.Get("Expect"), "100-continue")
	return x
}

// trailer reads a request's trailer when it is there: net/http fills it at the end of the body.
type trailer struct{ r *http.Request }

// Get implements exchange.Header.
func (t trailer) Get(name string) string { return t.r.Trailer.Get(name) }

// Each implements exchange.Header.
func (t trailer) Each(yield func(name, value string) bool) { header(t.r.Trailer).Each(yield) }

// body bounds the idle time of a request body; its total time is free.
type body struct {
	rc   *http.ResponseController
	r    *http.Request
	idle time.Duration
	set  time.Time
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if at := now(); at.Sub(b.set) > b.idle/16 {
		b.set = at
		_ = b.rc.SetReadDeadline(at.Add(b.idle))
	}
	n, err := b.r.Body.Read(p)
	if err != nil {
		// What net/http reads in the background from here on has no deadline.
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// writer is the net/http side of a response.
type writer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	idle    time.Duration
	set     time.Time
	begun   bool
	aborted bool
	names   []string // announced trailers
	upgrade []byte   // the head of a 101, written when the connection is taken over
}

// Inform implements exchange.Writer.
func (w *writer) Inform(status int, h exchange.Header) {
	if w.begun {
		return
	}
	// An interim head has its own fields; those of the final one are not set yet.
	own := w.w.Header()
	h.Each(func(name, value string) bool {
		own.Add(name, value)
		return true
	})
	w.w.WriteHeader(status)
	clear(own)
}

// Head implements exchange.Writer.
func (w *writer) Head(status int, _ int64, trailers []string, fields func(add func(name, value string))) {
	w.begun = true
	h := w.w.Header()
	fields(func(name, value string) {
		h[http.CanonicalHeaderKey(name)] = append(h[http.CanonicalHeaderKey(name)], value)
	})
	if status == http.StatusSwitchingProtocols {
		w.upgrade = head101(h)
		return
	}
	// net/http adds these when they are absent; a proxy must not.
	for _, name := range []string{"Date", "Content-Type"} {
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

func (w *writer) deadline() {
	if at := now(); at.Sub(w.set) > w.idle/16 {
		w.set = at
		_ = w.rc.SetWriteDeadline(at.Add(w.idle))
	}
}

// Write implements exchange.Writer.
func (w *writer) Write(p []byte) (int, error) {
	w.deadline()
	return w.w.Write(p)
}

// Flush implements exchange.Writer.
func (w *writer) Flush() error {
	w.deadline()
	return w.rc.Flush()
}

// Trailers implements exchange.Writer.
func (w *writer) Trailers(h exchange.Header) {
	own := w.w.Header()
	h.Each(func(name, value string) bool {
		key := http.CanonicalHeaderKey(name)
		announced := false
		for _, n := range w.names {
			announced = announced || http.CanonicalHeaderKey(n) == key
		}
		if !announced {
			key = http.TrailerPrefix + key
		}
		own[key] = append(own[key], value)
		return true
	})
}

// Begun implements exchange.Writer.
func (w *writer) Begun() bool { return w.begun }

// Abort implements exchange.Writer.
func (w *writer) Abort() { w.aborted = true }

// CloseAfter implements exchange.Writer.
func (w *writer) CloseAfter() { w.w.Header().Set("Connection", "close") }

// Hijack implements exchange.Writer.
func (w *writer) Hijack() (net.Conn, io.Reader, error) {
	conn, rw, err := w.rc.Hijack()
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	if _, err := conn.Write(w.upgrade); err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	return conn, bufferedFirst(rw.Reader, conn), nil
}

// bufferedFirst reads what was read ahead, then the connection itself.
func bufferedFirst(r *bufio.Reader, conn net.Conn) io.Reader {
	n := r.Buffered()
	if n == 0 {
		return conn
	}
	ahead, err := r.Peek(n)
	if err != nil {
		return conn
	}
	return io.MultiReader(strings.NewReader(string(ahead)), conn)
}
