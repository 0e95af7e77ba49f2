package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead/router"
	"fairlead/router/accesslog"
	"fairlead/router/route"
)

// accessLines is the stream of an access log.
type accessLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (a *accessLines) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.Write(p)
}

// find returns the first line in which a field has a value.
func (a *accessLines) find(t *testing.T, field string, value any) (found map[string]any) {
	t.Helper()
	eventually(t, fmt.Sprint(field, " ", value, " is in the access log"), func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for line := range strings.Lines(a.text.String()) {
			var one map[string]any
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatalf("%v: %q", err, line)
			}
			if one[field] == value {
				found = one
				return true
			}
		}
		return false
	})
	return found
}

// logged makes a rig with an access log; it ends with the test.
func logged(t *testing.T) (*rig, *accessLines) {
	t.Helper()
	lines := &accessLines{}
	log := accesslog.New(accesslog.Config{Out: lines})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- log.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return newRig(t, func(c *Config) { c.Access = log }), lines
}

// wantLine compares some fields of a line.
func wantLine(t *testing.T, line, want map[string]any) {
	t.Helper()
	for field, value := range want {
		if line[field] != value {
			t.Errorf("%v: %s is %v, want %v", line["path"], field, line[field], value)
		}
	}
}

const accessCanary = "c4nary-s3cret"

// TestAccessLog: one line for each request with what happened to it, and no secret.
func TestAccessLog(t *testing.T) {
	r, lines := logged(t)
	backend := serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Set-Cookie", "s="+accessCanary)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "hello")
	})
	entry := r.route("app.test", []string{backend})
	r.route("refused.test", []string{closedAddress(t), backend}, func(e *route.Entrypoint) { e.Options.HoldFor = 0 })
	r.route("down.test", []string{closedAddress(t)}, func(e *route.Entrypoint) { e.Options.HoldFor = 0 })
	r.start()

	req := r.request(http.MethodPost, "app.test", "/made?token="+accessCanary+"&"+accessCanary, strings.NewReader("body"))
	req.Header.Set("Authorization", "Bearer "+accessCanary)
	req.Header.Set("Cookie", "s="+accessCanary)
	req.Header.Set("X-Api-Key", accessCanary)
	req.Header.Set("User-Agent", "agent/1")
	req.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	r.do(req)
	line := lines.find(t, "path", "/made?token=***&***")
	wantLine(t, line, map[string]any{
		"client": "127.0.0.1", "method": "POST", "host": "app.test", "protocol": "HTTP/1.1", "status": 201.0, "bytes_in": 4.0, "bytes_out": 5.0,
		"entrypoint": "http_app.test", "backend": "b0", "address": backend, "attempts": 1.0, "reason": nil, "user_agent": "agent/1",
		"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
	})
	total, connect, answer := line["duration_ms"].(float64), line["connect_ms"].(float64), line["backend_ms"].(float64)
	if connect <= 0 || answer <= 0 || connect+answer > total {
		t.Errorf("connect %v, backend %v, total %v", connect, answer, total)
	}
	_, _ = io.WriteString(r.dial(), "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n")
	wantLine(t, lines.find(t, "method", "CONNECT"), map[string]any{"status": 405.0, "reason": "bad_request"})
	r.get("app.test", "/again")
	if line := lines.find(t, "path", "/again"); line["connect_ms"] != 0.0 {
		t.Errorf("a reused connection took %v ms to be made", line["connect_ms"])
	}
	r.get("nobody.test", "/lost")
	wantLine(t, lines.find(t, "path", "/lost"), map[string]any{"status": 404.0, "reason": "no_route", "entrypoint": nil, "backend": nil, "attempts": 0.0})
	for range 2 { // the turn decides which backend is first
		r.get("refused.test", "/retried")
	}
	wantLine(t, lines.find(t, "attempts", 2.0), map[string]any{"path": "/retried", "status": 201.0, "backend": "b1", "reason": nil})
	r.get("down.test", "/down")
	if line := lines.find(t, "path", "/down"); line["status"] != 502.0 || line["reason"] != "connect_refused" || line["backend"] != "b0" || line["connect_ms"] == 0.0 || line["backend_ms"] != 0.0 {
		t.Errorf("refused: %v", line)
	}
	entry.Cell.Store(&route.Rotation{Reason: route.ReasonAllUnhealthy})
	r.get("app.test", "/nothing")
	wantLine(t, lines.find(t, "path", "/nothing"), map[string]any{"status": 503.0, "reason": "all_unhealthy", "entrypoint": "http_app.test", "backend": nil})
	if strings.Contains(lines.text.String(), accessCanary) {
		t.Errorf("a secret is in %s", lines.text.String())
	}
}

