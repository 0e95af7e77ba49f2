package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// resolveData is the page that explains what becomes of a request.
type resolveData struct {
	chrome
	URL, Method, Headers, Client string
	Methods                      []option
	Masked                       bool // a header's value was not put into the form again
	Problem, Field               string
	Result                       *resolution
}

// resolution is the explanation with its marks.
type resolution struct {
	router.Resolution
	Mark       mark
	StatusText string
	ReasonText string
	Winner     string
	Candidates []resolvedCandidate
	Filters    []resolvedFilter
	Rotation   []resolvedBackend
}

type resolvedCandidate struct {
	router.ResolvedCandidate
	Won bool
}

type resolvedFilter struct {
	router.ResolvedFilter
	Mark mark
}

type resolvedBackend struct {
	router.ResolvedBackend
	Mark   mark
	Reason string
}

func (q *request) resolve() answer {
	data := resolveData{
		chrome: q.chrome(pageResolve, "Resolve"), Method: q.query.Get("method"), Client: q.query.Get("client_ip"),
	}
	asked := q.query.Get("url")
	methods := options("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
	data.Methods = q.field("method", "Method", methods).Options[1:]
	headers := headerLines(q.query["header"])
	var masked bool
	data.Headers, data.Masked = shownHeaders(headers)
	data.URL, masked = shownURL(asked)
	data.Masked = data.Masked || masked
	if asked == "" {
		return q.found("resolve", data)
	}
	query := url.Values{"url": {asked}, "method": {data.Method}, "client_ip": {strings.TrimSpace(data.Client)}, "header": headers}
	request, err := api.ResolveQuery(query)
	if err != nil {
		data.Problem, data.Field = err.Message, err.Field
		out := q.found("resolve", data)
		out.status = http.StatusBadRequest
		return out
	}
	data.Result = newResolution(router.Resolve(q.view, request))
	return q.found("resolve", data)
}

// headerLines takes one header of each line that is not empty.
func headerLines(fields []string) []string {
	var out []string
	for _, f := range fields {
		for line := range strings.Lines(f) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
	}
	return out
}

// shownHeaders puts headers into the form again, without the values of those that carry
// credentials: no page holds a secret.
func shownHeaders(lines []string) (text string, masked bool) {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(value) != "" && carriesSecret(name) {
			out[i], masked = name+": "+route.Redacted, true
		}
	}
	return strings.Join(out, "\n"), masked
}

// shownURL puts a URL into the form again, without a user and password in it and without
// the values of parameters that may be secret.
func shownURL(raw string) (text string, masked bool) {
	before, query, found := strings.Cut(raw, "?")
	if i := strings.Index(before, "//"); i >= 0 {
		authority, path, slash := strings.Cut(before[i+2:], "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			authority, masked = authority[at+1:], true
		}
		before = before[:i+2] + authority
		if slash {
			before += "/" + path
		}
	}
	if !found {
		return before, masked
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, pair := strings.Cut(part, "=")
		switch {
		case pair && value != "" && carriesSecret(name):
			parts[i], masked = name+"="+route.Redacted, true
		case !pair && part != "" && len(part) > longestPlain:
			parts[i], masked = route.Redacted, true // it may be a token itself
		}
	}
	return before + "?" + strings.Join(parts, "&"), masked
}

// longestPlain is how long a parameter without a value may be before it is taken for a
// token.
const longestPlain = 12

func carriesSecret(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, part := range []string{"authorization", "cookie", "token", "secret", "password", "key", "credential", "signature", "session"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func newResolution(r router.Resolution) *resolution {
	out := &resolution{Resolution: r, Mark: markOf(r.Outcome), Winner: text(r.Entrypoint)}
	if r.Outcome == router.OutcomeServed && r.ExitCode() != router.ExitServed {
		out.Mark.Level, out.Mark.Sign = levelWatch, "bang" // by a backend that nothing vouches for
	}
	if r.Status != nil {
		out.StatusText = grouped(*r.Status)
	}
	if r.Reason != nil {
		out.ReasonText = words(*r.Reason)
	}
	for _, c := range r.Candidates {
		out.Candidates = append(out.Candidates, resolvedCandidate{c, c.Matched && c.Failed == nil && c.Entrypoint == out.Winner})
	}
	for _, f := range r.Filters {
		out.Filters = append(out.Filters, resolvedFilter{f, markOf(f.Verdict)})
	}
	for _, b := range r.Rotation {
		out.Rotation = append(out.Rotation, resolvedBackend{b, markOf(b.State), words(b.Reason)})
	}
	return out
}
