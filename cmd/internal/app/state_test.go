package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// shelf is an engine of orders alone.
type shelf struct {
	list     []route.StandingOrder
	restored []route.StandingOrder
	changed  chan struct{}
}

func (s *shelf) Orders() []route.StandingOrder      { return s.list }
func (s *shelf) OrdersChanged() <-chan struct{}     { return s.changed }
func (s *shelf) Restore(list []route.StandingOrder) { s.restored, s.list = list, list }

func someOrders() []route.StandingOrder {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	return []route.StandingOrder{
		{Entrypoint: "http_a", Identity: "0a1b", Admin: route.Admin{State: route.AdminMaintenance, Since: at, ExpiresAt: at.Add(time.Hour), Scope: route.ScopeService}},
		{Entrypoint: "http_a", Address: "10.0.0.1:80", Admin: route.Admin{State: route.AdminReady, Actor: "eva", Since: at, Scope: route.ScopeBackend}},
		{Entrypoint: "http_b", Container: "abc", StartedAt: at, Admin: route.Admin{State: route.AdminDrain, Actor: "ops", Reason: "a \"b\"", Since: at, Scope: route.ScopeBackend}},
	}
}

func stateAt(t *testing.T, path string, list ...route.StandingOrder) (*stateFile, *shelf, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	s := &shelf{list: list, changed: make(chan struct{}, 1)}
	return newStateFile(path, s, zerolog.New(&log)), s, &log
}

func TestStateFileKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	f, _, _ := stateAt(t, path, someOrders()...)
	f.keep()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	again, s, log := stateAt(t, path)
	again.restore()
	if !slices.Equal(s.restored, someOrders()) || !strings.Contains(log.String(), `"orders":3`) {
		t.Errorf("%+v\n%s", s.restored, log)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestStateFileKeepsThePreviousOne beside it, and an unchanged one as it is.
func TestStateFileKeepsThePreviousOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	f, s, _ := stateAt(t, path, someOrders()...)
	f.keep()
	first, _ := os.ReadFile(path)
	f.keep()
	if _, err := os.Stat(path + oldState); err == nil {
		t.Error("it was written twice")
	}
	s.list = nil
	f.keep()
	if old, _ := os.ReadFile(path + oldState); !bytes.Equal(old, first) {
		t.Errorf("%s", old)
	}
}

// TestStateFileCorrupt: a warning, the file kept for whoever wants to look, and the
// previous good one in force. That one is never lost to a bad one.
func TestStateFileCorrupt(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "empty": "", "a later version": `{"version":2,"orders":[]}`,
		"an unknown state": `{"version":1,"orders":[{"entrypoint":"http_a","state":"off"}]}`,
		"no entrypoint":    `{"version":1,"orders":[{"state":"drain"}]}`,
	} {
		path := filepath.Join(t.TempDir(), "state.json")
		f, s, _ := stateAt(t, path, someOrders()...)
		f.keep()
		s.list = s.list[:1]
		f.keep()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		again, s, log := stateAt(t, path)
		again.restore()
		if !slices.Equal(s.restored, someOrders()) || !strings.Contains(log.String(), `"level":"warn"`) {
			t.Errorf("%s: %+v\n%s", name, s.restored, log)
		}
		if bad, _ := os.ReadFile(path + badState); string(bad) != text {
			t.Errorf("%s: kept %q", name, bad)
		}
		if old, _, err := readState(path + oldState); err != nil || len(old) != 3 {
			t.Errorf("%s: the previous good file: %v %v", name, old, err)
		}
		if now, _, err := readState(path); err != nil || len(now) != 3 {
			t.Errorf("%s: the file is not good again: %v %v", name, now, err)
		}
	}
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, s, log := stateAt(t, path)
	f.restore()
	if len(s.restored) != 0 || !strings.Contains(log.String(), "every backend is ready") {
		t.Errorf("without a previous one: %+v\n%s", s.restored, log)
	}
}

// TestStateFileCannotBeWritten: one warning, everything goes on, and it heals.
func TestStateFileCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	f, _, log := stateAt(t, filepath.Join(dir, "state.json"), someOrders()...)
	f.keep()
	f.keep()
	if got := strings.Count(log.String(), "cannot be written"); got != 1 {
		t.Errorf("%d warnings\n%s", got, log)
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	f.keep()
	if list, _, err := readState(f.path); err != nil || len(list) != 3 || !strings.Contains(log.String(), "written again") {
		t.Errorf("%v %v\n%s", list, err, log)
	}
}

// TestStateFileFollows changes until its end, and has the last one then.
func TestStateFileFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	f, s, _ := stateAt(t, path, someOrders()...)
	s.changed = make(chan struct{}) // each signal is taken before the next
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.run(ctx) }()
	s.changed <- struct{}{}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if list, _, err := readState(path); err != nil || len(list) != 3 {
		t.Errorf("%v %v", list, err)
	}
}

func TestNoStateFile(t *testing.T) {
	f, _, _ := stateAt(t, "")
	f.restore()
	f.keep()
	if f != nil {
		t.Error("a file without a path")
	}
}
