package route

import "fmt"

// Severity says what a diagnostic costs: SeverityError when an entrypoint or a
// backend is not routed or fails closed, SeverityWarn for a stated fallback,
// SeverityInfo for a fact worth knowing.
type Severity string

// The severities, from the first letter of a code.
const (
	SeverityError Severity = "error"
	SeverityWarn  Severity = "warn"
	SeverityInfo  Severity = "info"
)

// Diagnostic is one coded finding about a label, a candidate or a route.
//
// Value is redacted before it gets here when the label may hold a secret.
// Message says what happened, Hint what to do about it.
type Diagnostic struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Label    string   `json:"label,omitempty"`
	Value    string   `json:"value,omitempty"`
	Hint     string   `json:"hint,omitempty"`
}

// Diagnose makes a diagnostic without a label; the severity follows from the code.
func Diagnose(code, hint, format string, args ...any) Diagnostic {
	return Diagnostic{Code: code, Severity: SeverityOf(code), Message: fmt.Sprintf(format, args...), Hint: hint}
}

// SeverityOf derives the severity from the first letter of a code.
func SeverityOf(code string) Severity {
	switch {
	case len(code) > 0 && code[0] == 'E':
		return SeverityError
	case len(code) > 0 && code[0] == 'W':
		return SeverityWarn
	}
	return SeverityInfo
}

// CandidateDiagnostics are the findings about one candidate, in label order.
type CandidateDiagnostics struct {
	CandidateID string       `json:"candidate_id"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Unrouted are hosts that somebody names for a route that does not come to be, and why:
// requests for them get 404. Candidates of which a part is routed have some, too.
type Unrouted struct {
	// What names them: "container shop-web-1", "service web of container shop-web-1".
	What  string
	Hosts []HostPattern // the first ones, where there are many
	// Code is that of the finding, "" where there is none; Hint says what to do.
	Code, Reason, Hint string
}

// Rejected is a candidate that is not routed at all, and why.
type Rejected struct {
	CandidateID string `json:"candidate_id"`
	Name        string `json:"name"`
	Project     string `json:"project,omitempty"`
	Service     string `json:"service,omitempty"`
	Reason      string `json:"reason"`
	Code        string `json:"code,omitempty"`
	Hint        string `json:"hint,omitempty"`
	// Entrypoints are those that it would be a backend of, as far as they are known. An id
	// is without what a shared name adds.
	Entrypoints []string `json:"entrypoints,omitempty"`
	// Since is when it came to be so, in seconds of the epoch; 0 when that is not known.
	// It is no part of Reason, which must not change with every look at the clock.
	Since int64 `json:"since,omitempty"`
}
