package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/api/client"
	"fairlead/router"
	"fairlead/router/route"
)

// following is a run of fairlead events against a router that a test moves.
type following struct {
	t        *testing.T
	events   *api.Events
	addr     string
	stop     func() // ends the router
	out, err buffer
	cancel   context.CancelFunc
	ended    chan int
}

type noView struct{}

func (noView) View() *router.View { return &router.View{} }

// follow starts a router and, behind it, fairlead events with args.
func follow(t *testing.T, before func(*api.Events), args ...string) *following {
	t.Helper()
	f := &following{t: t, events: api.NewEvents(), ended: make(chan int, 1)}
	before(f.events)
	f.serve("127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	f.cancel = cancel
	env := []string{"FAIRLEAD_ADMIN=" + f.addr}
	go func() {
		f.ended <- Main(ctx, append([]string{"events"}, args...), Streams{In: strings.NewReader(""), Out: &f.out, Err: &f.err, Env: env})
	}()
	t.Cleanup(func() {
		cancel()
		f.stop()
	})
	return f
}

// serve lets a router answer at an address until it is stopped.
func (f *following) serve(addr string) {
	f.t.Helper()
	l, err := new(net.ListenConfig).Listen(f.t.Context(), "tcp", addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.addr = l.Addr().String()
	server := api.New(api.Config{Viewer: noView{}, Log: zerolog.Nop(), Events: f.events})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("Serve: %v", err)
		}
	})
}

// until waits until a condition holds.
func (f *following) until(what string, condition func() bool) {
	f.t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			f.t.Fatalf("%s did not come\n%s\n%s", what, f.out.String(), f.err.String())
		case <-tick.C:
		}
	}
}

func (f *following) prints(text string) {
	f.t.Helper()
	f.until(text, func() bool { return strings.Contains(f.out.String()+f.err.String(), text) })
}

func (f *following) interrupt() int {
	f.cancel()
	return <-f.ended
}

func changeOf(id, from, to string) route.Transition {
	return route.Transition{
		At: time.Now(), Entrypoint: id, Backend: "c1", Address: "10.0.0.1:80", Container: "shop-" + id + "-1", Layer: "active",
		From: from, To: to, Cause: "probe", Kind: route.KindTimeout, Message: "no answer in 2s", InRotation: to == "up",
	}
}

func nothing(*api.Events) {}

