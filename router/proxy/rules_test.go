package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// sink is a backend that answers with a status and keeps the bodies it got.
type sink struct {
	status int
	mu     sync.Mutex
	bodies []string
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	w.WriteHeader(s.status)
	_, _ = fmt.Fprintf(w, "answer %d", s.status)
}

func (s *sink) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.bodies
	s.bodies = nil
	return got
}

// TestRetryTable: status, method, body and attempts decide together.
func TestRetryTable(t *testing.T) {
	const all = route.RetryConnect | route.RetryTimeout | route.Retry502 | route.Retry503 | route.Retry504
	small, large := strings.Repeat("x", 10_000), strings.Repeat("x", maxReplay+1)
	for _, tt := range []struct {
		status   int
		on       route.RetryOn
		methods  string
		method   string
		body     string
		chunked  bool
		attempts int
		want     int
	}{
		{503, route.RetryConnect, "", "GET", "", false, 2, 503},
		{503, route.Retry503, "", "GET", "", false, 2, 200},
		{503, route.Retry503, "", "GET", "", false, 1, 503},
		{503, route.Retry502 | route.Retry504, "", "GET", "", false, 2, 503},
		{502, route.Retry502, "", "GET", "", false, 2, 200},
		{504, route.Retry504, "", "HEAD", "", false, 2, 200},
		{500, all, "", "GET", "", false, 2, 500},
		{429, all, "", "GET", "", false, 2, 429},
		{503, all, "", "PUT", small, false, 2, 200},
		{503, all, "", "PUT", small, true, 2, 200},
		{503, all, "", "DELETE", "", false, 2, 200},
		{503, all, "", "PUT", large, false, 2, 503},
		{503, all, "", "PUT", large, true, 2, 503},
		{503, all, "", "POST", "", false, 2, 503},
		{503, all, "", "POST", small, false, 2, 503},
		{503, all, "GET,POST", "POST", small, false, 2, 200},
		{503, all, "POST", "GET", "", false, 2, 503},
	} {
		bad, good := &sink{status: tt.status}, &sink{status: 200}
		r := newRig(t)
		entry := r.route("app.test", []string{serveHTTP(t, bad.ServeHTTP), serveHTTP(t, good.ServeHTTP)}, func(e *route.Entrypoint) {
			e.Options.RetryAttempts, e.Options.Retry.On, e.Options.Retry.Methods = tt.attempts, tt.on, tt.methods
		})
		r.start()
		var body io.Reader
		if tt.body != "" {
			body = strings.NewReader(tt.body)
		}
		if tt.chunked {
			body = io.MultiReader(body)
		}
		res, text := r.do(r.request(tt.method, "app.test", "/", body))
		name := fmt.Sprintf("%s of %d bytes, %d, on %b, methods %q, %d attempts", tt.method, len(tt.body), tt.status, tt.on, tt.methods, tt.attempts)
		if res.StatusCode != tt.want || tt.method != "HEAD" && text != fmt.Sprintf("answer %d", tt.want) {
			t.Errorf("%s: status %d, %q", name, res.StatusCode, text)
		}
		got, first := good.take(), bad.take()
		if len(first) != 1 || first[0] != tt.body || (len(got) == 1) != (tt.want == 200) || len(got) > 0 && got[0] != tt.body {
			t.Errorf("%s: the first got %d, the second %d", name, len(first), len(got))
		}
		balanced(t, entry, nil)
		if n := entry.Cell.Traffic.Counts(); n.Requests() != 1 || n.Classes[tt.want/100] != 1 {
			t.Errorf("%s: counted %v", name, n.Classes)
		}
	}
}

// TestResponseIsNotGivenUpForNothing: where no other try can be made, the client gets
// the response that there is.
func TestResponseIsNotGivenUpForNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *rig)
	}{
		{"the other is full", func(r *rig) {
			other := placement(&r.entries[0], 1)
			other.Backend.MaxConnections = 1
			other.Load.InFlight.Store(1)
		}},
		{"the other has left", func(r *rig) { placement(&r.entries[0], 1).Upstream.Retire(route.Drain{}) }},
		{"the budget is used up", func(r *rig) { r.entries[0].Cell.Retrying.Store(3) }},
		{"the breaker opened", func(r *rig) { judged(&r.entries[0], &onceGate{}) }},
	} {
		bad, good := &sink{status: 503}, &sink{status: 200}
		r := newRig(t)
		r.route("app.test", []string{serveHTTP(t, bad.ServeHTTP), serveHTTP(t, good.ServeHTTP)}, func(e *route.Entrypoint) {
			e.Options.Retry.On = route.Retry503
		})
		tt.change(r)
		r.start()
		res, text := r.get("app.test", "/")
		if res.StatusCode != 503 || text != "answer 503" || len(bad.take()) != 1 || len(good.take()) != 0 {
			t.Errorf("%s: %d %q", tt.name, res.StatusCode, text)
		}
	}
}

// onceGate lets one in.
type onceGate struct{ entered atomic.Bool }

