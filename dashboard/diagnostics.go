package dashboard

import (
	"slices"
	"strings"

	"fairlead/api"
	"fairlead/router/route"
)

// diagnosticsData is the page of what is wrong with labels, and of what is not routed.
type diagnosticsData struct {
	chrome
	Groups   []findingGroup
	Rejected []rejection
	Pager    pager
	Text     string
	Fields   []field
	Filtered bool
	Total    int
	Refused  int
}

// finding is one diagnostic.
type finding struct {
	Code, Message, Label, Value, Hint string
	Mark                              mark
	Meaning                           Explanation
	Explained                         bool
}

// findingGroup are the findings about one candidate or one entrypoint.
type findingGroup struct {
	ID, Title  string
	Entrypoint string // "" when it is a candidate's
	Findings   []finding
}

// rejection is a candidate that is not routed. Reason is a finding too, for one that the
// labels are to blame for; Others are those beside it.
type rejection struct {
	ID, Name, Project, Service string
	Reason                     finding
	Others                     []finding
	Since                      moment
	key                        string // of its findingGroup
}

func findings(list []route.Diagnostic) []finding {
	out := make([]finding, len(list))
	for i, d := range list {
		out[i] = finding{Code: d.Code, Message: d.Message, Label: d.Label, Value: d.Value, Hint: d.Hint, Mark: markOf(d.Severity)}
	}
	slices.SortStableFunc(out, func(a, b finding) int {
		return severityRank(route.Severity(a.Mark.State)) - severityRank(route.Severity(b.Mark.State))
	})
	return out
}

func (q *request) diagnostics() answer {
	all := api.DiagnosticsOf(q.view)
	data := diagnosticsData{chrome: q.chrome(pageDiagnostics, "Diagnostics"), Text: q.query.Get("q"), Total: all.Total, Refused: len(all.Rejected)}
	data.Fields = []field{q.severityField()}
	data.Filtered = data.Text != "" || q.query.Get("severity") != ""
	rejected, groups := joined(q.rejections(all.Rejected), q.findingGroups(&all))
	data.Pager = q.pager(len(groups)+len(rejected), "candidate")
	data.Rejected, data.Groups = pageOf(rejected, groups, data.Pager)
	for i := range data.Groups {
		q.explain(data.Groups[i].Findings)
	}
	for i := range data.Rejected {
		r := &data.Rejected[i]
		q.explain(r.Others)
		r.Reason = q.explained(r.Reason)
	}
	return q.found("diagnostics", data)
}

// pageOf cuts one page out of two lists, one behind the other.
func pageOf[A, B any](a []A, b []B, p pager) ([]A, []B) {
	n := len(a)
	return a[min(p.start, n):min(p.end, n)], b[max(p.start-n, 0):max(p.end-n, 0)]
}

// everySeverity asks for info too, which is left out unless somebody asks.
const everySeverity = "all"

func (q *request) severityField() field {
	f := q.field("severity", "Severity", []option{
		{Value: "error", Label: "errors"}, {Value: "warn", Label: "warnings"}, {Value: "info", Label: "info"}, {Value: everySeverity, Label: "all"},
	})
	f.Options[0].Label = "errors and warnings"
	return f
}

// wantsSeverity reports whether the filter lets a severity through.
func (q *request) wantsSeverity(s string) bool {
	switch asked := q.query.Get("severity"); asked {
	case "":
		return s != string(route.SeverityInfo)
	case everySeverity:
		return true
	default:
		return s == asked
	}
}

// explain adds what codes mean.
func (q *request) explain(list []finding) {
	for i := range list {
		list[i] = q.explained(list[i])
	}
}

func (q *request) explained(f finding) finding {
	if q.d.cfg.Explain != nil {
		f.Meaning, f.Explained = q.d.cfg.Explain(f.Code)
	}
	return f
}

