package router

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"fairlead/router/route"
)

// Entry is what Build needs to know of one entrypoint. IDs must be unique.
type Entry struct {
	Entrypoint *route.Entrypoint
	Cell       *route.RotationCell
	Prepared   any

	rules *compiledRules // of an earlier table, nil to compile anew
}

// Table maps requests to routes. It is immutable and safe for concurrent use.
type Table struct {
	generation uint64
	routes     []*Route // sorted by id

	exact     map[string]*group
	wildcards map[string]*wildcard    // by suffix with its dot
	regexes   map[string][]*hostGroup // by the literal labels at the end, "" for none
	any       *group

	findings map[string]*finding
}

// wildcard holds the groups of one suffix: "*." and "**.".
type wildcard struct{ single, deep *group }

// hostGroup is the group of one pattern with regular expressions.
type hostGroup struct {
	host  compiledHost
	group *group
}

// finding is what building the table found out about one entrypoint.
type finding struct {
	shadowedBy  string
	diagnostics []route.Diagnostic
}

// group holds the rules of one host pattern, each list in the total order. The
// fields that most requests need come first: they share a cache line.
type group struct {
	root  []rule  // the prefix "/"
	own   [1]rule // where root lives as long as it has one rule
	mixed bool    // priorities differ: a more specific path does not decide alone
	// longest is the number of bytes of the longest prefix.
	longest int
	exact   map[string][]rule
	prefix  map[string][]rule
	regex   []rule
	best    *rule // the first of all, to skip the group when something better is found
}

// Build makes the table of all entrypoints that speak HTTP. It is a pure function:
// the order of entries and of anything in a map has no influence on the result.
// An entrypoint that fails closed is in the table and wins its requests; one whose
// rules can match nothing is listed with a diagnostic.
func Build(generation uint64, entries []Entry) *Table {
	t := &Table{
		generation: generation,
		routes:     make([]*Route, 0, len(entries)),
		exact:      make(map[string]*group, len(entries)),
		wildcards:  map[string]*wildcard{},
		regexes:    map[string][]*hostGroup{},
		findings:   map[string]*finding{},
	}
	for i := range entries {
		if entries[i].Entrypoint.Protocol == route.HTTP {
			t.add(&entries[i])
		}
	}
	slices.SortFunc(t.routes, func(a, b *Route) int { return strings.Compare(a.Entrypoint.ID, b.Entrypoint.ID) })
	t.finish()
	return t
}

func (t *Table) add(e *Entry) {
	r := &Route{Entrypoint: e.Entrypoint, Cell: e.Cell, Prepared: e.Prepared, rules: e.rules}
	if r.rules == nil {
		r.rules = compile(&e.Entrypoint.Match)
	}
	t.routes = append(t.routes, r)
	if r.rules.refused != nil {
		t.diagnose(r, route.Diagnose("E109", "correct the rule", "no request can match: %v", r.rules.refused))
	}
	if r.rules.path.value == "" {
		return
	}
	r.Prefix = r.rules.path.prefix()
	for i := range r.rules.hosts {
		host := &r.rules.hosts[i]
		t.groupOf(host).add(rule{priority: e.Entrypoint.Match.Priority, place: place(r, host), route: r})
	}
}

func (t *Table) diagnose(r *Route, d route.Diagnostic) {
	f := t.findings[r.Entrypoint.ID]
	if f == nil {
		f = &finding{}
		t.findings[r.Entrypoint.ID] = f
	}
	f.diagnostics = append(f.diagnostics, d)
}

// groupOf returns the group of a host pattern and makes it when it is new; those of
// the routes in a finished table never are.
func (t *Table) groupOf(host *compiledHost) *group {
	var slot **group
	switch host.pattern.Kind {
	case route.HostExact:
		g := t.exact[host.pattern.Text]
		if g == nil {
			g = &group{}
			t.exact[host.pattern.Text] = g
		}
		return g
	case route.HostRegex:
		return t.regexGroup(host)
	case route.HostWildcard:
		w := t.wildcards[host.pattern.Suffix()]
		if w == nil {
			w = &wildcard{}
			t.wildcards[host.pattern.Suffix()] = w
		}
		slot = &w.single
		if host.pattern.Deep() {
			slot = &w.deep
		}
	case route.HostAny:
		slot = &t.any
	}
	if *slot == nil {
		*slot = &group{}
	}
	return *slot
}

func (t *Table) regexGroup(host *compiledHost) *group {
	suffix := literalSuffix(host.labels)
	for _, known := range t.regexes[suffix] {
		if known.host.pattern == host.pattern {
			return known.group
		}
	}
	g := &group{}
	t.regexes[suffix] = append(t.regexes[suffix], &hostGroup{host: *host, group: g})
	return g
}

