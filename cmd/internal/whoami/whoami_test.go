package whoami

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// start runs the workload on a loopback socket until the test ends.
func start(t *testing.T, cfg Config) (addr string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Run(ctx, cfg, l) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() { _ = stop() })
	return l.Addr().String(), stop
}

func call(t *testing.T, method, url, body string, fields ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(all)
}

func TestAnswers(t *testing.T) {
	addr, _ := start(t, Config{Name: "one", RequireAuth: "Bearer x", Drain: time.Second})
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for _, tt := range []struct {
		method, target, body string
		fields               []string
		status               int
		want                 string
	}{
		{"GET", "/", "", nil, 200, "Name: one\n"},
		{"GET", "/a/b?x=1", "", nil, 200, "Path: /a/b?x=1\n"},
		{"DELETE", "/", "", []string{"X-Forwarded-For", "192.0.2.1"}, 200, "Method: DELETE\n"},
		{"GET", "/", "", []string{"X-Forwarded-For", "192.0.2.1"}, 200, "X-Forwarded-For: 192.0.2.1\n"},
		{"GET", "/?status=503&wait=1ms", "", nil, 503, "Name: one\n"},
		{"GET", "/?status=99", "", nil, 200, "Name: one\n"},
		{"GET", "/no-such-page", "", nil, 404, ""},
		{"GET", "/health", "", nil, 200, "healthy\n"},
		{"POST", "/health", "ok=0", form, 204, ""},
		{"GET", "/health", "", nil, 503, "unhealthy\n"},
		{"POST", "/health", "ok=maybe", form, 400, "0 or 1"},
		{"GET", "/health", "", nil, 503, "unhealthy\n"},
		{"POST", "/health", "ok=1", form, 204, ""},
		{"GET", "/health", "", nil, 200, "healthy\n"},
		{"GET", "/require-auth", "", []string{"Authorization", "Bearer x"}, 200, "authorized"},
		{"GET", "/require-auth", "", []string{"Authorization", "Bearer y"}, 401, "unauthorized"},
		{"POST", "/echo", "hello", nil, 200, "hello"},
		{"POST", "/upload", "hello", nil, 200, "Name: one\n"},
		{"POST", "/upload", "hello", nil, 200, "Bytes: 5\nSHA256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\n"},
		{"GET", "/bytes?n=3", "", nil, 200, "000"},
		{"GET", "/bytes?n=-1", "", nil, 400, "n must be"},
		{"GET", "/headers", "", []string{"X-B", "2", "X-A", "1"}, 200, "X-A: 1\nX-B: 2\n"},
	} {
		status, body := call(t, tt.method, "http://"+addr+tt.target, tt.body, tt.fields...)
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %q, want %d %q", tt.method, tt.target, status, body, tt.status, tt.want)
		}
	}
}

func TestBeginsUnhealthy(t *testing.T) {
	addr, _ := start(t, Config{Unhealthy: true})
	if status, _ := call(t, "GET", "http://"+addr+"/health", ""); status != 503 {
		t.Errorf("status %d", status)
	}
	if status, _ := call(t, "GET", "http://"+addr+"/require-auth", ""); status != 401 {
		t.Errorf("status %d without a configured value", status)
	}
}

