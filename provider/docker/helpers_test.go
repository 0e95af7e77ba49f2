package docker

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// onTheHost finds the router on the engine's host.
func onTheHost() selfFinder {
	return selfFinder{
		mountinfo: func() string { return "" },
		hostname:  func() string { return "machine" },
		marked:    func() bool { return false },
	}
}

// insideOf finds the router in the container with that id.
func insideOf(id string) selfFinder {
	f := onTheHost()
	f.configured = id
	return f
}

func newProvider(t testing.TB, endpoint string, change func(*Config)) *Provider {
	t.Helper()
	cfg := Config{Endpoint: endpoint, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.self = onTheHost()
	return p
}

// running is a provider that runs until the test ends.
type running struct {
	t    testing.TB
	out  *provider.Mailbox
	last route.Snapshot
	puts int
}

// start runs a provider and checks at the end that Run returns.
func start(t testing.TB, p *Provider) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, out: provider.NewMailbox()}
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, r.out) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("Run did not return")
		}
	})
	return r
}

// until waits for a snapshot that satisfies ok; what says what is waited for.
func (r *running) until(what string, ok func(route.Snapshot) bool) route.Snapshot {
	r.t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		if r.puts > 0 && ok(r.last) {
			return r.last
		}
		select {
		case <-r.out.Ready():
			if s, there := r.out.Take(); there {
				if !equal(r.last, s, true) { // news, not only a later read
					r.puts++
				}
				r.last = s
			}
		case <-deadline:
			r.t.Fatalf("waited in vain for %s; the last snapshot is %s", what, describeSnapshot(r.last))
		}
	}
}

// next waits for one snapshot, which must satisfy ok: nothing else may come before.
func (r *running) next(what string, ok func(route.Snapshot) bool) route.Snapshot {
	r.t.Helper()
	before := r.puts
	s := r.until(what, func(route.Snapshot) bool { return r.puts > before })
	if !ok(s) {
		r.t.Fatalf("something came before %s: %s", what, describeSnapshot(s))
	}
	return s
}

// container returns the id of the first backend of an entrypoint.
func (r *running) container(id string) string {
	r.t.Helper()
	for _, e := range r.last.Entrypoints {
		if e.ID == id && len(e.Backends) > 0 {
			return e.Backends[0].Container.ID
		}
	}
	r.t.Fatalf("no backend of %s in %s", id, describeSnapshot(r.last))
	return ""
}

// describeSnapshot is one line per entrypoint: id, backends with state, absences.
func describeSnapshot(s route.Snapshot) string {
	var b strings.Builder
	b.WriteString(string(s.Status.Phase) + " connected=" + yes(s.Status.Connected) + " " + s.Status.LastError)
	for _, e := range s.Entrypoints {
		b.WriteString("\n  " + e.ID + ":" + backends(e))
	}
	for _, r := range s.Rejected {
		b.WriteString("\n  rejected " + r.Name + ": " + r.Code + " " + r.Reason)
	}
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func backends(e *route.Entrypoint) string {
	var words []string
	for _, b := range e.Backends {
		words = append(words, b.Name+"="+b.Address()+"("+string(b.Provider)+")")
	}
	for _, a := range e.Absent {
		words = append(words, a.Name+"("+string(a.Why)+")")
	}
	return strings.Join(words, " ")
}

// of returns the backends and absences of an entrypoint as a line, "-" without it.
func of(s route.Snapshot, id string) string {
	for _, e := range s.Entrypoints {
		if e.ID == id {
			return backends(e)
		}
	}
	return "-"
}

func shows(id, want string) func(route.Snapshot) bool {
	return func(s route.Snapshot) bool { return of(s, id) == want }
}

func codes(list []route.Diagnostic) string {
	var out []string
	for _, d := range list {
		out = append(out, d.Code)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// web is a container with an HTTP route on port 80.
func web(name string, change ...func(*enginetest.Container)) enginetest.Container {
	c := enginetest.Container{
		Name: name, Expose: []string{"80/tcp"},
		Labels: map[string]string{"sozune.enable": "true", "sozune.http.web.host": "web.example"},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func recordingAt(t *testing.T, name string, style enginetest.Style) *enginetest.Engine {
	t.Helper()
	e, err := enginetest.LoadRecording(os.DirFS("testdata/engine/"+name), style)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
