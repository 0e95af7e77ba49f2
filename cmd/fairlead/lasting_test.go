package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestARouterOutlivesTheReadersOfItsOutput: lines that nobody reads are dropped and
// counted; the traffic goes on, and a stop is in order.
func TestARouterOutlivesTheReadersOfItsOutput(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer backend.Close()
	reader, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--file", "routes.yaml", "--log-format", "json")
	cmd.Stdout = out
	p := launch(t, cmd, backend.URL, "log: {level: debug, access: {path: stdout}}")
	for _, c := range []io.Closer{reader, out, p.stderr} {
		_ = c.Close()
	}
	p.eventually(t, "lines are dropped and counted", func() bool {
		if r := p.get(); r.status != http.StatusOK {
			t.Fatalf("%+v", r)
		}
		_, text := p.ask("/metrics")
		_, after, _ := strings.Cut(text, "\nfairlead_access_log_dropped_lines_total ")
		return after != "" && after[0] != '0'
	})
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestAHangupEndsACommand that is no router: whoever closes the terminal wants no
// process left behind.
func TestAHangupEndsACommand(t *testing.T) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // what a process takes its children do not ignore, also below nohup
	defer signal.Stop(hangups)
	p := start(t, "http://127.0.0.1:9")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "events", "--since", "10m", "--admin", p.admin)
	cmd.Env = append(os.Environ(), "TEST_IS_THE_PROGRAM=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal("it shows nothing:", err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); ctx.Err() != nil {
		t.Error("it still runs:", err)
	}
}
