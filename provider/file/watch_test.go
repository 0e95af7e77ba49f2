package file

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
	"fairlead/router/route"
)

// deadline is how long a test waits for what must happen; it ends as soon as it does.
const deadline = 15 * time.Second

// one is a file with one entrypoint.
func one(name, address string) string {
	return fmt.Sprintf("entrypoints: [{name: %s, backends: [{address: %s, port: 80}], config: {hostnames: [%s.example.com]}}]\n", name, address, name)
}

// logBuffer is a log that a test reads while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// running is a provider at work.
type running struct {
	t    *testing.T
	path string
	out  *provider.Mailbox
	log  *logBuffer
	last route.Snapshot
	puts int
}

// run starts a provider on a path and stops it with the test.
func run(t *testing.T, path string) *running {
	t.Helper()
	r := &running{t: t, path: path, out: provider.NewMailbox(), log: &logBuffer{}}
	p, err := New(Config{Path: path, Log: zerolog.New(r.log)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, r.out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return r
}

// until waits for a snapshot that holds.
func (r *running) until(what string, holds func(route.Snapshot) bool) route.Snapshot {
	r.t.Helper()
	limit := time.After(deadline)
	for {
		select {
		case <-r.out.Ready():
			if s, ok := r.out.Take(); ok {
				r.last = s
				r.puts++
				if holds(s) {
					return s
				}
			}
		case <-limit:
			r.t.Fatalf("%s: not within %v; last: %s %+v\nlog: %s", what, deadline, routed(r.last), r.last.Status, r.log)
		}
	}
}

// routes waits until exactly these are routed from a file that is as it should be.
func (r *running) routes(names string) route.Snapshot {
	r.t.Helper()
	return r.until("routes "+names, func(s route.Snapshot) bool {
		return routed(s) == names && s.Status.Phase == route.PhaseReady && s.Status.LastError == "" && s.Status.Connected && len(s.Global) == 0
	})
}

// routed lists what a snapshot routes: name@address.
func routed(s route.Snapshot) string {
	var out []string
	for _, e := range s.Entrypoints {
		text := e.Name
		for i := range e.Backends {
			text += "@" + e.Backends[i].Address()
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestEditorsAreFollowed: in place, by rename over it, by moving it away first.
func TestEditorsAreFollowed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "routes.yaml")
	write(t, path, one("a", "10.0.0.1"))
	r := run(t, path)
	r.routes("a@10.0.0.1:80")

	write(t, path, one("b", "10.0.0.1")) // truncate and write
	r.routes("b@10.0.0.1:80")

	write(t, path+".tmp", one("c", "10.0.0.1")) // vim without backup, sed -i
	must(t, os.Rename(path+".tmp", path))
	r.routes("c@10.0.0.1:80")

	must(t, os.Rename(path, path+"~")) // vim with backup
	write(t, path, one("d", "10.0.0.1"))
	r.routes("d@10.0.0.1:80")

	write(t, path, `{"entrypoints": []}`) // JSON, and an empty list is a real one
	r.routes("")
	if strings.Contains(r.log.String(), `"level":"error"`) {
		t.Errorf("log: %s", r.log)
	}
}

// TestKubernetesVolume: the file is a link into a directory that another link names,
// and an update swaps that one.
func TestKubernetesVolume(t *testing.T) {
	dir := t.TempDir()
	version := func(n int, text string) {
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("..v%d", n)), 0o700))
		write(t, filepath.Join(dir, fmt.Sprintf("..v%d", n), "routes.yaml"), text)
		must(t, os.Symlink(fmt.Sprintf("..v%d", n), filepath.Join(dir, "..tmp")))
		must(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	}
	version(1, one("a", "10.0.0.1"))
	path := filepath.Join(dir, "routes.yaml")
	must(t, os.Symlink(filepath.Join("..data", "routes.yaml"), path))
	r := run(t, path)
	r.routes("a@10.0.0.1:80")
	version(2, one("b", "10.0.0.1"))
	must(t, os.RemoveAll(filepath.Join(dir, "..v1")))
	r.routes("b@10.0.0.1:80")
}

// TestPlainSymlink: the file is a link that is pointed elsewhere.
func TestPlainSymlink(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "one"), one("a", "10.0.0.1"))
	write(t, filepath.Join(dir, "two"), one("b", "10.0.0.1"))
	path := filepath.Join(dir, "routes.yaml")
	must(t, os.Symlink("one", path))
	r := run(t, path)
	r.routes("a@10.0.0.1:80")
	write(t, filepath.Join(dir, "one"), one("c", "10.0.0.1")) // the target itself
	r.routes("c@10.0.0.1:80")
	must(t, os.Symlink("two", path+".new"))
	must(t, os.Rename(path+".new", path))
	r.routes("b@10.0.0.1:80")
}

