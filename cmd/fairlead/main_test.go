package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is the program itself when a test starts this binary again.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_IS_THE_PROGRAM") == "1" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// process is a running router.
type process struct {
	cmd  *exec.Cmd
	http string
	done chan int
}

func start(t *testing.T, backend string) *process {
	t.Helper()
	host, port, _ := strings.Cut(strings.TrimPrefix(backend, "http://"), ":")
	dir := t.TempDir()
	routes := filepath.Join(dir, "routes.yaml")
	text := fmt.Sprintf("entrypoints:\n- {name: app, protocol: Http, backends: [{address: %s, port: %s}], config: {hostnames: [app.localhost]}}\n", host, port)
	if err := os.WriteFile(routes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fairlead.yaml"), []byte("providers: {docker: {enabled: false}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{done: make(chan int, 1)}
	p.cmd = exec.Command(os.Args[0], "serve", "--http", "127.0.0.1:0", "--admin", "", "--file", routes, "--log-format", "json")
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "TEST_IS_THE_PROGRAM=1", "CONFIG_PATH=")
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	lines := bufio.NewScanner(log)
	for p.http == "" && lines.Scan() {
		var line struct{ Msg, HTTP string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "fairlead started" {
			p.http = line.HTTP
		}
	}
	if p.http == "" {
		t.Fatal("it does not start")
	}
	go func() {
		_, _ = io.Copy(io.Discard, log)
		_ = p.cmd.Wait()
		p.done <- p.cmd.ProcessState.ExitCode()
	}()
	return p
}

func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case code := <-p.done:
		return code
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
		return -1
	}
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestASignalEndsInOrderAndASecondOneAtOnce(t *testing.T) {
	arrived := make(chan struct{}, 1)
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer backend.Close()
	quiet := start(t, backend.URL)
	quiet.signal(t, syscall.SIGINT)
	if code := quiet.exit(t); code != 0 {
		t.Errorf("nothing in flight: exit %d", code)
	}

	busy := start(t, backend.URL)
	go func() {
		req, err := http.NewRequest(http.MethodGet, "http://"+busy.http+"/", nil)
		if err != nil {
			return
		}
		req.Host = "app.localhost"
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-arrived
	began := time.Now()
	busy.signal(t, syscall.SIGTERM)
	select {
	case code := <-busy.done:
		t.Fatalf("it did not wait for the request: exit %d", code)
	case <-time.After(200 * time.Millisecond):
	}
	busy.signal(t, syscall.SIGTERM)
	if code := busy.exit(t); code != 128+int(syscall.SIGTERM) || time.Since(began) > 5*time.Second {
		t.Errorf("exit %d after %v", code, time.Since(began))
	}
}

func TestExitCodeOfASignal(t *testing.T) {
	if got := signalled(syscall.SIGTERM); got != 143 {
		t.Error(got)
	}
}
