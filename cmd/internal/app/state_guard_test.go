package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"fairlead/healthcheck"
	"fairlead/router/route"
)

// TestStateFileOfAFirstStart is nothing to warn of.
func TestStateFileOfAFirstStart(t *testing.T) {
	f, _, log := stateAt(t, filepath.Join(t.TempDir(), "state.json"))
	f.restore()
	if log.Len() != 0 {
		t.Errorf("%s", log)
	}
}

// TestStateFileIsReplacedAtOnce: who reads it has the old one or the new one, never a part;
// the one of before a restart is the previous one after it.
func TestStateFileIsReplacedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	f, _, _ := stateAt(t, path, someOrders()...)
	f.keep()
	first, _ := os.ReadFile(path)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	again, s, _ := stateAt(t, path)
	again.restore()
	if same, err := os.Stat(path); err != nil || !os.SameFile(before, same) {
		t.Error("a restart wrote what was there")
	}
	s.list = s.list[:1]
	again.keep()
	after, err := os.Stat(path)
	if err != nil || os.SameFile(before, after) || after.Mode().Perm() != 0o600 {
		t.Errorf("it was written into, %v, %v", after, err)
	}
	if old, _ := os.ReadFile(path + oldState); !bytes.Equal(old, first) {
		t.Errorf("the previous one: %q", old)
	}
	if info, err := os.Stat(path + oldState); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// TestStateFileLeavesNothingBehind where it cannot take its place.
func TestStateFileLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, _, log := stateAt(t, path, someOrders()...)
	f.keep()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || !strings.Contains(log.String(), "cannot be written") {
		t.Errorf("%v %v\n%s", files, err, log)
	}
}

// TestStateFileTooLarge is not read to its end.
func TestStateFileTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxState+2); err != nil {
		t.Fatal(err)
	}
	f, _, log := stateAt(t, path)
	f.restore()
	if !strings.Contains(log.String(), "larger than 16 MiB") {
		t.Errorf("%s", log)
	}
}

// TestStateFileIsWrittenAtEachSignal, and at the end without one.
func TestStateFileIsWrittenAtEachSignal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	f, s, _ := stateAt(t, path, someOrders()...)
	s.changed = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.run(ctx) }()
	s.changed <- struct{}{}
	s.changed <- struct{}{} // it is taken when the first one is done
	if list, _, err := readState(path); err != nil || len(list) != 3 {
		t.Errorf("after a signal: %v %v", list, err)
	}
	f.mu.Lock()
	s.list = s.list[:2]
	f.mu.Unlock()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if list, _, err := readState(path); err != nil || len(list) != 2 {
		t.Errorf("at the end: %v %v", list, err)
	}
}

// TestOrderIsKeptBeforeItIsAnswered: nobody is told of an order that a crash would lose.
func TestOrderIsKeptBeforeItIsAnswered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	e := healthcheck.New(healthcheck.Config{Log: zerolog.Nop()})
	b := route.Backend{ID: "a", Host: "127.0.0.1", Port: 80, Weight: 100, Provider: route.ProviderPresent}
	point := &route.Entrypoint{ID: "http_a", Protocol: route.HTTP, Options: route.DefaultOptions(), Backends: []route.Backend{b}}
	e.Apply(1, []route.PlacementSet{{Entrypoint: point, Cell: &route.RotationCell{}, Placements: []*route.Placement{{Entrypoint: "http_a", Backend: b, Load: &route.Load{}}}}})
	o := operator{Engine: e, state: newStateFile(path, e, zerolog.Nop())}
	if err := o.Order("http_a", "a", route.Order{Action: route.OrderDrain}); err == nil {
		t.Error("the last one was drained")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a refused order wrote the file")
	}
	if err := o.Order("http_a", "a", route.Order{Action: route.OrderDrain, Force: true}); err != nil {
		t.Fatal(err)
	}
	if list, _, err := readState(path); err != nil || len(list) != 1 || list[0].Admin.State != route.AdminDrain {
		t.Errorf("%+v %v", list, err)
	}
}
