package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/route"
)

// gate is a backend that says when it has a request and answers when told.
type gate struct{ began, finish chan struct{} }

func newGate() *gate { return &gate{began: make(chan struct{}, 10), finish: make(chan struct{})} }

func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	g.began <- struct{}{}
	select {
	case <-g.finish:
		_, _ = io.WriteString(w, "finished")
	case <-r.Context().Done():
	}
}

type answer struct {
	res  *http.Response
	body string
	err  error
}

func (r *rig) inBackground(method, host, path string) <-chan answer {
	req := r.request(method, host, path, nil)
	c := client(r.t)
	done := make(chan answer, 1)
	go func() {
		res, err := c.Do(req)
		if err != nil {
			done <- answer{err: err}
			return
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		done <- answer{res, string(body), err}
	}()
	return done
}

// TestRetireLetsRequestsFinish: no new ones, those in flight end, nothing is pooled.
func TestRetireLetsRequestsFinish(t *testing.T) {
	g := newGate()
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, g.serve)})
	r.start()
	done := r.inBackground("GET", "app.test", "/")
	<-g.began
	up := placement(entry, 0).Upstream.(*upstream)
	up.Retire(route.Drain{Timeout: int64(time.Minute)})
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 503, route.ReasonLeaving)
	close(g.finish)
	if a := <-done; a.err != nil || a.body != "finished" {
		t.Errorf("the request in flight: %+v", a)
	}
	eventually(t, "no connection left", func() bool {
		up.mu.Lock()
		defer up.mu.Unlock()
		return len(up.conns) == 0 && len(up.calls) == 0
	})
}

// TestDrainEndsWhatIsLeft: requests and tunnels are cut when the drain is over.
func TestDrainEndsWhatIsLeft(t *testing.T) {
	g := newGate()
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/ws" {
			echoWebSocket(w, req)
			return
		}
		g.serve(w, req)
	})})
	r.start()
	c := r.websocket("app.test")
	done := r.inBackground("GET", "app.test", "/")
	<-g.began
	up := placement(entry, 0).Upstream
	up.Retire(route.Drain{Timeout: int64(time.Hour)})
	if err := echo(c, "while draining"); err != nil {
		t.Errorf("a tunnel does not survive the drain's begin: %v", err)
	}
	up.(*upstream).cut.Reset(0) // the drain is over
	a := <-done
	if a.err != nil {
		t.Fatal(a.err)
	}
	wantReason(t, a.res, 502, route.ReasonBackendClosed)
	if err := echo(c, "after"); err == nil {
		t.Error("the tunnel outlives the drain")
	}
	eventually(t, "nothing in flight", func() bool { return placement(entry, 0).Load.InFlight.Load() == 0 })
	for _, o := range r.outcomes.all() {
		if o.Transport {
			t.Errorf("our own cut is blamed on the backend: %+v", o)
		}
	}
}

// TestRetireClosesIdleConnections: a new container on an old address gets new ones.
func TestRetireClosesIdleConnections(t *testing.T) {
	var conns atomic.Int32
	ended := make(chan struct{}, 10)
	address := serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		conns.Add(1)
		for {
			if _, err := readSeen(br); err != nil {
				ended <- struct{}{}
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	r := newRig(t)
	entry := r.route("app.test", []string{address})
	r.start()
	for range 3 {
		r.get("app.test", "/")
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for three requests", n)
	}
	old := placement(entry, 0)
	r.rotate(entry)
	old.Upstream.Retire(route.Drain{Timeout: int64(time.Minute)})
	<-ended
	r.get("app.test", "/")
	placement(entry, 0).Upstream.CloseIdle()
	<-ended
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections, want a new one for the new upstream", n)
	}
}

// TestLateDialIsNotKept: a dial that ends after the upstream retired leaves nothing.
func TestLateDialIsNotKept(t *testing.T) {
	address := serveHTTP(t, func(http.ResponseWriter, *http.Request) {})
	dialing, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(c *Config) {
		c.Dial = func(_ context.Context, network, address string) (net.Conn, error) {
			close(dialing)
			<-release
			return net.Dial(network, address)
		}
	})
	entry := r.route("app.test", []string{address})
	r.start()
	done := r.inBackground("GET", "app.test", "/")
	<-dialing
	up := placement(entry, 0).Upstream.(*upstream)
	up.Retire(route.Drain{})
	if a := <-done; a.res == nil || a.res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%+v", a)
	}
	close(release)
	eventually(t, "no connection left", func() bool {
		up.mu.Lock()
		defer up.mu.Unlock()
		return len(up.conns) == 0
	})
}

