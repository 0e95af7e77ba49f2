package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestFailedDialGoesToAnotherBackend: with its body whole, whatever the method.
func TestFailedDialGoesToAnotherBackend(t *testing.T) {
	body := strings.Repeat("0123456789", 10_000)
	good := &recorder{}
	r := newRig(t)
	entry := r.route("app.test", []string{closedAddress(t), serveRaw(t, good.serve)})
	r.start()
	for range 4 {
		res, _ := r.do(r.request("POST", "app.test", "/", strings.NewReader(body)))
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d %v", res.StatusCode, res.Header)
		}
	}
	for _, s := range good.take() {
		if s.body != body {
			t.Errorf("a body of %d bytes arrived with %d", len(body), len(s.body))
		}
	}
	refused := 0
	for _, o := range r.outcomes.all() {
		if o.Kind == route.KindConnectionRefused && o.Transport && o.Placement == placement(entry, 0) {
			refused++
		}
	}
	if refused < 2 || entry.Cell.Retrying.Load() != 0 {
		t.Errorf("%d refusals reported, %d retrying", refused, entry.Cell.Retrying.Load())
	}
}

func TestRetryAttemptsAreTriesInAll(t *testing.T) {
	for attempts, want := range map[int]int{1: 1, 2: 2, 3: 3} {
		var dials atomic.Int32
		r := newRig(t, func(c *Config) {
			c.Dial = func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				return nil, syscall.ECONNREFUSED
			}
		})
		r.route("app.test", []string{"127.0.0.1:1", "127.0.0.1:2"}, func(e *route.Entrypoint) { e.Options.RetryAttempts = attempts })
		r.start()
		res, _ := r.get("app.test", "/")
		wantReason(t, res, 502, route.ReasonConnectRefused)
		if int(dials.Load()) != want {
			t.Errorf("attempts %d: %d dials", attempts, dials.Load())
		}
	}
}

// TestRetryBudget: no retry beyond a fifth of the active requests, three at least.
func TestRetryBudget(t *testing.T) {
	r := newRig(t)
	r.route("app.test", nil)
	matched := r.Table().Match(exchangeFor(t, "app.test", "/"))
	for _, tt := range []struct {
		inFlight, retrying int64
		want               bool
	}{{1, 0, true}, {1, 2, true}, {1, 3, false}, {20, 3, true}, {20, 4, false}, {100, 19, true}, {100, 20, false}} {
		matched.Cell.InFlight.Store(tt.inFlight)
		matched.Cell.Retrying.Store(tt.retrying)
		if got := (&delivery{r: matched}).retry(); got != tt.want {
			t.Errorf("%d in flight, %d retrying: %v", tt.inFlight, tt.retrying, got)
		}
	}
}

// TestNothingIsRetriedThatWasSent: a backend that takes a request and hangs up.
func TestNothingIsRetriedThatWasSent(t *testing.T) {
	var got atomic.Int32
	address := serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, err := readSeen(br); err == nil {
			got.Add(1)
		}
	})
	for _, method := range []string{"GET", "POST", "PUT"} {
		got.Store(0)
		r := newRig(t)
		r.route("app.test", []string{address, address})
		r.start()
		var body io.Reader
		if method != "GET" {
			body = strings.NewReader("x")
		}
		res, _ := r.do(r.request(method, "app.test", "/", body))
		wantReason(t, res, 502, route.ReasonBackendClosed)
		if got.Load() != 1 {
			t.Errorf("%s reached backends %d times", method, got.Load())
		}
	}
}

// closer is a backend that closes a connection as soon as a second request comes
// over it, before any answer: what the idle reuse race looks like.
type closer struct {
	mu    sync.Mutex
	conns int
	got   []string // methods and bodies of all requests
}