// TestAccessLogOfWhatEndsBadly: refused targets, clients that leave, responses that
// break off, panics and tunnels have a line, too.
func TestAccessLogOfWhatEndsBadly(t *testing.T) {
	r, lines := logged(t)
	address := serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		s, err := readSeen(br)
		if err != nil {
			return
		}
		switch s.line {
		case "GET /cut HTTP/1.1":
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		case "GET /slow HTTP/1.1":
			_, _ = io.Copy(io.Discard, br)
		}
	})
	r.route("app.test", []string{address})
	r.route("ws.test", []string{serveHTTP(t, echoWebSocket)})
	r.start()

	if res, err := client(t).Do(r.request(http.MethodGet, "app.test", "/cut", nil)); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	wantLine(t, lines.find(t, "path", "/cut"), map[string]any{"status": 200.0, "reason": "backend_closed", "bytes_out": 4.0})

	leaving := r.dial()
	_, _ = io.WriteString(leaving, "GET /slow HTTP/1.1\r\nHost: app.test\r\n\r\n")
	eventually(t, "the backend has the request", func() bool { return r.entries[0].Cell.InFlight.Load() == 1 })
	_ = leaving.Close()
	wantLine(t, lines.find(t, "path", "/slow"), map[string]any{"status": 499.0, "reason": "client_gone", "backend": "b0"})

	refused := r.dial()
	_, _ = io.WriteString(refused, "GET http://user:"+accessCanary+"@/a/..%2fb HTTP/1.1\r\nHost: x\r\n\r\n")
	wantLine(t, lines.find(t, "path", "/a/..%2fb"), map[string]any{"status": 400.0, "reason": "bad_request", "entrypoint": nil})

	ws := r.websocket("ws.test")
	if err := echo(ws, "hello"); err != nil {
		t.Fatal(err)
	}
	_ = ws.Close()
	if line := lines.find(t, "path", "/ws"); line["status"] != 101.0 || line["bytes_in"].(float64) < 5 || line["bytes_out"].(float64) < 5 {
		t.Errorf("tunnel: %v", line)
	}
	if strings.Contains(lines.text.String(), accessCanary) {
		t.Errorf("a secret is in %s", lines.text.String())
	}
}

// panics is a table that a bug lives in.
type panics struct{}

func (panics) Table() *router.Table { panic("a bug") }

func TestAccessLogOfAPanic(t *testing.T) {
	r, lines := logged(t)
	r.proxy.SetTables(panics{})
	r.start()
	r.get("app.test", "/bug")
	wantLine(t, lines.find(t, "path", "/bug"), map[string]any{"status": 500.0})
}

// TestErrorRatioFromTheAccessLog runs the line of the how-to over real lines, with jq
// where it is installed.
func TestErrorRatioFromTheAccessLog(t *testing.T) {
	guide, err := os.ReadFile("../../docs/howto/observe.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(guide), "jq -rn '")
	program, _, closed := strings.Cut(rest, "' access.log")
	if !found || !closed {
		t.Fatal("the how-to has no jq line")
	}
	r, lines := logged(t)
	status := 0
	answers := []int{200, 404, 500, 200}
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(answers[status%len(answers)])
		status++
	})})
	r.start()
	for range 8 {
		r.get("app.test", "/")
	}
	r.get("app.test", "/last")
	r.get("nobody.test", "/")
	lines.find(t, "host", "nobody.test")
	lines.mu.Lock()
	text := lines.text.String()
	lines.mu.Unlock()

	var requests, errors int
	for line := range strings.Lines(text) {
		var one struct {
			Backend string
			Status  int
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		if one.Backend == "b0" {
			requests++
			if one.Status >= 500 {
				errors++
			}
		}
	}
	if requests != 9 || errors != 2 {
		t.Errorf("%d errors of %d requests", errors, requests)
	}
	jq, err := exec.LookPath("jq")
	if err != nil {
		return
	}
	path := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, jq, "-rn", program, path).CombinedOutput()
	if got, want := strings.TrimSpace(string(out)), "b0\t9\t2\t0.22"; err != nil || !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
		t.Errorf("jq says %q (%v), want %q", got, err, want)
	}
}