// joined puts the findings about a candidate that is not routed to it, so that it stands
// in one place, and the finding that it is not routed for is told once.
func joined(rejected []rejection, groups []findingGroup) ([]rejection, []findingGroup) {
	at := map[string]int{}
	for i := range rejected {
		at[rejected[i].key] = i
	}
	groups = slices.DeleteFunc(groups, func(g findingGroup) bool {
		i, ok := at[g.ID]
		if !ok {
			return false
		}
		r := &rejected[i]
		for _, f := range g.Findings {
			if f.Code == r.Reason.Code && f.Message == r.Reason.Message {
				r.Reason = f
			} else {
				r.Others = append(r.Others, f)
			}
		}
		return true
	})
	return rejected, groups
}

// findingGroups are the findings that the filter lets through, the gravest groups first.
func (q *request) findingGroups(all *api.Diagnostics) []findingGroup {
	names := q.candidateNames()
	var out []findingGroup
	add := func(id, title, entrypoint string, list []route.Diagnostic) {
		kept := slices.DeleteFunc(findings(list), func(f finding) bool { return !q.wants(title, &f) })
		if len(kept) > 0 {
			out = append(out, findingGroup{id, title, entrypoint, kept})
		}
	}
	add("global", "The router and its providers", "", all.Global)
	for i := range all.Items {
		id := all.Items[i].CandidateID
		title := names[id]
		if title == "" {
			title = shortID(id)
		}
		add(groupOfCandidate(id), title, "", all.Items[i].Diagnostics)
	}
	for i := range all.Entrypoints {
		id := all.Entrypoints[i].EntrypointID
		add("e-"+id, id, id, all.Entrypoints[i].Diagnostics)
	}
	slices.SortStableFunc(out, func(a, b findingGroup) int { return a.rank() - b.rank() })
	return out
}

// groupOfCandidate is the id of the group of the findings about a candidate.
func groupOfCandidate(id string) string { return "c-" + id }

// rank is that of the gravest finding, which stands first.
func (g *findingGroup) rank() int { return severityRank(route.Severity(g.Findings[0].Mark.State)) }

// wants reports whether the filter lets a finding through.
func (q *request) wants(title string, f *finding) bool {
	return q.wantsSeverity(f.Mark.State) && contains(q.query.Get("q"), title, f.Code, f.Message, f.Label, f.Value, f.Hint)
}

// contains reports whether every word is in one of the texts, in any case.
func contains(words string, texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

func (q *request) rejections(list []route.Rejected) []rejection {
	if !q.wantsSeverity(string(route.SeverityError)) {
		return nil
	}
	var out []rejection
	for _, r := range list {
		if contains(q.query.Get("q"), append(slices.Clone(r.Entrypoints), r.Name, r.Project, r.Service, r.Reason, r.Code, r.Hint)...) {
			out = append(out, rejection{
				ID: shortID(r.CandidateID), Name: r.Name, Project: r.Project, Service: r.Service, key: groupOfCandidate(r.CandidateID),
				Since:  epochMoment(r.Since, q.now),
				Reason: finding{Code: r.Code, Message: r.Reason, Hint: r.Hint, Mark: rejectedMark(&r)},
			})
		}
	}
	return out
}

// rejectedMark tells what is a mistake from what is meant to be so.
func rejectedMark(r *route.Rejected) mark {
	if r.Code == "" {
		return markOf(route.SeverityInfo)
	}
	return markOf(route.SeverityOf(r.Code))
}

// candidateNames are the names of containers by their ids, as far as the view knows them.
func (q *request) candidateNames() map[string]string {
	names := map[string]string{}
	for i := range q.view.Entrypoints {
		e := q.view.Entrypoints[i].Entrypoint
		for j := range e.Backends {
			if c := e.Backends[j].Container; c != nil {
				names[c.ID] = c.Name
			}
		}
		for _, a := range e.Absent {
			names[a.CandidateID] = a.Name
		}
	}
	for _, r := range q.view.Rejected {
		names[r.CandidateID] = r.Name
	}
	return names
}

// shortID is an id as docker shows it.
func shortID(id string) string {
	if len(id) == 64 && strings.Trim(id, "0123456789abcdef") == "" {
		return id[:12]
	}
	return id
}
