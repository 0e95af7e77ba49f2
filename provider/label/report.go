package label

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead/router/route"
)

// maxDiagnostics bounds what one candidate can make us say.
const maxDiagnostics = 256

// report collects the findings about one declaration or candidate.
type report struct {
	list    []route.Diagnostic
	dropped int
}

// add notes a finding about a label. value must already be fit to be shown.
func (r *report) add(code, label, value, hint, format string, args ...any) {
	limit := maxDiagnostics
	if route.SeverityOf(code) == route.SeverityError {
		limit *= 2 // warnings must not crowd out what removes a route
	}
	if len(r.list) >= limit {
		r.dropped++
		return
	}
	d := route.Diagnose(code, shorten(hint, shownMessage), format, args...)
	d.Message = shorten(d.Message, shownMessage)
	d.Label = shorten(label, shownLabel)
	d.Value = value
	r.list = append(r.list, d)
}

// sorted returns the findings in label order, without duplicates and not too many.
func (r *report) sorted() []route.Diagnostic {
	list, cut := limitDiagnostics(sortDiagnostics(r.list))
	if cut += r.dropped; cut > 0 {
		list = append(list, route.Diagnose("W013", "correct the labels above first", "%d more findings are not shown", cut))
	}
	return list
}

// limitDiagnostics keeps errors before anything else, in label order.
func limitDiagnostics(list []route.Diagnostic) (kept []route.Diagnostic, cut int) {
	if len(list) <= maxDiagnostics {
		return list, 0
	}
	bySeverity := slices.Clone(list)
	slices.SortStableFunc(bySeverity, func(a, b route.Diagnostic) int {
		return rankOf(a.Severity != route.SeverityError) - rankOf(b.Severity != route.SeverityError)
	})
	return sortDiagnostics(bySeverity[:maxDiagnostics]), len(list) - maxDiagnostics
}

// sortDiagnostics sorts by label, then code, and removes duplicates. The argument
// is not changed; the result of nothing is nil.
func sortDiagnostics(list []route.Diagnostic) []route.Diagnostic {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b route.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Value, b.Value), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Hint, b.Hint))
	})
	return slices.Compact(list)
}

// entry is one label as it was found.
type entry struct {
	label   string // the whole key, as written; what is no part of a key in it is masked
	written string // its beginning that can be a key: all of it, unless it is spoilt
	raw     string // the whole key without a mask, to judge by: never shown
	text    string // the value, trimmed
	key     *Key
	param   string // what the user chose in a family, as written
}

// scope reads the labels of one (protocol, service) with diagnostics.
type scope struct {
	report
	cfg     *Config
	decl    *Declaration
	prefix  string           // "sozune.http.web."
	entries map[string]entry // by folded name
	advised map[string]bool  // labels that are in force in spite of a finding
}

// get returns the label of a key.
func (s *scope) get(name string) (entry, bool) {
	e, ok := s.entries[fold(name)]
	return e, ok
}

// label is how a key is written in full, for texts about labels that are not there.
func (s *scope) label(name string) string { return s.prefix + name }

// bad notes a value that cannot be used. used says what happens instead.
func (s *scope) bad(e entry, problem, used string) {
	accepts := e.key.Accepts
	if e.key.Kind == KindChoice {
		accepts = "one of " + accepts
	}
	hint := fmt.Sprintf("set %s to %s, or remove the label", shorten(e.label, shownLabel), accepts)
	s.add(e.key.BadValue, e.label, show(e.key, e.text), s.closing(hint, e.key), "%s: %s", problem, used)
}

// advise notes a value that is used as it is, though it will hardly do what is wanted.
func (s *scope) advise(e entry, hint, format string, args ...any) {
	s.add(e.key.BadValue, e.label, show(e.key, e.text), hint, format, args...)
	s.advised[shorten(e.label, shownLabel)] = true
}

// badDefault is bad with the key's default as what is used.
func (s *scope) badDefault(e entry, problem error) {
	used := "the label has no effect"
	if e.key.Default != "" {
		used = "the default, " + e.key.Default + ", is used"
	}
	s.bad(e, problem.Error(), used)
}

// read returns the value of a working key, or its default when the label is missing
// or wrong. parse never fails for the default.
func read[T any](s *scope, name string, parse func(values, string) (T, error)) T {
	k := catalog.must(s.decl.Protocol, name)
	if e, ok := s.get(name); ok {
		v, err := parse(k.values, e.text)
		if err == nil {
			return v
		}
		s.badDefault(e, err)
	}
	v, _ := parse(k.values, k.Default) // "" means the zero value
	return v
}

func asBool(_ values, text string) (bool, error) { return parseBool(text) }

func asInt(v values, text string) (int, error) {
	n, err := v.integer(text)
	return int(n), err
}
