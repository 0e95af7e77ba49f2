package file

import (
	"cmp"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// Name is the provider's name in answers.
const Name = "file"

// contents are what a file amounts to. Backends have no incarnation yet.
type contents struct {
	entrypoints []*route.Entrypoint // sorted by id
	candidates  []route.CandidateDiagnostics
	rejected    []route.Rejected
	unrouted    []route.Unrouted
	entries     int
}

// build judges every entry by itself. Problems are those that make the file a
// contradiction as a whole.
func build(cfg label.Config, doc *document) (contents, []problem) {
	cfg.Prefix, cfg.ExposeByDefault, cfg.UnitsInKeys = labelPrefix, false, true
	out := contents{entries: len(doc.Entrypoints)}
	if problems := append(repeated(doc), incomplete(doc)...); problems != nil {
		slices.SortFunc(problems, byPlace)
		return out, problems
	}
	for i := range doc.Entrypoints {
		e := newEntry(cfg, i, &doc.Entrypoints[i])
		if len(e.findings) > 0 {
			out.candidates = append(out.candidates, route.CandidateDiagnostics{CandidateID: e.candidate, Diagnostics: e.findings})
		}
		if e.entrypoint == nil {
			why := e.rejected()
			out.rejected = append(out.rejected, why)
			out.unrouted = append(out.unrouted, e.unrouted(&why)...)
			continue
		}
		e.entrypoint.Claim = time.Unix(0, int64(i)) // the order in the file, before any container
		out.entrypoints = append(out.entrypoints, e.entrypoint)
	}
	slices.SortFunc(out.entrypoints, func(a, b *route.Entrypoint) int { return strings.Compare(a.ID, b.ID) })
	slices.SortStableFunc(out.candidates, func(a, b route.CandidateDiagnostics) int { return strings.Compare(a.CandidateID, b.CandidateID) })
	slices.SortStableFunc(out.rejected, func(a, b route.Rejected) int { return strings.Compare(a.CandidateID, b.CandidateID) })
	return out, nil
}

// repeated finds two entries of one name: which of them is meant nobody can say.
func repeated(doc *document) (problems []problem) {
	first := map[string]int{}
	for i := range doc.Entrypoints {
		e := &doc.Entrypoints[i]
		id := protocolOf(e) + "_" + e.Name
		if j, taken := first[id]; taken && e.Name != "" {
			problems = append(problems, problem{
				at:      e.At,
				message: fmt.Sprintf("entrypoints[%d]: the name %s is taken by entrypoints[%d] in line %d", i, quoted(e.Name), j, doc.Entrypoints[j].At.line),
				hint:    "give one of them another name, or put their backends together",
			})
			continue
		}
		first[id] = i
	}
	return problems
}

// incomplete finds rules without what they are about. Each of them narrows a route,
// so that leaving it out would open the route wider than it was meant.
func incomplete(doc *document) (problems []problem) {
	for i := range doc.Entrypoints {
		e := &doc.Entrypoints[i]
		if e.Config == nil {
			continue
		}
		missing := func(format string, args ...any) {
			problems = append(problems, problem{at: e.At, message: fmt.Sprintf("entrypoints[%d].config.", i) + fmt.Sprintf(format, args...)})
		}
		if p := e.Config.Path; p != nil && p.Value == "" {
			missing("path: value is missing")
		}
		for n, c := range e.Config.MatchHeaders {
			if strings.TrimSpace(c.Key) == "" {
				missing("match_headers[%d]: key is missing", n)
			}
		}
		for n, c := range e.Config.MatchQuery {
			if strings.TrimSpace(c.Key) == "" {
				missing("match_query[%d]: key is missing", n)
			}
		}
	}
	return problems
}

// protocolOf is the label protocol of an entry; http when none is written.
func protocolOf(e *entry) string { return strings.ToLower(cmp.Or(e.Protocol, "http")) }

// judged is an entry and all that was found about it.
type judged struct {
	written    *entry
	base       string
	candidate  string
	entrypoint *route.Entrypoint // nil: not routed
	findings   []route.Diagnostic
}

func newEntry(cfg label.Config, index int, e *entry) *judged {
	protocol := protocolOf(e)
	j := &judged{written: e, base: fmt.Sprintf("entrypoints[%d]", index)}
	j.candidate = Name + ":" + j.base
	if !usableName(e.Name) {
		j.find("E004", "name", "give it a name of 1 to 100 letters, digits and - _ @ + ~ :", "the entrypoint has no name that can be used, so it is not routed")
		return j
	}
	if protocol != "http" && protocol != "tcp" && protocol != "udp" {
		j.find("W012", "protocol", "write Http, Tcp or Udp", "the protocol is none of Http, Tcp and Udp: the entrypoint is not routed")
		return j
	}
	j.candidate = Name + ":" + protocol + "_" + e.Name
	if c := e.Config; c != nil && c.Path != nil && pathLabel(c.Path.RuleType) == "" {
		j.find("E109", "config.path.rule_type", "write Prefix, Exact or Regex", "the rule type is none of Prefix, Exact and Regex: the entrypoint is not routed")
		return j
	}
	j.headers()
	t := translate(j.base, e.Name, protocol, e.Config)
	inputs, targets := j.inputs(cfg, t)
	j.group(inputs, targets)
	j.conditions()
	slices.SortFunc(j.findings, func(a, b route.Diagnostic) int {
		return cmp.Or(strings.Compare(a.Label, b.Label), strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
	})
	j.findings = slices.Compact(j.findings)
	if j.entrypoint != nil {
		j.entrypoint.Diagnostics = j.findings
	}
	return j
}

// usableName holds names to what labels allow, so that ids look alike everywhere.
func usableName(name string) bool {
	return name != "" && len(name) <= 100 && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_@+~:", r)
	})
}

