package api

import (
	"net/url"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// The functions below give other pictures of a view, such as the dashboard, the same
// redacted shapes, filters and verdicts that the answers are made of.

// EntrypointOf maps one entrypoint; detailed adds the histories. Its traffic has
// counters and no rates: a TrafficRecorder knows those.
func EntrypointOf(view *router.View, v *router.EntrypointView, detailed bool) Entrypoint {
	return newEntrypoint(view, v, detailed, nil)
}

// BackendHealthOf maps one backend of an entrypoint; detailed adds its history.
func BackendHealthOf(v *router.EntrypointView, h *route.BackendHealth, detailed bool) BackendHealth {
	return newBackendHealth(v, h, detailed, nil)
}

// DiagnosticsOf maps what is wrong with labels, and what is not routed.
func DiagnosticsOf(v *router.View) Diagnostics { return newDiagnostics(v) }

// ProvidersOf maps where entrypoints come from; now is what ages count from.
func ProvidersOf(v *router.View, now time.Time) Providers { return newProviders(v, now) }

// ChecksOf maps every distinct check, in the order of their ids.
func ChecksOf(v *router.View) []SharedCheck { return newChecks(v) }

// VerdictOf is the state of an entrypoint as clients meet it, why nothing serves, and
// the diagnostic that closed it; the last two are "" when there is none.
func VerdictOf(v *router.EntrypointView) (route.EntrypointState, route.Reason, string) {
	return verdict(v)
}

// TransitionOf maps a change of health as GET /events tells it, under the transition's
// own rev.
func TransitionOf(t *route.Transition) EventTransition { return *newEventTransition(t.Rev, t) }

// Filter narrows entrypoints by the parameters q, state, source, protocol and tls of
// GET /entrypoints. It is for one goroutine.
type Filter struct{ f *filter }

// NewFilter reads a filter. Other parameters are ignored; the error names the one
// whose value is wrong.
func NewFilter(query url.Values) (Filter, *Error) {
	only := url.Values{}
	for _, name := range []string{"q", "state", "source", "protocol", "tls"} {
		only[name] = query[name]
	}
	f, err := newFilter(only)
	return Filter{f}, err
}

// Matches reports whether the filter lets an entrypoint through.
func (f Filter) Matches(v *router.EntrypointView) bool { return f.f.matches(v) }

// ResolveQuery reads the parameters url, method, header and client_ip of GET /resolve.
func ResolveQuery(query url.Values) (router.Query, *Error) { return askedOf(query) }
