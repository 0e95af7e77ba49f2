package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestLeaversWithABodyGiveTheirPlaceBack: a client that sent a short body, waits and
// leaves is noticed, in line and while its request is held; what it asked is not done.
func TestLeaversWithABodyGiveTheirPlaceBack(t *testing.T) {
	g := newGate()
	var posts atomic.Int64
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			posts.Add(1)
			return
		}
		g.serve(w, req)
	})}, func(e *route.Entrypoint) {
		e.Backends[0].MaxConnections = 1
		e.Options.Queue = route.Queue{Size: 2, Timeout: 20 * time.Second}
	})
	r.start()
	post := func() net.Conn {
		conn := r.dial()
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\n\r\n01234")
		return conn
	}
	done := r.inBackground("GET", "app.test", "/") // takes the slot
	<-g.began
	chunked := r.dial()
	_, _ = io.WriteString(chunked, "POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n\r\n")
	leavers := []net.Conn{post(), chunked}
	eventually(t, "both wait in line", func() bool { return entry.Cell.Line.Waiting() == 2 })
	for _, c := range leavers {
		_ = c.Close()
	}
	eventually(t, "the line is empty", func() bool { return entry.Cell.Line.Waiting() == 0 })
	close(g.finish)
	if a := <-done; a.err != nil || a.res.StatusCode != http.StatusOK {
		t.Errorf("%+v", a)
	}
	rot := entry.Cell.Load()
	entry.Cell.Store(&route.Rotation{Reason: route.ReasonLeaving})
	held := post()
	eventually(t, "it is held", func() bool { return entry.Cell.Held.Load() == 1 })
	_ = held.Close()
	eventually(t, "nobody is held", func() bool { return entry.Cell.Held.Load() == 0 })
	entry.Cell.Store(rot)
	res, _ := r.do(r.request("POST", "app.test", "/", strings.NewReader("x")))
	if res.StatusCode != http.StatusOK || posts.Load() != 1 {
		t.Errorf("%d, and %d posts reached the backend, want that of the one who stayed", res.StatusCode, posts.Load())
	}
}

// TestABodyThatWaitsToBeAskedForIsNotReadAhead: reading it would ask the client for it
// (RFC 9110 section 10.1.1) before there is a backend to send it to.
func TestABodyThatWaitsToBeAskedForIsNotReadAhead(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) { _, _ = io.Copy(io.Discard, req.Body) })})
	r.start()
	rot := entry.Cell.Load()
	entry.Cell.Store(&route.Rotation{Reason: route.ReasonLeaving})
	conn := r.dial()
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	eventually(t, "it is held", func() bool { return entry.Cell.Held.Load() == 1 })
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("the body was asked for while the request waits: %d %v", n, err)
	}
	_ = conn.SetReadDeadline(time.Time{})
	entry.Cell.Store(rot)
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Errorf("with a backend: %q %v", line, err)
	}
}

// TestABodyThatWasReadAheadArrivesWhole, whatever its length and its framing.
func TestABodyThatWasReadAheadArrivesWhole(t *testing.T) {
	for _, size := range []int{1, 4 << 10, 4<<10 + 1, maxReplay - 1, maxReplay, maxReplay + 1, 3 * maxReplay} {
		for _, known := range []bool{true, false} {
			var got atomic.Int64
			r := newRig(t)
			entry := r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) {
				n, _ := io.Copy(io.Discard, req.Body)
				got.Store(n)
			})})
			r.start()
			rot := entry.Cell.Load()
			entry.Cell.Store(&route.Rotation{Reason: route.ReasonLeaving})
			go func() {
				for end := time.Now().Add(5 * time.Second); entry.Cell.Held.Load() == 0 && time.Now().Before(end); {
					<-time.After(time.Millisecond)
				}
				<-time.After(20 * time.Millisecond)
				entry.Cell.Store(rot)
			}()
			var body io.Reader = strings.NewReader(strings.Repeat("x", size))
			if !known {
				body = io.MultiReader(body)
			}
			res, _ := r.do(r.request("POST", "app.test", "/", body))
			if res.StatusCode != http.StatusOK || got.Load() != int64(size) {
				t.Errorf("%d bytes, length known %v: %d, and %d arrived", size, known, res.StatusCode, got.Load())
			}
		}
	}
}
