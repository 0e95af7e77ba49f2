package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

func TestKeepAliveHeaderLowersTheLimit(t *testing.T) {
	for field, want := range map[string]time.Duration{
		"": 4 * time.Second, "timeout=5": 4 * time.Second, "timeout=3": 2 * time.Second, "Timeout = 2 , max=100": time.Second,
		"max=100, timeout=\"3\"": 2 * time.Second, "timeout=1": 0, "timeout=0": 0,
		"timeout=x": 4 * time.Second, "timeout=-3": 4 * time.Second, "timeout": 4 * time.Second, "timeout=99999999999999999999": 4 * time.Second,
	} {
		var l idleLimit
		l.most.Store(int64(4 * time.Second))
		l.sawHeader(header{"Keep-Alive": {field}})
		if got := l.get(); got != want {
			t.Errorf("%q: %v, want %v", field, got, want)
		}
	}
}

// TestLimitLearnsFromCloses: 0.8 x the age; no lesson from one that is no idle timeout;
// forgotten when a connection is seen alive far beyond it.
func TestLimitLearnsFromCloses(t *testing.T) {
	var l idleLimit
	l.most.Store(int64(4 * time.Second))
	want := func(what string, d time.Duration) {
		t.Helper()
		if got := l.get(); got != d {
			t.Errorf("%s: %v, want %v", what, got, d)
		}
	}
	l.sawClose(49 * time.Millisecond)
	want("too young", 4*time.Second)
	l.sawClose(10 * time.Second)
	want("older than the setting", 4*time.Second)
	l.sawClose(2 * time.Second)
	want("seen at 2 s", 1600*time.Millisecond)
	l.sawClose(3 * time.Second)
	want("a later one teaches nothing", 1600*time.Millisecond)
	l.sawAlive(1900 * time.Millisecond)
	want("alive shortly before that age", 1600*time.Millisecond)
	l.sawAlive(2500 * time.Millisecond)
	want("alive far beyond that age", 4*time.Second)
}

// TestIdleConnTeaches, to the instant: what comes while no call uses the connection.
func TestIdleConnTeaches(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(far net.Conn)
		own  bool // we close it ourselves
		want time.Duration
	}{
		{"closed", func(far net.Conn) { _ = far.Close() }, false, 800 * time.Millisecond},
		{"an alert", func(far net.Conn) { _, _ = far.Write([]byte{21}) }, false, 800 * time.Millisecond},
		{"ours", nil, true, 4 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			u := newUpstream(t, Config{})
			c := &conn{Conn: near, up: u, opened: time.Now()}
			call := u.begin(exchangeFor(t, "app.test", "/"), 0, nil)
			call.conn.conn = c
			c.took(call)
			reader := make(chan struct{})
			go func() { // as the transport's, it waits from before the end of the call on
				defer close(reader)
				_, _ = c.Read(make([]byte, 1))
			}()
			<-time.After(3 * time.Second)
			call.end()
			<-time.After(time.Second)
			if tt.own {
				_ = c.Close()
			} else {
				tt.end(far)
			}
			<-reader
			if got := u.idle.get(); got != tt.want {
				t.Errorf("%s: limit %v, want %v", tt.name, got, tt.want)
			}
			_, _ = near.Close(), far.Close()
		})
	}
}

// TestBusyConnTeachesNothing: it is not idle while another call has taken it.
func TestBusyConnTeachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		u := newUpstream(t, Config{})
		c := &conn{Conn: near, up: u, opened: time.Now()}
		first, second := u.begin(exchangeFor(t, "app.test", "/"), 0, nil), u.begin(exchangeFor(t, "app.test", "/"), 0, nil)
		first.conn.conn, second.conn.conn = c, c
		c.took(first)
		<-time.After(time.Second)
		c.took(second) // the transport hands it on before the first call has ended
		first.end()
		<-time.After(time.Second)
		_ = far.Close()
		_, _ = c.Read(make([]byte, 1))
		if got := u.idle.get(); got != 4*time.Second {
			t.Errorf("limit %v", got)
		}
		second.end()
		_ = near.Close()
	})
}

func TestReadable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	pair := func() (near, far net.Conn) {
		near, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if far, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = near.Close(), far.Close() })
		return near, far
	}
	near, far := pair()
	if readable(near) {
		t.Error("a quiet connection")
	}
	_, _ = far.Write([]byte("x"))
	eventually(t, "data is seen", func() bool { return readable(near) })
	if one := make([]byte, 1); !readable(near) {
		t.Error("looking took the data")
	} else if _, err := io.ReadFull(near, one); err != nil || one[0] != 'x' {
		t.Error("the data is gone")
	}
	_ = far.Close()
	eventually(t, "the end is seen", func() bool { return readable(near) })
	_ = near.Close()
	if !readable(near) {
		t.Error("a closed connection")
	}
	if a, _ := net.Pipe(); readable(a) {
		t.Error("what has no socket cannot be judged")
	}
}

