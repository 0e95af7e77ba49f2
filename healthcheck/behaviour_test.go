package healthcheck_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/healthcheck"
	"fairlead/router/route"
)

// lab runs an engine in a synctest bubble against a network in memory.
type lab struct {
	t      *testing.T
	start  time.Time
	engine *healthcheck.Engine
	net    *fakeNet
	cancel context.CancelFunc
	done   chan struct{}
	gen    uint64
	cells  map[string]*route.RotationCell
	made   map[string]*route.Entrypoint
	logs   *lockedBuffer

	mu    sync.Mutex
	moves []route.Transition
}

// lockedBuffer is a log that tests may read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// fakeNet answers dials by address and notes when they came.
type fakeNet struct {
	mu      sync.Mutex
	start   time.Time
	dials   map[string][]time.Duration
	answers map[string]answer
}

// answer is how an address behaves at one dial; n counts the dials from 0.
type answer func(ctx context.Context, n int) (net.Conn, error)

func (f *fakeNet) set(address string, a answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[address] = a
}

func (f *fakeNet) launches(address string) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Duration(nil), f.dials[address]...)
}

func (f *fakeNet) dial(ctx context.Context, _, address string) (net.Conn, error) {
	f.mu.Lock()
	a, n := f.answers[address], len(f.dials[address])
	f.dials[address] = append(f.dials[address], time.Since(f.start))
	f.mu.Unlock()
	if a == nil {
		a = refuses
	}
	return a(ctx, n)
}

func refuses(context.Context, int) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

func accepts(context.Context, int) (net.Conn, error) {
	client, server := net.Pipe()
	_ = server.Close()
	return client, nil
}

func blackHole(ctx context.Context, _ int) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// script answers the n-th dial with the n-th letter: S accepts, F refuses; the last
// letter goes on.
func script(letters string) answer {
	return func(ctx context.Context, n int) (net.Conn, error) {
		if letters[min(n, len(letters)-1)] == 'S' {
			return accepts(ctx, n)
		}
		return refuses(ctx, n)
	}
}

// serves answers HTTP requests with what reply makes of the request's head.
func serves(reply func(head string) string) answer {
	return func(context.Context, int) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			var head strings.Builder
			for r := bufio.NewReader(server); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				head.WriteString(line)
				if line == "\r\n" {
					break
				}
			}
			_, _ = server.Write([]byte(reply(head.String())))
		}()
		return client, nil
	}
}

func status(code int) answer {
	return serves(func(string) string { return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", code) })
}

// newLab must be called inside a bubble; change may adjust the configuration.
func newLab(t *testing.T, change func(*healthcheck.Config)) *lab {
	t.Helper()
	now := time.Now()
	l := &lab{
		t: t, start: now, done: make(chan struct{}), logs: &lockedBuffer{},
		net:   &fakeNet{start: now, dials: map[string][]time.Duration{}, answers: map[string]answer{}},
		cells: map[string]*route.RotationCell{}, made: map[string]*route.Entrypoint{},
	}
	cfg := healthcheck.Config{
		Log: zerolog.New(l.logs), Dial: l.net.dial, StartupSpread: 1, Version: "test",
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}
		},
		OnTransition: func(tr route.Transition) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.moves = append(l.moves, tr)
		},
	}
	if change != nil {
		change(&cfg)
	}
	l.engine = healthcheck.New(cfg)
	return l
}

// run starts the engine; stop ends it and waits.
func (l *lab) run() {
	ctx, cancel := context.WithCancel(l.t.Context())
	l.cancel = cancel
	go func() {
		defer close(l.done)
		if err := l.engine.Run(ctx); err != nil {
			l.t.Errorf("Run: %v", err)
		}
	}()
	synctest.Wait()
}

func (l *lab) stop() {
	l.cancel()
	<-l.done
}

// at goes to a moment counted from the start of the lab.
func (l *lab) at(d time.Duration) {
	<-time.After(d - time.Since(l.start))
	synctest.Wait()
}

// apply hands entrypoints to the engine as the Controller does: equal ones keep
// their pointers.
func (l *lab) apply(entrypoints ...*route.Entrypoint) {
	l.gen++
	sets := make([]route.PlacementSet, 0, len(entrypoints))
	for _, e := range entrypoints {
		if l.cells[e.ID] == nil {
			l.cells[e.ID] = &route.RotationCell{}
		}
		set := route.PlacementSet{Entrypoint: e, Cell: l.cells[e.ID]}
		for _, b := range e.Backends {
			set.Placements = append(set.Placements, &route.Placement{Entrypoint: e.ID, Backend: b, Load: &route.Load{}})
		}
		sets = append(sets, set)
	}
	l.engine.Apply(l.gen, sets)
}

func (l *lab) backend(entrypoint, id string) route.BackendHealth {
	l.t.Helper()
	for _, b := range l.engine.View().Entrypoints[entrypoint].Backends {
		if b.Backend.ID == id {
			return b
		}
	}
	l.t.Fatalf("no backend %s in %s", id, entrypoint)
	return route.BackendHealth{}
}

func (l *lab) want(entrypoint, id string, state route.State, in bool) route.BackendHealth {
	l.t.Helper()
	b := l.backend(entrypoint, id)
	if b.State != state || b.InRotation != in {
		l.t.Errorf("at %v: %s/%s is %s, in rotation %v (%s); want %s, %v",
			time.Since(l.start), entrypoint, id, b.State, b.InRotation, b.RotationReason, state, in)
	}
	return b
}

// told returns "at from>to" of the transitions of a layer that are not for debugging.
func (l *lab) told(layer string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, m := range l.moves {
		if m.Layer == layer && !m.Debug {
			out = append(out, fmt.Sprintf("%d %s>%s", m.At.Sub(l.start).Milliseconds(), m.From, m.To))
		}
	}
	return out
}

func tcpCheck(change func(*route.Check)) *route.Check {
	c := route.DefaultCheck()
	c.Jitter, c.InitialDelay, c.Port = 0, 0, 80
	if change != nil {
		change(&c)
	}
	return &c
}

func httpCheck(path string, change func(*route.Check)) *route.Check {
	return tcpCheck(func(c *route.Check) {
		c.Type, c.Scheme, c.Path = route.ProbeHTTP, route.SchemeHTTP, path
		if change != nil {
			change(c)
		}
	})
}

func backend(id, host string, check *route.Check) route.Backend {
	return route.Backend{
		ID: id, Name: id, Incarnation: "docker/" + id + "/1/" + host, Host: host, Port: 80, Scheme: route.SchemeHTTP,
		Weight: 100, Docker: route.DockerHealthPrefer, Provider: route.ProviderPresent, Check: check,
		Container: &route.Container{ID: id, Name: id},
	}
}

func entrypoint(id string, backends ...route.Backend) *route.Entrypoint {
	return &route.Entrypoint{
		ID: id, Name: id, Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions(), Backends: backends,
	}
}

func millis(ds []time.Duration) []int64 {
	out := make([]int64, len(ds))
	for i, d := range ds {
		out[i] = d.Milliseconds()
	}
	return out
}
