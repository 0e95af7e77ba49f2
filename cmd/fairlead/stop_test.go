package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slow is a backend whose answers wait until they are released.
func slow(t *testing.T) (url string, arrived, release chan struct{}) {
	t.Helper()
	arrived, release = make(chan struct{}, 100), make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
			_, _ = io.WriteString(w, "finished")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(backend.Close)
	return backend.URL, arrived, release
}

// result is what a client saw.
type result struct {
	status int
	body   string
	close  bool
	err    error
}

func (p *process) get() result {
	req, err := http.NewRequest(http.MethodGet, "http://"+p.http+"/", http.NoBody)
	if err != nil {
		return result{err: err}
	}
	req.Host = "app.localhost"
	res, err := (&http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}).Do(req)
	if err != nil {
		return result{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return result{res.StatusCode, string(body), res.Close, err}
}

func (p *process) inBackground() <-chan result {
	done := make(chan result, 1)
	go func() { done <- p.get() }()
	return done
}

func (p *process) ask(path string) (int, string) {
	res, err := http.Get("http://" + p.admin + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

func (p *process) eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("not within ten seconds: %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func (p *process) refuses() bool {
	c, err := net.Dial("tcp", p.http)
	if err == nil {
		_ = c.Close()
	}
	return err != nil
}

// TestOrderOfAStop: /ready says so at once, requests are taken until the delay is over,
// then the listener closes, what is in flight ends, and the exit code is 0.
func TestOrderOfAStop(t *testing.T) {
	backend, arrived, release := slow(t)
	p := start(t, backend, "shutdownDelay: 700ms")
	p.eventually(t, "it is ready", func() bool { status, _ := p.ask("/ready"); return status == 200 })
	before := p.inBackground()
	<-arrived
	p.signal(t, syscall.SIGTERM)
	p.eventually(t, "503 of /ready", func() bool {
		status, body := p.ask("/ready")
		return status == 503 && strings.Contains(body, `"status":"shutting_down"`)
	})
	during := p.inBackground()
	<-arrived // within the delay: the listener is open
	if status, _ := p.ask("/healthy"); status != 200 {
		t.Errorf("/healthy: %d", status)
	}
	p.eventually(t, "the listener is closed", p.refuses)
	if status, body := p.ask("/ready"); status != 503 || !strings.Contains(body, "shutting_down") {
		t.Errorf("/ready while requests end: %d %s", status, body)
	}
	close(release)
	for name, done := range map[string]<-chan result{"before the signal": before, "during the delay": during} {
		if r := <-done; r.err != nil || r.status != 200 || r.body != "finished" || !r.close {
			t.Errorf("a request from %s: %+v", name, r)
		}
	}
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d\n%s", code, p.log.String())
	}
}

// TestAStopThatTakesTooLong is cut, says so with what to do, and exits with 1.
func TestAStopThatTakesTooLong(t *testing.T) {
	backend, arrived, _ := slow(t)
	p := start(t, backend, "shutdownTimeout: 400ms")
	done := p.inBackground()
	<-arrived
	begin := time.Now()
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 1 || time.Since(begin) < 400*time.Millisecond || time.Since(begin) > 5*time.Second {
		t.Errorf("exit %d after %v", code, time.Since(begin))
	}
	if r := <-done; r.err == nil && r.status == 200 {
		t.Errorf("the request: %+v", r)
	}
	for _, want := range []string{"still in flight after shutdownTimeout (400ms)", "stop_grace_period"} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("no %q in\n%s", want, p.log.String())
		}
	}
}

// TestTunnelsEndAtHalfOfTheTime, and that is no failure.
func TestTunnelsEndAtHalfOfTheTime(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(io.Discard, conn)
	}))
	defer backend.Close()
	p := start(t, backend.URL, "shutdownTimeout: 2s")
	conn, err := net.Dial("tcp", p.http)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: app.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	reader := bufio.NewReader(conn)
	if res, err := http.ReadResponse(reader, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %+v", err, res)
	}
	begin := time.Now()
	p.signal(t, syscall.SIGTERM)
	_, _ = reader.ReadByte()
	if took := time.Since(begin); took < 900*time.Millisecond || took > 1900*time.Millisecond {
		t.Errorf("the tunnel ended after %v, want 1 s", took)
	}
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d\n%s", code, p.log.String())
	}
}

// TestALongTimeToStopIsWarnedOf at the start, when it can still be changed.
func TestALongTimeToStopIsWarnedOf(t *testing.T) {
	backend, _, _ := slow(t)
	p := start(t, backend, "shutdownTimeout: 12s")
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d", code)
	}
	if want := "a stop may take 12s: Docker kills a container after 10s unless stop_grace_period is longer"; !strings.Contains(p.log.String(), want) {
		t.Errorf("no %q in\n%s", want, p.log.String())
	}
}

// TestSocketOfAServiceManager: the router serves on the socket that it is given, which
// stays open when it ends.
func TestSocketOfAServiceManager(t *testing.T) {
	backend, _, release := slow(t)
	close(release)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for range 2 {
		cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=fairlead.socket exec "$@"`, "sh",
			os.Args[0], "serve", "--admin", "127.0.0.1:0", "--file", "routes.yaml", "--log-format", "json")
		cmd.ExtraFiles = []*os.File{file}
		p := launch(t, cmd, backend)
		if p.http != l.Addr().String() {
			t.Errorf("it listens on %s, not on %s", p.http, l.Addr())
		}
		if r := p.get(); r.err != nil || r.body != "finished" {
			t.Errorf("%+v", r)
		}
		p.signal(t, syscall.SIGTERM)
		if code := p.exit(t); code != 0 {
			t.Errorf("exit %d\n%s", code, p.log.String())
		}
		if p.refuses() {
			t.Fatal("the socket is closed with the router")
		}
	}
}

// TestAPassedAdminSocketIsGuarded: one that other machines reach needs the same word of
// the operator as an address.
func TestAPassedAdminSocketIsGuarded(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=admin exec "$@"`, "sh", os.Args[0], "serve", "--http", "127.0.0.1:0", "--file", "routes.yaml")
	cmd.ExtraFiles, cmd.Dir = []*os.File{file}, t.TempDir()
	cmd.Env = append(os.Environ(), "TEST_IS_THE_PROGRAM=1", "CONFIG_PATH=", "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "admin.anonymous") {
		t.Errorf("%v\n%s", err, out)
	}
}
