package app

import (
	"strings"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// teller logs what a provider refuses, doubts or misses: each finding once, when it
// appears, so that the log explains as much as the API does. It belongs to one
// goroutine.
type teller struct {
	log  zerolog.Logger
	told map[string]struct{}
	// keyed: the configuration gives the key of sticky cookies.
	keyed bool
}

func newTeller(log zerolog.Logger, keyed bool) *teller {
	return &teller{log: log, told: map[string]struct{}{}, keyed: keyed}
}

// tell logs the findings of a snapshot that the one before did not have.
func (t *teller) tell(s route.Snapshot) {
	now := map[string]struct{}{}
	isNew := func(parts ...string) bool {
		key := strings.Join(parts, "\x00")
		_, told := t.told[key]
		now[key] = struct{}{}
		return !told
	}
	for _, c := range s.Candidates {
		for _, d := range c.Diagnostics {
			if isNew("d", c.CandidateID, d.Code, d.Label, d.Message) {
				t.diagnostic(s.Provider, c.CandidateID, d)
			}
		}
	}
	for _, d := range s.Global {
		if isNew("g", d.Code, d.Label, d.Message) {
			t.diagnostic(s.Provider, "", d)
		}
	}
	for _, note := range s.Status.Notes {
		if isNew("n", note) {
			t.log.Info().Str(route.FieldProvider, s.Provider).Str(route.FieldMessage, note).Msg("provider does without")
		}
	}
	t.missing(s, isNew)
	t.told = now
}

// missing tells what gets no route, or is no backend now.
func (t *teller) missing(s route.Snapshot, isNew func(parts ...string) bool) {
	for _, r := range s.Rejected {
		if isNew("r", r.CandidateID, r.Code, r.Reason) {
			t.log.Info().Str(route.FieldProvider, s.Provider).Str(route.FieldContainer, r.Name).Str(route.FieldCode, r.Code).
				Str(route.FieldReason, r.Reason).Str(route.FieldHint, r.Hint).Msg("container is not routed")
		}
	}
	for _, e := range s.Entrypoints {
		if e.Options.Sticky.On && !t.keyed && isNew("k") {
			t.log.Info().Str(route.FieldEntrypoint, e.ID).Str(route.FieldHint, "set sticky.key in the configuration").
				Msg("cookies of sticky sessions are made with a random key: after a restart of the router clients are picked anew")
		}
		for _, a := range e.Absent {
			if isNew("a", e.ID, a.CandidateID, string(a.Why)) {
				t.absent(e, a)
			}
		}
	}
}

// diagnostic is a warning when it costs something, else a debug line. A probe that does
// not speak the backend's TLS costs what it does not see (I109).
func (t *teller) diagnostic(provider, candidate string, d route.Diagnostic) {
	level := zerolog.WarnLevel
	if d.Severity == route.SeverityInfo && d.Code != "I109" {
		level = zerolog.DebugLevel
	}
	t.log.WithLevel(level).Str(route.FieldProvider, provider).Str("candidate", candidate).Str(route.FieldCode, d.Code).
		Str(route.FieldLabel, d.Label).Str("value", d.Value).Str(route.FieldMessage, d.Message).Str(route.FieldHint, d.Hint).Msg("diagnostic")
}

// absent says why a container gets nothing; with nothing else to send to it is a warning.
func (t *teller) absent(e *route.Entrypoint, a route.Absence) {
	level := zerolog.InfoLevel
	if !e.CanServe() {
		level = zerolog.WarnLevel
	}
	t.log.WithLevel(level).Str(route.FieldEntrypoint, e.ID).Str(route.FieldContainer, a.Name).Str(route.FieldReason, string(a.Why)).
		Str("detail", a.Detail).Bool("serves", e.CanServe()).Msg("backend absent")
}
