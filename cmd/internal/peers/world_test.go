package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/healthcheck"
	"fairlead/provider/label"
	"fairlead/router"
	"fairlead/router/proxy"
	"fairlead/router/route"
)

// pipes is a listener in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// dial connects to the listener.
func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- peer{far}:
		return peer{near}, nil
	case <-p.done:
		return nil, refused()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// peer is a pipe that has addresses, as a client of a router must.
type peer struct{ net.Conn }

// RemoteAddr implements net.Conn.
func (peer) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000} }

func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// app is one backend: what its health and its pages answer can be set while it runs.
type app struct {
	listener *pipes
	server   http.Server
	health   atomic.Int64 // status of /health
	status   atomic.Int64 // of all else
	slow     atomic.Int64 // nanoseconds before a page is answered
	dead     atomic.Bool  // refuses connections
	pages    atomic.Int64 // requests for pages
	probes   atomic.Int64 // requests for /health
	dials    atomic.Int64 // connections
	hosts    sync.Map     // Host of probes
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" {
		a.probes.Add(1)
		a.hosts.Store(r.Host, true)
		w.WriteHeader(int(a.health.Load()))
		return
	}
	a.pages.Add(1)
	if d := time.Duration(a.slow.Load()); d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return
		}
	}
	w.WriteHeader(int(a.status.Load()))
}

// world is a router and its backends.
type world struct {
	t      *testing.T
	start  time.Time
	apps   []*app
	front  *pipes
	engine *healthcheck.Engine
	views  *router.Controller
	box    chan<- route.Snapshot
}

// run makes a world of n backends whose containers carry the labels (relative to the
// service), and plays a script in it.
func run(t *testing.T, n int, labels string, script func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, start: time.Now(), front: newPipes()}
		ctx, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for range n {
			w.apps = append(w.apps, newApp(&all))
		}
		snapshots := make(chan route.Snapshot)
		w.engine = healthcheck.New(healthcheck.Config{Dial: w.dial})
		data := proxy.New(proxy.Config{Outcomes: w.engine, Dial: w.dial})
		w.views = router.NewController(router.ControllerConfig{
			Health: w.engine, Upstreams: data, Prepare: data.Prepare, Log: zerolog.Nop(),
			Providers: []route.ProviderStatus{{Name: "docker", Enabled: true}},
		})
		data.SetTables(w.views)
		all.Go(func() { _ = w.engine.Run(ctx) })
		all.Go(func() { _ = w.views.Run(ctx, snapshots) })
		all.Go(func() { _ = data.Serve(ctx, w.front) })
		w.box = snapshots
		w.relabel(labels)
		script(w)
		stop()
		for _, a := range w.apps {
			_ = a.server.Close()
		}
		all.Wait()
	})
}

// relabel gives the containers other labels while the router runs.
func (w *world) relabel(labels string) {
	w.t.Helper()
	w.box <- w.snapshot(labels)
	synctest.Wait()
}

func newApp(all *sync.WaitGroup) *app {
	a := &app{listener: newPipes()}
	a.health.Store(200)
	a.status.Store(200)
	a.server.Handler = a
	all.Go(func() { _ = a.server.Serve(a.listener) })
	return a
}

// dial reaches a backend by its address in memory.
func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	for i, a := range w.apps {
		if address != w.address(i) {
			continue
		}
		a.dials.Add(1)
		if a.dead.Load() {
			return nil, refused()
		}
		return a.listener.dial(ctx)
	}
	return nil, errors.New("no such backend")
}

func (w *world) address(i int) string { return fmt.Sprintf("10.0.0.%d:80", i+1) }

