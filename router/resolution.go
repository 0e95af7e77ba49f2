package router

import (
	"net/netip"

	"fairlead/router/route"
)

// Query is a request to explain.
type Query struct {
	// URL is absolute, or without its scheme ("app.example.com/x", "//host/x").
	URL string
	// Method is "GET" when empty.
	Method string
	// Headers of the request; a Host header replaces the URL's host.
	Headers map[string][]string
	// ClientIP is the client's address; conditions on it fail without one.
	ClientIP netip.Addr
}

// Outcome says in one word what becomes of a request.
type Outcome string

// The outcomes (json.md, "GET /resolve").
const (
	OutcomeServed      Outcome = "served"
	OutcomeRedirected  Outcome = "redirected"
	OutcomeRefused     Outcome = "refused"
	OutcomeUnavailable Outcome = "unavailable"
	OutcomeNoRoute     Outcome = "no_route"
)

// Resolution explains what becomes of a request and why. Header and query values
// are never in it.
type Resolution struct {
	Request ResolvedRequest `json:"request"`
	Outcome Outcome         `json:"outcome"`
	// Status is what the router itself would answer; null when a backend does.
	Status     *int                `json:"status"`
	Reason     *route.Reason       `json:"reason"`
	Entrypoint *string             `json:"entrypoint"`
	Candidates []ResolvedCandidate `json:"candidates"`
	Filters    []ResolvedFilter    `json:"filters"`
	// Upstream is null when no backend would be asked.
	Upstream    *ResolvedUpstream `json:"upstream"`
	Rotation    []ResolvedBackend `json:"rotation"`
	Suggestions []string          `json:"suggestions"`
	Explain     string            `json:"explain"`
}

// ResolvedRequest is the request as the router understands it.
type ResolvedRequest struct {
	Method        string  `json:"method"`
	Scheme        string  `json:"scheme"`
	Host          string  `json:"host"`
	Path          string  `json:"path"`
	CanonicalPath string  `json:"canonical_path"`
	ClientIP      *string `json:"client_ip"`
}

// ResolvedCandidate is one route that was considered, in the table's order.
type ResolvedCandidate struct {
	Entrypoint string       `json:"entrypoint"`
	Rule       ResolvedRule `json:"rule"`
	// Matched is set when all conditions hold; a matched route that another one
	// beats has a Failed with the condition "order".
	Matched bool            `json:"matched"`
	Failed  *ResolvedFailed `json:"failed"`
	Rank    int             `json:"rank"` // from 1
}

// ResolvedRule is a rule in words.
type ResolvedRule struct {
	Host       string   `json:"host"`
	Path       string   `json:"path"` // "Prefix /api"
	Conditions []string `json:"conditions"`
}

// ResolvedFailed is the first condition that a candidate did not fulfil: host,
// path, method, header, query, client_ip or order.
type ResolvedFailed struct {
	Condition string `json:"condition"`
	Explain   string `json:"explain"`
}

// ResolvedFilter is one step between the route and the backend.
type ResolvedFilter struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"` // pass, rewrite, refuse
	Explain string `json:"explain"`
}

// ResolvedUpstream is what the backend would be asked; query values are masked.
type ResolvedUpstream struct {
	URL            string   `json:"url"`
	HeadersSet     []string `json:"headers_set"`
	HeadersRemoved []string `json:"headers_removed"`
}

// ResolvedBackend is one backend of the winner.
type ResolvedBackend struct {
	Backend    string               `json:"backend"`
	Name       string               `json:"name"`
	Address    string               `json:"address"`
	State      route.State          `json:"state"`
	InRotation bool                 `json:"in_rotation"`
	Reason     route.RotationReason `json:"reason"`
	Explain    string               `json:"explain"`
	// WouldPick is set for the backend that is next, or for all that may be when the
	// algorithm draws lots.
	WouldPick bool `json:"would_pick"`
}

// Exit codes of `fairlead route resolve` (api.md).
const (
	ExitServed     = 0
	ExitNoRoute    = 1
	ExitUnverified = 2
)

// ExitCode is ExitServed when a verified backend would serve the request,
// ExitUnverified when a route takes it but nothing verified does, and ExitNoRoute
// when no route takes it.
func (r *Resolution) ExitCode() int {
	if r.Entrypoint == nil {
		return ExitNoRoute
	}
	if r.Outcome != OutcomeServed {
		return ExitUnverified
	}
	for i := range r.Rotation {
		b := &r.Rotation[i]
		if b.WouldPick && (b.State == route.StateUp || b.State == route.StateUnchecked) {
			return ExitServed
		}
	}
	return ExitUnverified
}
