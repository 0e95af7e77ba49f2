package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// orders are what a state file keeps: those of the health engine.
type orders interface {
	Orders() []route.StandingOrder
	OrdersChanged() <-chan struct{}
	Restore(list []route.StandingOrder)
}

// stateFile keeps the orders of operators over a restart, and the claims of projects. A nil
// one keeps nothing. It is safe for concurrent use.
type stateFile struct {
	path   string
	orders orders
	claims heldClaims
	log    zerolog.Logger

	mu   sync.Mutex
	good []byte // what the file holds; nil when it is none, or not good
	fail bool   // the last write failed, which was logged
}

// newStateFile reads and writes nothing yet; nil without a path.
func newStateFile(path string, o orders, log zerolog.Logger) *stateFile {
	if path == "" {
		return nil
	}
	return &stateFile{path: path, orders: o, claims: heldClaims{changed: make(chan struct{}, 1)}, log: log}
}

// judgeStateFile refuses a path that names something other than a file: a folder would be
// set aside with all that is in it.
func judgeStateFile(path string) error {
	if path == "" {
		return nil
	}
	about, err := os.Stat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // one that is not there is made, and restore tells of others
	case about.Mode().IsRegular():
		return nil
	case about.IsDir():
		return fmt.Errorf("admin.stateFile: %s is a folder: name a file in it, such as %s", path, filepath.Join(path, "state.json"))
	}
	return fmt.Errorf("admin.stateFile: %s is no regular file: name one that may be replaced", path)
}

// keptState is the file's content.
type keptState struct {
	Version int         `json:"version"`
	Orders  []keptOrder `json:"orders"`
	// Claims are keptClaims, each read on its own; not in files of versions before this field.
	Claims json.RawMessage `json:"claims,omitempty"`
}

// keptOrder is one order in force.
type keptOrder struct {
	Entrypoint string     `json:"entrypoint"`
	Identity   string     `json:"identity,omitempty"` // not in files of versions before this field
	Container  string     `json:"container,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	Address    string     `json:"address,omitempty"`
	State      string     `json:"state"`
	Actor      string     `json:"actor,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Since      time.Time  `json:"since"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
}

const (
	stateVersion = 1
	// maxState bounds what is read, in bytes.
	maxState = 16 << 20
	// oldState and badState end the names of the previous good file and of one that
	// could not be read.
	oldState, badState = ".old", ".bad"
	// stateRetry is the pause before a write that failed is tried again.
	stateRetry = time.Minute
)

// restore hands the orders of the file to the engine. What cannot be read is a warning,
// never the end: the file is set aside and the previous good one is taken, if there is one.
func (s *stateFile) restore() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, text, err := readState(s.path)
	switch {
	case err == nil:
		s.good = text
	case errors.Is(err, fs.ErrNotExist):
	default:
		line := s.log.Warn().Err(err).Str("file", s.path)
		if moved := os.Rename(s.path, s.path+badState); moved == nil {
			line = line.Str("kept_as", s.path+badState)
		}
		if list, text, err = readState(s.path + oldState); err == nil {
			line.Msg("admin.stateFile cannot be used; the previous one is, so the last change of an order may be missing")
			break
		}
		line.Msg("admin.stateFile cannot be used; every backend is ready until an operator says otherwise")
	}
	s.orders.Restore(list)
	if err == nil {
		s.claims.restore(text)
	}
	if len(list) > 0 {
		s.log.Info().Int("orders", len(list)).Str("file", s.path).Msg("orders of operators go on from before the restart")
	}
	s.save()
}

func readState(path string) ([]route.StandingOrder, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > maxState {
		return nil, nil, fmt.Errorf("it is larger than %d MiB", maxState>>20)
	}
	list, err := parseState(text)
	return list, text, err
}

func parseState(text []byte) ([]route.StandingOrder, error) {
	var state keptState
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("it is no state of this program: %w", err)
	}
	if state.Version != stateVersion {
		return nil, fmt.Errorf("its version is %d, and this program knows %d", state.Version, stateVersion)
	}
	list := make([]route.StandingOrder, 0, len(state.Orders))
	for i := range state.Orders {
		o := &state.Orders[i]
		s := route.StandingOrder{
			Entrypoint: o.Entrypoint, Identity: o.Identity, Container: o.Container, Address: o.Address,
			Admin: route.Admin{State: route.AdminState(o.State), Actor: o.Actor, Reason: o.Reason, Since: o.Since, Scope: route.ScopeBackend},
		}
		if o.Container == "" && o.Address == "" {
			s.Admin.Scope = route.ScopeService
		}
		if o.StartedAt != nil {
			s.StartedAt = *o.StartedAt
		}
		if o.ExpiresAt != nil {
			s.Admin.ExpiresAt = *o.ExpiresAt
		}
		switch s.Admin.State {
		case route.AdminDrain, route.AdminMaintenance, route.AdminReady:
		default:
			return nil, fmt.Errorf("order %d has the unknown state %q", i+1, o.State)
		}
		if o.Entrypoint == "" {
			return nil, fmt.Errorf("order %d names no entrypoint", i+1)
		}
		list = append(list, s)
	}
	return list, nil
}

func encodeState(list []route.StandingOrder, claims json.RawMessage) ([]byte, error) {
	state := keptState{Version: stateVersion, Orders: make([]keptOrder, len(list)), Claims: claims}
	for i := range list {
		s, a := &list[i], &list[i].Admin
		o := keptOrder{
			Entrypoint: s.Entrypoint, Identity: s.Identity, Container: s.Container, Address: s.Address,
			State: string(a.State), Actor: a.Actor, Reason: a.Reason, Since: a.Since.UTC().Round(0),
		}
		if !s.StartedAt.IsZero() {
			o.StartedAt = &s.StartedAt
		}
		if !a.ExpiresAt.IsZero() {
			o.ExpiresAt = new(a.ExpiresAt.UTC().Round(0))
		}
		state.Orders[i] = o
	}
	text, err := json.MarshalIndent(state, "", "  ")
	return append(text, '\n'), err
}

// keep writes what is in force now, if it is not what the file holds.
func (s *stateFile) keep() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.save()
}

// save is keep for a caller that holds the lock. The previous content is kept beside the
// file; what cannot be written leaves both as they are.
func (s *stateFile) save() {
	text, err := encodeState(s.orders.Orders(), s.claims.kept())
	if err == nil && !bytes.Equal(text, s.good) {
		if s.good != nil {
			err = replaceFile(s.path+oldState, s.good)
		}
		if err == nil {
			err = replaceFile(s.path, text)
		}
		if err == nil {
			s.good = text
		}
	}
	switch {
	case err != nil && !s.fail:
		s.log.Warn().Err(err).Str("file", s.path).
			Str(route.FieldHint, "orders stay in force and would be lost by a restart: make room, or let the router write to that directory").
			Msg("admin.stateFile cannot be written")
	case err == nil && s.fail:
		s.log.Info().Str("file", s.path).Msg("admin.stateFile is written again")
	}
	s.fail = err != nil
}

// run writes after every change until ctx ends, and once more then.
func (s *stateFile) run(ctx context.Context) error {
	again := time.NewTicker(stateRetry)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			s.keep()
			return nil
		case <-s.orders.OrdersChanged():
		case <-s.claims.changed:
		case <-again.C:
		}
		s.keep()
	}
}

// replaceFile gives a file new content at once, or leaves it as it is. Only its owner may
// read it.
func replaceFile(path string, text []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	if d, opened := os.Open(dir); opened == nil {
		_ = d.Sync() // not every file system can
		_ = d.Close()
	}
	return nil
}
