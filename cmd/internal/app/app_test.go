package app

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/cmd/internal/config"
	"fairlead/provider"
	"fairlead/provider/docker"
)

// buffer is a log that can be read while it is written.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func tempFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// settings are those of a router on loopback ports that reads one file.
func settings(path string) config.Config {
	s := config.Default()
	s.Providers.Docker.Enabled = false
	s.Providers.File.Path = path
	s.Proxy.HTTP.Listen, s.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0"
	s.HealthCheck.Tick, s.HealthCheck.StartupSpread = 20*time.Millisecond, time.Millisecond
	s.Log = config.Log{Level: "debug", Format: "json"}
	return s
}

// run starts an App and returns its addresses, its log, and what stops it.
func run(t *testing.T, s config.Config) (Addresses, *buffer, func() error) {
	t.Helper()
	return runIn(t, s, "")
}

// runIn is run for a router that is a container of its engine.
func runIn(t *testing.T, s config.Config, container string) (Addresses, *buffer, func() error) {
	t.Helper()
	log := &buffer{}
	listening := make(chan Addresses, 1)
	a, err := New(Config{
		Settings: s, File: "f.yaml", Version: "test", Logs: NewLogs(log, s.Log, false, false), ContainerID: container,
		Listening: func(a Addresses) { listening <- a },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("it did not stop")
		}
	})
	t.Cleanup(func() { _ = stop() })
	select {
	case addresses := <-listening:
		return addresses, log, stop
	case err := <-done:
		t.Fatalf("it ended: %v\n%s", err, log)
	case <-time.After(20 * time.Second):
		t.Fatalf("it does not listen\n%s", log)
	}
	return Addresses{}, nil, nil
}

func get(address, host, path string) (int, string, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Host = host
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

func routes(address string) string {
	host, port, _ := strings.Cut(strings.TrimPrefix(address, "http://"), ":")
	return fmt.Sprintf("entrypoints:\n- {name: app, protocol: Http, backends: [{address: %s, port: %s}], config: {hostnames: [app.localhost]}}\n", host, port)
}

func TestServesAndStops(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer backend.Close()
	s := settings(tempFile(t, routes(backend.URL)))
	s.ShutdownDelay = time.Millisecond
	addresses, log, stop := run(t, s)
	if status, body, err := get(addresses.HTTP, "app.localhost", "/"); err != nil || status != 200 || body != "hello" {
		t.Errorf("the first request: %v %d %s", err, status, body)
	}
	if status, _, err := get(addresses.Admin, addresses.Admin, "/healthy"); err != nil || status != 200 {
		t.Errorf("/healthy: %v %d", err, status)
	}
	if err := stop(); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	for _, want := range []string{`"message":"fairlead started"`, `"config":"f.yaml"`, `"message":"stopping"`, `"message":"stopped"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
}

// TestTheDelayIsSpentAlive: until the listener closes, what the router serves is current.
func TestTheDelayIsSpentAlive(t *testing.T) {
	s := named(t, "app")
	s.ShutdownDelay = 3 * time.Second
	addresses, log, stop := run(t, s)
	eventually(t, "it serves", log, answers(addresses.HTTP, "app"))
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	eventually(t, "it is stopping", log, func() bool {
		status, body := ready(addresses.Admin)
		return status == 503 && strings.Contains(body, "shutting_down")
	})
	text, err := os.ReadFile(s.Providers.File.Path)
	if err == nil {
		err = os.WriteFile(s.Providers.File.Path, bytes.ReplaceAll(text, []byte("app.localhost"), []byte("late.localhost")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new route serves", log, func() bool {
		status, _, err := get(addresses.HTTP, "late.localhost", "/")
		return err == nil && status == 200
	})
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestListenersCanBeOff(t *testing.T) {
	path := tempFile(t, "entrypoints: []\n")
	for _, off := range []func(*config.Config){
		func(s *config.Config) { s.Proxy.HTTP.Listen = "" },
		func(s *config.Config) { s.Admin.Listen = "" },
	} {
		s := settings(path)
		off(&s)
		addresses, log, stop := run(t, s)
		if (addresses.HTTP == "") == (addresses.Admin == "") {
			t.Errorf("%+v", addresses)
		}
		if err := stop(); err != nil || !strings.Contains(log.String(), `":"off"`) {
			t.Errorf("%v\n%s", err, log)
		}
	}
}