// headers finds rules that no label could express: they are left out.
func (j *judged) headers() {
	if j.written.Config == nil {
		return
	}
	seen := map[string]int{}
	for i, h := range j.written.Config.Headers {
		where, label := fmt.Sprintf("config.headers[%d]", i), headerLabel(h)
		if label == "" {
			j.find("W008", where, "set name to a header and direction to request, response or both",
				"the name cannot be used, or the direction is none of request, response and both: the header is left alone")
			continue
		}
		if first, taken := seen[strings.ToLower(label)]; taken {
			j.find("W110", where, "remove one of them", "headers[%d] is about the same header: this one counts", first)
		}
		seen[strings.ToLower(label)] = i
	}
}

// find notes something about a key of the entry.
func (j *judged) find(code, key, hint, format string, args ...any) {
	d := route.Diagnose(code, hint, format, args...)
	d.Label = j.base + "." + key
	j.findings = append(j.findings, d)
}

// rejected says why an entry is not routed: the gravest finding.
func (j *judged) rejected() route.Rejected {
	out := route.Rejected{CandidateID: j.candidate, Name: j.written.Name, Reason: "not routed"}
	for _, severity := range []route.Severity{route.SeverityError, route.SeverityWarn, route.SeverityInfo} {
		for _, d := range j.findings {
			if d.Severity == severity && d.Code != "I001" {
				out.Reason, out.Code, out.Hint = d.Message, d.Code, d.Hint
				return out
			}
		}
	}
	return out
}

// unrouted are the hosts of an entry that is not routed.
func (j *judged) unrouted(why *route.Rejected) []route.Unrouted {
	if j.written.Config == nil {
		return nil
	}
	hosts := label.DeclaredHosts(strings.Join(j.written.Config.Hostnames, ","))
	if len(hosts) == 0 {
		return nil
	}
	return []route.Unrouted{{What: "entry " + quoted(j.written.Name) + " of the file", Hosts: hosts, Code: why.Code, Reason: why.Reason, Hint: why.Hint}}
}

// inputs judges the entry once for every usable backend, since some settings are
// the backend's own, or once when there is none.
func (j *judged) inputs(cfg label.Config, t *translation) ([]label.Input, []target) {
	var inputs []label.Input
	var targets []target
	seen := map[string]int{}
	for i := range j.written.Backends {
		b := &j.written.Backends[i]
		where := fmt.Sprintf("backends[%d]", i)
		to, hint, err := parseTarget(b)
		if err != nil {
			j.find("E107", where, hint, "%s: the backend is not used", err)
			continue
		}
		if first, taken := seen[to.address()]; taken {
			j.find("W110", where, "remove one of them", "backends[%d] has the same address: this one is left out", first)
			continue
		}
		seen[to.address()] = i
		in := j.parse(cfg, t.withBackend(i, b), len(inputs))
		if b.MaxConnections == nil {
			j.unlimited()
		}
		in.Presence = label.Present
		in.Endpoints = []label.Endpoint{{Host: to.host, Port: to.port, Loopback: to.loopback}}
		inputs, targets = append(inputs, in), append(targets, to)
	}
	if len(j.written.Backends) == 0 {
		j.find("E107", "backends", "name one: backends: [{address: app.internal, port: 8080}]", "there is no backend: nothing can serve the entrypoint")
	}
	if len(inputs) == 0 {
		in := j.parse(cfg, t, 0)
		in.Presence = label.NoAddress
		inputs = append(inputs, in)
	}
	return inputs, targets
}

