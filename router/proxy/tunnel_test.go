package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"fairlead/router/route"
)

func echoWebSocket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	c, err := up.Upgrade(w, r, http.Header{"X-Backend": {"b"}})
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	for {
		kind, message, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, message) != nil {
			return
		}
	}
}

func (r *rig) websocket(host string) *websocket.Conn {
	r.t.Helper()
	d := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return net.Dial("tcp", r.addr) }}
	c, res, err := d.Dial("ws://"+host+"/ws", http.Header{"Origin": {"http://" + host}})
	if err != nil {
		r.t.Fatalf("%v, %+v", err, res)
	}
	if res.Header.Get("X-Backend") != "b" {
		r.t.Errorf("header of the 101: %v", res.Header)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// echo sends a message through a tunnel and wants it back.
func echo(c *websocket.Conn, message string) error {
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if err := c.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		return err
	}
	_, got, err := c.ReadMessage()
	if err == nil && string(got) != message {
		err = fmt.Errorf("echo of %d bytes for %d", len(got), len(message))
	}
	return err
}

func TestWebSocket(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, echoWebSocket)})
	r.start()
	load := placement(entry, 0).Load
	c := r.websocket("app.test")
	for _, n := range []int{1, 125, 3000, 200_000, 1} {
		if err := echo(c, strings.Repeat("x", n)); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	if load.Tunnels.Load() != 1 || load.InFlight.Load() != 1 || !load.Proven.Load() {
		t.Errorf("tunnels %d, in flight %d", load.Tunnels.Load(), load.InFlight.Load())
	}
	_ = c.Close()
	eventually(t, "no tunnel", func() bool { return load.Tunnels.Load() == 0 && load.InFlight.Load() == 0 })
}

const upgradeRequest = "GET /t HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

// TestTunnelHalfClose: each direction ends by itself.
func TestTunnelHalfClose(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, err := readSeen(br); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
		got, _ := io.ReadAll(br) // until the client's half-close
		_, _ = fmt.Fprintf(c, " got %s", got)
	})})
	r.start()
	c := r.dial()
	br := bufio.NewReader(c)
	_, _ = io.WriteString(c, upgradeRequest+"sent ahead, ")
	res, err := http.ReadResponse(br, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols || !strings.EqualFold(res.Header.Get("Upgrade"), "websocket") || res.Header.Get("Connection") != "Upgrade" {
		t.Fatalf("%v %v", res, err)
	}
	hello := make([]byte, 5)
	if _, err := io.ReadFull(br, hello); err != nil || string(hello) != "hello" {
		t.Fatalf("%q %v", hello, err)
	}
	_, _ = io.WriteString(c, "then more")
	_ = c.(*net.TCPConn).CloseWrite()
	rest, err := io.ReadAll(br)
	if err != nil || string(rest) != " got sent ahead, then more" {
		t.Errorf("%q, %v", rest, err)
	}
}

// switcher is a backend that switches protocols where it is asked to, and says 200 else.
func switcher(_ int, c net.Conn, br *bufio.Reader) {
	for {
		s, err := readSeen(br)
		if err != nil {
			return
		}
		if len(s.values("Upgrade")) > 0 {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_, _ = io.Copy(io.Discard, br)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}

const postRequest = "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 1\r\n\r\nx"

// sendRaw sends a request as it is written and returns the answer to it.
func (r *rig) sendRaw(request string) <-chan answer {
	c := r.dial()
	done := make(chan answer, 1)
	go func() {
		_, _ = io.WriteString(c, request)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		done <- answer{res: res, err: err}
	}()
	return done
}

// TestRefusedUpgrade: what is no 101 is an answer like any other.
func TestRefusedUpgrade(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		s, err := readSeen(br)
		if err != nil {
			return
		}
		switch {
		case strings.Contains(s.line, "/hints"):
			_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
		case strings.Contains(s.line, "/endless"):
			_, _ = io.WriteString(c, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 40))
		case strings.Contains(s.line, "/garbage"):
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n\r\n")
		case strings.Contains(s.line, "/status"):
			_, _ = io.WriteString(c, "HTTP/1.1 042 Low\r\nContent-Length: 0\r\n\r\n")
		case strings.Contains(s.line, "/name"):
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX(Y: 1\r\nContent-Length: 0\r\n\r\n")
		case strings.Contains(s.line, "/h2c"):
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
		case strings.Contains(s.line, "/unnamed"):
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
		case strings.Contains(s.line, "/large"):
			_, _ = io.WriteString(c, "HTTP/1.1 101 X\r\nX-A: "+strings.Repeat("x", 300<<10))
		}
	})})
	r.start()
	for path, want := range map[string]string{"/hints": "403", "/endless": "bad_response", "/garbage": "bad_response",
		"/status": "bad_response", "/name": "bad_response", "/h2c": "bad_response", "/unnamed": "bad_response",
		"/large": "response_too_large", "/closes": "backend_closed"} {
		c := r.dial()
		_, _ = io.WriteString(c, strings.Replace(upgradeRequest, "/t", path, 1))
		br := bufio.NewReader(c)
		res, err := http.ReadResponse(br, nil)
		for err == nil && res.StatusCode == http.StatusEarlyHints {
			res, err = http.ReadResponse(br, nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if path == "/hints" {
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != http.StatusForbidden || string(body) != "no" {
				t.Errorf("%d %q", res.StatusCode, body)
			}
			continue
		}
		wantReason(t, res, 502, route.Reason(want))
	}
}

// TestUnaskedSwitchIsRefused: a backend cannot switch protocols by itself.
func TestUnaskedSwitchIsRefused(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, err := readSeen(br); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
		}
	})})
	r.start()
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 502, route.ReasonBadResponse)
}