// literalSuffix joins the labels after the last regular expression.
func literalSuffix(labels []hostLabel) string {
	var literal []string
	for i := len(labels) - 1; i >= 0 && labels[i].re == nil; i-- {
		literal = append(literal, labels[i].text)
	}
	slices.Reverse(literal)
	return strings.Join(literal, ".")
}

func (g *group) add(r rule) {
	path := &r.route.rules.path
	switch {
	case path.kind == route.PathExact:
		if g.exact == nil {
			g.exact = map[string][]rule{}
		}
		g.exact[path.value] = append(g.exact[path.value], r)
	case path.kind == route.PathRegex:
		g.regex = append(g.regex, r)
	case path.value == "/" && len(g.root) == 0:
		g.own[0] = r
		g.root = g.own[:]
	case path.value == "/":
		g.root = append(g.root, r)
	default:
		if g.prefix == nil {
			g.prefix = map[string][]rule{}
		}
		g.prefix[path.value] = append(g.prefix[path.value], r)
		g.longest = max(g.longest, len(path.value))
	}
}

// rules returns the list in which a path rule is.
func (g *group) rules(path *compiledPath) []rule {
	switch {
	case path.kind == route.PathExact:
		return g.exact[path.value]
	case path.kind == route.PathRegex:
		return g.regex
	case path.value == "/":
		return g.root
	}
	return g.prefix[path.value]
}

// ruleOf returns the rule of a route of this table for one of its host patterns.
func (t *Table) ruleOf(r *Route, host *compiledHost) rule {
	list := t.groupOf(host).rules(&r.rules.path)
	return list[slices.IndexFunc(list, func(other rule) bool { return other.route == r })]
}

// rank sorts a list and keeps track of the group's best rule and its priorities.
func (g *group) rank(list []rule) {
	if len(list) == 0 {
		return
	}
	demote(list)
	slices.SortFunc(list, func(a, b rule) int { return a.before(&b) })
	first, last := &list[0], &list[len(list)-1]
	if g.best == nil {
		g.best = first
	}
	g.mixed = g.mixed || first.priority != last.priority || first.priority != g.best.priority
	if first.before(g.best) < 0 {
		g.best = first
	}
}

// lists returns every list of the group; rules of one list but the regex one share
// the path rule.
func (g *group) lists() iter.Seq[[]rule] {
	return func(yield func([]rule) bool) {
		if !yield(g.root) || !yield(g.regex) {
			return
		}
		for _, lists := range []map[string][]rule{g.exact, g.prefix} {
			for _, list := range lists {
				if !yield(list) {
					return
				}
			}
		}
	}
}

// groups returns every group with its host pattern's text, in no order.
func (t *Table) groups() iter.Seq2[string, *group] {
	return func(yield func(string, *group) bool) {
		ok := t.any == nil || yield("*", t.any)
		for host, g := range t.exact {
			ok = ok && yield(host, g)
		}
		for suffix, w := range t.wildcards {
			ok = ok && (w.single == nil || yield("*"+suffix, w.single))
			ok = ok && (w.deep == nil || yield("**"+suffix, w.deep))
		}
		for _, hosts := range t.regexes {
			for _, h := range hosts {
				ok = ok && yield(h.host.pattern.Text, h.group)
			}
		}
	}
}

// finish sorts every list and finds the shadows.
func (t *Table) finish() {
	var shadows []shadow
	for host, g := range t.groups() {
		for list := range g.lists() {
			g.rank(list)
			if len(list) > 1 {
				shadows = appendShadows(shadows, host, list)
			}
		}
	}
	t.reportShadows(shadows)
}

// Generation is the number that Build was given.
func (t *Table) Generation() uint64 { return t.generation }

// Len is the number of routes, those that cannot match included.
func (t *Table) Len() int { return len(t.routes) }

// Routes returns all routes in the order of their entrypoints' ids.
func (t *Table) Routes() iter.Seq[*Route] { return slices.Values(t.routes) }

// Route returns the route of an entrypoint, nil when the table has none.
func (t *Table) Route(entrypoint string) *Route {
	i, ok := slices.BinarySearchFunc(t.routes, entrypoint, func(r *Route, id string) int {
		return cmp.Compare(r.Entrypoint.ID, id)
	})
	if !ok {
		return nil
	}
	return t.routes[i]
}

// ShadowedBy returns the id of the entrypoint that takes every request of this
// one, or "".
func (t *Table) ShadowedBy(entrypoint string) string {
	if f := t.findings[entrypoint]; f != nil {
		return f.shadowedBy
	}
	return ""
}

// Diagnostics returns what building the table found about an entrypoint.
func (t *Table) Diagnostics(entrypoint string) []route.Diagnostic {
	if f := t.findings[entrypoint]; f != nil {
		return f.diagnostics
	}
	return nil
}
