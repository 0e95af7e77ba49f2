package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
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

// TestInvalidFileIsRefusedAsAWhole: what was routed stays, and everybody can see why.
func TestInvalidFileIsRefusedAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.yaml")
	write(t, path, "entrypoints: [{name: a, confg: "+canary+"}]\n")
	r := run(t, path)
	s := r.until("failed", func(s route.Snapshot) bool { return s.Status.Phase == route.PhaseFailed })
	if !s.Status.Connected || len(s.Global) != 1 || s.Global[0].Code != "E114" || !strings.Contains(s.Status.LastError, path+`:1:25: entrypoints[0]: unknown key "confg"; did you mean "config"?`) {
		t.Errorf("%+v %+v", s.Status, s.Global)
	}
	write(t, path, one("a", "10.0.0.1"))
	good := r.routes("a@10.0.0.1:80")
	write(t, path, "entrypoints:\n  - {name: a, backends: 5}\n  - {name: b, protcol: Http}\n")
	s = r.until("refused", func(s route.Snapshot) bool { return s.Status.Phase == route.PhaseStale })
	if routed(s) != "a@10.0.0.1:80" || !s.Status.Connected || !s.Status.LastSync.Equal(good.Status.LastSync) || len(s.Global) != 2 || s.Status.Hint == "" ||
		s.Entrypoints[0] != good.Entrypoints[0] {
		t.Errorf("%s %+v %+v", routed(s), s.Status, s.Global)
	}
	write(t, path, "") // an editor that was stopped between truncating and writing
	since, stale := s.Status.Stale()
	if !stale || since.Before(good.Status.LastSync) {
		t.Errorf("stale %v since %v, the last good text is of %v", stale, since, good.Status.LastSync)
	}
	s = r.until("empty", func(s route.Snapshot) bool { return strings.Contains(s.Status.LastError, "empty") })
	if again, _ := s.Status.Stale(); !again.Equal(since) {
		t.Errorf("a second refusal moves the beginning from %v to %v", since, again)
	}
	if routed(s) != "a@10.0.0.1:80" {
		t.Errorf("truncated_file_drops_routes: %s", routed(s))
	}
	write(t, path, one("c", "10.0.0.1"))
	r.routes("c@10.0.0.1:80")
	if log := r.log.String(); strings.Contains(log, canary) || strings.Count(log, "file refused") != 3 {
		t.Errorf("log: %s", log)
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

// TestSettling: quiet after each event, but never longer than a second in all.
func TestSettling(t *testing.T) {
	w := &watch{}
	at := time.Unix(1000, 0)
	for _, c := range []struct{ after, want time.Duration }{
		{0, quiet}, {90 * time.Millisecond, quiet}, {850 * time.Millisecond, quiet},
		{950 * time.Millisecond, 50 * time.Millisecond}, {time.Second, 0}, {2 * time.Second, 0},
	} {
		if got := w.wait(at.Add(c.after)); got != c.want {
			t.Errorf("after %v: %v, want %v", c.after, got, c.want)
		}
	}
	w.first = time.Time{}
	if got := w.wait(at.Add(time.Hour)); got != quiet {
		t.Errorf("a new burst: %v", got)
	}
}

// TestNeighboursDoNotWakeIt: other files of a busy directory are not our business.
func TestNeighboursDoNotWakeIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "routes.yaml")
	write(t, path, one("a", "10.0.0.1"))
	w := &watch{cfg: Config{Path: path}}
	for name, want := range map[string]bool{"routes.yaml": true, "other.yaml": false, "routes.yaml~": false, "..data": true} {
		for _, op := range []fsnotify.Op{fsnotify.Create, fsnotify.Write, fsnotify.Remove, fsnotify.Rename} {
			if got := w.concerns(fsnotify.Event{Name: filepath.Join(dir, name), Op: op}); got != want {
				t.Errorf("%s %s: %t", op, name, got)
			}
		}
	}
	if w.concerns(fsnotify.Event{Name: filepath.Join(dir, "other"), Op: fsnotify.Chmod}) || !w.concerns(fsnotify.Event{Name: path, Op: fsnotify.Chmod}) {
		t.Error("permissions")
	}
	w.dir, _ = os.Stat(dir)
	if !w.concerns(fsnotify.Event{Name: dir, Op: fsnotify.Remove}) || w.dir != nil {
		t.Error("the directory itself")
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

// TestIncarnations: an address that was removed and comes back is a new backend;
// every other change keeps it.
func TestIncarnations(t *testing.T) {
	s := newState(Config{Path: "f", Log: zerolog.Nop()}, time.Now())
	incarnation := func(text string) string {
		t.Helper()
		if err := s.apply([]byte(text), time.Now()); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range s.good.entrypoints {
			for i := range e.Backends {
				out = append(out, e.Backends[i].Incarnation)
			}
		}
		return strings.Join(out, " ")
	}
	for _, step := range []struct{ text, want string }{
		{one("a", "10.0.0.1"), "file/10.0.0.1:80/0"},
		{one("b", "10.0.0.1"), "file/10.0.0.1:80/0"}, // renamed
		{strings.Replace(one("b", "10.0.0.1"), "port: 80", "port: 80, weight: 5", 1), "file/10.0.0.1:80/0"},
		{one("b", "10.0.0.2"), "file/10.0.0.2:80/0"},
		{one("b", "10.0.0.1"), "file/10.0.0.1:80/1"}, // back again
		{"entrypoints: []", ""},
		{one("b", "10.0.0.1"), "file/10.0.0.1:80/2"},
		{one("b", "10.0.0.2"), "file/10.0.0.2:80/1"},
	} {
		if got := incarnation(step.text); got != step.want {
			t.Errorf("%s: %s, want %s", step.text, got, step.want)
		}
	}
	if err := s.apply([]byte("nonsense"), time.Now()); err == nil || s.removals["10.0.0.2:80"] != 1 {
		t.Errorf("a refused file removes addresses: %v %v", err, s.removals)
	}
}

func TestCollect(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "routes.yaml")
	p, err := New(Config{Path: path})
	must(t, err)
	if p.Name() != "file" {
		t.Errorf("name %s", p.Name())
	}
	if _, err := p.Collect(t.Context()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "providers.file.path") {
		t.Errorf("missing: %v", err)
	}
	write(t, path, "entrypoints: [{name: a, prot: x}]")
	var invalid *InvalidError
	if _, err := p.Collect(t.Context()); !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), path+":1:25: ") {
		t.Errorf("invalid: %v", err)
	}
	write(t, path, one("a", "10.0.0.1"))
	s, err := p.Collect(t.Context())
	if err != nil || routed(s) != "a@10.0.0.1:80" || s.Status.Phase != route.PhaseReady || s.Status.Candidates != 1 || s.Provider != "file" {
		t.Errorf("%+v %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Collect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	p, err = New(Config{Path: dir})
	must(t, err)
	if _, err := p.Collect(t.Context()); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "providers.file.path") {
		t.Errorf("no path: %v", err)
	}
	for err, want := range map[error]string{fs.ErrPermission: "read permission", errors.New("disk on fire"): "disk on fire"} {
		if got := readError("/f", err); !errors.Is(got, err) || !strings.Contains(got.Error(), want) {
			t.Errorf("%v", got)
		}
	}
	p, _ = New(Config{Path: os.DevNull})
	if _, err := p.Collect(t.Context()); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("device: %v", err)
	}
}