// TestUpgradeGoesToAnotherBackendWhenADialFails as any request does.
func TestUpgradeGoesToAnotherBackendWhenADialFails(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{closedAddress(t), serveHTTP(t, echoWebSocket)})
	r.start()
	for range 2 {
		if err := echo(r.websocket("app.test"), "hi"); err != nil {
			t.Error(err)
		}
	}
}

// TestUpgradeClientLeaves while the backend thinks.
func TestUpgradeClientLeaves(t *testing.T) {
	gone := make(chan struct{})
	began := make(chan struct{})
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, _ net.Conn, br *bufio.Reader) {
		if _, err := readSeen(br); err == nil {
			close(began)
			_, _ = br.ReadByte()
			close(gone)
		}
	})})
	r.start()
	c := r.dial()
	_, _ = io.WriteString(c, upgradeRequest)
	<-began
	_ = c.Close()
	<-gone
	eventually(t, "nothing in flight", func() bool { return r.entries[0].Cell.InFlight.Load() == 0 })
	if got := r.outcomes.all(); len(got) != 0 {
		t.Errorf("outcomes %+v", got)
	}
}

func TestWebSocketOverTLS(t *testing.T) {
	address, roots := newTLSBackendFor(t, http.HandlerFunc(echoWebSocket))
	r := newRig(t, func(c *Config) { c.CAs = map[string]*certPool{"ours": roots} })
	r.route("app.test", []string{"https://" + address}, func(e *route.Entrypoint) { e.Backends[0].TLS.CA = "ours" })
	r.start()
	if err := echo(r.websocket("app.test"), "hi"); err != nil {
		t.Error(err)
	}
}

// TestRefusedUpgradeStalls: a refusal whose body stalls ends with the idle watch, with
// the client and with a drain, and never holds a shutdown up.
func TestRefusedUpgradeStalls(t *testing.T) {
	for _, how := range []string{"idle", "client", "drain", "shutdown"} {
		t.Run(how, func(t *testing.T) {
			gone := make(chan struct{})
			r := newRig(t, func(c *Config) {
				c.Timeouts.ShutdownTimeout = 200 * time.Millisecond
				if how == "idle" {
					c.Timeouts.BodyIdle = 50 * time.Millisecond
				}
			})
			entry := r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
				if _, err := readSeen(br); err == nil {
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
					_, _ = br.ReadByte()
					close(gone)
				}
			})})
			r.start()
			c := r.dial()
			_, _ = io.WriteString(c, upgradeRequest)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%v %v", res, err)
			}
			switch how {
			case "client":
				_ = c.Close()
			case "drain":
				up := placement(entry, 0).Upstream
				up.Retire(route.Drain{Timeout: int64(time.Hour)})
				up.(*upstream).cut.Reset(0)
			case "shutdown":
				r.stop()
				if err := <-r.served; err == nil {
					t.Error("no error although a request was cut")
				}
				r.served <- nil
			}
			<-gone
			eventually(t, "nothing in flight", func() bool { return entry.Cell.InFlight.Load() == 0 })
		})
	}
}
