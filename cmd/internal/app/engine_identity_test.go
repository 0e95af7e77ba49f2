package app

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/api"
	"fairlead/provider/docker/enginetest"
)

// harbour is a router on a fake engine whose containers have loopback addresses, so that
// their processes can be real listeners.
type harbour struct {
	t     *testing.T
	e     *enginetest.Engine
	addr  Addresses
	log   *buffer
	mu    sync.Mutex
	alive map[string]*http.Server
}

const harbourPort = "18080"

func newHarbour(t *testing.T, style enginetest.Style) *harbour {
	t.Helper()
	h := &harbour{t: t, e: enginetest.New(style), alive: map[string]*http.Server{}}
	h.e.AddNetwork(enginetest.Network{Name: "edge", Subnet: netip.MustParsePrefix("127.83.0.0/16")})
	s := settings("")
	s.Providers.File.Path = ""
	s.Providers.Docker.Enabled, s.Providers.Docker.Endpoint = true, h.e.ServeUnix(t)
	s.HealthCheck.AllowLoopback = true
	h.addr, h.log, _ = run(t, s)
	t.Cleanup(func() {
		for name := range h.alive {
			h.exit(name)
		}
	})
	return h
}

// create makes a container on the network; with a route to <name>.localhost when routed.
func (h *harbour) create(name string, routed bool) {
	c := enginetest.Container{Name: name, Networks: []string{"edge"}}
	if routed {
		c.Labels = map[string]string{
			"sozune.enable": "true", "sozune.http." + name + ".host": name + ".localhost", "sozune.http." + name + ".port": harbourPort,
		}
	}
	h.e.Create(c)
}

// start starts a container as engines do: its address, then its process, which listens at
// once, and in the end the word that it has started. The process comes sooner after the
// connect than on engines, except that a router on a busy machine is given its turn.
func (h *harbour) start(name string) {
	h.t.Helper()
	const takes, turn = 500 * time.Millisecond, 100 * time.Millisecond
	h.e.StartTakes(takes)
	asked := h.e.Requests(enginetest.Occupants)
	done := make(chan struct{})
	go func() { defer close(done); h.e.Start(name) }()
	eventually(h.t, name+" has an address", h.log, func() bool { return h.e.Address(name, "edge") != "" })
	end := time.Now().Add(takes - 2*turn)
	for h.e.Requests(enginetest.Occupants) == asked && time.Now().Before(end) {
		<-time.After(time.Millisecond)
	}
	<-time.After(turn)
	h.listen(name)
	<-done
}

// listen begins a container's process: it answers with its name.
func (h *harbour) listen(name string) {
	h.t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(h.e.Address(name, "edge"), harbourPort))
	if err != nil {
		h.t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })}
	go func() { _ = srv.Serve(l) }()
	h.mu.Lock()
	h.alive[name] = srv
	h.mu.Unlock()
}

// exit ends a container's process.
func (h *harbour) exit(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.alive[name].Close()
	delete(h.alive, name)
}

func (h *harbour) serves(name string) {
	h.t.Helper()
	eventually(h.t, name+" serves", h.log, func() bool {
		status, body, err := get(h.addr.HTTP, name+".localhost", "/")
		return err == nil && status == 200 && body == name
	})
}

// visit asks for a host every few milliseconds, whatever became of earlier requests, and
// counts what it gets, until the returned function is called: answers of its own, errors
// of the router, and others' pages.
func (h *harbour) visit(name string) (end func() (own, failed int64, foreign string)) {
	var good, bad atomic.Int64
	var other atomic.Value
	one := func() {
		switch status, body, err := get(h.addr.HTTP, name+".localhost", "/"); {
		case err == nil && status == 200 && body == name:
			good.Add(1)
		case err == nil && status == 200:
			other.Store(body)
		default:
			bad.Add(1)
		}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				wg.Go(one)
			}
		}
	})
	return func() (int64, int64, string) {
		close(stop)
		wg.Wait()
		text, _ := other.Load().(string)
		return good.Load(), bad.Load(), text
	}
}

func (h *harbour) backend(name string) api.BackendHealth {
	h.t.Helper()
	e := asked[api.Entrypoint](h.t, h.addr.Admin, "/entrypoints/http_"+name)
	if len(e.BackendHealth) != 1 {
		h.t.Fatalf("%s: %+v", name, e)
	}
	return e.BackendHealth[0]
}

