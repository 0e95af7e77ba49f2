package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"fairlead/router/route"
)

// read returns the file's text. Errors are for people and end with what to do.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, readError(path, err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file in it", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: name a YAML or JSON file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, readError(path, err)
	}
	return text, nil
}

func readError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist: create it, or correct providers.file.path; it is read as soon as it is there: %w", path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be read: give the router's user read permission: %w", path, fs.ErrPermission)
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// state is what is in force and what became of the last attempt to replace it. It
// is owned by one goroutine.
type state struct {
	cfg     Config
	text    []byte // of the last attempt
	tried   bool
	failure string // of the last attempt, "" when it was good
	good    contents
	// present and removals give addresses their incarnations: an address that was
	// removed and comes back is a new backend.
	present  map[string]bool
	removals map[string]int
	global   []route.Diagnostic
	status   route.ProviderStatus
}

func newState(cfg Config, now time.Time) *state {
	return &state{
		cfg: cfg, present: map[string]bool{}, removals: map[string]int{},
		status: route.ProviderStatus{Name: Name, Enabled: true, Configured: true, Phase: route.PhasePending, Since: now},
	}
}

// update brings the file as it is now into force. It reports whether there is
// something new to tell.
func (s *state) update(text []byte, err error, now time.Time) bool {
	if err != nil {
		return s.lose(err, now)
	}
	if s.tried && s.status.Connected && bytes.Equal(text, s.text) {
		return false
	}
	again := s.tried && bytes.Equal(text, s.text)
	s.connect(true, now)
	if invalid := s.apply(text, now); invalid != nil && !again {
		s.cfg.Log.Error().Str(route.FieldProvider, Name).Str("path", s.cfg.Path).Err(invalid).
			Str(route.FieldHint, s.status.Hint).Msg("file refused")
	} else if invalid == nil {
		s.cfg.Log.Info().Str(route.FieldProvider, Name).Str("path", s.cfg.Path).
			Int("entrypoints", len(s.good.entrypoints)).Int("rejected", len(s.good.rejected)).Msg("file applied")
	}
	return true
}

func (s *state) connect(on bool, now time.Time) {
	if s.status.Connected != on {
		s.status.Connected, s.status.Since = on, now
	}
}

// lose notes that the file cannot be read. What was in force stays.
func (s *state) lose(err error, now time.Time) bool {
	if !s.status.Connected && s.failure == err.Error() {
		return false
	}
	s.connect(false, now)
	s.refuse(err.Error(), "make the file readable again; until then the entrypoints stay as they were", now)
	s.global = nil
	s.cfg.Log.Warn().Str(route.FieldProvider, Name).Err(err).Msg("file not readable")
	return true
}

// refuse notes why the last attempt failed.
func (s *state) refuse(failure, hint string, now time.Time) {
	s.failure = failure
	if s.status.StaleSince.IsZero() {
		s.status.StaleSince = now
	}
	s.status.LastError, s.status.Hint = failure, hint
	s.status.Phase = route.PhaseStale
	if s.status.LastSync.IsZero() {
		s.status.Phase = route.PhaseFailed
	}
}

// apply replaces what is in force by a text, unless the text is refused.
func (s *state) apply(text []byte, now time.Time) error {
	s.text, s.tried = text, true
	next, problems := understand(s.cfg, text)
	if problems != nil {
		err := &InvalidError{Path: s.cfg.Path, problems: problems}
		s.refuse(err.Error(), "correct the file; until then the entrypoints stay as they were", now)
		s.global = make([]route.Diagnostic, len(problems))
		for i, p := range problems {
			s.global[i] = route.Diagnose("E114", p.hint, "%s", problem{at: p.at, message: p.message}.text(s.cfg.Path))
		}
		return err
	}
	s.incarnate(next.entrypoints)
	s.good, s.failure, s.global = next, "", nil
	s.status.Phase, s.status.LastSync, s.status.LastError, s.status.Hint = route.PhaseReady, now, "", ""
	s.status.StaleSince = time.Time{}
	s.status.Candidates, s.status.Rejected = next.entries, len(next.rejected)
	s.connect(true, now)
	return nil
}

// incarnate gives backends their identity: source, address and how often the
// address was removed before.
func (s *state) incarnate(entrypoints []*route.Entrypoint) {
	now := map[string]bool{}
	for _, e := range entrypoints {
		for i := range e.Backends {
			now[e.Backends[i].Address()] = true
		}
	}
	for address := range s.present {
		if !now[address] {
			s.removals[address]++
		}
	}
	s.present = now
	for _, e := range entrypoints {
		for i := range e.Backends {
			b := &e.Backends[i]
			b.Incarnation = Name + "/" + b.Address() + "/" + strconv.Itoa(s.removals[b.Address()])
		}
	}
}

// snapshot is all that is known now.
func (s *state) snapshot() route.Snapshot {
	return route.Snapshot{
		Provider: Name, Entrypoints: s.good.entrypoints, Candidates: s.good.candidates,
		Rejected: s.good.rejected, Unrouted: s.good.unrouted, Global: s.global, Status: s.status,
	}
}