// TestShutdownFinishesRequests: the listener closes, what is in flight ends, idle and
// unused connections hold nobody up.
func TestShutdownFinishesRequests(t *testing.T) {
	g := newGate()
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, g.serve)})
	r.start()
	unused := r.dial()
	done := r.inBackground("GET", "app.test", "/")
	<-g.began
	begin := time.Now()
	r.stop()
	eventually(t, "the listener is closed", func() bool {
		c, err := net.Dial("tcp", r.addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	close(g.finish)
	if a := <-done; a.err != nil || a.body != "finished" || !a.res.Close {
		t.Errorf("the request in flight: %+v", a)
	}
	err := <-r.served
	r.served <- err
	if err != nil {
		t.Errorf("Serve: %v", err)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("an unused connection held the shutdown up: %v", took)
	}
	if _, err := unused.Read(make([]byte, 1)); err == nil {
		t.Error("the unused connection is open")
	}
}

// TestShutdownCutsWhatTakesTooLong: tunnels after half the time, requests after all of it.
func TestShutdownCutsWhatTakesTooLong(t *testing.T) {
	g := newGate()
	r := newRig(t, func(c *Config) { c.Timeouts.ShutdownTimeout = 300 * time.Millisecond })
	r.route("app.test", []string{serveHTTP(t, g.serve)})
	r.route("ws.test", []string{serveHTTP(t, echoWebSocket)})
	r.start()
	c := r.websocket("ws.test")
	if err := echo(c, "hi"); err != nil {
		t.Fatal(err)
	}
	done := r.inBackground("GET", "app.test", "/")
	<-g.began
	r.stop()
	if _, _, err := c.ReadMessage(); err == nil {
		t.Error("the tunnel outlives the shutdown")
	}
	if a := <-done; a.err == nil && a.res.StatusCode == http.StatusOK {
		t.Errorf("%+v", a)
	}
	err := <-r.served
	r.served <- err
	if err == nil || !strings.Contains(err.Error(), "shutdownTimeout (300ms)") || !strings.Contains(err.Error(), "stop_grace_period") {
		t.Errorf("Serve: %v", err)
	}
}

// TestShutdownWithATunnelAlone ends in time and without an error.
func TestShutdownWithATunnelAlone(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.ShutdownTimeout = 400 * time.Millisecond })
	r.route("ws.test", []string{serveHTTP(t, echoWebSocket)})
	r.start()
	c := r.websocket("ws.test")
	if err := echo(c, "hi"); err != nil {
		t.Fatal(err)
	}
	r.stop()
	err := <-r.served
	r.served <- err
	if err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestShutdownDelay: new requests are served until it is over.
func TestShutdownDelay(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.ShutdownDelay = 200 * time.Millisecond })
	r.route("app.test", []string{serveHTTP(t, func(http.ResponseWriter, *http.Request) {})})
	r.start()
	begin := time.Now()
	r.stop()
	if res, _ := r.get("app.test", "/"); res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
	err := <-r.served
	r.served <- err
	if err != nil || time.Since(begin) < 200*time.Millisecond {
		t.Errorf("Serve: %v after %v", err, time.Since(begin))
	}
}

func TestServeReportsADeadListener(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Minute} {
		r := newRig(t, func(c *Config) { c.Timeouts.ShutdownDelay = delay })
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		served := make(chan error, 1)
		go func() { served <- r.proxy.Serve(ctx, l) }()
		if delay > 0 {
			cancel()
		}
		_ = l.Close()
		if err := <-served; err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
			t.Errorf("delay %v: %v", delay, err)
		}
	}
}

// panicking is a filter with a bug.
type panicking struct{}

func (panicking) Before(x *exchange.Exchange) route.Reason {
	panic("canary-in-panic " + x.Header.Get("Authorization"))
}

// TestPanicCostsOneRequest: 500, a log line with the route, nothing of the request in it.
func TestPanicCostsOneRequest(t *testing.T) {
	r, lines := logged(t)
	r.route("app.test", []string{serveHTTP(t, func(http.ResponseWriter, *http.Request) {})})
	broken := r.route("broken.test", []string{closedAddress(t)})
	broken.Prepared = chainOf(panicking{})
	r.entries[1].Prepared = broken.Prepared
	r.table = router.Build(2, r.entries)
	r.start()
	req := r.request("GET", "broken.test", "/?q=canary-in-query", nil)
	req.Header.Set("Authorization", "canary-in-header")
	res, body := r.do(req)
	wantReason(t, res, 500, "internal_error")
	wantLine(t, lines.find(t, "host", "broken.test"), map[string]any{"status": 500.0, "reason": "internal_error"})
	if text := r.log.String(); strings.Contains(text, "canary") || !strings.Contains(text, `"route":"http_broken.test"`) || !strings.Contains(text, "stack") {
		t.Errorf("log: %s", text)
	}
	if strings.Contains(body, "canary") {
		t.Errorf("body: %s", body)
	}
	if res, _ := r.get("app.test", "/"); res.StatusCode != http.StatusOK {
		t.Errorf("status %d after the panic", res.StatusCode)
	}
}

// TestOpen refuses what cannot work.
func TestOpen(t *testing.T) {
	p := New(Config{})
	if _, err := p.Open(route.Backend{ID: "b1", Scheme: route.SchemeHTTPS, TLS: route.BackendTLS{CA: "missing"}}); err == nil || !strings.Contains(err.Error(), `"missing"`) {
		t.Errorf("%v", err)
	}
	up, err := p.Open(route.Backend{Scheme: route.SchemeHTTP, Host: "127.0.0.1", Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	up.CloseIdle()
	up.Retire(route.Drain{})
	up.Retire(route.Drain{}) // again does nothing
}

func TestSetters(t *testing.T) {
	r := newRig(t)
	p := New(Config{})
	p.SetTables(r)
	p.SetOutcomes(&r.outcomes)
	r.table = router.Build(1, nil)
	x := exchangeFor(t, "a.test", "/")
	if p.tables.Table().Match(x) != nil {
		t.Error("a route out of nothing")
	}
	p.report(route.Outcome{Status: 200})
	New(Config{}).report(route.Outcome{})
	if len(r.outcomes.all()) != 1 {
		t.Error("the outcome is lost")
	}
	if x.Peer.Addr() != netip.MustParseAddr("192.0.2.1") {
		t.Error("peer")
	}
}
