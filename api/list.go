package api

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fairlead/router"
	"fairlead/router/route"
)

// maxLimit bounds a page; without a limit everything is sent.
const maxLimit = 10000

// filter is what GET /entrypoints was asked for.
type filter struct {
	words     []string // lower case; all must be found
	states    []string
	sources   []string
	protocols []string
	tls       *bool
	limit     int // 0: no paging
	after     string
	scratch   []byte // what words are looked for in, of one entrypoint after the other
}

// list answers GET /entrypoints.
func (s *Server) list(r *http.Request) (reply, *Error) {
	query, err := queryOf(r, "q", "state", "source", "protocol", "tls", "limit", "after")
	if err != nil {
		return reply{}, err
	}
	f, err := newFilter(query)
	if err != nil {
		return reply{}, err
	}
	v := s.cfg.Viewer.View()
	page, more := f.apply(v.Entrypoints)
	return s.tagged(r, v, page, func() (any, http.Header) {
		out := make([]Entrypoint, len(page))
		for i, e := range page {
			out[i] = newEntrypoint(v, e, false, s.cfg.Traffic)
		}
		if !more {
			return out, nil
		}
		query.Set("after", out[len(out)-1].ID)
		return out, http.Header{"Link": {fmt.Sprintf(`<?%s>; rel="next"`, query.Encode())}}
	}), nil
}

// queryOf parses the query strictly: a misspelt filter that is ignored would look
// like an answer.
func queryOf(r *http.Request, known ...string) (url.Values, *Error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badParameter("", "the query cannot be read: encode it as in a=b&c=d")
	}
	for name := range query {
		if !slices.Contains(known, name) {
			return nil, badParameter(name, "there is no parameter %s here: known are %s", quoted(name), strings.Join(known, ", "))
		}
	}
	return query, nil
}

func newFilter(query url.Values) (*filter, *Error) {
	f := &filter{words: strings.Fields(strings.ToLower(strings.Join(query["q"], " "))), after: query.Get("after")}
	var err *Error
	f.states, err = oneOf(query, "state", route.EntrypointOK, route.EntrypointPartial, route.EntrypointPanic,
		route.EntrypointDown, route.EntrypointPending, route.EntrypointUnchecked)
	if err != nil {
		return nil, err
	}
	if f.protocols, err = oneOf(query, "protocol", route.HTTP, route.TCP, route.UDP); err != nil {
		return nil, err
	}
	f.sources = splitValues(query, "source")
	if text := query.Get("tls"); text != "" {
		on, parseErr := strconv.ParseBool(text)
		if parseErr != nil {
			return nil, badParameter("tls", "tls is true or false")
		}
		f.tls = &on
	}
	if text, ok := query["limit"]; ok {
		n, parseErr := strconv.Atoi(text[0])
		if parseErr != nil || n < 1 || n > maxLimit {
			return nil, badParameter("limit", "limit is a number from 1 to %d", maxLimit)
		}
		f.limit = n
	}
	return f, nil
}

// oneOf reads a comma-separated list of known words, in any case.
func oneOf[T ~string](query url.Values, name string, known ...T) ([]string, *Error) {
	words := splitValues(query, name)
	for _, w := range words {
		if !slices.Contains(known, T(w)) {
			names := make([]string, len(known))
			for i, k := range known {
				names[i] = string(k)
			}
			return nil, badParameter(name, "%s is none of %s", quoted(w), strings.Join(names, ", "))
		}
	}
	return words, nil
}

func splitValues(query url.Values, name string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.Join(query[name], ",")), func(r rune) bool { return r == ',' || r == ' ' })
}

// apply returns the entrypoints of the page, and whether there are more behind it.
func (f *filter) apply(all []router.EntrypointView) (page []*router.EntrypointView, more bool) {
	for i := range all {
		e := &all[i]
		if f.after != "" && e.Entrypoint.ID <= f.after || !f.matches(e) {
			continue
		}
		if f.limit > 0 && len(page) == f.limit {
			return page, true
		}
		page = append(page, e)
	}
	return page, false
}

func (f *filter) matches(v *router.EntrypointView) bool {
	e := v.Entrypoint
	state, _, _ := verdict(v)
	switch {
	case len(f.states) > 0 && !slices.Contains(f.states, string(state)):
		return false
	case len(f.protocols) > 0 && !slices.Contains(f.protocols, string(e.Protocol)):
		return false
	case len(f.sources) > 0 && !slices.Contains(f.sources, strings.ToLower(e.Source)):
		return false
	case f.tls != nil && *f.tls: // no route is served on TLS by this version
		return false
	}
	if len(f.words) == 0 {
		return true
	}
	f.scratch = appendSearchText(f.scratch[:0], v)
	for _, w := range f.words {
		if !bytes.Contains(f.scratch, []byte(w)) {
			return false
		}
	}
	return true
}

// appendSearchText appends what q looks at, in lower case: names, hosts, path, addresses
// and containers. A newline, which no word holds, separates them.
func appendSearchText(buf []byte, v *router.EntrypointView) []byte {
	e := v.Entrypoint
	for _, part := range []string{e.ID, e.Name, e.Project, e.Source, e.Match.Path.Value} {
		buf = append(append(buf, part...), '\n')
	}
	for i := range e.Match.Hosts {
		buf = append(append(buf, e.Match.Hosts[i].Text...), '\n')
	}
	for i := range e.Backends {
		b := &e.Backends[i]
		buf = append(b.AppendAddress(buf), '\n')
		buf = append(append(buf, cmp.Or(b.Name, b.ID)...), '\n')
	}
	return lowered(buf)
}

// lowered brings text to lower case, in place where it is ASCII.
func lowered(text []byte) []byte {
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return bytes.ToLower(text)
		}
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
	return text
}

// tagged answers 304 when the caller has this answer already: the same generation, with
// the same load and traffic.
func (s *Server) tagged(r *http.Request, v *router.View, page []*router.EntrypointView, answer func() (any, http.Header)) reply {
	tag := fmt.Sprintf(`"%s-%d"`, s.boot, v.Generation)
	if live := s.liveTag(v, page); live != 0 {
		tag = fmt.Sprintf(`"%s-%d-%x"`, s.boot, v.Generation, live)
	}
	if matchesTag(r.Header.Values("If-None-Match"), tag) {
		return reply{status: http.StatusNotModified, header: http.Header{"Etag": {"W/" + tag}}}
	}
	body, header := answer()
	if header == nil {
		header = http.Header{}
	}
	header.Set("ETag", "W/"+tag)
	return reply{body: body, header: header}
}

// matchesTag compares weakly (RFC 9110, section 8.8.3.2).
func matchesTag(fields []string, tag string) bool {
	for candidate := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}
