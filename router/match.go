package router

import (
	"slices"
	"strings"

	"fairlead/router/route"
)

// Match returns the first route in the total order whose host, path and conditions
// the request fulfils; nil when there is none. It allocates nothing and may be
// called from any number of goroutines. A path that is not canonical has no route.
func (t *Table) Match(r Request) *Route {
	s := search{request: r, path: r.MatchPath()}
	if s.path == "" || s.path[0] != '/' {
		return nil
	}
	host := r.Host()
	if g := t.exact[host]; g != nil {
		s.group(g)
	}
	if len(t.regexes) > 0 {
		t.matchRegexes(&s, host)
	}
	if len(t.wildcards) > 0 {
		t.matchWildcards(&s, host)
	}
	if t.any != nil {
		s.group(t.any)
	}
	if s.best == nil {
		return nil
	}
	return s.best.route
}

// matchRegexes asks the patterns whose literal end is an end of the host.
func (t *Table) matchRegexes(s *search, host string) {
	for suffix := host; ; {
		_, rest, more := strings.Cut(suffix, ".")
		suffix = rest
		for _, h := range t.regexes[suffix] {
			if matchLabels(h.host.labels, host) {
				s.group(h.group)
			}
		}
		if !more {
			return
		}
	}
}

// matchWildcards walks the host's suffixes from the longest to the shortest.
func (t *Table) matchWildcards(s *search, host string) {
	first := strings.IndexByte(host, '.')
	for i := first; i >= 0; {
		if w := t.wildcards[host[i:]]; w != nil {
			if w.single != nil && i == first {
				s.group(w.single)
			}
			if w.deep != nil {
				s.group(w.deep)
			}
		}
		next := strings.IndexByte(host[i+1:], '.')
		if next < 0 {
			return
		}
		i += 1 + next
	}
}

// search is one request on its way through the groups.
type search struct {
	request Request
	path    string
	best    *rule
}

// beaten reports whether what was found comes before r.
func (s *search) beaten(r *rule) bool { return s.best != nil && s.best.before(r) <= 0 }

// group asks one host pattern's rules, most specific path first. Unless priorities
// are mixed the first that applies is the best of the group.
func (s *search) group(g *group) {
	if s.beaten(g.best) {
		return
	}
	if g.exact != nil && s.list(g.exact[s.path]) && !g.mixed {
		return
	}
	if s.regexes(g.regex) && !g.mixed {
		return
	}
	if g.prefix != nil && s.prefixes(g) && !g.mixed {
		return
	}
	s.list(g.root)
}

// list takes the first rule of a list that applies, if it is better.
func (s *search) list(list []rule) bool {
	for i := range list {
		r := &list[i]
		if s.beaten(r) {
			return false
		}
		if r.applies(s.request) {
			s.best = r
			return true
		}
	}
	return false
}

func (s *search) regexes(list []rule) bool {
	for i := range list {
		r := &list[i]
		if s.beaten(r) {
			return false
		}
		if r.route.rules.path.re.MatchString(s.path) && r.applies(s.request) {
			s.best = r
			return true
		}
	}
	return false
}

// prefixes walks the path's prefixes from the longest that any rule has.
func (s *search) prefixes(g *group) bool {
	found := false
	for p := cutAtSegment(s.path, g.longest); len(p) > 1; p = p[:strings.LastIndexByte(p, '/')] {
		if list := g.prefix[p]; list != nil && s.list(list) {
			if found = true; !g.mixed {
				return true
			}
		}
	}
	return found
}

// cutAtSegment returns the longest part of a path that ends at a segment border and
// has at most n bytes.
func cutAtSegment(path string, n int) string {
	if len(path) <= n {
		return path
	}
	if path[n] == '/' {
		return path[:n]
	}
	return path[:strings.LastIndexByte(path[:n], '/')]
}

// applies reports whether the rule's conditions hold. Most rules have none, which
// shows without a look at the route.
func (r *rule) applies(request Request) bool {
	return r.place&maxConditions == maxConditions || applies(&r.route.Entrypoint.Match, request)
}

// applies reports whether the conditions beyond host and path hold.
func applies(m *route.Match, r Request) bool {
	return (len(m.Methods) == 0 || slices.Contains(m.Methods, r.Method())) &&
		headersHold(m.Headers, r) && queryHolds(m.Query, r) && clientHolds(m, r)
}

func headersHold(conditions []route.KeyValue, r Request) bool {
	for i := range conditions {
		if c := &conditions[i]; !r.HasHeader(c.Key, c.Value, c.Bare) {
			return false
		}
	}
	return true
}

func queryHolds(conditions []route.KeyValue, r Request) bool {
	for i := range conditions {
		if c := &conditions[i]; !r.HasQuery(c.Key, c.Value, c.Bare) {
			return false
		}
	}
	return true
}

func clientHolds(m *route.Match, r Request) bool {
	if m.ClientNobody {
		return false
	}
	if len(m.ClientIPs) == 0 {
		return true
	}
	client := r.ClientAddr()
	for _, prefix := range m.ClientIPs {
		if prefix.Contains(client) {
			return true
		}
	}
	return false
}
