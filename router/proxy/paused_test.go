package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// pausing is a backend that answers while a request body is on its way.
func pausing(_ int, c net.Conn, br *bufio.Reader) {
	req, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	_, _ = io.ReadFull(req.Body, make([]byte, 3))
	switch req.URL.Path {
	case "/dies":
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello")
		return
	case "/idles":
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello")
	case "/early":
		_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
		return
	case "/early/kept":
		_, _ = io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 5\r\n\r\nhello")
	}
	_, _ = io.Copy(io.Discard, br)
}

// TestAnswerEndsWhileItsClientPausesTheUpload: the adapter still reads the body, and net/http
// waits for the rest of it without limit once it has woken that reader. The client must see
// the end of its connection all the same, of a cut one at once, and the place be free.
func TestAnswerEndsWhileItsClientPausesTheUpload(t *testing.T) {
	for _, framing := range []string{"Content-Length: 500\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		for _, path := range []string{"/dies", "/idles", "/early", "/early/kept"} {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = 300 * time.Millisecond })
				r.route("app.test", []string{serveRaw(t, pausing)})
				r.start()
				c := r.dial()
				began := time.Now()
				_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: app.test\r\n"+framing)
				got, err := io.ReadAll(c)
				took := time.Since(began)
				limit := unwantedBody + time.Second
				if path == "/dies" || path == "/idles" {
					limit = unwantedBody - 500*time.Millisecond
				}
				if err != nil || took > limit || !strings.HasSuffix(string(got), "\r\n\r\nhello") {
					t.Errorf("%q, %v after %v", got, err, took)
				}
				eventually(t, "nothing is active", func() bool { return r.entries[0].Cell.InFlight.Load() == 0 })
				r.stop()
				if err := r.wait(); err != nil {
					t.Errorf("the stop: %v", err)
				}
			})
		}
	}
}

// TestRefusalEndsWhileItsClientPausesTheUpload: a body that is read ahead for a request that
// waits has such a reader, too.
func TestRefusalEndsWhileItsClientPausesTheUpload(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveRaw(t, pausing)}, func(e *route.Entrypoint) { e.Options.HoldFor = 50 * time.Millisecond })
	entry.Cell.Store(&route.Rotation{Reason: route.ReasonLeaving})
	r.start()
	c := r.dial()
	began := time.Now()
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 500\r\n\r\nabc")
	got, err := io.ReadAll(c)
	if took := time.Since(began); err != nil || took > unwantedBody+time.Second || !strings.HasPrefix(string(got), "HTTP/1.1 503 ") {
		t.Errorf("%q, %v after %v", got, err, took)
	}
}
