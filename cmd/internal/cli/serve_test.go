package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/cmd/internal/app"
	"fairlead/provider/docker/enginetest"
)

// served is a router that runs in this process.
type served struct {
	*world
	http, admin string
	log         *buffer
	cancel      context.CancelFunc
	done        chan int
}

// serve starts `fairlead serve` on loopback ports and waits until it listens.
func serve(t *testing.T, routes string, env []string, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{world: &world{t: t}, log: &buffer{}, cancel: cancel, done: make(chan int, 1)}
	all := append([]string{
		"CONFIG_PATH=" + empty(t), "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_PROVIDERS_FILE_PATH=" + routes,
		"FAIRLEAD_HEALTHCHECK_TICK=20ms", "FAIRLEAD_HEALTHCHECK_STARTUPSPREAD=1ms",
	}, env...)
	full := append([]string{"serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-level", "debug", "--log-format", "json"}, args...)
	go func() { s.done <- Main(ctx, full, Streams{Out: io.Discard, Err: s.log, Env: all}) }()
	t.Cleanup(func() {
		cancel()
		if strings.Contains(s.log.String(), canary) {
			t.Errorf("the log shows a secret:\n%s", s.log.String())
		}
	})
	s.eventually("it listens", func() error {
		line := s.logged("fairlead started")
		if line == nil {
			return fmt.Errorf("no start line in\n%s", s.log.String())
		}
		s.http, _ = line["http"].(string)
		s.admin, _ = line["admin"].(string)
		return nil
	})
	s.env = []string{"FAIRLEAD_ADMIN=http://" + s.admin, "CONFIG_PATH=" + empty(t)}
	return s
}

// logged returns the first line with a message, nil without one.
func (s *served) logged(message string) map[string]any {
	lines := bufio.NewScanner(strings.NewReader(s.log.String()))
	for lines.Scan() {
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) == nil && line["message"] == message {
			return line
		}
	}
	return nil
}

func (s *served) eventually(what string, check func() error) {
	s.t.Helper()
	deadline := time.After(15 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			s.t.Fatalf("not in time: %s: %v\n%s", what, err, s.log.String())
		case <-tick.C:
		}
	}
}

// stop ends the router and returns its exit code.
func (s *served) stop() int {
	s.t.Helper()
	s.cancel()
	select {
	case code := <-s.done:
		return code
	case <-time.After(20 * time.Second):
		s.t.Fatalf("it did not stop\n%s", s.log.String())
		return -1
	}
}

// get asks the router for a host.
func (s *served) get(host, path string) (int, string, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+s.http+path, nil)
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

func (s *served) ready() (int, string) {
	res, err := http.Get("http://" + s.admin + "/ready")
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

// backend is an HTTP server that can be made to fail its check.
type backend struct {
	*httptest.Server
	sick atomic.Bool
}

func newBackend(t *testing.T, name string) *backend {
	t.Helper()
	b := &backend{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" && (b.sick.Load() || r.Header.Get("Authorization") != "Bearer "+canary) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "%s got %s", name, r.URL.Path)
	}))
	t.Cleanup(b.Close)
	return b
}

// at is a backend of a file.
func at(address string) string {
	host, port, _ := strings.Cut(strings.TrimPrefix(address, "http://"), ":")
	return fmt.Sprintf("{address: %s, port: %s, weight: 100}", host, port)
}

const checked = `
    health_check: {path: /health, interval_ms: 100, timeout_ms: 1000, initial_delay_ms: 0, headers: {Authorization: Bearer ` + canary + `}}`

func TestServeFromEndToEnd(t *testing.T) {
	one, two := newBackend(t, "one"), newBackend(t, "two")
	routes := tempFile(t, "routes.yaml", `entrypoints:
- name: app
  protocol: Http
  backends: [`+at(one.URL)+", "+at(two.URL)+`]
  config:
    hostnames: [app.localhost]
    path: {rule_type: Prefix, value: /v1}
    strip_prefix: true
    headers: [{name: X-Key, value: `+canary+`, direction: request}]`+checked+`
- name: rest
  protocol: Http
  backends: [`+at(one.URL)+`]
  config: {hostnames: ["*.localhost"], path: {rule_type: Prefix, value: /}}
`)
	s := serve(t, routes, nil)
	s.eventually("all are verified", func() error {
		if r := s.run("health"); r.code != 0 || strings.Contains(r.out, "pending") {
			return fmt.Errorf("exit %d\n%s", r.code, r.all())
		}
		return nil
	})
	if status, body, err := s.get("app.localhost", "/v1/x"); err != nil || status != 200 || !strings.HasSuffix(body, "got /x") {
		t.Errorf("%v %d %s", err, status, body)
	}
	s.check(0, "served", "route", "resolve", "http://app.localhost/v1/x?token="+canary, "--probe")
	s.check(1, "did you mean app.localhost", "route", "resolve", "http://app.locallhost/")
	s.check(0, "http_app", "route", "list")
	s.check(0, "verified", "explain", "http_app")
	if status, body := s.ready(); status != 200 || !strings.Contains(body, `"ok"`) {
		t.Errorf("%d %s", status, body)
	}

	two.sick.Store(true)
	s.eventually("one of two is out", func() error {
		if r := s.run("health", "http_app"); r.code != 1 || !strings.Contains(r.out, "probe_failed") {
			return fmt.Errorf("exit %d\n%s", r.code, r.all())
		}
		return nil
	})
	s.check(0, "probe_failed", "route", "resolve", "http://app.localhost/v1/x")

	one.sick.Store(true)
	s.eventually("panic", func() error {
		if r := s.run("health"); r.code != 2 || !strings.Contains(r.out, "panic_all") {
			return fmt.Errorf("exit %d\n%s", r.code, r.all())
		}
		return nil
	})
	s.check(2, "Panic serves it", "route", "resolve", "http://app.localhost/v1/x")
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, s.log.String())
	}
	if s.logged("stopped") == nil {
		t.Errorf("no last word:\n%s", s.log.String())
	}
	s.check(4, "no router answers", "health")
}