func (g *onceGate) Enter(time.Time) (uint64, time.Duration, bool) {
	return 1, time.Second, g.entered.CompareAndSwap(false, true)
}
func (g *onceGate) Leave(uint64, route.Outcome, time.Time) {}

// TestRetryOfWhatWasNotAnswered: a backend that hangs up and one that never answers.
func TestRetryOfWhatWasNotAnswered(t *testing.T) {
	var got atomic.Int32
	g := newGate()
	defer close(g.finish)
	for _, tt := range []struct {
		name, backend, method string
		on                    route.RetryOn
		status                int
	}{
		{"hangs up", hangsUp(t, &got), "GET", route.Retry502, 200},
		{"hangs up", hangsUp(t, &got), "POST", route.Retry502, 502},
		{"hangs up", hangsUp(t, &got), "GET", route.RetryTimeout, 502},
		{"silent", serveHTTP(t, g.serve), "GET", route.RetryTimeout, 200},
		{"silent", serveHTTP(t, g.serve), "GET", route.Retry504, 200},
		{"silent", serveHTTP(t, g.serve), "POST", route.RetryTimeout, 504},
		{"silent", serveHTTP(t, g.serve), "GET", route.RetryConnect, 504},
	} {
		good := &sink{status: 200}
		r := newRig(t)
		entry := r.route("app.test", []string{tt.backend, serveHTTP(t, good.ServeHTTP)}, func(e *route.Entrypoint) {
			e.Options.Retry.On, e.Options.BackendTimeout = tt.on, 100*time.Millisecond
		})
		r.start()
		res, _ := r.do(r.request(tt.method, "app.test", "/", nil))
		if res.StatusCode != tt.status {
			t.Errorf("%s, %s, on %b: status %d, want %d", tt.name, tt.method, tt.on, res.StatusCode, tt.status)
		}
		balanced(t, entry, nil)
	}
}

// quiet is a response that nobody reads.
type quiet struct {
	exchange.Writer
	status int
}

func (w *quiet) Duplex() {}
func (w *quiet) Head(status int, _ []string, _ func(add func(name, value string))) {
	w.status = status
}
func (w *quiet) Write(p []byte) (int, error) { return len(p), nil }
func (w *quiet) CloseAfter()                 {}
func (w *quiet) Abort()                      {}

// TestTriesToTheInstant: when a backend that refuses is dialled again.
func TestTriesToTheInstant(t *testing.T) {
	for _, tt := range []struct {
		name     string
		backends int
		attempts int
		rule     route.Retry
		err      error
		want     string // milliseconds
	}{
		{"within tryDuration", 1, 2, route.Retry{On: route.RetryConnect, TryDuration: time.Second, TryInterval: 250 * time.Millisecond},
			syscall.ECONNREFUSED, "[0 250 500 750]"},
		{"other ones at once", 2, 2, route.Retry{On: route.RetryConnect, TryDuration: 600 * time.Millisecond, TryInterval: 250 * time.Millisecond},
			syscall.ECONNREFUSED, "[0 0 250 250 500 500]"},
		{"by attempts", 1, 3, route.Retry{On: route.RetryConnect, TryInterval: 250 * time.Millisecond}, syscall.ENETUNREACH, "[0 250 500]"},
		{"after the wait for news", 1, 2, route.DefaultRetry(), syscall.ECONNREFUSED, "[0 500]"},
		{"connect is not among the reasons", 2, 3, route.Retry{On: route.Retry503, TryInterval: time.Millisecond}, syscall.ENETUNREACH, "[0]"},
		{"a dial that takes too long", 2, 2, route.Retry{On: route.RetryTimeout}, context.DeadlineExceeded, "[0 0]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				var dials []int64
				r := newRig(t, func(c *Config) {
					c.Dial = func(context.Context, string, string) (net.Conn, error) {
						mu.Lock()
						defer mu.Unlock()
						dials = append(dials, time.Since(began).Milliseconds())
						return nil, tt.err
					}
				})
				entry := r.route("app.test", []string{"127.0.0.1:1", "127.0.0.1:2"}[:tt.backends], func(e *route.Entrypoint) {
					e.Options.RetryAttempts, e.Options.Retry = tt.attempts, tt.rule
				})
				x := exchangeFor(t, "app.test", "/")
				x.Response, x.Began = &quiet{}, time.Now()
				x.Route = r.Table().Match(x)
				r.proxy.forward(x, x.Route, nil, &stay{ended: make(chan struct{})})
				if got := fmt.Sprint(dials); got != tt.want || x.Reason == route.ReasonNone {
					t.Errorf("dials at %s, want %s; %s", got, tt.want, x.Reason)
				}
				balanced(t, entry, nil)
			})
		})
	}
}