// TestMissingFileIsWaitedFor, and one that goes away leaves its entrypoints.
func TestMissingFileIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.yaml")
	r := run(t, path)
	r.until("failed", func(s route.Snapshot) bool {
		return s.Status.Phase == route.PhaseFailed && !s.Status.Connected && strings.Contains(s.Status.LastError, "does not exist") && s.Status.Hint != ""
	})
	write(t, path, one("a", "10.0.0.1"))
	first := r.routes("a@10.0.0.1:80")
	must(t, os.Remove(path))
	s := r.until("stale", func(s route.Snapshot) bool { return s.Status.Phase == route.PhaseStale })
	if routed(s) != "a@10.0.0.1:80" || s.Status.Connected || !s.Status.LastSync.Equal(first.Status.LastSync) || !strings.Contains(s.Status.LastError, "does not exist") {
		t.Errorf("a lost file: %s %+v", routed(s), s.Status)
	}
	write(t, path, one("a", "10.0.0.1"))
	if s := r.routes("a@10.0.0.1:80"); s.Entrypoints[0].Backends[0].Incarnation != first.Entrypoints[0].Backends[0].Incarnation {
		t.Errorf("file_lost_resets_health: the same backend is another one after the file was away")
	}
}

// TestDirectoryComesLater, goes and comes back.
func TestDirectoryComesLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	path := filepath.Join(dir, "routes.yaml")
	r := run(t, path)
	r.until("failed", func(s route.Snapshot) bool { return s.Status.Phase == route.PhaseFailed })
	must(t, os.Mkdir(dir, 0o700))
	write(t, path, one("a", "10.0.0.1"))
	r.routes("a@10.0.0.1:80")
	must(t, os.RemoveAll(dir))
	r.until("stale", func(s route.Snapshot) bool { return s.Status.Phase == route.PhaseStale })
	must(t, os.Mkdir(dir, 0o700))
	write(t, path, one("b", "10.0.0.1"))
	r.routes("b@10.0.0.1:80")
	must(t, os.Rename(dir, dir+".old")) // replaced as a whole
	must(t, os.Mkdir(dir, 0o700))
	write(t, path, one("c", "10.0.0.1"))
	r.routes("c@10.0.0.1:80")
	if n := strings.Count(r.log.String(), "file is polled"); n == 0 || n > 6 {
		t.Errorf("%d lines about polling: %s", n, r.log)
	}
}

// TestBurstIsOneSnapshot: ten writes in a row are read once they have settled.
func TestBurstIsOneSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.yaml")
	write(t, path, one("a", "10.0.0.1"))
	r := run(t, path)
	r.routes("a@10.0.0.1:80")
	before := r.puts
	for i := range 10 {
		write(t, path, one(fmt.Sprintf("b%d", i), "10.0.0.1"))
	}
	r.routes("b9@10.0.0.1:80")
	if n := r.puts - before; n > 3 {
		t.Errorf("%d snapshots for one burst", n)
	}
}

// TestSlowLookSeesWhatNoEventTold compares the file with what was read.
func TestSlowLookSeesWhatNoEventTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.yaml")
	w := &watch{cfg: Config{Path: path, Log: zerolog.Nop()}, state: newState(Config{Path: path, Log: zerolog.Nop()}, time.Now()), out: provider.NewMailbox()}
	if w.pace() != unwatched {
		t.Errorf("pace without a watch: %v", w.pace())
	}
	if !w.changed() {
		t.Error("a missing file is not looked for")
	}
	write(t, path, one("a", "10.0.0.1"))
	w.look()
	if w.changed() {
		t.Error("an unchanged file is read again")
	}
	must(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
	if !w.changed() {
		t.Error("a new time is not seen")
	}
	w.look()
	if s, _ := w.out.Take(); routed(s) != "a@10.0.0.1:80" {
		t.Errorf("%s", routed(s))
	}
	w.look()
	if _, ok := w.out.Take(); ok {
		t.Error("an equal file is told again")
	}
	write(t, path+"2", one("a", "10.0.0.2"))
	must(t, os.Rename(path+"2", path))
	if !w.changed() {
		t.Error("another file under the name is not seen")
	}
}
