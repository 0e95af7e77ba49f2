package router

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"fairlead/router/route"
)

// Route is an entrypoint as the table serves it. It is immutable.
type Route struct {
	Entrypoint *route.Entrypoint
	Cell       *route.RotationCell
	// Prepared is what ControllerConfig.Prepare made of the entrypoint.
	Prepared any
	// Prefix is what stripPrefix takes off a match path: the canonical prefix, or the
	// whole path of an exact rule. It is "" when there is nothing to take.
	Prefix string

	rules *compiledRules
}

// compiledRules are an entrypoint's matchers in the form that the table needs. They
// depend on its Match alone, so a new table takes them over when it did not change.
type compiledRules struct {
	path       compiledPath
	hosts      []compiledHost // of Match.Hosts, without those that do not compile
	conditions string         // equal exactly for equal conditions; never shown
	refused    error          // why no request can ever match, or nil
}

// compiledPath is a path rule in match-path form.
type compiledPath struct {
	kind  route.PathKind
	value string
	re    *regexp.Regexp // for PathRegex
}

// compiledHost is a host pattern; labels is nil unless it is a HostRegex.
type compiledHost struct {
	pattern route.HostPattern
	labels  []hostLabel
}

type hostLabel struct {
	text string
	re   *regexp.Regexp
}

// compile brings an entrypoint's matchers into the table's form.
func compile(m *route.Match) *compiledRules {
	c := &compiledRules{hosts: make([]compiledHost, 0, len(m.Hosts))}
	if m.Conditions() > 0 {
		c.conditions = conditionsKey(m)
	}
	c.path, c.refused = compilePath(m.Path)
	for _, pattern := range m.Hosts {
		h := compiledHost{pattern: pattern}
		if pattern.Kind == route.HostRegex {
			labels, err := compileHost(pattern.Text)
			if err != nil {
				c.refused = cmp.Or(c.refused, err)
				continue
			}
			h.labels = labels
		}
		c.hosts = append(c.hosts, h)
	}
	return c
}

func conditionsKey(m *route.Match) string {
	only := route.Match{Methods: m.Methods, Headers: m.Headers, Query: m.Query, ClientIPs: m.ClientIPs, ClientNobody: m.ClientNobody}
	return only.Key()
}

// compilePath brings a path rule into match-path form. An expression is left as it
// is: it is matched against the whole match path, in which a space is "%20".
func compilePath(rule route.PathRule) (compiledPath, error) {
	switch {
	case rule == (route.PathRule{}):
		return compiledPath{kind: route.PathPrefix, value: "/"}, nil
	case rule.Kind == route.PathRegex:
		re, err := regexp.Compile(`^(?:` + rule.Value + `)$`)
		if err != nil {
			return compiledPath{}, fmt.Errorf("path expression %q: %w", rule.Value, err)
		}
		return compiledPath{kind: rule.Kind, value: rule.Value, re: re}, nil
	case rule.Kind == route.PathExact:
		value, err := canonicalRule(rule.Value)
		return compiledPath{kind: rule.Kind, value: value}, err
	}
	value, err := CanonicalPrefix(rule.Value)
	return compiledPath{kind: route.PathPrefix, value: value}, err
}

func compileHost(text string) ([]hostLabel, error) {
	parts, err := route.SplitHostLabels(text)
	if err != nil {
		return nil, fmt.Errorf("host %q: %w", text, err)
	}
	labels := make([]hostLabel, len(parts))
	for i, part := range parts {
		labels[i].text = part.Text
		if part.Regex {
			if labels[i].re, err = route.CompileHostLabel(part.Text); err != nil {
				return nil, fmt.Errorf("host %q: %w", text, err)
			}
		}
	}
	return labels, nil
}

// matches reports whether the rule takes a match path.
func (p *compiledPath) matches(path string) bool {
	switch p.kind {
	case route.PathExact:
		return path == p.value
	case route.PathRegex:
		return p.re.MatchString(path)
	case route.PathPrefix:
	}
	return p.value == "/" || underPrefix(path, p.value)
}

// prefix is what stripPrefix takes off.
func (p *compiledPath) prefix() string {
	if p.kind == route.PathRegex {
		return ""
	}
	return p.value
}