func (s *served) check(code int, want string, args ...string) {
	s.t.Helper()
	if r := s.run(args...); r.code != code || !strings.Contains(r.all(), want) {
		s.t.Errorf("fairlead %s: exit %d, want %d and %q\n%s", strings.Join(args, " "), r.code, code, want, r.all())
	}
}

func oneRoute(t *testing.T, address string) string {
	t.Helper()
	return tempFile(t, "routes.yaml", "entrypoints:\n- name: app\n  protocol: Http\n  backends: ["+at(address)+
		"]\n  config: {hostnames: [app.localhost], path: {rule_type: Prefix, value: /}}\n")
}

// The first connections wait for the first table: a restart must not answer 404.
func TestFirstRequestIsNot404(t *testing.T) {
	b := newBackend(t, "one")
	s := serve(t, oneRoute(t, b.URL), nil)
	if status, body, err := s.get("app.localhost", "/"); err != nil || status != 200 {
		t.Errorf("%v %d %s", err, status, body)
	}
	s.stop()
}

func TestWithoutAnEngineTheFileIsServed(t *testing.T) {
	b := newBackend(t, "one")
	s := serve(t, oneRoute(t, b.URL), []string{"FAIRLEAD_PROVIDERS_DOCKER_ENABLED=true"}, "--docker", "unix:///nonexistent/docker.sock")
	if status, body, err := s.get("app.localhost", "/"); err != nil || status != 200 {
		t.Errorf("%v %d %s", err, status, body)
	}
	if hint, _ := s.logged("engine is not reachable: the last entrypoints stay, trying again for ever")["hint"].(string); !strings.HasSuffix(hint, app.WithoutDocker) {
		t.Errorf("the log does not say how to do without an engine: %q", hint)
	}
	if r := s.run("health"); !strings.Contains(r.out, "providers.docker.enabled=false") { // its exit code is about verdicts
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	if !strings.Contains(s.log.String(), "/nonexistent/docker.sock") || s.logged("fairlead started")["docker"] != "unix:///nonexistent/docker.sock" {
		t.Errorf("the log does not say what is missing:\n%s", s.log.String())
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, s.log.String())
	}
}

// TestAnEmptyDockerFlagTurnsDockerOff, as it does with the listeners: whatever else names an
// engine, and in every command that has the flag.
func TestAnEmptyDockerFlagTurnsDockerOff(t *testing.T) {
	routes := oneRoute(t, newBackend(t, "one").URL)
	env := []string{"FAIRLEAD_PROVIDERS_DOCKER_ENABLED=true", "DOCKER_HOST=unix:///nonexistent/docker.sock"}
	s := serve(t, routes, env, "--docker", "")
	if line := s.logged("fairlead started"); line["docker"] != nil && line["docker"] != "" {
		t.Errorf("%v", line)
	}
	s.check(0, "ok", "healthcheck", "--ready", "--wait", "10s")
	if code := s.stop(); code != 0 || strings.Contains(s.log.String(), "engine is not reachable") {
		t.Errorf("exit %d\n%s", code, s.log.String())
	}
	offline := &world{t: t, env: append(env, "CONFIG_PATH="+empty(t), "FAIRLEAD_PROVIDERS_FILE_PATH="+routes)}
	offline.ports("127.0.0.1:0", "")
	for _, args := range [][]string{
		{"validate"}, {"route", "resolve", "--offline", "http://app.localhost/"}, {"doctor"},
	} {
		if r := offline.run(append(args, "--docker", "")...); strings.Contains(r.all(), "docker.sock") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.all())
		}
	}
	if r := offline.run("validate"); r.code != 4 || !strings.Contains(r.err, app.WithoutDocker) {
		t.Errorf("with an engine that is away: exit %d\n%s", r.code, r.all())
	}
	if r := (&world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}).run("serve", "--docker", ""); r.code != 3 ||
		!strings.Contains(r.err, `--docker "": providers.docker.enabled: no provider is left`) {
		t.Errorf("without a file: exit %d\n%s", r.code, r.all())
	}
}

