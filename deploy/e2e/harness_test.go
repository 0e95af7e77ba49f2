package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// markKey is the label of everything that a test makes; its value is the process
// that made it, so that two runs on one engine do not clean up each other.
const markKey = "fairlead-e2e"

var (
	mark  = markKey + "=" + strconv.Itoa(os.Getpid())
	image = markKey + "-" + strconv.Itoa(os.Getpid()) + ":latest"
	// binary is the program under test, built once by TestMain.
	binary string
)

// site is one test's world: a label prefix of its own, so that tests do not see each other's containers.
type site struct {
	t      *testing.T
	prefix string
	http   string // host:port of the router
	admin  string
	log    *logBuffer
	cmd    *exec.Cmd
	done   chan error
	n      int

	// For an engine and a router in a network namespace of their own: how to connect to
	// it, the command that runs a program there, and the CLI's flags that name the engine.
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	enter  []string
	engine []string

	// addresses are those of containers that a test asks directly.
	addresses map[string]string
}

// command is a command to run where the router runs.
func (s *site) command(ctx context.Context, args ...string) *exec.Cmd {
	args = slices.Concat(s.enter, []string{binary}, args)
	return exec.CommandContext(ctx, args[0], args[1:]...)
}

// connect opens a connection to an address where the router runs.
func (s *site) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if s.dial != nil {
		return s.dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// client is one that never reuses a connection, for the site's addresses.
func (s *site) client() *http.Client {
	c := client()
	c.Transport = &http.Transport{DisableKeepAlives: true, DialContext: s.connect}
	return c
}

// logBuffer collects the router's log.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// newSite starts a router on the host with the test's own label prefix. extra are environment settings.
func newSite(t *testing.T, extra ...string) *site {
	t.Helper()
	s := prepareSite(t)
	s.start(extra...)
	t.Cleanup(s.stop)
	return s
}

// prepareSite makes a site whose router does not run yet.
func prepareSite(t *testing.T) *site {
	t.Helper()
	return &site{
		t: t, log: &logBuffer{}, done: make(chan error, 1),
		prefix: "e2e" + strconv.Itoa(os.Getpid()) + strings.ToLower(strings.NewReplacer("/", "", "_", "").Replace(t.Name())),
		http:   freePort(t), admin: freePort(t),
	}
}

// launch starts the router and waits for nothing.
func (s *site) launch(extra ...string) {
	s.t.Helper()
	s.cmd = s.command(context.Background(), "serve", "--http", s.http, "--admin", s.admin, "--log-level", "debug", "--log-format", "json")
	s.cmd.Dir = s.t.TempDir()
	s.cmd.Env = append(os.Environ(), append([]string{"FAIRLEAD_LABELS_PREFIX=" + s.prefix}, extra...)...)
	s.cmd.Stderr, s.cmd.Stdout = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
}

func (s *site) start(extra ...string) {
	s.t.Helper()
	s.launch(extra...)
	s.eventually(10*time.Second, "the router is ready", func() error {
		status, body, err := s.getAdmin("/ready")
		if err == nil && status != 200 {
			err = fmt.Errorf("%d %s", status, body)
		}
		return err
	})
}

func (s *site) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Errorf("the router ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		s.t.Error("the router did not end within 20 s of SIGTERM")
		_ = s.cmd.Process.Kill()
	}
	if s.t.Failed() {
		s.t.Logf("router log:\n%s", tail(s.log.String(), 12000))
	}
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}

// eventually polls until check passes or the deadline is over.
func (s *site) eventually(within time.Duration, what string, check func() error) {
	s.t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("not within %v: %s: %v\nrouter log:\n%s", within, what, err, tail(s.log.String(), 6000))
		}
		<-tick.C
	}
}

// client never reuses a connection and follows nothing.
func client() *http.Client {
	return &http.Client{
		Timeout:       10 * time.Second,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answer is a response read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// reason is the detail of Proxy-Status, or "".
func (a answer) reason() string {
	_, details, _ := strings.Cut(a.header.Get("Proxy-Status"), "details=")
	return strings.Trim(details, `"`)
}

func (s *site) get(host, path string) (answer, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+s.http+path, nil)
	if err != nil {
		return answer{}, err
	}
	req.Host = host
	res, err := s.client().Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body)}, err
}

