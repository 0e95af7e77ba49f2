package router

import (
	"fmt"
	"strings"
	"testing"

	"fairlead/router/route"
)

func TestResolveRefusesWhatTheRouterRefuses(t *testing.T) {
	v := offline(entrypoint(t, "http_a", "a.example"))
	for _, tt := range []struct {
		q      Query
		status int
		want   string
	}{
		{Query{URL: "http://a.example/..%2fx"}, 400, "hides"},
		{Query{URL: "http://a.example:x/"}, 400, "port"},
		{Query{URL: "http:///x"}, 400, "host is empty"},
		{Query{URL: ""}, 400, "host is empty"},
		{Query{URL: "ftp://a.example/"}, 400, "ftp"},
		{Query{URL: `a.example/a\b`}, 400, "backslash"},
		{Query{URL: "a.example", Method: "GE T"}, 400, "token"},
		{Query{URL: "a.example", Method: "GET\r\nX: y"}, 400, "token"},
		{Query{URL: "a.example", Headers: map[string][]string{"Host": {"a"}, "hOsT": {"b"}}}, 400, "more than one Host"},
		{Query{URL: "a.example", Method: "CONNECT"}, 405, "never forwarded"},
	} {
		got := Resolve(v, tt.q)
		if got.Outcome != OutcomeRefused || *got.Status != tt.status || !strings.Contains(got.Explain, tt.want) || got.ExitCode() != ExitNoRoute {
			t.Errorf("%+v: %s %d %q", tt.q, got.Outcome, *got.Status, got.Explain)
		}
	}
}

func TestResolveReadsTargetsAsPeopleWriteThem(t *testing.T) {
	v := offline(entrypoint(t, "http_a", "a.example,xn--bcher-kva.example"))
	for _, q := range []Query{
		{URL: "a.example"}, {URL: "//a.example/x"}, {URL: "HTTP://A.Example./"}, {URL: "ws://a.example/x?http://b"}, {URL: "wss://a.example"},
		{URL: "a.example:8080/x"}, {URL: " a.example/a b "}, {URL: "a.example?x=http://b.example/"}, {URL: "bücher.example/"},
		{URL: "http://127.0.0.1:8080/", Headers: map[string][]string{"host": {"a.example"}}},
	} {
		got := Resolve(v, q)
		if got.Outcome != OutcomeServed || *got.Entrypoint != "http_a" {
			t.Errorf("%+v: %s: %s", q, got.Outcome, got.Explain)
		}
	}
}

func TestResolveRewrites(t *testing.T) {
	with := func(change func(*route.Options)) option {
		return func(e *route.Entrypoint) { change(&e.Options) }
	}
	tests := []struct {
		options []option
		path    string
		url     string
		filter  string
	}{
		{[]option{prefix("/a b"), with(func(o *route.Options) { o.StripPrefix = true })}, "/a%20b/x%2Fy", "/x%2Fy", "/a%20b/x%2Fy becomes /x%2Fy"},
		{[]option{prefix("/api"), with(func(o *route.Options) { o.StripPrefix = true })}, "/api", "/", "/api becomes /"},
		{[]option{with(func(o *route.Options) { o.StripPrefix = true })}, "/api", "/api", "the path stays /api"},
		{[]option{regex("/a.*"), with(func(o *route.Options) { o.StripPrefix = true })}, "/api", "/api", ""},
		{[]option{with(func(o *route.Options) { o.AddPrefix = "/v1" })}, "/api", "/v1/api", "/api becomes /v1/api"},
		{[]option{prefix("/api"), with(func(o *route.Options) { o.AddPrefix, o.StripPrefix = "/v1", true })}, "/api/x", "/v1/api/x", "/api/x becomes /v1/api/x"},
	}
	for _, tt := range tests {
		got := Resolve(offline(entrypoint(t, "http_a", "a.example", tt.options...)), Query{URL: "a.example" + tt.path + "?q=1&r"})
		if got.Upstream == nil || got.Upstream.URL != "http://10.0.0.1:80"+tt.url+"?q=***&r" {
			t.Errorf("%s: %+v", tt.path, got.Upstream)
			continue
		}
		if tt.filter == "" && len(got.Filters) > 0 || tt.filter != "" && (len(got.Filters) != 1 || got.Filters[0].Explain != tt.filter) {
			t.Errorf("%s: %+v, want %q", tt.path, got.Filters, tt.filter)
		}
	}
	bad := offline(entrypoint(t, "http_a", "a.example", with(func(o *route.Options) { o.AddPrefix = "/..;/x" })))
	got := Resolve(bad, Query{URL: "a.example/"})
	if got.Outcome != OutcomeRefused || *got.Status != 400 || got.Upstream != nil || got.Filters[0].Verdict != "refuse" || got.ExitCode() != ExitUnverified {
		t.Errorf("%+v", got)
	}
}

func TestResolveListsFewOfMany(t *testing.T) {
	var list []*route.Entrypoint
	for i := range 300 {
		list = append(list, entrypoint(t, fmt.Sprintf("http_%03d", i), "h.example", prefix(fmt.Sprintf("/%03d", i))))
	}
	list = append(list, manyHosts(t, 500)...)
	got := Resolve(offline(list...), Query{URL: "h.example/299"})
	last := got.Candidates[len(got.Candidates)-1]
	if len(got.Candidates) != maxCandidates || last.Entrypoint != "http_299" || last.Rank != 300 || !last.Matched {
		t.Errorf("%d candidates, last %+v", len(got.Candidates), last)
	}
	if got := Resolve(offline(list...), Query{URL: "h.example/none"}); len(got.Candidates) != maxCandidates-1 || len(got.Suggestions) != maxSuggestions {
		t.Errorf("%d candidates, %d suggestions", len(got.Candidates), len(got.Suggestions))
	}
	if got := Resolve(offline(list...), Query{URL: "app-0042.example.com"}); len(got.Candidates) != maxSuggestions {
		t.Errorf("%d near ones", len(got.Candidates))
	}
	broken := offline(entrypoint(t, "http_a", "h.example", regex("(")))
	if got := Resolve(broken, Query{URL: "h.example"}); got.Outcome != OutcomeNoRoute || len(got.Candidates) != 0 || !strings.Contains(got.Suggestions[0], "no request can match it") {
		t.Errorf("%+v", got)
	}
}

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		most int
		want int
	}{
		{"abc", "abc", 2, 0}, {"abc", "abd", 2, 1}, {"abc", "acb", 2, 1}, {"abc", "ab", 2, 1}, {"abc", "xabc", 2, 1},
		{"abc", "xyz", 2, 3}, {"abc", "xyz", 9, 3}, {"a", "abcdef", 2, 3}, {"abcdefgh", "hgfedcba", 1, 2}, {"", "ab", 2, 2},
	} {
		if got := editDistance(tt.a, tt.b, tt.most); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
