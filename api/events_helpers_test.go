package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

// pipes is a listener whose connections are pipes: bubbles need connections that they
// can see. Writes wait for the reader.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 3035} }

// local is a connection whose peer is on this machine.
type local struct{ net.Conn }

func (local) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 50000} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- local{far}:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// changing is a viewer whose view a test replaces.
type changing struct{ view atomic.Pointer[router.View] }

func (c *changing) View() *router.View { return c.view.Load() }

// stage is a served API with a stream, in a bubble.
type stage struct {
	*testing.T
	server *Server
	events *Events
	viewer changing
	pipes  *pipes
	stop   func() error
}

// onStage runs a test in a bubble, with a server that ends with it.
func onStage(t *testing.T, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, events: NewEvents(), pipes: newPipes()}
		s.viewer.view.Store(&router.View{Generation: 7})
		s.server = New(Config{Viewer: &s.viewer, Log: zerolog.Nop(), Version: "1.2.3", Events: s.events})
		s.server.boot = "b00t"
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		served, ran := make(chan error, 1), make(chan error, 1)
		go func() { served <- s.server.Serve(ctx, s.pipes) }()
		go func() { ran <- s.events.Run(ctx, &s.viewer) }()
		s.stop = sync.OnceValue(func() error {
			cancel()
			if err := <-ran; err != nil {
				t.Errorf("Run: %v", err)
			}
			return <-served
		})
		defer func() {
			if err := s.stop(); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}()
		test(s)
	})
}

// view puts another table into force.
func (s *stage) view(generation uint64, ids ...string) {
	v := &router.View{Generation: generation}
	for _, id := range ids {
		v.Entrypoints = append(v.Entrypoints, router.EntrypointView{Entrypoint: &route.Entrypoint{ID: id, Source: "docker"}})
	}
	s.viewer.view.Store(v)
	s.events.Changed()
}

// audience is one watcher of a test.
type audience struct {
	*testing.T
	conn *websocket.Conn
}

// open connects a watcher; query is such as "?since=3".
func (s *stage) open(query string) *audience {
	s.Helper()
	d := websocket.Dialer{NetDialContext: s.pipes.dial, HandshakeTimeout: time.Second}
	conn, resp, err := d.DialContext(s.Context(), "ws://127.0.0.1:3035/events"+query, nil)
	if err != nil {
		s.Fatalf("%v (%+v)", err, resp)
	}
	resp.Body.Close()
	return &audience{T: s.T, conn: conn}
}

func (a *audience) close() { a.conn.Close() }

// anyFrame has what frames of any type have.
type anyFrame struct {
	Type       string
	Rev        uint64
	Generation uint64
	Boot       string
	Resumed    bool
	Entrypoint string
	Changed    []string
	Removed    []string
	All        bool
	Lost       *uint64
	Provider   struct{ Name, Phase string }
	Transition struct{ From, To string }
}

// next returns the next frame.
func (a *audience) next() anyFrame {
	a.Helper()
	_, text, err := a.conn.ReadMessage()
	if err != nil {
		a.Fatalf("no frame: %v", err)
	}
	var f anyFrame
	if err := json.Unmarshal(text, &f); err != nil {
		a.Fatalf("%s: %v", text, err)
	}
	return f
}

// silent fails when a frame comes within a while.
func (a *audience) silent(d time.Duration) {
	a.Helper()
	a.conn.SetReadDeadline(time.Now().Add(d))
	if _, text, err := a.conn.ReadMessage(); err == nil {
		a.Fatalf("unexpected: %s", text)
	}
}

func wentDown(i int) route.Transition {
	return route.Transition{
		At: time.Now(), Rev: uint64(i), Entrypoint: fmt.Sprintf("http_%d", i), Backend: "c1", Address: "10.0.0.1:80", Container: "web-1",
		Layer: "active", From: "up", To: "down", Cause: "probe", Kind: route.KindTimeout, Message: "no answer in 2s", Fail: 3, Threshold: 3,
	}
}

// refused asks for a WebSocket and returns the answer that it got instead.
func (s *stage) refused(query string, header http.Header) (int, Error) {
	s.Helper()
	d := websocket.Dialer{NetDialContext: s.pipes.dial, HandshakeTimeout: time.Second}
	conn, resp, err := d.DialContext(s.Context(), "ws://127.0.0.1:3035/events"+query, header)
	if err == nil {
		conn.Close()
		return http.StatusSwitchingProtocols, Error{}
	}
	if resp == nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	var e Error
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
		s.Fatalf("%d: not an error body: %v", resp.StatusCode, err)
	}
	return resp.StatusCode, e
}