// TestPauseEnds with the client, with the router, and with another rotation.
func TestPauseEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(r *rig, leave context.CancelFunc, ended chan struct{})
		more bool
	}{
		{"client", func(_ *rig, leave context.CancelFunc, _ chan struct{}) { leave() }, false},
		{"router", func(_ *rig, _ context.CancelFunc, ended chan struct{}) { close(ended) }, false},
		{"rotation", func(r *rig, _ context.CancelFunc, _ chan struct{}) { judged(&r.entries[0], nil) }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.route("app.test", []string{"127.0.0.1:1"}, func(e *route.Entrypoint) { e.Options.Retry.TryInterval = time.Minute })
			matched := r.Table().Match(exchangeFor(t, "app.test", "/"))
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			ended := make(chan struct{})
			f := waitingDelivery(ctx, t, matched)
			f.rot, f.ended = matched.Cell.Load(), time.Now()
			began := time.Now()
			time.AfterFunc(time.Second, func() { tt.end(r, leave, ended) })
			if more := f.pause(&stay{ended: ended}); more != tt.more || time.Since(began) != time.Second {
				t.Errorf("%s: %v after %v", tt.name, more, time.Since(began))
			}
		})
	}
}

// TestLeavingBackendCostsNoTry: with retry.attempts=1, too, and however many there are a
// request that ends its backends ends two at most.
func TestLeavingBackendCostsNoTry(t *testing.T) {
	for _, attempts := range []int{1, 5} {
		var killed atomic.Int32
		good := &recorder{}
		r := newRig(t)
		entry := r.route("app.test", []string{hangsUp(t, &killed)}, func(e *route.Entrypoint) { e.Options.RetryAttempts = attempts })
		spare := r.rotateOnly(entry, serveRaw(t, good.serve))
		r.start()
		done := r.inBackground("GET", "app.test", "/")
		eventually(t, "the first has it", func() bool { return killed.Load() == 1 })
		entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}}))
		if a := <-done; a.err != nil || a.res.StatusCode != 200 {
			t.Errorf("%d attempts: %+v", attempts, a)
		}

		killed.Store(0)
		r = newRig(t)
		entry = r.route("app.test", []string{hangsUp(t, &killed), hangsUp(t, &killed), hangsUp(t, &killed)}, func(e *route.Entrypoint) { e.Options.RetryAttempts = attempts })
		r.start()
		done = r.inBackground("GET", "app.test", "/")
		for n := int32(1); n <= 2; n++ {
			eventually(t, "another one is gone", func() bool { return killed.Load() == n })
			removeKilled(entry)
		}
		if a := <-done; a.err != nil || a.res.StatusCode != 502 || killed.Load() != 2 {
			t.Errorf("%d attempts: %d were ended, %+v", attempts, killed.Load(), a)
		}
	}
}

// TestPostOnAConnectionThatHasJustEnded: what cannot be sent twice is not sent on a
// connection whose end is there to be seen, however short it was idle.
func TestPostOnAConnectionThatHasJustEnded(t *testing.T) {
	u := newUpstream(t, Config{})
	near, far := tcpPair(t)
	c := &conn{Conn: near, up: u, opened: time.Now()}
	if c.unusable(time.Millisecond, true) || c.unusable(time.Millisecond, false) {
		t.Error("an open connection is unusable")
	}
	_ = far.Close()
	eventually(t, "the end arrived", func() bool { return readable(near) })
	if !c.unusable(time.Millisecond, true) {
		t.Error("a POST would go out on it")
	}
	if c.unusable(time.Millisecond, false) {
		t.Error("a GET pays for a look")
	}
	for method, discarded := range map[string]bool{"POST": true, "PATCH": true, "GET": false} {
		x := exchangeFor(t, "app.test", "/")
		x.Verb = method
		o := &outgoing{call: u.begin(x, 0, nil)}
		o.gotConn(httptrace.GotConnInfo{Conn: &conn{Conn: near, up: u, opened: time.Now()}, Reused: true, IdleTime: time.Millisecond})
		if o.call.conn.discarded.Load() != discarded {
			t.Errorf("%s: discarded is %v", method, !discarded)
		}
		o.call.end()
	}
}

func tcpPair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	near, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	return near, far
}

// TestEjectionIsNoLeave: a failure that ejects its backend counts as any other; only one
// that leaves costs no try.
func TestEjectionIsNoLeave(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		good := &sink{status: 200}
		r := newRig(t)
		entry := r.route("app.test", []string{closedAddress(t), serveHTTP(t, good.ServeHTTP)}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
		all := entry.Cell.Load().Members
		judge := &testJudge{onEnd: func() {
			entry.Cell.Store(route.NewRotation(9, route.TierVerified, all[1:]))
			if leaves {
				all[0].Placement.Upstream.Retire(route.Drain{Timeout: int64(time.Minute)})
			}
		}}
		judged(entry, nil, judge)
		r.start()
		res, _ := r.get("app.test", "/")
		if want := map[bool]int{true: 200, false: 502}[leaves]; res.StatusCode != want {
			t.Errorf("leaves %v: status %d, want %d", leaves, res.StatusCode, want)
		}
		balanced(t, entry, nil, judge)
	}
}
