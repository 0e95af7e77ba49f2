package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/healthcheck"
	"fairlead/provider/label"
	"fairlead/router"
	"fairlead/router/proxy"
	"fairlead/router/route"
)

// street is label.Group, controller, health engine and proxy in front of the apps of two
// projects that both call their service web: whoever came first is http_web.
type street struct {
	t      *testing.T
	engine *healthcheck.Engine
	table  *router.Controller
	in     chan route.Snapshot
	claims label.Claims
	addr   string
	older  time.Time
	log    *buffer
	// applied is called when the engine knows of a change and the table does not.
	applied func()
}

// Apply and View implement router.Health.
func (s *street) Apply(generation uint64, sets []route.PlacementSet) {
	s.engine.Apply(generation, sets)
	if s.applied != nil {
		s.applied()
	}
}

func (s *street) View() *route.HealthView { return s.engine.View() }

func newStreet(t *testing.T) *street {
	s := &street{t: t, in: make(chan route.Snapshot), older: time.Now().Add(-time.Hour), log: &buffer{}}
	s.engine = healthcheck.New(healthcheck.Config{Log: zerolog.New(s.log), AllowLoopback: true})
	p := proxy.New(proxy.Config{AllowLoopback: true, Log: zerolog.Nop(), Outcomes: s.engine})
	s.table = router.NewController(router.ControllerConfig{Health: s, Upstreams: p, Prepare: p.Prepare, Sticky: p.StickyName, Log: zerolog.Nop()})
	p.SetTables(s.table)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 3)
	go func() { ended <- s.engine.Run(ctx) }()
	go func() { ended <- s.table.Run(ctx, s.in) }()
	go func() { ended <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		for range 3 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// house is the app of a project.
type house struct {
	*httptest.Server
	project string
	// The first slow request tells in, and gets the status that comes out.
	in   chan struct{}
	out  chan int
	slow atomic.Bool
}

func (s *street) house(project string) *house {
	h := &house{project: project, in: make(chan struct{}), out: make(chan int)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" && h.slow.CompareAndSwap(false, true) {
			h.in <- struct{}{}
			if status, ok := <-h.out; ok {
				w.WriteHeader(status)
			}
		}
		_, _ = io.WriteString(w, "page of "+project)
	}))
	s.t.Cleanup(func() { close(h.out); h.Close() })
	return h
}

// lives is a project's container; presence is the engine's word about it.
func (s *street) lives(h *house, age time.Duration, presence label.Presence) label.Input {
	born, id := s.older.Add(-age), strings.Repeat(fmt.Sprintf("%x", h.project[1]), 32)
	c := label.Candidate{
		ID: id, Name: h.project + "-web-1", Provider: "docker", Project: h.project, Service: "web", Created: born, Started: born,
		Labels: map[string]string{
			"sozune.enable": "true", "sozune.http.web.host": h.project + ".example", "sozune.http.web.maxConnections": "1",
			"sozune.http.web.maxConnections.queueTimeout": "20s", "sozune.http.web.holdFor": "20000",
			"sozune.http.web.retry.on": "connect,503", "sozune.http.web.retry.tryInterval": "1ms",
		},
	}
	in := label.Input{Candidate: c, Parsed: label.Parse(label.Config{Prefix: "sozune"}, c), Presence: presence, Health: "none"}
	if presence == label.Retained {
		in.Until = time.Now().Add(time.Minute)
		return in
	}
	a := h.Listener.Addr().(*net.TCPAddr)
	in.Endpoints = []label.Endpoint{{Host: "127.0.0.1", Port: uint16(a.Port), Loopback: true}}
	return in
}

// are makes these containers all that there are, and waits for the table.
func (s *street) are(list ...label.Input) {
	s.t.Helper()
	g := label.Group(list, s.claims)
	s.claims = g.Claims
	swaps, _ := s.table.Swaps()
	s.in <- route.Snapshot{
		Provider: "docker", Entrypoints: g.Entrypoints,
		Status: route.ProviderStatus{Name: "docker", Enabled: true, Connected: true, Phase: route.PhaseReady},
	}
	eventually(s.t, "a new table", s.log, func() bool { now, _ := s.table.Swaps(); return now > swaps })
}

func (s *street) get(host, path string) string {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.addr+path, http.NoBody)
	if err != nil {
		return err.Error()
	}
	req.Host = host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(res.Body)
	return string(text)
}

// asks sends a request and goes on.
func (s *street) asks(host, path string) <-chan string {
	got := make(chan string, 1)
	go func() { got <- s.get(host, path) }()
	return got
}

func (s *street) want(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s got %q, not %q", what, got, want)
	}
}

func (s *street) cell(id string) *route.RotationCell { return s.table.Table().Route(id).Cell }

const older, younger = time.Minute, 0

