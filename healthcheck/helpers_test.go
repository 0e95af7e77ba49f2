package healthcheck

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// fakeNet is a network in memory: what a dial meets is decided per address.
type fakeNet struct {
	mu    sync.Mutex
	start time.Time
	nodes map[string]*fakeNode
}

// fakeNode is one address.
type fakeNode struct {
	behave func(ctx context.Context) (net.Conn, error)
	dials  []time.Duration // since the network's start
	open   int
	most   int
}

func newNet() *fakeNet { return &fakeNet{start: time.Now(), nodes: map[string]*fakeNode{}} }

func (n *fakeNet) node(address string) *fakeNode {
	if n.nodes[address] == nil {
		n.nodes[address] = &fakeNode{behave: refuse}
	}
	return n.nodes[address]
}

// set decides what dials of an address meet from now on.
func (n *fakeNet) set(address string, behave func(context.Context) (net.Conn, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.node(address).behave = behave
}

func (n *fakeNet) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	node := n.node(address)
	node.dials = append(node.dials, time.Since(n.start))
	node.open++
	node.most = max(node.most, node.open)
	behave := node.behave
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		node.open--
		n.mu.Unlock()
	}()
	return behave(ctx)
}

// dials returns when an address was dialled, to the millisecond.
func (n *fakeNet) dials(address string) []time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []time.Duration
	for _, d := range n.node(address).dials {
		out = append(out, d.Truncate(time.Millisecond))
	}
	return out
}

func errno(e syscall.Errno) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", e)}
}

func refuse(context.Context) (net.Conn, error) { return nil, errno(syscall.ECONNREFUSED) }

// accept is an open port: it takes whatever comes until the other side closes.
func accept(context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		buf := make([]byte, 512)
		for {
			if _, err := server.Read(buf); err != nil {
				return
			}
		}
	}()
	return client, nil
}

func blackhole(ctx context.Context) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// answer is a server that reads one request head and writes a text.
func answer(text string) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go serveOnce(server, text, nil)
		return client, nil
	}
}

// serveOnce reads a request head, hands it to seen and answers.
func serveOnce(conn net.Conn, text string, seen func(head string)) {
	defer conn.Close()
	var head []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(head, []byte("\r\n\r\n")) {
		n, err := conn.Read(buf)
		head = append(head, buf[:n]...)
		if err != nil {
			return
		}
	}
	if seen != nil {
		seen(string(head))
	}
	_, _ = conn.Write([]byte(text))
}

// recorder keeps transitions.
type recorder struct {
	mu  sync.Mutex
	all []route.Transition
}

func (r *recorder) add(t route.Transition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, t)
}

// loud returns the transitions that are worth a line, as "at entrypoint/backend from>to".
func (r *recorder) loud(start time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, t := range r.all {
		if !t.Debug {
			out = append(out, fmt.Sprintf("%s %s/%s %s>%s", t.At.Sub(start).Truncate(time.Millisecond), t.Entrypoint, t.Backend, t.From, t.To))
		}
	}
	return out
}

// rig is an engine in a bubble, over a network in memory.
type rig struct {
	t      *testing.T
	net    *fakeNet
	engine *Engine
	seen   *recorder
	logs   *safeBuffer
	start  time.Time
	stop   context.CancelFunc
	cells  map[string]*route.RotationCell
	gen    uint64
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(strings.TrimSpace(s.b.String()), "\n")
}

// bubble runs a test with virtual time. The engine does not run until run is called.
func bubble(t *testing.T, cfg Config, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, net: newNet(), seen: &recorder{}, logs: &safeBuffer{}, start: time.Now(), cells: map[string]*route.RotationCell{}}
		if cfg.Dial == nil {
			cfg.Dial = r.net.dial
		}
		if cfg.Resolve == nil {
			cfg.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, errNoAddress }
		}
		cfg.Log = zerolog.New(r.logs).Level(zerolog.DebugLevel)
		cfg.OnTransition = r.seen.add
		r.engine = New(cfg)
		r.stop = func() {}
		test(r)
		r.stop()
		synctest.Wait()
	})
}

// run starts the engine; it ends with the test.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.engine.Run(ctx); err != nil {
			r.t.Error(err)
		}
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	synctest.Wait()
}

