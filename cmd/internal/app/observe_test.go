package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairlead/cmd/internal/config"
)

const canary = "c4nary-s3cret"

func hello(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "s="+canary)
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(s.Close)
	return s
}

func wantGet(t *testing.T, address, host, path string, status int, parts ...string) {
	t.Helper()
	got, body, err := get(address, host, path)
	if err != nil || got != status {
		t.Errorf("%s: %v %d, want %d", path, err, got, status)
	}
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Errorf("%s lacks %s:\n%s", path, part, body)
		}
	}
	if strings.Contains(body, canary) {
		t.Errorf("%s shows a secret", path)
	}
}

// TestMetricsAndTraffic: a request is in the scrape and in the API at once, and no
// secret of it.
func TestMetricsAndTraffic(t *testing.T) {
	s := settings(tempFile(t, routes(hello(t).URL)))
	addresses, _, _ := run(t, s)
	wantGet(t, addresses.HTTP, "app.localhost", "/?token="+canary, 200)
	wantGet(t, addresses.Admin, addresses.Admin, "/metrics", 200,
		`fairlead_entrypoint_requests_total{class="2xx",entrypoint="http_app"} 1`, `fairlead_provider_connected{provider="file"} 1`,
		`fairlead_build_info{`, `version="test"`, "fairlead_table_swaps_total 1", "go_goroutines")
	wantGet(t, addresses.Admin, addresses.Admin, "/entrypoints/http_app", 200, `"traffic":{"requests":1,`)
	wantGet(t, addresses.Admin, addresses.Admin, "/entrypoints/http_app/traffic", 200, `"step_ms":5000`)
	wantGet(t, addresses.Admin, addresses.Admin, "/traffic", 200, `"unrouted"`)
}

func TestMetricsListener(t *testing.T) {
	s := settings(tempFile(t, "entrypoints: []\n"))
	s.Metrics.Listen = "127.0.0.1:0"
	addresses, log, stop := run(t, s)
	wantGet(t, addresses.Metrics, "any.name.example", "/metrics", 200, "fairlead_entrypoints{")
	wantGet(t, addresses.Metrics, addresses.Metrics, "/entrypoints", 404)
	wantGet(t, addresses.Admin, addresses.Admin, "/metrics", 404)
	if err := stop(); err != nil || !strings.Contains(log.String(), `"metrics":"`+addresses.Metrics) {
		t.Errorf("%v\n%s", err, log)
	}
	taken := onTCP(t)
	defer func() { _ = taken.Close() }()
	s.Metrics.Listen = taken.Addr().String()
	a, err := New(Config{Settings: s, Logs: Logs{}})
	if err != nil {
		t.Fatal(err)
	}
	var bind *BindError
	if err := a.Run(t.Context()); !errors.As(err, &bind) || !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(bind.Fix, "metrics.listen") {
		t.Errorf("a taken address gives %v", err)
	}
}

func TestMetricsOff(t *testing.T) {
	s := settings(tempFile(t, "entrypoints: []\n"))
	s.Metrics.Enabled = false
	addresses, _, _ := run(t, s)
	wantGet(t, addresses.Admin, addresses.Admin, "/metrics", 404)
}

// TestAccessLogFile: a hangup makes a new file after the old one was moved away, and a
// stop loses no line.
func TestAccessLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	s := settings(tempFile(t, routes(hello(t).URL)))
	s.Log.Access.Path = path
	hangup, listening, log := make(chan os.Signal), make(chan Addresses, 1), &buffer{}
	a, err := New(Config{Settings: s, Logs: NewLogs(log, s.Log, false, false), Hangup: hangup, Listening: func(a Addresses) { listening <- a }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	addresses := <-listening
	wantGet(t, addresses.HTTP, "app.localhost", "/first?token="+canary, 200)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	hangup <- syscall.SIGHUP
	eventually(t, "the file is there again", log, func() bool { _, err := os.Stat(path); return err == nil })
	eventually(t, "what came of it is told", log, func() bool { return strings.Contains(log.String(), "the access log was opened anew") })
	wantGet(t, addresses.HTTP, "app.localhost", "/second", 200)
	wantGet(t, addresses.Admin, addresses.Admin, "/metrics", 200, "fairlead_access_log_dropped_lines_total 0")
	stop()
	if err := <-done; err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	for file, want := range map[string]string{path + ".old": `"path":"/first?token=***"`, path: `"path":"/second"`} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), want) || strings.Count(string(text), "\n") != 1 || strings.Contains(string(text), canary) {
			t.Errorf("%s: %v %q, want %s", file, err, text, want)
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Error("a secret is in the log")
	}
}

func TestAccessLogOnStandardOutput(t *testing.T) {
	s := settings(tempFile(t, routes(hello(t).URL)))
	s.Log.Access.Path = config.Stdout
	out, log, hangup, listening := &buffer{}, &buffer{}, make(chan os.Signal), make(chan Addresses, 1)
	a, err := New(Config{
		Settings: s, Out: out, Logs: NewLogs(log, s.Log, false, false), Hangup: hangup, Listening: func(a Addresses) { listening <- a },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	wantGet(t, (<-listening).HTTP, "app.localhost", "/x", 200)
	hangup <- syscall.SIGHUP
	eventually(t, "the hangup is answered", log, func() bool { return strings.Contains(log.String(), "hangup: there is no log file to open anew") })
	stop()
	if err := <-done; err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%v %q", err, out)
	}
}

func TestAccessLogThatCannotBeOpened(t *testing.T) {
	s := settings(tempFile(t, "entrypoints: []\n"))
	s.Log.Access.Path = filepath.Join(t.TempDir(), "no", "such", "folder")
	a, err := New(Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "log.access.path") {
		t.Errorf("Run gives %v", err)
	}
}
