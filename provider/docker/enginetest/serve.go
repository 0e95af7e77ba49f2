package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// server is one listener of the engine.
type server struct {
	open func() (net.Listener, error)
	at   string // where it listens
	http *http.Server
	done chan struct{}
}

// ServeUnix serves the engine on a unix socket until the test ends and returns the
// endpoint. The path is short whatever the test is called: sockets allow 107 bytes.
func (e *Engine) ServeUnix(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fle")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return e.ServeUnixAt(t, filepath.Join(dir, "s"))
}

// ServeUnixAt serves the engine on a unix socket at a path until the test ends and
// returns the endpoint.
func (e *Engine) ServeUnixAt(t testing.TB, path string) string {
	t.Helper()
	return "unix://" + e.serve(t, &server{open: func() (net.Listener, error) { return net.Listen("unix", path) }}) //nolint:noctx // ends by being closed
}

// ServeTCP serves the engine on a loopback port until the test ends and returns the
// endpoint.
func (e *Engine) ServeTCP(t testing.TB) string {
	t.Helper()
	s := &server{at: "127.0.0.1:0"}
	s.open = func() (net.Listener, error) { return net.Listen("tcp", s.at) } //nolint:noctx // ends by being closed
	return "tcp://" + e.serve(t, s)
}

// serve starts a server and returns where it listens.
func (e *Engine) serve(t testing.TB, s *server) string {
	t.Helper()
	if err := s.listen(e); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.servers = append(e.servers, s)
	e.mu.Unlock()
	t.Cleanup(s.close)
	return s.at
}

func (s *server) listen(e *Engine) error {
	l, err := s.open()
	if err != nil {
		return err
	}
	s.at = l.Addr().String()
	s.http = &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second}
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	return nil
}

func (s *server) close() {
	_ = s.http.Close()
	<-s.done
}

// Down ends all listeners and connections: the engine is away. Its containers stay.
func (e *Engine) Down() {
	e.Cut(true)
	for _, s := range e.serverList() {
		s.close()
	}
}

// Up brings the listeners back.
func (e *Engine) Up(t testing.TB) {
	t.Helper()
	for _, s := range e.serverList() {
		if err := s.listen(e); err != nil {
			t.Fatal(err)
		}
	}
}

func (e *Engine) serverList() []*server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*server(nil), e.servers...)
}

var versioned = regexp.MustCompile(`^/v([0-9]+\.[0-9]+)(/.*)$`)

// ServeHTTP implements the Engine API.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if m := versioned.FindStringSubmatch(path); m != nil {
		if text := e.refuseVersion(m[1]); text != "" {
			fail(w, http.StatusBadRequest, text)
			return
		}
		path = m[2]
	}
	status, delay := e.judge(endpointOf(path))
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
	}
	if status != 0 {
		fail(w, status, http.StatusText(status))
		return
	}
	if r.Method != http.MethodGet && (r.Method != http.MethodHead || path != Ping) {
		fail(w, http.StatusForbidden, "a router only reads")
		return
	}
	e.route(w, r, path)
}

func (e *Engine) route(w http.ResponseWriter, r *http.Request, path string) {
	switch endpointOf(path) {
	case Ping:
		e.ping(w)
	case Version:
		answer(w, e.versionJSON())
	case Info:
		answer(w, map[string]any{"ServerVersion": e.version, "SystemTime": time.Now().Format(time.RFC3339Nano)})
	case List:
		answer(w, e.listJSON(r.URL.Query().Get("all") == "1"))
	case Networks:
		answer(w, e.networksJSON())
	case Occupants:
		if n := e.occupantsJSON(strings.TrimPrefix(path, "/networks/")); n != nil {
			answer(w, n)
			return
		}
		fail(w, http.StatusNotFound, "network not found")
	case Inspect:
		id := strings.TrimSuffix(strings.TrimPrefix(path, "/containers/"), "/json")
		if !e.started(r.Context(), id) {
			return
		}
		if c := e.inspectJSON(id); c != nil {
			answer(w, c)
			return
		}
		fail(w, http.StatusNotFound, "No such container: "+id)
	case Events:
		e.stream(w, r)
	default:
		fail(w, http.StatusNotFound, "page not found")
	}
}

func (e *Engine) ping(w http.ResponseWriter) {
	e.mu.Lock()
	version, hidden := e.maxAPI, e.faults.noVersion
	e.mu.Unlock()
	if !hidden {
		w.Header().Set("Api-Version", version)
	}
	w.Header().Set("Ostype", "linux")
	w.WriteHeader(http.StatusOK)
}

// refuseVersion returns the engine's words about a version it does not speak.
func (e *Engine) refuseVersion(version string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case minor(version) > minor(e.maxAPI):
		return fmt.Sprintf("client version %s is too new. Maximum supported API version is %s", version, e.maxAPI)
	case minor(version) < minor(e.minAPI):
		return fmt.Sprintf("client version %s is too old. Minimum supported API version is %s,"+
			" please upgrade your client to a newer version", version, e.minAPI)
	}
	return ""
}

// minor orders versions 1.x.
func minor(version string) int {
	_, text, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(text)
	return n
}

// stream serves /events until the reader goes or a fault cuts it.
func (e *Engine) stream(w http.ResponseWriter, r *http.Request) {
	var filters struct {
		Type  json.RawMessage `json:"type"`
		Event json.RawMessage `json:"event"`
	}
	_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
	s := e.subscribe(wordsOf(filters.Type), wordsOf(filters.Event), parseSince(r.URL.Query().Get("since")))
	defer e.unsubscribe(s)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	flusher.Flush()
	var cut <-chan time.Time
	e.with(func(f *faults) {
		if f.cutEvery > 0 {
			cut = time.After(f.cutEvery)
		}
	})
	for {
		select {
		case ev := <-s.events:
			if !e.linger(r.Context(), ev) {
				return
			}
			_, _ = w.Write(e.encode(ev))
			flusher.Flush()
		case broken := <-s.cut:
			if broken {
				panic(http.ErrAbortHandler)
			}
			return
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// wordsOf reads both notations of a filter: {"container":true} and ["container"].
func wordsOf(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var set map[string]bool
	_ = json.Unmarshal(raw, &set)
	for name := range set {
		list = append(list, name)
	}
	return list
}

func parseSince(text string) time.Time {
	seconds, nanos, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	n, _ := strconv.ParseInt(nanos, 10, 64)
	return time.Unix(s, n)
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if raw, ok := body.([]byte); ok {
		_, _ = w.Write(raw)
		return
	}
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}