func TestEventsArePrinted(t *testing.T) {
	f := follow(t, func(e *api.Events) {
		old := changeOf("http_old", "up", "down")
		old.At = time.Now().Add(-time.Hour)
		e.Transition(old)
		e.Transition(changeOf("http_api", "up", "down"))
		e.Transition(changeOf("http_other", "up", "down"))
		e.Transition(changeOf("http_api", "down", "up"))
	}, "--since", "10m", "--filter", "API shop")
	f.prints("down > up")
	if code := f.interrupt(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	lines := strings.Split(strings.TrimSpace(f.out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "http_api  shop-http_api-1 10.0.0.1:80  up > down  timeout: no answer in 2s  (out of rotation)") ||
		!strings.Contains(lines[1], "(in rotation)") {
		t.Errorf("%s", f.out.String())
	}
}

func TestEventsForPrograms(t *testing.T) {
	f := follow(t, func(e *api.Events) {
		e.Transition(changeOf("http_a", "up", "down"))
		e.Transition(changeOf("http_b", "up", "down"))
	}, "--since", "0", "--json", "--filter", "http_b")
	f.prints("http_b")
	f.interrupt()
	lines := strings.Split(strings.TrimSpace(f.out.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"type":"hello"`) || !strings.HasPrefix(lines[1], `{"type":"transition"`) || f.err.String() != "" {
		t.Errorf("%s\n%s", f.out.String(), f.err.String())
	}
}

// TestEventsGoOnAfterARestart: the router goes away and comes back; nothing is shown
// twice, what happened meanwhile is shown, and what is lost is said.
func TestEventsGoOnAfterARestart(t *testing.T) {
	f := follow(t, nothing, "--since", "0")
	f.events.Transition(changeOf("http_first", "up", "down"))
	f.prints("http_first")
	f.stop()
	f.prints("the router stops: trying to connect again")
	f.events.Transition(changeOf("http_meanwhile", "up", "down"))
	f.serve(f.addr) // with a boot id of its own
	f.prints("started anew")
	f.prints("http_meanwhile")
	if n := strings.Count(f.out.String(), "http_first "); n != 1 {
		t.Errorf("http_first is shown %d times:\n%s", n, f.out.String())
	}
	f.stop()
	f.events = api.NewEvents()
	f.events.Transition(changeOf("http_anew", "up", "down"))
	f.serve(f.addr)
	f.prints("events are lost here")
	f.prints("http_anew")
	if code := f.interrupt(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestEventsFromHostileNames: names that move the cursor are shown as text.
func TestEventsFromHostileNames(t *testing.T) {
	f := follow(t, func(e *api.Events) {
		c := changeOf("http_evil", "up", "down")
		c.Container, c.Message = "x\x1b[2J", "a\nb\u202e"
		e.Transition(c)
	}, "--since", "0")
	f.prints("http_evil")
	f.interrupt()
	if out := f.out.String(); strings.ContainsAny(out, "\x1b\u202e") || strings.Count(out, "\n") != 1 {
		t.Errorf("%q", out)
	}
}

func TestEventsThatCannotBegin(t *testing.T) {
	w := offlineWorld(t)
	if r := w.run("events"); r.code != exitUnreachable || !strings.Contains(r.err, "no router answers") {
		t.Errorf("%d %s", r.code, r.err)
	}
	for _, text := range []string{"-5m", "yesterday", "1.5"} {
		if r := w.run("events", "--since="+text); r.code != exitUsage {
			t.Errorf("%s: %d %s", text, r.code, r.err)
		}
	}
	var asked atomic.Int32
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer refusing.Close()
	w.env = append(w.env, "FAIRLEAD_ADMIN="+refusing.URL)
	if r := w.run("events"); r.code != exitUnreachable || !strings.Contains(r.err, "FAIRLEAD_USER") || asked.Load() != 1 {
		t.Errorf("%d %s, asked %d times", r.code, r.err, asked.Load())
	}
}

func TestEventLines(t *testing.T) {
	reason, hint := "cannot reach the engine", "start it"
	for want, line := range map[string]string{
		"routes: a new or changed; b removed":                              tableLine(&api.EventTable{Changed: []string{"a"}, Removed: []string{"b"}}),
		"routes: many changed":                                             tableLine(&api.EventTable{All: true, Diagnostics: true}),
		"diagnostics: other findings; fairlead validate shows them":        tableLine(&api.EventTable{Diagnostics: true}),
		"provider docker  ready":                                           statusLine(&api.Provider{Name: "docker", Phase: "ready"}, style{}),
		"provider docker  stale  cannot reach the engine (start it)":       statusLine(&api.Provider{Name: "docker", Phase: "stale", LastError: &reason, Hint: &hint}, style{}),
		"http_api  ok > panic  no backend is verified":                     transitionLine(&api.EventTransition{Entrypoint: "http_api", Transition: api.Transition{From: "ok", To: "panic", Message: "no backend is verified"}}, style{}),
		"http_api  cannot reach the engine  still down  (out of rotation)": transitionLine(&api.EventTransition{Entrypoint: "http_api", Backend: &reason, Transition: api.Transition{From: "down", To: "down"}}, style{}),
	} {
		if line != want {
			t.Errorf("%q, want %q", line, want)
		}
	}
}

// TestAbsenceIsSaidOnce: a router that is away for a day is one line.
func TestAbsenceIsSaidOnce(t *testing.T) {
	var errOut buffer
	f := &follower{program: &program{Streams: Streams{Err: &errOut}}}
	for range 5 {
		f.lost(errors.New("gone"))
	}
	f.hello(&api.EventHello{Boot: "a"})
	f.lost(client.ErrStopped)
	if n := strings.Count(errOut.String(), "\n"); n != 2 || !strings.Contains(errOut.String(), "the router stops") {
		t.Errorf("%d lines: %s", n, errOut.String())
	}
}
