package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// fades is a backend's address whose first connection goes dead when it is told to: what
// comes on it is swallowed, as by a firewall that forgot it.
func fades(t *testing.T, target string) (address string, dead *atomic.Bool) {
	t.Helper()
	dead = new(atomic.Bool)
	return serveRaw(t, func(n int, c net.Conn, br *bufio.Reader) {
		up, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		defer func() { _ = up.Close() }()
		pass := func(to io.Writer, from io.Reader) {
			b := make([]byte, 32<<10)
			for {
				k, err := from.Read(b)
				if err != nil {
					return
				}
				if n > 0 || !dead.Load() {
					_, _ = to.Write(b[:k])
				}
			}
		}
		go pass(c, up)
		pass(up, br)
	}), dead
}

// TestDeadConnection costs the requests that are on it, and no others.
func TestDeadConnection(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	for scheme, target := range map[string]string{"http": serveHTTP(t, ok), "h2c": serveH2C(t, ok)} {
		address, dead := fades(t, target)
		r := newRig(t)
		r.route("app.test", []string{scheme + "://" + address}, func(e *route.Entrypoint) { e.Options.BackendTimeout = 200 * time.Millisecond })
		r.start()
		for i, status := range []int{200, 504, 200, 200} {
			if res, _ := r.get("app.test", "/"); res.StatusCode != status {
				t.Errorf("%s: request %d: %d, want %d", scheme, i, res.StatusCode, status)
			}
			dead.Store(true)
		}
	}
}

// TestForsakenConnection: other requests leave a connection of HTTP/2 for one that timed
// out on it, or for one whose client left after a while, if nothing at all came meanwhile.
func TestForsakenConnection(t *testing.T) {
	gone := func(c *call) { c.cancel(context.Canceled) }
	timeout := func(c *call) { c.cancel(errBackendTimeout) }
	for _, tt := range []struct {
		name   string
		scheme route.Scheme
		quiet  time.Duration // after an earlier request, which was not answered
		took   time.Duration
		heard  bool
		end    func(*call)
		want   bool
	}{
		{"timeout", route.SchemeH2C, 0, time.Millisecond, false, timeout, true},
		{"timeout of a backend that speaks", route.SchemeH2C, 0, time.Minute, true, timeout, false},
		{"a client leaves at once", route.SchemeH2C, 0, deadAfter - 1, false, gone, false},
		{"a client waits and leaves", route.SchemeH2C, 0, deadAfter, false, gone, true},
		{"impatient clients leave", route.SchemeH2C, deadAfter - time.Second, time.Second, false, gone, true},
		{"a client leaves a backend that speaks", route.SchemeH2C, deadAfter, time.Minute, true, gone, false},
		{"HTTP/1", route.SchemeHTTP, 0, time.Minute, false, timeout, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			up, err := New(Config{}).Open(route.Backend{ID: "b0", Host: "127.0.0.1", Port: 1, Scheme: tt.scheme})
			if err != nil {
				t.Fatal(err)
			}
			u := up.(*upstream)
			pool := u.pool.(*transport)
			near, far := net.Pipe()
			c := &conn{Conn: near, up: u, opened: time.Now().Add(-time.Second)}
			if tt.quiet > 0 {
				c.asked()
				<-time.After(tt.quiet)
			}
			call := u.begin(exchangeFor(t, "app.test", "/"), 0, nil)
			before := pool.pooled.Load()
			if call.conn.conn = c; tt.scheme == route.SchemeH2C {
				c.asked()
			}
			call.sending()
			if tt.heard {
				go func() { _, _ = far.Write([]byte("x")) }()
				_, _ = c.Read(make([]byte, 1))
			}
			<-time.After(tt.took)
			tt.end(call)
			pool.forsake(before, call)
			call.end()
			if got := pool.pooled.Load() != before; got != tt.want {
				t.Errorf("%s: forsaken %v", tt.name, got)
			}
			now := pool.pooled.Load()
			if pool.forsake(before, call); pool.pooled.Load() != now {
				t.Errorf("%s: another connection is forsaken for it", tt.name)
			}
			_, _ = near.Close(), far.Close()
		})
	}
}