// matches reports whether the pattern takes a canonical host.
func (h *compiledHost) matches(host string) bool {
	switch h.pattern.Kind {
	case route.HostExact:
		return host == h.pattern.Text
	case route.HostRegex:
		return matchLabels(h.labels, host)
	case route.HostWildcard:
		name, ok := strings.CutSuffix(host, h.pattern.Suffix())
		return ok && name != "" && (h.pattern.Deep() || !strings.Contains(name, "."))
	case route.HostAny:
	}
	return true
}

func matchLabels(labels []hostLabel, host string) bool {
	for i := range labels {
		name, rest, more := strings.Cut(host, ".")
		if more == (i == len(labels)-1) {
			return false
		}
		if l := &labels[i]; l.re == nil && l.text != name || l.re != nil && !l.re.MatchString(name) {
			return false
		}
		host = rest
	}
	return true
}

// rule is one host pattern of a route with its place in the total order.
type rule struct {
	// priority is the entrypoint's own, or less: see demote.
	priority int
	// place orders rules of one priority, lower first: see place.
	place uint64
	route *Route
}

// maxConditions fills the lowest bits of a place: there it means no conditions.
const maxConditions = 1<<3 - 1

// place packs steps 2 to 4 of the order, most significant first: kind of host,
// length of a wildcard's suffix, one label before any depth; kind of path, its
// length; one that can serve before one that cannot; more conditions first.
func place(r *Route, host *compiledHost) uint64 {
	const maxSuffix, maxPath = 1<<8 - 1, 1<<24 - 1
	p := uint64(host.pattern.Kind)
	p = p<<8 | uint64(maxSuffix-min(len(host.pattern.Suffix()), maxSuffix))
	p = p<<1 | bit(host.pattern.Deep())
	p = p<<2 | uint64(r.rules.path.kind)
	length := maxPath
	if r.rules.path.kind != route.PathExact {
		length = min(len(r.rules.path.value), maxPath)
	}
	p = p<<24 | uint64(maxPath-length)
	p = p<<1 | bit(!r.Entrypoint.CanServe())
	return p<<3 | uint64(maxConditions-r.Entrypoint.Match.Conditions())
}

// serves reports whether the route can serve, which its place says.
func (a *rule) serves() bool { return a.place>>3&1 == 0 }

// demote lowers the priorities of the rules of a list that cannot serve: to 0 when
// they are positive, and to that of any rule with the same path that can serve. A
// priority wins traffic for a backend; without one it would only keep requests from
// routes that have one.
func demote(list []rule) {
	var lowest map[string]int // by path, of those that can serve
	for i := range list {
		r := &list[i]
		if r.serves() {
			continue
		}
		if lowest == nil {
			lowest = lowestServing(list)
		}
		r.priority = min(r.priority, 0)
		if p, ok := lowest[r.route.rules.path.value]; ok {
			r.priority = min(r.priority, p)
		}
	}
}

func lowestServing(list []rule) map[string]int {
	lowest := map[string]int{}
	for i := range list {
		if !list[i].serves() {
			continue
		}
		path := list[i].route.rules.path.value
		if p, ok := lowest[path]; !ok || list[i].priority < p {
			lowest[path] = list[i].priority
		}
	}
	return lowest
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// before is the total order of routes: negative when a is asked before b. The steps:
//
//  1. higher priority; of one that cannot serve a positive one counts as 0, and none
//     counts for more than that of one with equal host and path rules that can serve;
//  2. host: exact, regular expression, wildcard with the longest suffix ("*." before
//     "**."), any;
//  3. path: exact, regular expression (longest), prefix (longest);
//  4. with equal host and path rules, one that can serve before one that cannot, so
//     that a retained, leaving or gated entrypoint takes nothing from a live one but
//     goes on answering against less specific ones; then more conditions;
//  5. older claim; lower id.
func (a *rule) before(b *rule) int {
	if a.priority != b.priority {
		return cmp.Compare(b.priority, a.priority)
	}
	if a.place != b.place {
		return cmp.Compare(a.place, b.place)
	}
	if c := a.route.Entrypoint.Claim.Compare(b.route.Entrypoint.Claim); c != 0 {
		return c
	}
	return strings.Compare(a.route.Entrypoint.ID, b.route.Entrypoint.ID)
}
