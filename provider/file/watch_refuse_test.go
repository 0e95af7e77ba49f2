package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"

	"fairlead/router/route"
)

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
