package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// pageSize is how many rows a page has.
const pageSize = 100

// entrypointsData is the list of entrypoints.
type entrypointsData struct {
	chrome
	Rows    []entry
	Pager   pager
	Form    entrypointsForm
	Facets  []facet
	Problem string // a filter that cannot be read
	Traffic bool
	Empty   *emptiness
}

// entrypointsForm is the filter as it was asked for.
type entrypointsForm struct {
	Text     string
	Fields   []field
	Filtered bool
}

// field is a choice of the form.
type field struct {
	Name, Label string
	Options     []option
}

type option struct {
	Value, Label string
	Chosen       bool
}

// anyProblem stands for all states that need a look, in the choice of states.
const anyProblem = "down,panic,partial"

func (q *request) entrypoints() answer {
	data := entrypointsData{chrome: q.chrome(pageEntrypoints, "Entrypoints"), Empty: q.emptiness(), Form: q.entrypointsForm()}
	filter, err := api.NewFilter(q.query)
	if err != nil {
		data.Problem = err.Message
		out := q.found("entrypoints", data)
		out.status = http.StatusBadRequest
		return out
	}
	var hits []*router.EntrypointView
	findings := q.query.Get("diagnostics")
	for i := range q.view.Entrypoints {
		v := &q.view.Entrypoints[i]
		if filter.Matches(v) && hasFindings(v, findings) {
			hits = append(hits, v)
		}
	}
	data.Facets = q.facets(&data.Census)
	data.Pager = q.pager(len(hits), "entrypoint")
	for _, v := range hits[data.Pager.start:min(data.Pager.end, data.Pager.start+q.rows())] {
		row := q.entryOf(v)
		data.Traffic = data.Traffic || row.Traffic.Known
		data.Rows = append(data.Rows, row)
	}
	return q.found("entrypoints", data)
}

// facet is a state with how many entrypoints are in it, and the way to them.
type facet struct {
	Mark    mark
	Count   int
	Query   string
	Current bool
}

// facets are the states that there are, the worst first.
func (q *request) facets(c *census) []facet {
	var list []facet
	for _, s := range entrypointStates() {
		if n := c.States[s]; n > 0 {
			current := q.query.Get("state") == string(s)
			f := facet{Mark: markOf(s), Count: n, Current: current, Query: "?state=" + string(s)}
			if current {
				f.Query = "?"
			}
			list = append(list, f)
		}
	}
	return list
}

// entrypointStates are the states of entrypoints, the worst first.
func entrypointStates() []route.EntrypointState {
	return []route.EntrypointState{
		route.EntrypointDown, route.EntrypointPanic, route.EntrypointPartial, route.EntrypointPending, route.EntrypointUnchecked, route.EntrypointOK,
	}
}

// hasFindings reports whether an entrypoint has diagnostics of a severity, "" is any
// entrypoint and "any" any severity but info.
func hasFindings(v *router.EntrypointView, severity string) bool {
	if severity == "" {
		return true
	}
	return slices.ContainsFunc(v.Diagnostics, func(d route.Diagnostic) bool {
		return string(d.Severity) == severity || severity == "any" && d.Severity != route.SeverityInfo
	})
}

func (q *request) entrypointsForm() entrypointsForm {
	f := entrypointsForm{Text: q.query.Get("q")}
	states := []option{{Value: anyProblem, Label: "any problem"}}
	for _, s := range entrypointStates() {
		states = append(states, option{Value: string(s), Label: string(s)})
	}
	var sources []option
	for i := range q.view.Providers {
		if p := &q.view.Providers[i]; p.Enabled {
			sources = append(sources, option{Value: p.Name, Label: p.Name})
		}
	}
	f.Fields = []field{
		q.field("state", "State", states),
		q.field("source", "Source", sources),
		q.field("protocol", "Protocol", options("http", "tcp", "udp")),
		q.field("tls", "TLS", []option{{Value: "true", Label: "yes"}, {Value: "false", Label: "no"}}),
		q.field("diagnostics", "Diagnostics", []option{{Value: "any", Label: "any"}, {Value: "error", Label: "errors"}, {Value: "warn", Label: "warnings"}}),
	}
	f.Filtered = f.Text != "" || slices.ContainsFunc(f.Fields, func(x field) bool { return q.query.Get(x.Name) != "" })
	return f
}

func options(values ...string) []option {
	list := make([]option, len(values))
	for i, v := range values {
		list[i] = option{Value: v, Label: v}
	}
	return list
}

// field marks the chosen option; one that is none of them is added as it was asked for.
func (q *request) field(name, label string, list []option) field {
	value := q.query.Get(name)
	all := append([]option{{Label: "any"}}, list...)
	known := false
	for i := range all {
		all[i].Chosen = all[i].Value == value
		known = known || all[i].Chosen
	}
	if !known {
		all = append(all, option{Value: value, Label: value, Chosen: true})
	}
	return field{Name: name, Label: label, Options: all}
}

// pager says which rows of how many a page shows, and where the others are.
type pager struct {
	start, end int
	Total      int
	Words      string
	Prev, Next string // queries, "" at the ends
	Page, Last int
}

// pager reads the parameter page, from 1; one that is out of range is the nearest.
func (q *request) pager(total int, what string) pager {
	last := max((total+pageSize-1)/pageSize, 1)
	page, err := strconv.Atoi(q.query.Get("page"))
	if err != nil {
		page = 1
	}
	page = min(max(page, 1), last)
	p := pager{start: (page - 1) * pageSize, end: min(page*pageSize, total), Total: total, Page: page, Last: last}
	p.Words = countOf(total, what)
	if last > 1 {
		p.Words = grouped(p.start+1) + "–" + grouped(p.end) + " of " + p.Words
	}
	if page > 1 {
		p.Prev = q.queryWith("page", page-1)
	}
	if page < last {
		p.Next = q.queryWith("page", page+1)
	}
	return p
}

// rows is how many rows of a page are wanted: pageSize, or what the header X-Rows says, 1 to
// pageSize, with which the script asks for a screenful while somebody types.
func (q *request) rows() int {
	n, err := strconv.Atoi(q.http.Header.Get("X-Rows"))
	if err != nil || n < 1 {
		return pageSize
	}
	return min(n, pageSize)
}

// queryWith is the page's query with one number changed.
func (q *request) queryWith(name string, n int) string {
	with := url.Values{}
	for key, values := range q.query {
		if len(values) > 0 && values[0] != "" && !strings.HasPrefix(key, "_") {
			with[key] = values
		}
	}
	with.Set(name, strconv.Itoa(n))
	return "?" + with.Encode()
}