// at lets time pass until d after the start.
func (r *rig) at(d time.Duration) {
	r.t.Helper()
	wait := time.Until(r.start.Add(d))
	if wait < 0 {
		r.t.Fatalf("%s is over", d)
	}
	<-time.After(wait)
	synctest.Wait()
}

// apply hands entrypoints to the engine as the Controller does.
func (r *rig) apply(sets ...route.PlacementSet) {
	r.gen++
	r.engine.Apply(r.gen, sets)
	synctest.Wait()
}

// set makes the placement set of an entrypoint.
func (r *rig) set(id string, backends ...route.Backend) route.PlacementSet {
	return r.setOf(&route.Entrypoint{ID: id, Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}, backends...)
}

func (r *rig) setOf(e *route.Entrypoint, backends ...route.Backend) route.PlacementSet {
	if r.cells[e.ID] == nil {
		r.cells[e.ID] = &route.RotationCell{}
	}
	e.Backends = backends
	s := route.PlacementSet{Entrypoint: e, Cell: r.cells[e.ID]}
	for _, b := range backends {
		s.Placements = append(s.Placements, &route.Placement{Entrypoint: e.ID, Backend: b, Load: &route.Load{}, Upstream: &fakeUpstream{}})
	}
	return s
}

type fakeUpstream struct {
	mu   sync.Mutex
	idle int
}

func (u *fakeUpstream) CloseIdle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.idle++
}
func (u *fakeUpstream) Retire(route.Drain)  {}
func (u *fakeUpstream) CloseTunnels(string) {}
func (u *fakeUpstream) Reinstate()          {}

// backend makes a container's backend with a TCP check: jitter 0, initialDelay 0.
func backend(id, host string, edit ...func(*route.Backend)) route.Backend {
	c := route.DefaultCheck()
	c.Jitter, c.InitialDelay = 0, 0
	c.Port = 80
	b := route.Backend{
		ID: id, Name: id, Container: &route.Container{ID: id, Name: id + "-name"},
		Incarnation: "docker/" + id + "/1/" + host, Host: host, Port: 80, Scheme: route.SchemeHTTP,
		Weight: 100, Provider: route.ProviderPresent, Docker: route.DockerHealthPrefer, Check: &c,
		StartedAt: time.Now(),
	}
	for _, f := range edit {
		f(&b)
	}
	return b
}

// checked edits a backend's check without touching that of others.
func checked(f func(*route.Check)) func(*route.Backend) {
	return func(b *route.Backend) {
		if b.Check == nil {
			return
		}
		c := *b.Check
		f(&c)
		b.Check = &c
	}
}

func httpCheck(path string) func(*route.Backend) {
	return checked(func(c *route.Check) { c.Type, c.Path, c.Scheme = route.ProbeHTTP, path, route.SchemeHTTP })
}

// health returns what the engine says of a backend.
func (r *rig) health(entrypoint, backend string) route.BackendHealth {
	r.t.Helper()
	for _, b := range r.engine.View().Entrypoints[entrypoint].Backends {
		if b.Backend.ID == backend {
			return b
		}
	}
	r.t.Fatalf("no backend %s in %s", backend, entrypoint)
	return route.BackendHealth{}
}

// wantState checks a backend's state and rotation reason, "" for any.
func (r *rig) wantState(entrypoint, backend string, state route.State, reason route.RotationReason) {
	r.t.Helper()
	h := r.health(entrypoint, backend)
	if h.State != state || reason != "" && h.RotationReason != reason {
		r.t.Errorf("at %s: %s/%s is %s (%s), want %s (%s); %s", time.Since(r.start), entrypoint, backend,
			h.State, h.RotationReason, state, reason, h.Message)
	}
}

// serving lists the members of an entrypoint's published rotation.
func (r *rig) serving(entrypoint string) string {
	var ids []string
	for _, m := range r.cells[entrypoint].Load().Members {
		ids = append(ids, m.Placement.Backend.ID)
	}
	return strings.Join(ids, " ")
}

func (r *rig) wantServing(entrypoint, want string) {
	r.t.Helper()
	if got := r.serving(entrypoint); got != want {
		r.t.Errorf("at %s: %s is served by %q, want %q", time.Since(r.start), entrypoint, got, want)
	}
}

func secs(s ...float64) []time.Duration {
	out := make([]time.Duration, len(s))
	for i, v := range s {
		out[i] = time.Duration(v * float64(time.Second))
	}
	return out
}