// TestConnectionsBeyondTheLimitAreNotReused: with "timeout=1" every request gets a
// fresh connection, a body is untouched, and it is no retry.
func TestConnectionsBeyondTheLimitAreNotReused(t *testing.T) {
	var conns atomic.Int32
	bodies := make(chan string, 10)
	r := newRig(t)
	entry := r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		conns.Add(1)
		for {
			s, err := readSeen(br)
			if err != nil {
				return
			}
			bodies <- s.body
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n")
		}
	})})
	r.start()
	for _, tt := range []struct{ method, body string }{{"GET", ""}, {"POST", "small"}, {"POST", strings.Repeat("large", 50_000)}, {"GET", ""}, {"PATCH", "x"}} {
		var body io.Reader
		if tt.body != "" {
			body = strings.NewReader(tt.body)
		}
		if res, _ := r.do(r.request(tt.method, "app.test", "/", body)); res.StatusCode != http.StatusOK {
			t.Errorf("%s of %d bytes: %d %v", tt.method, len(tt.body), res.StatusCode, res.Header)
		}
		if got := <-bodies; got != tt.body {
			t.Errorf("%s: a body of %d bytes arrived with %d", tt.method, len(tt.body), len(got))
		}
	}
	if conns.Load() != 5 || placement(entry, 0).Load.Requests.Load() != 5 || entry.Cell.Retrying.Load() != 0 {
		t.Errorf("%d connections, %d contacts", conns.Load(), placement(entry, 0).Load.Requests.Load())
	}
}

// TestNoPostIsLostToABackendThatClosesIdleConnections: the client's pause equals the
// backend's idle timeout. After the first lesson nothing races any more.
func TestNoPostIsLostToABackendThatClosesIdleConnections(t *testing.T) {
	const pause = 150 * time.Millisecond
	r := newRig(t)
	entry := r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			_ = c.SetReadDeadline(time.Now().Add(pause))
			if _, err := readSeen(br); err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})})
	r.start()
	up := placement(entry, 0).Upstream.(*upstream)
	// On a loaded machine the end of a connection may be seen late: the next one teaches, too.
	eventually(t, "the lesson", func() bool {
		r.get("app.test", "/")
		for end := time.Now().Add(3 * pause); up.idle.get() >= pause && time.Now().Before(end); {
			<-time.After(time.Millisecond)
		}
		return up.idle.get() < pause
	})
	for range 6 {
		<-time.After(pause)
		if res, _ := r.do(r.request("POST", "app.test", "/", strings.NewReader("x"))); res.StatusCode != http.StatusOK {
			t.Errorf("status %d %v", res.StatusCode, res.Header)
		}
	}
}

// brokenPipe is a connection whose writes fail, before any byte, once it is told so.
type brokenPipe struct {
	net.Conn
	broken *atomic.Bool
}

// Write implements io.Writer.
func (c brokenPipe) Write(p []byte) (int, error) {
	if c.broken.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(p)
}

// TestNothingWrittenIsSentAgain: the pooled connection ended as it was reused, and no
// byte went out. Any method may go out on a fresh one while its body is still there.
func TestNothingWrittenIsSentAgain(t *testing.T) {
	for _, tt := range []struct {
		method, body string
		status       int
	}{
		{"GET", "", 200}, {"POST", "", 200}, {"POST", "small", 200}, {"PATCH", strings.Repeat("x", 60_000), 200},
	} {
		good := &recorder{}
		var first, broken atomic.Bool
		r := newRig(t, func(c *Config) {
			c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := new(net.Dialer).DialContext(ctx, network, address)
				if err != nil || !first.CompareAndSwap(false, true) {
					return nc, err
				}
				return brokenPipe{nc, &broken}, nil
			}
		})
		r.route("app.test", []string{serveRaw(t, good.serve)}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
		r.start()
		r.get("app.test", "/")
		good.take()
		broken.Store(true)
		var body io.Reader
		if tt.body != "" {
			body = strings.NewReader(tt.body)
		}
		res, _ := r.do(r.request(tt.method, "app.test", "/", body))
		if res.StatusCode != tt.status {
			t.Errorf("%s of %d bytes: %d %v", tt.method, len(tt.body), res.StatusCode, res.Header)
		}
		if got := good.take(); tt.status == 200 && (len(got) != 1 || got[0].body != tt.body) {
			t.Errorf("%s of %d bytes arrived %d times", tt.method, len(tt.body), len(got))
		}
	}
}
