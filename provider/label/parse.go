package label

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead/router/route"
)

// DefaultPrefix is the first part of our labels when the configuration names none.
const DefaultPrefix = "sozune"

// Parse reads the labels of one candidate. It never fails: what cannot be used is
// said in diagnostics, and one bad label never affects another service.
func Parse(cfg Config, c Candidate) Parsed {
	f := scan(&cfg, c.Labels)
	if f.empty() {
		return Parsed{}
	}
	var r report
	enabled, stated := f.enabled(&cfg, &r)
	switch {
	case stated && !enabled:
		return Parsed{}
	case c.OneOff:
		out := reject(c, "ignored: one-off", "", "`docker compose run` containers get no traffic; start the service with `docker compose up`")
		return Parsed{Rejected: out, Unrouted: f.allHosts(out)}
	case !enabled:
		why, hint := f.notEnabled()
		out := reject(c, why, "E001", hint)
		return Parsed{Rejected: out, Diagnostics: r.sorted(), Unrouted: f.allHosts(out)}
	}
	p := Parsed{Enabled: true}
	if e, ok := f.container["network"]; ok {
		p.Network = readNetwork(&r, e)
	}
	for _, id := range f.order() {
		f.services[id].declare()
	}
	f.caseConflicts()
	f.misnamed()
	f.doubled(&r)
	f.judgeStrays(&r)
	if len(f.services) == 0 {
		r.add("E004", f.prefix+"enable", "", fmt.Sprintf("add a label such as %shttp.web.host=app.example.com", f.prefix),
			"the container is enabled but no label names a service, so nothing is routed")
	}
	f.collect(&p, &r)
	p.Unrouted = f.lostHosts()
	return p
}

func reject(c Candidate, reason, code, hint string) *route.Rejected {
	return &route.Rejected{
		CandidateID: c.ID, Name: c.Name, Project: c.Project, Service: c.Service,
		Reason: reason, Code: code, Hint: hint,
	}
}

// notEnabled says why a container with labels of ours is not routed, and what to do.
func (f *found) notEnabled() (why, hint string) {
	want := f.prefix + "enable=true"
	for _, s := range f.strays {
		if len(s.segments) == 1 {
			if n := catalog.nearest("", s.segments[0]); len(n) > 0 && n[0].key.Name == "enable" {
				return fmt.Sprintf("%s is not a label of ours", shorten(s.label, shownLabel)), "did you mean " + want + "?"
			}
		}
	}
	if e, ok := f.container["enable"]; ok {
		return fmt.Sprintf("%s is not a boolean", shorten(e.label, shownLabel)), "set " + want
	}
	return "the container has labels for routes but is not enabled", "add the label " + want
}

func readNetwork(r *report, e entry) string {
	if err := e.key.values.problem(e.text); err != nil || e.text == "" {
		r.add("W009", e.label, show(e.key, e.text), "set "+e.label+" to the name of a Docker network that the container is attached to",
			"not a network's name: the network is chosen automatically")
		return ""
	}
	return e.text
}

// declare turns a service's labels into its declaration.
func (s *scope) declare() {
	d := s.decl
	d.Options = route.DefaultOptions()
	for name, e := range s.entries {
		if e.key != nil {
			d.Set[name] = comparison(e)
		}
	}
	if d.Protocol == route.HTTP {
		s.match()
		s.options()
		s.backend()
		s.check()
		s.resilience()
		s.protection()
	} else {
		s.stream()
	}
	s.laterKeys()
	s.unknownKeys()
	s.bareNumbers()
	d.Labels = s.origins()
}

// origins are the labels that options come from; one whose value cannot be used leaves
// its option at the default.
func (s *scope) origins() []route.Origin {
	bad := map[string]bool{}
	for _, d := range s.list {
		bad[d.Code+" "+d.Label] = !s.advised[d.Label]
	}
	var out []route.Origin
	for _, name := range slices.Sorted(maps.Keys(s.entries)) {
		e := s.entries[name]
		if e.key == nil || e.key.Available != Working || e.key.Level == LevelBackend {
			continue
		}
		shown := shorten(e.label, shownLabel)
		if e.key.Level == LevelMatcher || !bad[e.key.BadValue+" "+shown] {
			out = append(out, route.Origin{Key: name, Label: shown})
		}
	}
	return out
}

// fail closes the route; what a user must correct (E104) is shown before what this
// version lacks (E113).
func (d *Declaration) fail(code, label string) {
	if d.FailClosed == nil || d.FailClosed.Code == "E113" && code == "E104" {
		d.FailClosed = &route.FailClosed{Code: code, Label: shorten(label, shownLabel)}
	}
}

// refuse marks the declaration as not routed; the first reason stays.
func (d *Declaration) refuse(code string) {
	if d.Refused == "" {
		d.Refused = code
	}
}

// caseConflicts finds services that differ only by case (rule 1). Each stays a
// service of its own; what only protects is judged by misnamed.
func (f *found) caseConflicts() {
	byFold := map[string][]serviceKey{}
	for _, id := range f.order() {
		name := string(id.protocol) + "." + strings.ToLower(id.service)
		byFold[name] = append(byFold[name], id)
	}
	for _, ids := range byFold {
		for _, id := range ids {
			if len(ids) > 1 {
				f.oneCase(id, ids)
			}
		}
	}
}

func (f *found) oneCase(id serviceKey, all []serviceKey) {
	s := f.services[id]
	var others []string
	for _, o := range all {
		if o == id {
			continue
		}
		others = append(others, o.service)
	}
	s.add("W103", strings.TrimSuffix(s.prefix, "."), "", "write the service name in one case everywhere",
		"services %s and %s differ only by case: they are separate services", id.service, strings.Join(others, ", "))
}

// doubled reports keys that are there twice in different case with different
// values. The first in the order of the labels counts; for a key that protects
// nobody can say which was meant, so the route is closed.
func (f *found) doubled(r *report) {
	const hint, text = "remove one of the two labels", "%s is the same key in another case: its value is used"
	for _, e := range f.doubles {
		segments := strings.SplitN(e.label[len(f.prefix):], ".", 3)
		if len(segments) < 3 {
			first := f.container[fold(segments[0])]
			r.add("W103", e.label, show(e.key, e.text), hint, text, shorten(first.label, shownLabel))
			continue
		}
		s := f.services[serviceKey{route.Protocol(fold(segments[0])), segments[1]}]
		first := s.entries[fold(segments[2])]
		if e.key != nil && e.key.Name == "matchClientIP" {
			s.decl.Match.ClientIPs, s.decl.Match.ClientNobody = nil, true
			s.add("E112", e.label, show(e.key, e.text), hint, "%s is the same key in another case with another list: the route applies to nobody", shorten(first.label, shownLabel))
			continue
		}
		s.add("W103", e.label, show(e.key, e.text), hint, text, shorten(first.label, shownLabel))
	}
}

// collect moves the declarations and all findings into p, sorted.
func (f *found) collect(p *Parsed, r *report) {
	all := slices.Clone(r.list)
	for _, id := range f.order() {
		s := f.services[id]
		s.decl.Diagnostics = s.sorted()
		all = append(all, s.decl.Diagnostics...)
		p.Declarations = append(p.Declarations, *s.decl)
	}
	p.Diagnostics = (&report{list: all, dropped: r.dropped}).sorted()
}

// sortedEntries returns the labels of a scope in the order of their names.
func (s *scope) sortedEntries() []entry {
	out := make([]entry, 0, len(s.entries))
	for _, name := range slices.Sorted(maps.Keys(s.entries)) {
		out = append(out, s.entries[name])
	}
	return out
}