func TestListenersAreFreedWhenOneCannotBeOpened(t *testing.T) {
	s := settings(tempFile(t, "entrypoints: []\n"))
	taken, _, stop := run(t, s)
	s.Admin.Listen = taken.Admin
	a, err := New(Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	var bind *BindError
	if err := a.Run(t.Context()); !errors.As(err, &bind) || bind.What != "admin" || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAdviceForListeners(t *testing.T) {
	for _, c := range []struct {
		err           error
		address, want string
	}{
		{syscall.EACCES, ":80", "CAP_NET_BIND_SERVICE"},
		{syscall.EACCES, ":80", "--http :8080"},
		{syscall.EACCES, "127.0.0.1:443", "--http 127.0.0.1:8080"},
		{syscall.EACCES, ":8080", "choose another address"},
		{syscall.EADDRINUSE, ":80", "another program listens there"},
		{syscall.EADDRNOTAVAIL, "192.0.2.1:80", "no interface"},
		{errors.New("odd"), "x", "--http (proxy.http.listen)"},
	} {
		if got := bindFix(fmt.Errorf("listen: %w", c.err), c.address, "--http", "proxy.http.listen"); !strings.Contains(got, c.want) {
			t.Errorf("%v on %s: %s", c.err, c.address, got)
		}
	}
	if got := (&BindError{What: "HTTP", Address: ":80", Err: fmt.Errorf("listen tcp :80: bind: %w", syscall.EACCES)}).Error(); got !=
		"the HTTP listener cannot be opened on :80: permission denied" {
		t.Error(got)
	}
	if got := reasonOf(errors.New("odd")); got != "odd" {
		t.Error(got)
	}
	if got := elsewhere("x"); got != ":8080" {
		t.Error(got)
	}
}

func TestRefusals(t *testing.T) {
	for want, change := range map[string]func(*config.Config){
		"admin.anonymous":          func(s *config.Config) { s.Admin.Listen = "0.0.0.0:0" },
		"no such file":             func(s *config.Config) { s.Certificates.Authorities = map[string]string{"a": "/nonexistent"} },
		"providers.docker":         func(s *config.Config) { s.Providers.Docker.Enabled, s.Providers.Docker.Endpoint = true, "ssh://host" },
		"certificates.authorities": func(s *config.Config) { s.Certificates.Authorities = map[string]string{"a": tempFile(t, "no PEM")} },
	} {
		s := settings("routes.yaml")
		change(&s)
		if _, err := New(Config{Settings: s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	s := settings("routes.yaml")
	s.Admin.Listen, s.Admin.Anonymous = "0.0.0.0:0", "read-only"
	if _, err := New(Config{Settings: s}); err != nil {
		t.Errorf("a public bind that was asked for: %v", err)
	}
}

func TestAuthorities(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	pools, err := LoadAuthorities(map[string]string{"internal": tempFile(t, string(text))})
	if err != nil || pools["internal"] == nil {
		t.Errorf("%v %v", pools, err)
	}
	s := config.Default()
	s.Certificates.Authorities = map[string]string{"b": "", "a": ""}
	if l := LabelConfig(&s); strings.Join(l.CAs, ",") != "a,b" || l.Prefix != "sozune" {
		t.Errorf("%+v", l)
	}
}

func TestRetentionOff(t *testing.T) {
	s := config.Default()
	s.Providers.Docker.RetainSeconds = 0
	if p, err := Docker(&s, "", Logs{}); err != nil || p.Name() != docker.ProviderName {
		t.Errorf("%v %v", p, err)
	}
}

func TestEndpointIsShownWithoutUser(t *testing.T) {
	for endpoint, want := range map[string]string{
		"": docker.DefaultEndpoint, "tcp://user:pass@host:2375": "tcp://host:2375", "tcp://host": "tcp://host", "/run/docker.sock": "/run/docker.sock",
	} {
		if got := withoutUser(endpoint); got != want {
			t.Errorf("%s: %s", endpoint, got)
		}
	}
}

func TestLevelsByComponent(t *testing.T) {
	var out bytes.Buffer
	logs := NewLogs(&out, config.Log{Level: "warn", Format: "json", Levels: map[string]string{"proxy": "trace", "api": "off"}}, false, false)
	for _, component := range []string{"proxy", "api", "router"} {
		log := logs.For(component)
		log.Trace().Msg("trace of " + component)
		log.Warn().Msg("warning of " + component)
	}
	got := out.String()
	for text, want := range map[string]bool{
		"trace of proxy": true, "warning of proxy": true, "trace of api": false, "warning of api": false,
		"trace of router": false, "warning of router": true, `"component":"router"`: true,
	} {
		if strings.Contains(got, text) != want {
			t.Errorf("%q shows: %v, want %v, in\n%s", text, !want, want, got)
		}
	}
	out.Reset()
	console := NewLogs(&out, config.Log{Level: "info", Format: "auto"}, true, false).For("app")
	console.Info().Str("http", ":80").Msg("fairlead started")
	if line := out.String(); strings.HasPrefix(line, "{") || !strings.Contains(line, "fairlead started") || strings.Contains(line, "\x1b") {
		t.Errorf("console: %q", line)
	}
	silent := Logs{}.For("app")
	silent.Error().Msg("nobody hears")
	odd := NewLogs(&out, config.Log{}, false, false).For("app")
	if odd.GetLevel() != zerolog.InfoLevel {
		t.Errorf("no level is %v", odd.GetLevel())
	}
}

// failing is a provider whose Run ends at once.
type failing struct{ name string }

func (f failing) Name() string { return f.name }

func (failing) Run(context.Context, *provider.Mailbox) error { return errors.New("no way in") }
