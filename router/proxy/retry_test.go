package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
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

// TestDialFailures: each has its reason, its status and its kind.
func TestDialFailures(t *testing.T) {
	secure, _ := newTLSBackend(t)
	for _, tt := range []struct {
		name, backend string
		change        func(*Config)
		status        int
		reason        route.Reason
		kind          route.Kind
	}{
		{"refused", closedAddress(t), nil, 502, route.ReasonConnectRefused, route.KindConnectionRefused},
		{"no route", "127.0.0.1:1", dialing(syscall.EHOSTUNREACH), 502, route.ReasonConnectFailed, route.KindNoRouteToHost},
		{"no network", "127.0.0.1:1", dialing(syscall.ENETUNREACH), 502, route.ReasonConnectFailed, route.KindNetworkUnreachable},
		{"timeout", "127.0.0.1:1", dialing(context.DeadlineExceeded), 504, route.ReasonConnectTimeout, route.KindTimeout},
		{"name", "db.internal:80", func(c *Config) {
			c.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, &net.DNSError{Err: "no such host"} }
		}, 502, route.ReasonConnectFailed, route.KindDNSFailure},
		{"name without an address", "db.internal:80", func(c *Config) {
			c.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, nil }
		}, 502, route.ReasonConnectFailed, route.KindDNSFailure},
		{"unknown authority", "https://" + secure, nil, 502, route.ReasonTLSFailed, route.KindTLSFailure},
		{"plain port", "https://" + serveHTTP(t, func(http.ResponseWriter, *http.Request) {}), nil, 502, route.ReasonTLSFailed, route.KindTLSFailure},
	} {
		r := newRig(t, func(c *Config) {
			if tt.change != nil {
				tt.change(c)
			}
		})
		r.route("app.test", []string{tt.backend}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
		r.start()
		res, _ := r.get("app.test", "/")
		t.Run(tt.name, func(t *testing.T) {
			wantReason(t, res, tt.status, tt.reason)
			if got := r.outcomes.all(); len(got) != 1 || got[0].Kind != tt.kind || !got[0].Transport {
				t.Errorf("outcomes %+v", got)
			}
		})
	}
}

func dialing(err error) func(*Config) {
	return func(c *Config) {
		c.Dial = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: err}
		}
	}
}

// TestLocalFaultsBlameNobody: too many open files say nothing about a backend.
func TestLocalFaultsBlameNobody(t *testing.T) {
	r := newRig(t, dialing(syscall.EMFILE))
	r.route("app.test", []string{"127.0.0.1:1"})
	r.start()
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 502, route.ReasonConnectFailed)
	if got := r.outcomes.all(); len(got) != 0 {
		t.Errorf("outcomes %+v", got)
	}
}

// TestBlockedTargetsAreNotDialled: traffic obeys the deny list of the probes, for
// the address that a name turns out to have, too.
func TestBlockedTargetsAreNotDialled(t *testing.T) {
	for _, tt := range []struct {
		name, backend string
		addresses     []string
		loopback      bool
		dialled       string
	}{
		{name: "metadata", backend: "169.254.169.254:80"},
		{name: "mapped metadata", backend: "[::ffff:169.254.169.254]:80"},
		{name: "unspecified", backend: "0.0.0.0:80"},
		{name: "loopback", backend: "127.0.0.1:80"},
		{name: "loopback of the provider", backend: "127.0.0.1:80", loopback: true, dialled: "127.0.0.1:80"},
		{name: "rebound name", backend: "app.internal:80", addresses: []string{"169.254.169.254"}},
		{name: "name with one good address", backend: "app.internal:80", addresses: []string{"169.254.169.254", "172.17.0.2"}, dialled: "172.17.0.2:80"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var dialled []string
			r := newRig(t, func(c *Config) {
				c.AllowLoopback = false
				c.Resolve = func(context.Context, string) ([]netip.Addr, error) {
					var all []netip.Addr
					for _, a := range tt.addresses {
						all = append(all, netip.MustParseAddr(a))
					}
					return all, nil
				}
				c.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
					mu.Lock()
					defer mu.Unlock()
					dialled = append(dialled, address)
					return nil, errors.New("not in a test")
				}
			})
			r.route("app.test", []string{tt.backend}, func(e *route.Entrypoint) {
				e.Options.RetryAttempts = 1
				e.Backends[0].Loopback = tt.loopback
			})
			r.start()
			res, _ := r.get("app.test", "/")
			wantReason(t, res, 502, route.ReasonConnectFailed)
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(dialled, ","); got != tt.dialled {
				t.Errorf("dialled %q, want %q", got, tt.dialled)
			}
		})
	}
}

// TestBlackHoleAmongAddresses: one address that swallows packets leaves time for the next.
func TestBlackHoleAmongAddresses(t *testing.T) {
	good := serveHTTP(t, func(http.ResponseWriter, *http.Request) {})
	r := newRig(t, func(c *Config) {
		c.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}, nil
		}
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "127.0.0.2:") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	_, port, _ := net.SplitHostPort(good)
	r.route("app.test", []string{"app.internal:" + port}, func(e *route.Entrypoint) { e.Backends[0].DialTimeout = 200 * time.Millisecond })
	r.start()
	if res, _ := r.get("app.test", "/"); res.StatusCode != http.StatusOK {
		t.Errorf("status %d %v", res.StatusCode, res.Header)
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
