package dashboard

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/healthcheck"
	"fairlead/router"
	"fairlead/router/route"
)

// rig is a router without its data plane: a real health engine, controller, stream of
// events and admin listener, and backends that can be made sick.
type rig struct {
	t          *testing.T
	snapshots  chan route.Snapshot
	controller *router.Controller
	admin      *httptest.Server
	served     atomic.Pointer[http.Handler] // nil: the listener is away
	entries    []*route.Entrypoint

	mu    sync.Mutex
	conns []net.Conn // that the listener took
}

// cutter notes connections, so that they can be cut even when they are WebSockets.
type cutter struct {
	net.Listener
	rig *rig
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.rig.mu.Lock()
		c.rig.conns = append(c.rig.conns, conn)
		c.rig.mu.Unlock()
	}
	return conn, err
}

// cut closes every connection of the listener.
func (r *rig) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// sick is a backend whose health can be changed.
type sick struct {
	server *httptest.Server
	broken atomic.Bool
}

// idle stands for the data plane, which the dashboard does not need.
type idle struct{}

func (idle) Open(route.Backend) (route.Upstream, error) { return idle{}, nil }
func (idle) CloseIdle()                                 {}
func (idle) Retire(route.Drain)                         {}
func (idle) CloseTunnels(string)                        {}
func (idle) Reinstate()                                 {}

// newRig is a rig that everybody may read, or one with users, whose administrators may
// give orders to the engine.
func newRig(t *testing.T, users ...api.User) *rig {
	t.Helper()
	r := &rig{t: t, snapshots: make(chan route.Snapshot)}
	events := api.NewEvents()
	engine := healthcheck.New(healthcheck.Config{
		Log: zerolog.Nop(), Tick: 100 * time.Millisecond, StartupSpread: 100 * time.Millisecond, AllowLoopback: true, OnTransition: events.Transition,
	})
	r.controller = router.NewController(router.ControllerConfig{
		Health: engine, Upstreams: idle{}, Log: zerolog.Nop(), Changed: events.Changed,
		Providers: []route.ProviderStatus{{Name: "docker", Enabled: true, Configured: true, Phase: route.PhasePending}},
	})
	d := New(Config{Viewer: r.controller, Log: zerolog.Nop(), Version: "1.4.0", Started: time.Now(), Operator: engine})
	handler := api.New(api.Config{Viewer: r.controller, Log: zerolog.Nop(), Version: "1.4.0", Dashboard: d, Operator: engine, Events: events, Users: users, LoginPage: d.ServeLogin}).Handler()
	r.served.Store(&handler)
	r.admin = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if h := r.served.Load(); h != nil {
			(*h).ServeHTTP(w, req)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	r.admin.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.admin.Listener = &cutter{Listener: r.admin.Listener, rig: r}
	r.admin.Start()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, run := range []func(){
		func() { _ = engine.Run(ctx) },
		func() { _ = r.controller.Run(ctx, r.snapshots) },
		func() { _ = events.Run(ctx, r.controller) },
	} {
		wg.Go(run)
	}
	t.Cleanup(func() {
		cancel()
		r.cut()
		r.admin.Close()
		wg.Wait()
	})
	return r
}

// url of a page.
func (r *rig) url(page string) string { return r.admin.URL + "/dashboard/" + page }

// entrypoint adds one with backends that answer probes; publish brings it into force.
func (r *rig) entrypoint(name string, backends int) []*sick {
	r.t.Helper()
	host, err := route.ParseHostPattern(name + ".example.com")
	if err != nil {
		r.t.Fatal(err)
	}
	e := &route.Entrypoint{
		ID: "http_" + name, Name: name, Protocol: route.HTTP, Source: "docker", Project: "demo", Claim: time.Now(),
		Match:   route.Match{Hosts: []route.HostPattern{host}, Path: route.PathRule{Kind: route.PathPrefix, Value: "/"}},
		Options: route.DefaultOptions(),
	}
	var list []*sick
	for i := range backends {
		s := &sick{}
		s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if s.broken.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		r.t.Cleanup(s.server.Close)
		list = append(list, s)
		e.Backends = append(e.Backends, r.backend(fmt.Sprintf("demo-%s-%d", name, i+1), s.server.Listener.Addr().String()))
	}
	slices.SortFunc(e.Backends, func(a, b route.Backend) int { return strings.Compare(a.ID, b.ID) })
	r.entries = append(r.entries, e)
	slices.SortFunc(r.entries, func(a, b *route.Entrypoint) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func (r *rig) backend(name, address string) route.Backend {
	r.t.Helper()
	ip, portText, err := net.SplitHostPort(address)
	if err != nil {
		r.t.Fatal(err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		r.t.Fatal(err)
	}
	b := route.Backend{
		ID: name, Name: name, Host: ip, Port: uint16(port), Scheme: route.SchemeHTTP, Weight: 100, Incarnation: name + "/1", DialTimeout: time.Second,
		Docker: route.DockerHealthPrefer, Provider: route.ProviderPresent, Loopback: true,
		Container: &route.Container{ID: name, Name: name, Image: "demo:1", StartedAt: time.Now().Add(-time.Hour), Health: "none"},
		StartedAt: time.Now().Add(-time.Hour),
	}
	c := route.DefaultCheck()
	c.Type, c.Scheme, c.Port, c.Path, c.Host = route.ProbeHTTP, route.SchemeHTTP, b.Port, "/health", b.Address()
	c.Interval, c.DownInterval, c.Timeout, c.Jitter = 300*time.Millisecond, 300*time.Millisecond, 200*time.Millisecond, 0
	b.Check = &c
	return b
}

// publish hands the entrypoints over as the provider does; the status may be changed.
func (r *rig) publish(change ...func(*route.ProviderStatus)) {
	r.t.Helper()
	s := route.Snapshot{Provider: "docker", Entrypoints: slices.Clone(r.entries), Status: route.ProviderStatus{
		Name: "docker", Enabled: true, Configured: true, Connected: true, Phase: route.PhaseReady, Since: time.Now(), LastSync: time.Now(), EngineVersion: "29.1.3", APIVersion: "1.52", Candidates: len(r.entries),
	}}
	for _, c := range change {
		c(&s.Status)
	}
	select {
	case r.snapshots <- s:
	case <-time.After(5 * time.Second):
		r.t.Fatal("the controller does not take a snapshot")
	}
}