// snapshot judges the containers as the Docker provider does.
func (w *world) snapshot(labels string) route.Snapshot {
	w.t.Helper()
	var inputs []label.Input
	for i := range w.apps {
		c := label.Candidate{
			ID: strings.Repeat(string(rune('a'+i)), 64), Name: "web-" + string(rune('1'+i)), Provider: "docker", Project: "p", Service: "web",
			Labels: map[string]string{"sozune.enable": "true", "sozune.http.web.host": "web.test", "sozune.http.web.port": "80"},
			// Long ago, so that healthCheck.initialDelay is over.
			Created: w.start.Add(-time.Hour), Started: w.start.Add(-time.Hour),
		}
		for l := range strings.FieldsSeq(labels) {
			key, value, _ := strings.Cut(l, "=")
			c.Labels["sozune.http.web."+key] = value
		}
		parsed := label.Parse(label.Config{Prefix: "sozune"}, c)
		for _, d := range parsed.Diagnostics {
			if d.Severity != route.SeverityInfo {
				w.t.Fatalf("the labels are not good: %+v", d)
			}
		}
		inputs = append(inputs, label.Input{
			Candidate: c, Parsed: parsed, Presence: label.Present,
			Endpoints: []label.Endpoint{{Host: fmt.Sprintf("10.0.0.%d", i+1), Port: 80}},
		})
	}
	grouped := label.Group(inputs, nil)
	if len(grouped.Entrypoints) != 1 {
		w.t.Fatalf("%d entrypoints", len(grouped.Entrypoints))
	}
	return route.Snapshot{Provider: "docker", Entrypoints: grouped.Entrypoints, Status: route.ProviderStatus{
		Name: "docker", Enabled: true, Configured: true, Connected: true, Phase: route.PhaseReady, LastSync: w.start,
	}}
}

// at lets time pass until d after the start.
func (w *world) at(d time.Duration) {
	w.t.Helper()
	left := time.Until(w.start.Add(d))
	if left < 0 {
		w.t.Fatalf("%v is over", d)
	}
	<-time.After(left)
	synctest.Wait()
}

// get asks for a page on a connection of its own and returns the status and the reason
// that the router gives, once everything is quiet again.
func (w *world) get() (status int, reason string) {
	w.t.Helper()
	status, reason = w.ask()
	synctest.Wait()
	return status, reason
}

// ask is get for requests that run at the same time: it waits for its answer alone.
func (w *world) ask() (status int, reason string) {
	conn, err := w.front.dial(w.t.Context())
	if err != nil {
		w.t.Error(err)
		return 0, ""
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /page HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n"); err != nil {
		w.t.Error(err)
		return 0, ""
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Error(err)
		return 0, ""
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	_, reason, _ = strings.Cut(res.Header.Get("Proxy-Status"), "details=")
	return res.StatusCode, strings.Trim(reason, `"`)
}

// wantGet asks n times for a page and wants a status each time.
func (w *world) wantGet(n, status int) {
	w.t.Helper()
	for range n {
		if got, reason := w.get(); got != status {
			w.t.Errorf("at %v: %d %s, want %d", time.Since(w.start), got, reason, status)
			return
		}
	}
}

// wantServing wants the numbers of those in rotation, such as "1 2".
func (w *world) wantServing(want string) {
	w.t.Helper()
	var in []string
	for _, b := range w.health().Backends {
		if b.InRotation {
			in = append(in, strings.TrimPrefix(b.Backend.Name, "web-"))
		}
	}
	slices.Sort(in)
	if got := strings.Join(in, " "); got != want {
		w.t.Errorf("at %v: %q serve, want %q\n%s", time.Since(w.start), got, want, w.explain())
	}
}

func (w *world) health() route.EntrypointHealth {
	w.t.Helper()
	v := w.views.View()
	if len(v.Entrypoints) != 1 {
		w.t.Fatalf("%d entrypoints", len(v.Entrypoints))
	}
	return v.Entrypoints[0].Health
}

func (w *world) explain() string {
	text := w.health().Explain
	for _, b := range w.health().Backends {
		text += "\n  " + b.Backend.Name + " " + string(b.State) + ": " + b.Explain
	}
	return text
}

// pages are the requests for pages that reached each backend since the last call.
func (w *world) pages() (list []int64) {
	for _, a := range w.apps {
		list = append(list, a.pages.Swap(0))
	}
	return list
}

// ready is the status of GET /ready under a policy.
func (w *world) ready(policy api.Readiness) int {
	s := api.New(api.Config{Readiness: policy, Log: zerolog.Nop(), Viewer: w.views})
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/ready", nil))
	return answer.Code
}