// TestTheAddressOfALostContainerNeverServesItsName: containers end without a word of the
// engine, their addresses go to others at once, whose processes listen a moment later. No
// visitor of theirs sees another one's page, and a third one notices nothing.
func TestTheAddressOfALostContainerNeverServesItsName(t *testing.T) {
	for name, style := range map[string]enginetest.Style{"20.10": enginetest.Docker20, "29": enginetest.Docker29} {
		t.Run(name, func(t *testing.T) { addressesAreTaken(newHarbour(t, style)) })
	}
}

func addressesAreTaken(h *harbour) {
	t := h.t
	for _, name := range []string{"steady", "app"} {
		h.create(name, true)
		h.start(name)
		h.serves(name)
	}
	var before api.BackendHealth
	eventually(t, "steady is verified", h.log, func() bool { before = h.backend("steady"); return before.State == "up" })
	steady, app := h.visit("steady"), h.visit("app")
	for i := range 4 {
		for _, action := range []string{"kill", "die", "stop", "disconnect"} {
			h.e.Suppress(action, true)
		}
		address := h.e.Address("app", "edge")
		h.exit("app")
		h.e.Stop("app")
		thief := fmt.Sprintf("thief%d", i)
		h.create(thief, i%2 == 0)
		h.start(thief)
		if h.e.Address(thief, "edge") != address {
			t.Fatal("the fake did not reuse the address")
		}
		for _, action := range []string{"kill", "die", "stop", "disconnect"} {
			h.e.Suppress(action, false)
		}
		h.start("app")
		h.serves("app")
	}
	if _, _, foreign := app(); foreign != "" {
		t.Errorf("a visitor of app got the page of %s", foreign)
	}
	if own, failed, foreign := steady(); failed > 0 || foreign != "" || own == 0 {
		t.Errorf("steady: %d answers, %d failures, pages of %q", own, failed, foreign)
	}
	after := h.backend("steady")
	if after.Incarnation != before.Incarnation || after.State != "up" || after.Since != before.Since || after.Counters.Transitions != before.Counters.Transitions {
		t.Errorf("steady became %+v, was %+v", after, before)
	}
}

// TestAnotherOnesContainersSwapNoTable: an unrelated container comes and goes every
// 100 ms, a restart loop goes on beside.
func TestAnotherOnesContainersSwapNoTable(t *testing.T) {
	h := newHarbour(t, enginetest.Docker20)
	h.create("app", true)
	h.start("app")
	h.serves("app")
	var before api.BackendHealth
	eventually(t, "app is verified", h.log, func() bool { before = h.backend("app"); return before.State == "up" })
	h.e.StartTakes(0)
	lines := strings.Count(h.log.String(), `"generation"`)
	visitors := h.visit("app")
	for range 50 {
		h.e.Remove(h.e.Run(enginetest.Container{Name: "job", Networks: []string{"edge"}}))
		<-time.After(100 * time.Millisecond)
	}
	if n := strings.Count(h.log.String(), `"generation"`) - lines; n != 0 {
		t.Errorf("%d changes of routes:\n%s", n, h.log)
	}
	h.create("loop", true)
	for range 10 {
		h.e.Start("loop")
		<-time.After(50 * time.Millisecond)
		h.e.Crash("loop")
		<-time.After(100 * time.Millisecond)
	}
	if own, failed, foreign := visitors(); failed > 0 || foreign != "" || own == 0 {
		t.Errorf("app: %d answers, %d failures, pages of %q", own, failed, foreign)
	}
	after := h.backend("app")
	if after.Incarnation != before.Incarnation || after.Since != before.Since || after.Counters.Transitions != before.Counters.Transitions {
		t.Errorf("app became %+v, was %+v", after, before)
	}
	loop := asked[api.Entrypoint](t, h.addr.Admin, "/entrypoints/http_loop")
	if len(loop.Absent) != 1 || loop.Absent[0].Reason != "restarting" || loop.Absent[0].Detail == nil ||
		*loop.Absent[0].Detail != "ended with exit code 1, restarted 10 times" {
		t.Errorf("the restart loop is shown as %+v", loop.Absent)
	}
	if !strings.Contains(loop.Health.Explain, "restarted 10 times") || !strings.Contains(loop.Health.Explain, "docker logs loop") {
		t.Errorf("explained as %q", loop.Health.Explain)
	}
}