func (b *closer) serve(_ int, c net.Conn, br *bufio.Reader) {
	b.mu.Lock()
	b.conns++
	b.mu.Unlock()
	for n := range 2 {
		s, err := readSeen(br)
		if err != nil {
			return
		}
		method, _, _ := strings.Cut(s.line, " ")
		b.mu.Lock()
		b.got = append(b.got, method+s.body)
		b.mu.Unlock()
		if n == 1 {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}

// TestIdleReuseRace: on a pooled connection that ends before the first byte of the
// answer, what may be sent twice goes out once more on a fresh one; the rest is 502
// and was never sent twice.
func TestIdleReuseRace(t *testing.T) {
	for _, tt := range []struct {
		method, body string
		status       int
		reached      int
	}{
		{"GET", "", 200, 2},
		{"HEAD", "", 200, 2},
		{"DELETE", "", 200, 2},
		{"PUT", "small", 200, 2},
		{"PUT", strings.Repeat("large", 10_000), 200, 2},
		{"PUT", strings.Repeat("large", 20_000), 502, 1},
		{"POST", "small", 502, 1},
		{"POST", "", 502, 1},
	} {
		b := &closer{}
		r := newRig(t)
		entry := r.route("app.test", []string{serveRaw(t, b.serve)}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
		r.start()
		if res, _ := r.do(r.request("OPTIONS", "app.test", "/", nil)); res.StatusCode != http.StatusOK {
			t.Fatal(res.StatusCode)
		}
		var body io.Reader
		if tt.body != "" {
			body = strings.NewReader(tt.body)
		}
		res, _ := r.do(r.request(tt.method, "app.test", "/", body))
		if res.StatusCode != tt.status {
			t.Errorf("%s of %d bytes: status %d, want %d", tt.method, len(tt.body), res.StatusCode, tt.status)
		}
		if tt.status == 502 {
			wantReason(t, res, 502, route.ReasonBackendClosed)
		}
		b.mu.Lock()
		reached := 0
		for _, g := range b.got {
			if g == tt.method+tt.body {
				reached++
			}
		}
		if reached != tt.reached {
			t.Errorf("%s of %d bytes: reached the backend %d times, want %d", tt.method, len(tt.body), reached, tt.reached)
		}
		b.mu.Unlock()
		if n := entry.Cell.Retrying.Load(); n != 0 {
			t.Errorf("%d retrying", n)
		}
	}
}

// TestIdempotencyKeyIsNoLeaveToReplay: the transport takes it for one. The backend
// gets the key all the same.
func TestIdempotencyKeyIsNoLeaveToReplay(t *testing.T) {
	for _, method := range []string{"POST", "PATCH", "BREW"} {
		for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
			var sent, keys atomic.Int32
			r := newRig(t)
			r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
				for {
					s, err := readSeen(br)
					if err != nil {
						return
					}
					if strings.HasPrefix(s.line, method) {
						sent.Add(1)
						keys.Add(int32(len(s.values(name))))
						return
					}
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
			})})
			r.start()
			r.get("app.test", "/")
			req := r.request(method, "app.test", "/", nil)
			req.Header.Set(name, "k")
			res, _ := r.do(req)
			wantReason(t, res, 502, route.ReasonBackendClosed)
			if sent.Load() != 1 || keys.Load() != 1 {
				t.Errorf("%s with %s: sent %d times with %d keys", method, name, sent.Load(), keys.Load())
			}
		}
	}
}

// TestPoisonousRequestIsSentTwiceAtMost: many pooled connections do not multiply a
// request that kills its connection.
func TestPoisonousRequestIsSentTwiceAtMost(t *testing.T) {
	var poisonous atomic.Int32
	var waiting sync.WaitGroup
	waiting.Add(10)
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			s, err := readSeen(br)
			if err != nil {
				return
			}
			if strings.Contains(s.line, "/poison") {
				poisonous.Add(1)
				return
			}
			waiting.Done()
			waiting.Wait() // all at once, so that there are ten connections
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})})
	r.start()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { r.get("app.test", "/") })
	}
	all.Wait()
	res, _ := r.get("app.test", "/poison")
	wantReason(t, res, 502, route.ReasonBackendClosed)
	if n := poisonous.Load(); n != 2 {
		t.Errorf("the request was sent %d times", n)
	}
}

func TestPicksAnotherWhenOneRetired(t *testing.T) {
	r := newRig(t)
	good := &recorder{}
	entry := r.route("app.test", []string{closedAddress(t), serveRaw(t, good.serve)})
	placement(entry, 0).Upstream.Retire(route.Drain{})
	r.start()
	for range 6 {
		if res, _ := r.get("app.test", "/"); res.StatusCode != http.StatusOK {
			t.Errorf("status %d %v", res.StatusCode, res.Header)
		}
	}
	if got := r.outcomes.all(); len(got) != 6 {
		t.Errorf("%d outcomes, want no contact with the retired one", len(got))
	}
	placement(entry, 1).Upstream.Retire(route.Drain{})
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 503, route.ReasonLeaving)
	if res.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestWhyNothingServes(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", nil, func(e *route.Entrypoint) { e.Options.HoldFor = 0 })
	r.route("closed.test", nil, func(e *route.Entrypoint) { e.FailClosed = &route.FailClosed{Code: "E104", Label: "auth.basci"} })
	r.start()
	for _, reason := range []route.Reason{route.ReasonRetained, route.ReasonAllUnhealthy, route.ReasonDockerUnhealthy} {
		entry.Cell.Store(&route.Rotation{Reason: reason})
		entry.Cell.SetRetryAt(time.Now().Add(7 * time.Second))
		res, _ := r.get("app.test", "/")
		wantReason(t, res, 503, reason)
		if after := res.Header.Get("Retry-After"); after != "7" {
			t.Errorf("%s: Retry-After %q", reason, after)
		}
	}
	res, _ := r.get("closed.test", "/")
	wantReason(t, res, 503, route.ReasonMisconfigured)
	if res.Header.Get("Retry-After") != "" {
		t.Error("Retry-After where waiting does not help")
	}
}