func TestServeFromAnEngine(t *testing.T) {
	// Nothing is probed: the addresses of a fake engine are nobody's.
	fake := enginetest.New(enginetest.Docker29)
	fake.AddNetwork(enginetest.Network{Name: "edge"})
	add := func(name string, labels ...string) string {
		c := enginetest.Container{Name: "shop-" + name + "-1", Networks: []string{"edge"}, Expose: []string{"8080/tcp"}, Labels: map[string]string{}}
		if len(labels) > 0 {
			c.Labels["sozune.enable"], c.Labels["sozune.http."+name+".healthCheck"] = "true", "false"
		}
		for _, l := range labels {
			key, value, _ := strings.Cut(l, "=")
			c.Labels["sozune.http."+name+"."+key] = value
		}
		return fake.Run(c)
	}
	self := add("router")
	add("api", "host=shop.localhost", "headers.X-Key="+canary)
	add("closed", "host=closed.localhost", "auth.basci=ops:"+canary)
	s := serve(t, "", []string{
		"FAIRLEAD_PROVIDERS_DOCKER_ENABLED=true", "DOCKER_HOST=" + fake.ServeUnix(t), "FAIRLEAD_CONTAINER_ID=" + self, "FAIRLEAD_PROVIDERS_FILE_PATH=",
	})
	s.eventually("the routes are there", func() error {
		if r := s.run("route", "list"); r.code != 0 || !strings.Contains(r.out, "http_api") {
			return fmt.Errorf("exit %d\n%s", r.code, r.all())
		}
		return nil
	})
	s.check(2, "misconfigured_protection", "route", "resolve", "http://closed.localhost/")
	fake.Run(enginetest.Container{Name: "lost", Networks: []string{"edge"}, Labels: map[string]string{"sozune.http.lost.host": "clos.localhost"}})
	s.eventually("a container that is not enabled is named", func() error {
		const want = "container lost declares this host and is not routed: E001, add the label sozune.enable=true"
		if r := s.run("route", "resolve", "http://clos.localhost/"); r.code != 1 || strings.Index(r.out, want) > strings.Index(r.out, "did you mean") || !strings.Contains(r.out, want) {
			return fmt.Errorf("exit %d\n%s", r.code, r.all())
		}
		return nil
	})
	add("new", "host=new.localhost")
	s.eventually("a new container is there", func() error {
		if r := s.run("explain", "new"); r.code != 0 {
			return fmt.Errorf("exit %d\n%s", r.code, r.all())
		}
		return nil
	})
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, s.log.String())
	}
}

func TestServeRefusesToStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pem := tempFile(t, "ca.pem", "not a certificate")
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	for _, c := range []struct {
		args, env []string
		code      int
		want      string
	}{
		{[]string{"--https", ":443"}, nil, 3, "proxy.trustedProxies"},
		{[]string{"--http", "8080"}, nil, 3, "--http: proxy.http.listen: \"8080\" is not an address\n       write :8080"},
		{[]string{"--admin", "0.0.0.0:0"}, nil, 1, "admin.anonymous"},
		{[]string{"--http", l.Addr().String(), "--admin", ""}, nil, 1, "another program listens there"},
		{[]string{"--http", "127.0.0.1:0", "--admin", l.Addr().String()}, nil, 1, "the admin listener cannot be opened"},
		{[]string{"--http", "192.0.2.1:0", "--admin", ""}, nil, 1, "no interface of this machine has that address"},
		{[]string{"--docker", "ftp://x"}, nil, 3, "ftp"},
		{nil, []string{"DOCKER_HOST=ssh://host"}, 1, "forward the socket"},
		{[]string{"--docker", "ssh://host"}, nil, 3, "forward the socket"},
		{[]string{"--log-level", "loud"}, nil, 3, "--log-level"},
		{nil, []string{"FAIRLEAD_CERTIFICATES_AUTHORITIES=a=" + pem}, 1, "holds no certificate"},
		{nil, []string{"FAIRLEAD_CERTIFICATES_AUTHORITIES=a=" + pem + ".none"}, 1, "certificates.authorities.a"},
		{[]string{"--no-such-flag"}, nil, 3, "fairlead serve --help"},
		{[]string{"word"}, nil, 3, "fairlead serve --help"},
	} {
		run := &world{t: t, env: append(c.env, w.env...)}
		if r := run.run(append([]string{"serve"}, c.args...)...); r.code != c.code || !strings.Contains(r.all(), c.want) {
			t.Errorf("%v %v: exit %d\n%s", c.args, c.env, r.code, r.all())
		}
	}
}

func TestWarningsAreLogged(t *testing.T) {
	b := newBackend(t, "one")
	s := serve(t, oneRoute(t, b.URL), []string{"FAIRLEAD_HTTP_PORT=8080", "FAIRLEAD_SHUTDOWNTIMEOUT=25s"})
	s.stop()
	for _, want := range []string{"FAIRLEAD_HTTP_PORT is not a setting", "stop_grace_period"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("no %q in\n%s", want, s.log.String())
		}
	}
}