func (s *site) getAdmin(path string) (int, []byte, error) { return s.fetch("http://" + s.admin + path) }

func (s *site) fetch(url string) (int, []byte, error) {
	res, err := s.client().Get(url)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// waitFor polls a host until it answers with the status and the text.
func (s *site) waitFor(host string, status int, text string) {
	s.t.Helper()
	s.eventually(15*time.Second, fmt.Sprintf("%s answers %d with %q", host, status, text), func() error {
		a, err := s.get(host, "/")
		if err != nil {
			return err
		}
		if a.status != status || !strings.Contains(a.body, text) {
			return fmt.Errorf("%d %s %s", a.status, a.reason(), tail(a.body, 300))
		}
		return nil
	})
}

// backendHealth is what these tests read of BackendHealth.
type backendHealth struct {
	ID             string `json:"id"`
	Address        string `json:"address"`
	State          string `json:"state"`
	Kind           string `json:"kind"`
	InRotation     bool   `json:"in_rotation"`
	RotationReason string `json:"rotation_reason"`
	Explain        string `json:"explain"`
	Container      *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"container"`
}

// entrypoint is what these tests read of an entrypoint.
type entrypoint struct {
	ID        string          `json:"id"`
	Unhealthy []backendHealth `json:"unhealthy_backends"`
	Backends  []backendHealth `json:"backend_health"`
	Health    struct {
		State          string `json:"state"`
		Reason         string `json:"reason"`
		DetectionBound int    `json:"detection_bound_ms"`
	} `json:"health"`
	ShadowedBy  string       `json:"shadowed_by"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnostic struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Label   string `json:"label"`
	Value   string `json:"value"`
	Hint    string `json:"hint"`
}

func (s *site) entrypoint(id string) (entrypoint, error) {
	status, body, err := s.getAdmin("/entrypoints/" + id)
	if err != nil {
		return entrypoint{}, err
	}
	if status != 200 {
		return entrypoint{}, fmt.Errorf("GET /entrypoints/%s: %d %s", id, status, body)
	}
	var e entrypoint
	err = json.Unmarshal(body, &e)
	return e, err
}

// create makes a container of the whoami workload without starting it; labels are relative to the prefix.
func (s *site) create(name string, labels []string, args ...string) string {
	s.t.Helper()
	return s.createWith(name, labels, nil, args...)
}

func (s *site) createWith(name string, labels, flags []string, args ...string) string {
	s.t.Helper()
	s.n++
	full := fmt.Sprintf("%s-%s-%d", s.prefix, name, s.n)
	all := []string{"create", "--name", full, "--label", mark}
	for _, l := range labels {
		if !strings.HasPrefix(l, "com.docker.") {
			l = s.prefix + "." + l
		}
		all = append(all, "--label", l)
	}
	all = append(append(all, flags...), image, "whoami", "-port", "8080", "-name", name)
	id := s.docker(append(all, args...)...)
	s.t.Cleanup(func() { _, _ = docker(slices.Concat(s.engine, []string{"rm", "-f", id})...) })
	return id
}

// runWith creates and starts a container with flags of docker create.
func (s *site) runWith(name string, labels, flags []string, args ...string) string {
	s.t.Helper()
	id := s.createWith(name, labels, flags, args...)
	s.docker("start", id)
	return id
}

// cli runs the program against this site and returns its output and exit code.
func (s *site) cli(args ...string) (string, int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	cmd := s.command(ctx, args...)
	cmd.Env = append(os.Environ(), "FAIRLEAD_ADMIN=http://"+s.admin, "FAIRLEAD_LABELS_PREFIX="+s.prefix)
	cmd.Dir = s.t.TempDir()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("fairlead %s: %v", strings.Join(args, " "), err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
