package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestTrafficIsCounted: by what the client got on the entrypoint, by what the backend
// did on the backend, and without a route on the proxy.
func TestTrafficIsCounted(t *testing.T) {
	var cutShort bool
	address := serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			s, err := readSeen(br)
			if err != nil {
				return
			}
			switch s.line {
			case "GET /missing HTTP/1.1":
				_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
			case "GET /cut HTTP/1.1":
				cutShort = true
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
				return
			default:
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		}
	})
	r := newRig(t)
	entry := r.route("app.test", []string{address})
	refusing := r.route("refused.test", []string{closedAddress(t), address}, func(e *route.Entrypoint) { e.Options.HoldFor = 0 })
	r.start()
	r.get("app.test", "/")
	r.get("app.test", "/missing")
	r.get("nobody.test", "/")
	if res, err := client(t).Do(r.request("GET", "app.test", "/cut", nil)); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	for range 2 {
		if res, _ := r.get("refused.test", "/"); res.StatusCode != http.StatusOK {
			t.Errorf("status %d", res.StatusCode)
		}
	}
	eventually(t, "the cut is counted", func() bool { c := entry.Cell.Traffic.Counts(); return c.Cut == 1 })
	c, b := entry.Cell.Traffic.Counts(), placement(entry, 0).Load.Traffic.Counts()
	if !cutShort || c.Classes != [route.StatusClasses]uint64{2: 2, 4: 1} || b.Classes != c.Classes || c.Sum <= 0 || c.Sum > time.Minute {
		t.Errorf("entrypoint %+v, backend %+v", c, b)
	}
	if u := r.proxy.Unrouted().Counts(); u.Classes[4] != 1 || u.Requests() != 1 {
		t.Errorf("unrouted %+v", u)
	}
	c, b = refusing.Cell.Traffic.Counts(), placement(refusing, 0).Load.Traffic.Counts()
	if c.Requests() != 2 || c.Classes[2] != 2 || c.Retries == 0 || b.Classes[0] != c.Retries || b.Requests() != c.Retries {
		t.Errorf("entrypoint %+v, refusing backend %+v", c, b)
	}
}