func TestWebSocket(t *testing.T) {
	addr, _ := start(t, Config{Name: "one"})
	c, res, err := websocket.DefaultDialer.Dial("ws://"+addr+"/ws", nil)
	if err != nil || res.Header.Get("X-Whoami") != "one" || res.Header.Get("X-Whoami-Host") == "" {
		t.Fatalf("%v %v", err, res)
	}
	defer func() { _ = c.Close() }()
	for _, message := range []string{"a", strings.Repeat("b", 10_000)} {
		if err := c.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := c.ReadMessage(); err != nil || string(got) != message {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if status, _ := call(t, "GET", "http://"+addr+"/ws", ""); status != 400 {
		t.Errorf("status %d for a plain request", status)
	}
}

// TestTermFinishesWhatWasAccepted: a waiting request ends well, events end at once.
func TestTermFinishesWhatWasAccepted(t *testing.T) {
	addr, stop := start(t, Config{Name: "one", Drain: 10 * time.Second})
	res, err := http.Get("http://" + addr + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	events := bufio.NewReader(res.Body)
	if line, err := events.ReadString('\n'); err != nil || line != "data: one 0\n" {
		t.Fatalf("%q, %v", line, err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
	got := bufio.NewReader(c)
	if line, err := got.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	if _, err := io.ReadAll(events); err != nil {
		t.Errorf("events end with %v", err)
	}
	_ = res.Body.Close()
	_, _ = io.WriteString(c, "def")
	all, _ := io.ReadAll(got)
	if !strings.Contains(string(all), "abc") || !strings.Contains(string(all), "def") {
		t.Errorf("%q", all)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestStreamsAtTerm: WebSockets are told to go away at once, with Stay when the drain is over.
func TestStreamsAtTerm(t *testing.T) {
	const drain = 500 * time.Millisecond
	for _, stay := range []bool{false, true} {
		addr, stop := start(t, Config{Name: "one", Drain: drain, Stay: stay})
		c, _, err := websocket.DefaultDialer.Dial("ws://"+addr+"/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		res, err := http.Get("http://" + addr + "/sse")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		begin := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		if _, _, err := c.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("stay %v: the WebSocket ends with %v", stay, err)
		}
		if took := time.Since(begin); stay != (took >= drain) {
			t.Errorf("stay %v: the WebSocket ended after %v", stay, took)
		}
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Errorf("stay %v: events end with %v", stay, err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}

// TestStats counts probes apart and names what is in flight.
func TestStats(t *testing.T) {
	addr, _ := start(t, Config{Name: "one"})
	call(t, "GET", "http://"+addr+"/health", "", "User-Agent", "fairlead-health/dev")
	call(t, "GET", "http://"+addr+"/", "")
	waiting, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		req, _ := http.NewRequestWithContext(waiting, "GET", "http://"+addr+"/?wait=1m&id=7", nil)
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	for want := range 2 {
		end := time.Now().Add(10 * time.Second)
		text := []string{"Requests: 2\nProbes: 1\nIn-Flight: 7\n", "Requests: 2\nProbes: 1\nIn-Flight: \n"}[want]
		for {
			_, got := call(t, "GET", "http://"+addr+"/stats", "")
			if got == text {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%q, want %q", got, text)
			}
			<-time.After(time.Millisecond)
		}
		cancel()
	}
	<-ended
}

// TestTermCutsWhatTakesTooLong after the drain.
func TestTermCutsWhatTakesTooLong(t *testing.T) {
	addr, stop := start(t, Config{Drain: 10 * time.Millisecond})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// output is a writer for several goroutines.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// TestMainServesUntilTerm by a real signal.
func TestMainServesUntilTerm(t *testing.T) {
	var out output
	exit := make(chan int, 1)
	go func() {
		exit <- Main([]string{"-port", "0", "-start-delay", "1ms"}, &out, &out, environment("NAME", "two", "PORT", "9"))
	}()
	end := time.Now().Add(10 * time.Second)
	for !strings.Contains(out.String(), "whoami two listens on ") {
		if time.Now().After(end) {
			t.Fatalf("output %q", out.String())
		}
		<-time.After(time.Millisecond)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}

func TestMainRefuses(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	taken := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	for _, tt := range []struct {
		args []string
		env  func(string) string
		code int
		want string
	}{
		{[]string{"-h"}, environment(), 0, "start-delay"},
		{[]string{"-nope"}, environment(), 3, "nope"},
		{[]string{"-port", "70000"}, environment(), 3, "70000"},
		{nil, environment("PORT", "http"), 3, "PORT must be a number"},
		{nil, environment("START_DELAY", "soon"), 3, "START_DELAY"},
		{[]string{"-port", taken}, environment(), 1, "address already in use"},
	} {
		var out output
		if code := Main(tt.args, &out, &out, tt.env); code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%v: %d %q", tt.args, code, out.String())
		}
	}
}

func TestSettings(t *testing.T) {
	cfg, err := parse([]string{"-name", "n", "-drain", "1s", "-ignore-term", "-stay"}, io.Discard, environment("PORT", "81", "UNHEALTHY", "1", "START_DELAY", "2s", "NAME", "x"))
	want := Config{Port: 81, Name: "n", StartDelay: 2 * time.Second, Status: 200, IgnoreTerm: true, Stay: true, Drain: time.Second, Unhealthy: true}
	if err != nil || cfg != want {
		t.Errorf("%+v, %v", cfg, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if wait(ctx, time.Hour) || !wait(ctx, 0) {
		t.Error("wait")
	}
}
