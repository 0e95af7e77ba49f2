package router

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestResolveSaysThatTheCircuitIsOpen: backends that would serve do not, and the answer
// says why and until when; noBackendStatus is not about it.
func TestResolveSaysThatTheCircuitIsOpen(t *testing.T) {
	e := entrypoint(t, "http_web", "app.test")
	e.Options.NoBackendStatus = 502
	view := offline(e)
	h := &view.Entrypoints[0].Health
	h.State, h.Reason = route.EntrypointDown, route.ReasonCircuitOpen
	h.Breaker = &route.BreakerView{State: route.PhaseOpen, RetryAt: time.Now().Add(time.Second)}
	h.Explain = "Down: the circuit breaker is open."
	got := Resolve(view, Query{URL: "http://app.test/"})
	if got.Outcome != OutcomeUnavailable || *got.Status != 503 || *got.Reason != route.ReasonCircuitOpen ||
		!strings.Contains(got.Explain, "circuit breaker is open") {
		t.Errorf("%+v", got)
	}
}

// TestResolveSaysTheStatusOfTheEntrypoint: noBackendStatus is what clients get when
// nothing may serve.
func TestResolveSaysTheStatusOfTheEntrypoint(t *testing.T) {
	e := entrypoint(t, "http_web", "app.test")
	e.Options.NoBackendStatus = 502
	e.Backends = nil
	got := Resolve(offline(e), Query{URL: "http://app.test/"})
	if got.Outcome != OutcomeUnavailable || *got.Status != 502 || *got.Reason != route.ReasonNoBackends {
		t.Errorf("%+v %d", got, *got.Status)
	}
}