// unlimited drops what is said about the queue for a backend without a limit, when it is
// another one that has one.
func (j *judged) unlimited() {
	if !slices.ContainsFunc(j.written.Backends, func(b backend) bool { return b.MaxConnections != nil }) {
		return
	}
	j.findings = slices.DeleteFunc(j.findings, func(d route.Diagnostic) bool {
		return d.Code == "W129" && strings.HasPrefix(d.Label, j.base+".config.queue.") && strings.Contains(d.Message, "no effect without")
	})
}

// parse runs the label parser and puts its findings into the words of the file.
func (j *judged) parse(cfg label.Config, t *translation, index int) label.Input {
	c := label.Candidate{ID: fmt.Sprintf("%012d", index), Provider: Name, Labels: t.labels}
	in := label.Input{Candidate: c, Parsed: label.Parse(cfg, c)}
	w := t.wording()
	j.findings = append(j.findings, w.diagnostics(in.Parsed.Diagnostics)...)
	in.Parsed.Diagnostics = nil
	for i := range in.Parsed.Declarations {
		d := &in.Parsed.Declarations[i]
		d.Diagnostics, d.FailClosed, d.Labels = nil, w.failClosed(d.FailClosed), w.origins(d.Labels)
	}
	return in
}

// group makes the entrypoint with the rules that containers have, and gives the
// backends the identity that addresses have.
func (j *judged) group(inputs []label.Input, targets []target) {
	grouped := label.Group(inputs, nil)
	if len(grouped.Entrypoints) != 1 {
		return // refused: the findings say why
	}
	e := grouped.Entrypoints[0]
	e.ID, e.Absent = string(e.Protocol)+"_"+e.Name, nil
	e.Identity = Name + "/" + e.ID // the name is its own in a file, whatever else is edited
	for i := range e.Backends {
		b := &e.Backends[i]
		var index int
		if _, err := fmt.Sscanf(b.ID, "%d", &index); err != nil || index >= len(targets) {
			continue
		}
		b.ID, b.Name, b.Container = targets[index].address(), "", nil
	}
	slices.SortFunc(e.Backends, func(a, b route.Backend) int { return strings.Compare(a.ID, b.ID) })
	j.entrypoint = e
}

// conditions sets the conditions on headers and query, which need no label.
func (j *judged) conditions() {
	c := j.written.Config
	if j.entrypoint == nil || c == nil {
		return
	}
	m := &j.entrypoint.Match
	m.Headers = newConditions(c.MatchHeaders, textproto.CanonicalMIMEHeaderKey)
	m.Query = newConditions(c.MatchQuery, func(s string) string { return s })
	from := func(key, place string, conditions []route.KeyValue) {
		if len(conditions) > 0 {
			j.entrypoint.Labels = append(j.entrypoint.Labels, route.Origin{Key: key, Label: j.base + "." + place})
		}
	}
	from("matchheaders", "config.match_headers", m.Headers)
	from("matchquery", "config.match_query", m.Query)
	slices.SortFunc(j.entrypoint.Labels, func(a, b route.Origin) int { return strings.Compare(a.Key, b.Key) })
}

// newConditions returns conditions in the form in which they are compared.
func newConditions(in []pair, canonical func(string) string) []route.KeyValue {
	var out []route.KeyValue
	for _, p := range in {
		kv := route.KeyValue{Key: canonical(strings.TrimSpace(p.Key)), Bare: p.Value == nil}
		if p.Value != nil {
			kv.Value = strings.TrimSpace(*p.Value)
		}
		out = append(out, kv)
	}
	slices.SortFunc(out, func(a, b route.KeyValue) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
	})
	return slices.Compact(out)
}
