package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// kept is a client connection that is used again.
type kept struct {
	conn   net.Conn
	reader *bufio.Reader
}

func (r *rig) kept() *kept {
	conn := r.dial()
	return &kept{conn, bufio.NewReader(conn)}
}

func (k *kept) get(host string) (*http.Response, error) {
	if _, err := io.WriteString(k.conn, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(k.reader, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res, err
}

// end waits for the end of the connection.
func (k *kept) end() error {
	_, err := k.reader.ReadByte()
	return err
}

func (r *rig) closed() {
	r.t.Helper()
	eventually(r.t, "the listener is closed", func() bool {
		c, err := net.Dial("tcp", r.addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}

// wait returns what Serve returned.
func (r *rig) wait() error {
	err := <-r.served
	r.served <- err
	return err
}

func answering(r *rig) *rig {
	r.route("app.test", []string{serveHTTP(r.t, func(http.ResponseWriter, *http.Request) {})})
	return r.start()
}

// TestShutdownAnswersAClientThatIsUsingItsConnection: the request that crosses with the
// end of the router is answered, and its connection ends with "Connection: close".
func TestShutdownAnswersAClientThatIsUsingItsConnection(t *testing.T) {
	r := answering(newRig(t))
	k := r.kept()
	if res, err := k.get("app.test"); err != nil || res.Close {
		t.Fatalf("%v %+v", err, res)
	}
	begin := time.Now()
	r.stop()
	r.closed()
	if res, err := k.get("app.test"); err != nil || res.StatusCode != http.StatusOK || !res.Close {
		t.Errorf("the last request: %v %+v", err, res)
	}
	if err := k.end(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last answer: %v", err)
	}
	if err := r.wait(); err != nil || time.Since(begin) > 900*time.Millisecond {
		t.Errorf("Serve: %v after %v: nobody is left to wait for", err, time.Since(begin))
	}
}

// TestShutdownClosesForgottenConnectionsAtOnce: those that were idle for longer than an
// eighth of the time hold nobody up.
func TestShutdownClosesForgottenConnectionsAtOnce(t *testing.T) {
	r := answering(newRig(t, func(c *Config) { c.Timeouts.ShutdownTimeout = 4 * time.Second }))
	k := r.kept()
	if _, err := k.get("app.test"); err != nil {
		t.Fatal(err)
	}
	<-time.After(600 * time.Millisecond)
	begin := time.Now()
	r.stop()
	if err := r.wait(); err != nil || time.Since(begin) > 450*time.Millisecond {
		t.Errorf("Serve: %v after %v", err, time.Since(begin))
	}
	if err := k.end(); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection: %v", err)
	}
}

// TestShutdownDelayEndsConnections: while the listener is still open each answer ends
// its connection already, so that nobody is on a kept one when it closes.
func TestShutdownDelayEndsConnections(t *testing.T) {
	r := answering(newRig(t, func(c *Config) { c.Timeouts.ShutdownDelay = 500 * time.Millisecond }))
	k := r.kept()
	if _, err := k.get("app.test"); err != nil {
		t.Fatal(err)
	}
	r.stop()
	eventually(t, "an answer that ends its connection", func() bool {
		res, err := r.kept().get("app.test")
		return err == nil && res.Close
	})
	if res, err := k.get("app.test"); err != nil || !res.Close {
		t.Errorf("a kept connection: %v %+v", err, res)
	}
	if err := r.wait(); err != nil {
		t.Error(err)
	}
}

// h2conn is an HTTP/2 connection by hand.
type h2conn struct {
	t      *testing.T
	framer *http2.Framer
	next   uint32
}

func (r *rig) h2conn(t *testing.T) *h2conn {
	t.Helper()
	conn := r.dial()
	h := &h2conn{t: t, framer: http2.NewFramer(conn, conn), next: 1}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := h.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return h
}

// get sends a request and reads frames until its answer has ended; goAway reports
// whether one came before.
func (h *h2conn) get() (goAway bool) {
	h.t.Helper()
	var head bytes.Buffer
	enc := hpack.NewEncoder(&head)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "app.test"}, {":path", "/"}} {
		_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	id := h.next
	h.next += 2
	if err := h.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true}); err != nil {
		h.t.Fatal(err)
	}
	for {
		f, err := h.framer.ReadFrame()
		if err != nil {
			h.t.Fatal(err)
		}
		if g, ok := f.(*http2.GoAwayFrame); ok {
			goAway = h.fine(g)
		}
		if f.Header().StreamID == id && f.Header().Flags.Has(http2.FlagDataEndStream) {
			return goAway
		}
	}
}

func (h *h2conn) fine(g *http2.GoAwayFrame) bool {
	if g.ErrCode != http2.ErrCodeNo {
		h.t.Errorf("GOAWAY with %v", g.ErrCode)
	}
	return true
}

// end reads until the connection ends; goAway reports whether one came.
func (h *h2conn) end() (goAway bool) {
	for {
		f, err := h.framer.ReadFrame()
		if err != nil {
			return goAway
		}
		if g, ok := f.(*http2.GoAwayFrame); ok {
			goAway = h.fine(g)
		}
	}
}

// TestShutdownSendsGoAway: an idle HTTP/2 connection gets a GOAWAY, one that is being
// used gets its answer, too.
func TestShutdownSendsGoAway(t *testing.T) {
	r := answering(newRig(t))
	idle, used := r.h2conn(t), r.h2conn(t)
	if idle.get() || used.get() {
		t.Fatal("GOAWAY before the shutdown")
	}
	r.stop()
	r.closed()
	told := used.get()
	if !idle.end() {
		t.Error("the idle connection ended without GOAWAY")
	}
	if !used.end() && !told {
		t.Error("the used connection ended without GOAWAY")
	}
	if err := r.wait(); err != nil {
		t.Error(err)
	}
}

// holding is a listener with one connection in its queue when it is drained.
type holding struct {
	net.Listener
	queue   chan net.Conn
	last    net.Conn
	closing sync.Once
}

func (h *holding) Accept() (net.Conn, error) {
	if c, ok := <-h.queue; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (h *holding) Drain() {
	h.queue <- h.last
	_ = h.Close()
}

func (h *holding) Close() error {
	h.closing.Do(func() { close(h.queue) })
	return h.Listener.Close()
}

// TestDrainedConnectionsAreServed: what the kernel accepted before the end is answered.
func TestDrainedConnectionsAreServed(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(http.ResponseWriter, *http.Request) {})})
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inner.Close() }()
	r.addr = inner.Addr().String()
	k := r.kept()
	accepted, err := inner.Accept()
	if err != nil {
		t.Fatal(err)
	}
	l := &holding{Listener: inner, queue: make(chan net.Conn, 1), last: accepted}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.proxy.Serve(ctx, l) }()
	stop()
	if res, err := k.get("app.test"); err != nil || res.StatusCode != http.StatusOK || !res.Close {
		t.Errorf("%v %+v", err, res)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestSettleWaitsForRecentConnectionsOnly in virtual time.
func TestSettleWaitsForRecentConnectionsOnly(t *testing.T) {
	const grace = time.Second
	after := func(prepare func(c *clients, conn net.Conn)) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var c clients
			conn, peer := net.Pipe()
			defer func() { _, _ = conn.Close(), peer.Close() }()
			prepare(&c, conn)
			begin := time.Now()
			c.settle(t.Context(), grace)
			took = time.Since(begin)
		})
		return took
	}
	for name, test := range map[string]struct {
		prepare func(c *clients, conn net.Conn)
		want    time.Duration
	}{
		"none":              {func(*clients, net.Conn) {}, 0},
		"new":               {func(c *clients, n net.Conn) { c.arrived(n) }, grace},
		"new 300 ms ago":    {func(c *clients, n net.Conn) { c.arrived(n); <-time.After(300 * time.Millisecond) }, 700 * time.Millisecond},
		"busy":              {func(c *clients, n net.Conn) { c.arrived(n); c.busy(n) }, grace},
		"idle":              {func(c *clients, n net.Conn) { c.arrived(n); c.busy(n); c.idle(n) }, grace},
		"idle for long":     {func(c *clients, n net.Conn) { c.arrived(n); c.busy(n); c.idle(n); <-time.After(grace) }, 0},
		"gone":              {func(c *clients, n net.Conn) { c.arrived(n); c.gone(n) }, 0},
		"unknown":           {func(c *clients, n net.Conn) { c.busy(n); c.idle(n) }, 0},
		"busy after 200 ms": {func(c *clients, n net.Conn) { c.arrived(n); time.AfterFunc(200*time.Millisecond, func() { c.busy(n) }) }, 200 * time.Millisecond},
		"new request": {func(c *clients, n net.Conn) {
			c.arrived(n)
			c.busy(n)
			time.AfterFunc(grace/2, func() { c.idle(n); c.busy(n) })
		}, grace / 2},
		"gone after 200 ms":  {func(c *clients, n net.Conn) { c.arrived(n); time.AfterFunc(200*time.Millisecond, func() { c.gone(n) }) }, 200 * time.Millisecond},
		"idle again in 0.5s": {func(c *clients, n net.Conn) { c.arrived(n); c.busy(n); time.AfterFunc(grace/2, func() { c.idle(n) }) }, grace},
	} {
		if got := after(test.prepare); got < test.want || got > test.want+20*time.Millisecond {
			t.Errorf("%s: waited %v, want %v", name, got, test.want)
		}
	}
}

// TestOnlyUnusedConnectionsAreClosed: the others are net/http's to close.
func TestOnlyUnusedConnectionsAreClosed(t *testing.T) {
	var c clients
	unused, far := net.Pipe()
	used, farUsed := net.Pipe()
	defer func() { _, _, _ = far.Close(), used.Close(), farUsed.Close() }()
	c.arrived(unused)
	c.arrived(used)
	c.busy(used)
	c.idle(used)
	c.closeUnused()
	if _, err := unused.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the unused one: %v", err)
	}
	_ = used.SetWriteDeadline(time.Now())
	if _, err := used.Write([]byte("x")); errors.Is(err, io.ErrClosedPipe) {
		t.Error("the used one is closed")
	}
}
