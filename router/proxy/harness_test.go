package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

// rig is a proxy in front of test backends, on real loopback sockets.
type rig struct {
	t        testing.TB
	proxy    *Proxy
	entries  []router.Entry
	table    *router.Table
	outcomes outcomes
	addr     string
	stop     context.CancelFunc
	served   chan error
	log      *lockedLog
}

// Table implements Tables.
func (r *rig) Table() *router.Table { return r.table }

type outcomes struct {
	off  bool // for benchmarks
	mu   sync.Mutex
	list []route.Outcome
}

// Report implements Outcomes.
func (o *outcomes) Report(out route.Outcome) {
	if o.off {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, out)
}

func (o *outcomes) all() []route.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]route.Outcome(nil), o.list...)
}

type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newRig makes a proxy that is not serving yet; add routes, then start it.
func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, log: &lockedLog{}}
	cfg := Config{Tables: r, Outcomes: &r.outcomes, AllowLoopback: true, Log: zerolog.New(r.log).Level(zerolog.DebugLevel)}
	for _, c := range change {
		c(&cfg)
	}
	r.proxy = New(cfg)
	return r
}

// option changes an entrypoint under construction.
type option func(*route.Entrypoint)

// route adds a route of a host to backends ("host:port", "https://host:port", "h2c://host:port").
func (r *rig) route(host string, backends []string, options ...option) *router.Entry {
	r.t.Helper()
	pattern, err := route.ParseHostPattern(host)
	if err != nil {
		r.t.Fatal(err)
	}
	e := &route.Entrypoint{
		ID: "http_" + host, Name: host, Protocol: route.HTTP,
		Match:   route.Match{Hosts: []route.HostPattern{pattern}, Path: route.PathRule{Kind: route.PathPrefix, Value: "/"}},
		Options: route.DefaultOptions(),
	}
	for i, address := range backends {
		e.Backends = append(e.Backends, r.backend(address, i))
	}
	for _, o := range options {
		o(e)
	}
	entry := router.Entry{Entrypoint: e, Cell: new(route.RotationCell), Prepared: r.proxy.Prepare(e)}
	r.entries = append(r.entries, entry)
	r.rotate(&entry)
	r.table = router.Build(1, r.entries)
	return &entry
}

func (r *rig) backend(address string, i int) route.Backend {
	r.t.Helper()
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "http", address
	}
	host, text, err := net.SplitHostPort(rest)
	if err != nil {
		r.t.Fatal(err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		r.t.Fatal(err)
	}
	return route.Backend{
		ID: fmt.Sprintf("b%d", i), Incarnation: fmt.Sprintf("i%d", i), Host: host, Port: uint16(port),
		Scheme: route.Scheme(scheme), DialTimeout: 2 * time.Second, Weight: 100, Provider: route.ProviderPresent,
	}
}

// rotate puts every backend of an entrypoint into rotation.
func (r *rig) rotate(entry *router.Entry) []*route.Placement {
	r.t.Helper()
	var members []route.Member
	var placements []*route.Placement
	for _, b := range entry.Entrypoint.Backends {
		up, err := r.proxy.Open(b)
		if err != nil {
			r.t.Fatal(err)
		}
		p := &route.Placement{Entrypoint: entry.Entrypoint.ID, Backend: b, Load: new(route.Load), Upstream: up}
		p.Load.Proven.Store(true)
		placements = append(placements, p)
		members = append(members, route.Member{Placement: p, Weight: b.Weight, Reason: route.InVerified})
	}
	entry.Cell.Place(placements)
	if len(members) > 0 {
		entry.Cell.Store(route.NewRotation(1, route.TierVerified, members))
	}
	return placements
}

// start serves on a loopback socket until the test ends.
func (r *rig) start() *rig {
	r.t.Helper()
	if r.table == nil {
		r.table = router.Build(1, r.entries)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.addr = l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.served = stop, make(chan error, 1)
	go func() { r.served <- r.proxy.Serve(ctx, l) }()
	r.t.Cleanup(func() {
		stop()
		select {
		case <-r.served:
		case <-time.After(20 * time.Second):
			r.t.Error("Serve does not return")
		}
	})
	return r
}

// placement returns the i-th placement in rotation.
func placement(entry *router.Entry, i int) *route.Placement {
	return entry.Cell.Load().Members[i].Placement
}

// serveHTTP starts a backend and returns its address.
func serveHTTP(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// serveRaw starts a backend that handles connections by hand. n counts them from 0.
func serveRaw(t testing.TB, handle func(n int, c net.Conn, r *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				handle(n, c, bufio.NewReader(c))
			})
		}
	})
	return l.Addr().String()
}

// closedAddress is a loopback address where nobody listens.
func closedAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// request makes a request to the rig with a Host of its own.
func (r *rig) request(method, host, path string, body io.Reader) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.addr+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Host = host
	return req
}

// client makes a client with connections of its own that neither follows redirects nor decodes.
func client(t testing.TB) *http.Client {
	t.Helper()
	tr := &http.Transport{DisableCompression: true, ExpectContinueTimeout: 10 * time.Second}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// do sends a request and reads the whole answer.
func (r *rig) do(req *http.Request) (*http.Response, string) {
	r.t.Helper()
	return r.doWith(client(r.t), req)
}

func (r *rig) doWith(c *http.Client, req *http.Request) (*http.Response, string) {
	r.t.Helper()
	res, err := c.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatalf("%s %s: reading the body: %v", req.Method, req.URL, err)
	}
	return res, string(body)
}

func (r *rig) get(host, path string) (*http.Response, string) {
	r.t.Helper()
	return r.do(r.request(http.MethodGet, host, path, nil))
}

// dial opens a raw connection to the rig.
func (r *rig) dial() net.Conn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// wantReason checks status and reason of an answer of the router's own.
func wantReason(t testing.TB, res *http.Response, status int, reason route.Reason) {
	t.Helper()
	if res.StatusCode != status || !strings.Contains(res.Header.Get("Proxy-Status"), `details="`+string(reason)+`"`) {
		t.Errorf("status %d, Proxy-Status %q; want %d %s", res.StatusCode, res.Header.Get("Proxy-Status"), status, reason)
	}
}

// eventually polls until ok holds or ten seconds are over.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("not within ten seconds: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}
