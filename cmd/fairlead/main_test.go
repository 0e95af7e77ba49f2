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
	cmd         *exec.Cmd
	http, admin string
	log         strings.Builder // complete when done was received from
	stderr      io.Closer       // our end of it
	done        chan int
}

// start runs a router in front of one backend; more are further settings of its
// configuration file.
func start(t *testing.T, backend string, more ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--file", "routes.yaml", "--log-format", "json")
	return launch(t, cmd, backend, more...)
}

// launch runs a command that becomes a router, and waits until it listens.
func launch(t *testing.T, cmd *exec.Cmd, backend string, more ...string) *process {
	t.Helper()
	host, port, _ := strings.Cut(strings.TrimPrefix(backend, "http://"), ":")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"routes.yaml":   fmt.Sprintf("entrypoints:\n- {name: app, protocol: Http, backends: [{address: %s, port: %s}], config: {hostnames: [app.localhost]}}\n", host, port),
		"fairlead.yaml": "providers: {docker: {enabled: false}}\n" + strings.Join(more, "\n") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &process{done: make(chan int, 1), cmd: cmd}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "TEST_IS_THE_PROGRAM=1", "CONFIG_PATH=")
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	lines := bufio.NewScanner(log)
	for p.http == "" && lines.Scan() {
		p.log.WriteString(lines.Text() + "\n")
		var line struct{ Msg, HTTP, Admin string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "fairlead started" {
			p.http, p.admin = line.HTTP, line.Admin
		}
	}
	if p.http == "" {
		t.Fatalf("it does not start:\n%s", p.log.String())
	}
	go func() {
		for lines.Scan() {
			p.log.WriteString(lines.Text() + "\n")
		}
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