// TestAQueuedRequestNeverGetsAnotherAppsPage: p1 comes back and takes the id of p2 while
// one request of p2 is served and another one waits in line for it.
func TestAQueuedRequestNeverGetsAnotherAppsPage(t *testing.T) {
	s := newStreet(t)
	p1, p2 := s.house("p1"), s.house("p2")
	s.are(s.lives(p2, younger, label.Present))
	slow := s.asks("p2.example", "/slow")
	<-p2.in
	cell := s.cell("http_web")
	queued := s.asks("p2.example", "/")
	eventually(t, "a request in line", s.log, func() bool { return cell.Line.Waiting() == 1 })

	s.are(s.lives(p1, older, label.Present), s.lives(p2, younger, label.Present))
	if s.cell("http_web-p2") != cell {
		t.Error("what waits for p2 waits at a cell that p2 has no more")
	}
	select {
	case got := <-queued:
		t.Fatalf("the request in line got %q, and its only backend is full", got)
	default:
	}
	p2.out <- 200
	s.want("the request in line", <-queued, "page of p2")
	s.want("the slow one", <-slow, "page of p2")
	s.want("p1.example", s.get("p1.example", "/"), "page of p1")
}

// TestANewRequestNeverGetsAnotherAppsPage, also where the engine has the new owner of an
// id already and the table has the old one: when p1 comes and when it goes.
func TestANewRequestNeverGetsAnotherAppsPage(t *testing.T) {
	s := newStreet(t)
	p1, p2 := s.house("p1"), s.house("p2")
	s.are(s.lives(p2, younger, label.Present))
	asked := 0
	s.applied = func() {
		asked++
		s.want("a request between two tables", s.get("p2.example", "/"), "page of p2")
	}
	for range 2 {
		s.are(s.lives(p1, older, label.Present), s.lives(p2, younger, label.Present))
		s.want("p1.example", s.get("p1.example", "/"), "page of p1")
		s.are(s.lives(p2, younger, label.Present))
	}
	if asked != 4 {
		t.Errorf("asked %d times", asked)
	}
}

// TestARetryNeverGetsAnotherAppsPage: the request began before the id changed hands.
func TestARetryNeverGetsAnotherAppsPage(t *testing.T) {
	s := newStreet(t)
	p1, p2 := s.house("p1"), s.house("p2")
	p1.slow.Store(true) // it answers at once
	s.are(s.lives(p2, younger, label.Present))
	slow := s.asks("p2.example", "/slow")
	<-p2.in
	s.are(s.lives(p1, older, label.Present), s.lives(p2, younger, label.Present))
	p2.out <- 503
	s.want("the second try", <-slow, "page of p2")
}

// TestAHeldRequestNeverGetsAnotherAppsPage: p2 is being recreated while p1 takes its id.
func TestAHeldRequestNeverGetsAnotherAppsPage(t *testing.T) {
	s := newStreet(t)
	p1, p2 := s.house("p1"), s.house("p2")
	s.are(s.lives(p2, younger, label.Present))
	s.want("p2.example", s.get("p2.example", "/"), "page of p2")
	s.are(s.lives(p2, younger, label.Retained))
	cell := s.cell("http_web")
	held := s.asks("p2.example", "/")
	eventually(t, "a request that is held", s.log, func() bool { return cell.Held.Load() == 1 })
	s.are(s.lives(p1, older, label.Present), s.lives(p2, younger, label.Retained))
	s.want("p1.example", s.get("p1.example", "/"), "page of p1")
	select {
	case got := <-held:
		t.Fatalf("the held request got %q while p2 has no backend", got)
	default:
	}
	s.are(s.lives(p1, older, label.Present), s.lives(p2, younger, label.Present))
	s.want("the held request", <-held, "page of p2")
}

// TestAnOrderStaysWithItsOwner: neither does p2 get an order about p1, nor does it lose its
// own, when p1 comes and goes and the id of p2 changes with that.
func TestAnOrderStaysWithItsOwner(t *testing.T) {
	s := newStreet(t)
	p1, p2 := s.house("p1"), s.house("p2")
	first, second := s.lives(p1, older, label.Present), s.lives(p2, younger, label.Present)
	order := func(id, backend string, scope route.OrderScope) {
		t.Helper()
		o := route.Order{Action: route.OrderMaintenance, Actor: "ops", Scope: scope, Force: true}
		if err := s.engine.Order(id, backend, o); err != nil {
			t.Fatal(err)
		}
	}
	state := func(id string) route.State { return s.engine.View().Entrypoints[id].Backends[0].State }
	s.are(first, second)
	order("http_web", "", route.ScopeService)
	s.are(second)
	if got := state("http_web"); got == route.StateMaintenance {
		t.Error("p2 is in maintenance by an order about p1")
	}
	s.want("p2.example", s.get("p2.example", "/"), "page of p2")
	order("http_web", second.Candidate.ID[:12], route.ScopeBackend)
	s.are(first, second)
	if one, two := state("http_web"), state("http_web-p2"); one != route.StateMaintenance || two != route.StateMaintenance {
		t.Errorf("p1 is %s and p2 %s, each had an order of its own", one, two)
	}
	s.are(second)
	if got := state("http_web"); got != route.StateMaintenance {
		t.Errorf("p2 lost its order: it is %s", got)
	}
	if got := len(s.engine.Orders()); got != 2 {
		t.Errorf("%d orders are in force, the one about p1 waits for it", got)
	}
}
