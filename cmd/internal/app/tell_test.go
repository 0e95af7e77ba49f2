package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// TestStartUpWarnings: mistakes that cost something only on a bad day are seen without
// debug lines.
func TestStartUpWarnings(t *testing.T) {
	for code, level := range map[string]string{"I109": "warn", "W130": "warn", "W021": "warn", "I001": "debug", "I107": "debug"} {
		var out bytes.Buffer
		newTeller(zerolog.New(&out), true).tell(route.Snapshot{
			Provider:   "docker",
			Candidates: []route.CandidateDiagnostics{{CandidateID: "c1", Diagnostics: []route.Diagnostic{route.Diagnose(code, "do", "text")}}},
		})
		if !strings.Contains(out.String(), `"level":"`+level+`"`) {
			t.Errorf("%s: %s", code, &out)
		}
	}
}

// TestLogNamesRefusalsOnce: a refused container is in the log, once, and again when it comes back.
func TestLogNamesRefusalsOnce(t *testing.T) {
	var out bytes.Buffer
	teller := newTeller(zerolog.New(&out), true)
	s := route.Snapshot{
		Provider: "docker",
		Candidates: []route.CandidateDiagnostics{{CandidateID: "c1", Diagnostics: []route.Diagnostic{
			{Code: "W001", Severity: route.SeverityWarn, Message: "bad port", Label: "l", Hint: "do"},
			{Code: "I001", Severity: route.SeverityInfo, Message: "defaulted"},
		}}},
		Global:      []route.Diagnostic{{Code: "E114", Severity: route.SeverityError, Message: "file"}},
		Rejected:    []route.Rejected{{CandidateID: "c2", Name: "db", Code: "E001", Reason: "not enabled", Hint: "add enable"}},
		Entrypoints: []*route.Entrypoint{{ID: "http_a", Absent: []route.Absence{{CandidateID: "c3", Name: "app", Why: route.AbsentPaused}}}},
		Status:      route.ProviderStatus{Notes: []string{"GET /networks is denied"}},
	}
	teller.tell(s)
	first := out.String()
	for _, want := range []string{"W001", "I001", "E114", "E001", "paused", "/networks", `"level":"warn","route":"http_a"`} {
		if !strings.Contains(first, want) {
			t.Errorf("no %s in %s", want, first)
		}
	}
	teller.tell(s)
	if out.String() != first {
		t.Errorf("told twice: %s", out.String()[len(first):])
	}
	teller.tell(route.Snapshot{Provider: "docker"})
	teller.tell(s)
	if out.Len() != 2*len(first) {
		t.Errorf("what comes back is not told again")
	}
}

// TestTheKeyOfCookiesIsSpokenOfWhereItMatters: once, when the first entrypoint has sticky
// sessions, and not at all where the configuration gives the key.
func TestTheKeyOfCookiesIsSpokenOfWhereItMatters(t *testing.T) {
	plain := &route.Entrypoint{ID: "http_web", Options: route.DefaultOptions()}
	bound := &route.Entrypoint{ID: "http_shop", Options: route.DefaultOptions()}
	bound.Options.Sticky.On = true
	for keyed, want := range map[bool]int{false: 1, true: 0} {
		var out bytes.Buffer
		teller := newTeller(zerolog.New(&out), keyed)
		teller.tell(route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{plain}})
		if out.Len() > 0 {
			t.Errorf("without sticky sessions: %s", &out)
		}
		for range 2 {
			teller.tell(route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{plain, bound}})
		}
		if got := bytes.Count(out.Bytes(), []byte("random key")); got != want {
			t.Errorf("keyed %v: %d lines, want %d", keyed, got, want)
		}
	}
}
