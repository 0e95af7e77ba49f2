package router

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

func TestHosts(t *testing.T) {
	table := build(
		entrypoint(t, "http_exact", "app.example.com"),
		entrypoint(t, "http_one", "*.example.com"),
		entrypoint(t, "http_deep", "**.example.com"),
		entrypoint(t, "http_longer", "*.b.example.com"),
		entrypoint(t, "http_regex", "/cdn[0-9]+/.example.com"),
		entrypoint(t, "http_dots", "/(?:x|y.z)+/.example.org"),
		entrypoint(t, "http_tail", "www./[a-z]{2}/"),
		entrypoint(t, "http_name", "my_app.local"),
	)
	for host, want := range map[string]string{
		"app.example.com":    "http_exact",
		"other.example.com":  "http_one",
		"a.b.example.com":    "http_longer",
		"a.c.example.com":    "http_deep",
		"a.a.b.example.com":  "http_deep",
		"b.example.com":      "http_one",
		"example.com":        "",
		"notexample.com":     "",
		"com":                "",
		"cdn7.example.com":   "http_regex",
		"cdn.example.com":    "http_one",
		"x.cdn7.example.com": "http_deep",
		"xx.example.org":     "http_dots",
		"www.de":             "http_tail",
		"www.com":            "",
		"www.de.x":           "",
		"my_app.local":       "http_name",
		"127.0.0.1":          "",
		"[::1]":              "",
	} {
		if got := idOf(table.Match(get(host, "/"))); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	if got := idOf(table.Match(get("app.example.com", "*"))); got != "" {
		t.Errorf("a path that is no path: %q", got)
	}
	if got := idOf(table.Match(get("app.example.com", ""))); got != "" {
		t.Errorf("an empty path: %q", got)
	}
}

func TestUnknownHostIsNeverTheFirstRoute(t *testing.T) {
	table := build(entrypoint(t, "http_a", "a.example"), entrypoint(t, "http_b", "b.example"))
	if r := table.Match(get("192.0.2.1", "/")); r != nil {
		t.Errorf("served by %s", idOf(r))
	}
	if r := build().Match(get("a.example", "/")); r != nil {
		t.Errorf("an empty table serves %s", idOf(r))
	}
}

func TestPaths(t *testing.T) {
	table := build(
		entrypoint(t, "http_root", "h.example"),
		entrypoint(t, "http_api", "h.example", prefix("/api")),
		entrypoint(t, "http_v1", "h.example", prefix("/api/v1/")),
		entrypoint(t, "http_exact", "h.example", exact("/api/v1/x")),
		entrypoint(t, "http_re", "h.example", regex("/re/[0-9]+")),
		entrypoint(t, "http_longre", "h.example", regex("/re/[0-9][0-9]?")),
		entrypoint(t, "http_space", "h.example", prefix("/a b")),
		entrypoint(t, "http_unicode", "h.example", prefix("/café")),
	)
	for raw, want := range map[string]string{
		"/": "http_root", "/x": "http_root", "/apix": "http_root", "/apidocs": "http_root",
		"/api": "http_api", "/api/": "http_api", "/api/x": "http_api", "/api/v1x": "http_api",
		"/api/v1": "http_v1", "/api/v1/": "http_v1", "/api/v1/y/z": "http_v1",
		"/api/v1/x": "http_exact", "/api/v1/x/": "http_v1",
		"/re/1": "http_longre", "/re/123": "http_re", "/re/": "http_root", "/re/1/x": "http_root",
		"/a%20b/c": "http_space", "/caf%c3%a9/x": "http_unicode", "/caf\xc3\xa9": "http_unicode",
		"//api//x": "http_api", "/%61pi": "http_api", "/x/../api": "http_api", "/api%2Fx": "http_root",
		"/API": "http_root",
	} {
		p, err := CanonicalPath(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := idOf(table.Match(get("h.example", p.Match))); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	for id, want := range map[string]string{
		"http_root": "/", "http_api": "/api", "http_v1": "/api/v1", "http_exact": "/api/v1/x", "http_re": "", "http_space": "/a%20b",
	} {
		if got := table.Route(id).Prefix; got != want {
			t.Errorf("%s: prefix %q, want %q", id, got, want)
		}
	}
	if table.Route("http_none") != nil || table.Len() != 8 || table.Generation() != 1 {
		t.Error("the table's own data are wrong")
	}
}

func TestNoPathRuleIsTheWholeHost(t *testing.T) {
	table := build(entrypoint(t, "http_a", "h.example", func(e *route.Entrypoint) { e.Match.Path = route.PathRule{} }))
	if got := idOf(table.Match(get("h.example", "/x"))); got != "http_a" {
		t.Errorf("%q", got)
	}
}

// Each case is one step of the order: the first entrypoint must win though the
// second is better at everything after that step.
func TestOrder(t *testing.T) {
	tests := []struct {
		name        string
		first, then *route.Entrypoint
	}{
		{"priority beats an exact host and path",
			entrypoint(t, "http_z", "*", priority(1), claimed(9)),
			entrypoint(t, "http_a", "a.b.example", exact("/x/y"), methods("GET"))},
		{"priority beats conditions in one group",
			entrypoint(t, "http_z", "a.b.example", priority(1), claimed(9)),
			entrypoint(t, "http_a", "a.b.example", prefix("/x"), methods("GET"))},
		{"negative priority is last",
			entrypoint(t, "http_z", "*", claimed(9)),
			entrypoint(t, "http_a", "a.b.example", exact("/x/y"), methods("GET"), priority(-1))},
		{"exact host before expression",
			entrypoint(t, "http_z", "a.b.example", claimed(9)),
			entrypoint(t, "http_a", "/a/.b.example", exact("/x/y"), methods("GET"))},
		{"expression before wildcard",
			entrypoint(t, "http_z", "/a/.b.example", claimed(9)),
			entrypoint(t, "http_a", "*.b.example", exact("/x/y"), methods("GET"))},
		{"longest suffix first",
			entrypoint(t, "http_z", "**.b.example", claimed(9)),
			entrypoint(t, "http_a", "**.example", exact("/x/y"), methods("GET"))},
		{"one label before any depth",
			entrypoint(t, "http_z", "*.b.example", claimed(9)),
			entrypoint(t, "http_a", "**.b.example", exact("/x/y"), methods("GET"))},
		{"wildcard before any",
			entrypoint(t, "http_z", "**.example", claimed(9)),
			entrypoint(t, "http_a", "*", exact("/x/y"), methods("GET"))},
		{"exact path before expression",
			entrypoint(t, "http_z", "a.b.example", exact("/x/y"), claimed(9)),
			entrypoint(t, "http_a", "a.b.example", regex("/x/y|/a/very/long/one"), methods("GET"))},
		{"expression before prefix",
			entrypoint(t, "http_z", "a.b.example", regex("/x.*"), claimed(9)),
			entrypoint(t, "http_a", "a.b.example", prefix("/x/y"), methods("GET"))},
		{"longest expression",
			entrypoint(t, "http_z", "a.b.example", regex("/x/.*"), claimed(9)),
			entrypoint(t, "http_a", "a.b.example", regex("/.*"), methods("GET"))},
		{"longest prefix",
			entrypoint(t, "http_z", "a.b.example", prefix("/x/y"), claimed(9)),
			entrypoint(t, "http_a", "a.b.example", prefix("/x"), methods("GET"))},
		{"one that can serve before a retained one with equal rules",
			entrypoint(t, "http_z", "a.b.example", prefix("/x"), claimed(9)),
			entrypoint(t, "http_a", "a.b.example", prefix("/x/"), retained())},
		{"a retained one before a less specific one",
			entrypoint(t, "http_z", "a.b.example", prefix("/x"), retained(), claimed(9)),
			entrypoint(t, "http_a", "a.b.example")},
		{"a retained one before a wildcard",
			entrypoint(t, "http_z", "a.b.example", retained(), claimed(9)),
			entrypoint(t, "http_a", "*.b.example", prefix("/x"))},
		{"one that fails closed wins as if it did not",
			entrypoint(t, "http_z", "a.b.example", prefix("/x"), failClosed(), claimed(9)),
			entrypoint(t, "http_a", "a.b.example")},
		{"more conditions",
			entrypoint(t, "http_z", "a.b.example", methods("GET"), clients("10.0.0.0/8"), claimed(9)),
			entrypoint(t, "http_a", "a.b.example", methods("GET"))},
		{"older claim",
			entrypoint(t, "http_z", "a.b.example"),
			entrypoint(t, "http_a", "a.b.example", claimed(1))},
		{"lower id",
			entrypoint(t, "http_a", "a.b.example"),
			entrypoint(t, "http_b", "a.b.example")},
	}
	request := get("a.b.example", "/x/y")
	request.client = netip.MustParseAddr("10.1.1.1")
	for _, tt := range tests {
		for _, list := range [][]*route.Entrypoint{{tt.first, tt.then}, {tt.then, tt.first}} {
			if got := idOf(build(list...).Match(request)); got != tt.first.ID {
				t.Errorf("%s: %q wins", tt.name, got)
			}
		}
		if got := idOf(build(tt.then).Match(request)); got != tt.then.ID {
			t.Errorf("%s: the second does not match at all", tt.name)
		}
	}
}

func TestConditionsFallThrough(t *testing.T) {
	table := build(
		entrypoint(t, "http_post", "h.example", methods("POST", "PUT")),
		entrypoint(t, "http_header", "h.example", header("x-a", "1"), claimed(1)),
		entrypoint(t, "http_bare", "h.example", header("x-b", ""), claimed(2)),
		entrypoint(t, "http_query", "h.example", query("v", "2"), claimed(3)),
		entrypoint(t, "http_client", "h.example", clients("10.0.0.0/8", "fd00::/8"), claimed(4)),
		entrypoint(t, "http_nobody", "h.example", methods("GET"), func(e *route.Entrypoint) { e.Match.ClientNobody = true }),
		entrypoint(t, "http_api", "h.example", prefix("/api"), methods("GET")),
		entrypoint(t, "http_wild", "*.example"),
	)
	tests := []struct {
		change func(*testRequest)
		want   string
	}{
		{func(*testRequest) {}, "http_wild"},
		{func(r *testRequest) { r.method = "PUT" }, "http_post"},
		{func(r *testRequest) { r.method = "put" }, "http_wild"},
		{func(r *testRequest) { r.headers = map[string]string{"x-a": "1"} }, "http_header"},
		{func(r *testRequest) { r.headers = map[string]string{"x-a": "2"} }, "http_wild"},
		{func(r *testRequest) { r.headers = map[string]string{"x-b": "anything"} }, "http_bare"},
		{func(r *testRequest) { r.query = map[string]string{"v": "2"} }, "http_query"},
		{func(r *testRequest) { r.query = map[string]string{"v": "3"} }, "http_wild"},
		{func(r *testRequest) { r.client = netip.MustParseAddr("10.9.9.9") }, "http_client"},
		{func(r *testRequest) { r.client = netip.MustParseAddr("192.0.2.1") }, "http_wild"},
		{func(r *testRequest) { r.path = "/api/x" }, "http_api"},
		{func(r *testRequest) { r.path, r.method = "/api/x", "POST" }, "http_post"},
		{func(r *testRequest) { r.path, r.method = "/api/x", "DELETE" }, "http_wild"},
	}
	for i, tt := range tests {
		r := get("h.example", "/")
		tt.change(r)
		if got := idOf(table.Match(r)); got != tt.want {
			t.Errorf("case %d: %q, want %q", i, got, tt.want)
		}
	}
}

func TestBuildDoesNotDependOnTheOrder(t *testing.T) {
	var list []*route.Entrypoint
	for i := range 60 {
		list = append(list, entrypoint(t, fmt.Sprintf("http_%02d", i), []string{"a.x", "*.x", "/[ab]/.x,b.x"}[i%3],
			prefix([]string{"/", "/a", "/a/b"}[i/3%3]), claimed(i%4), priority(i%5/4)))
	}
	want := build(list...)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		got := build(list...)
		ids := func(tb *Table) (all []string) {
			for r := range tb.Routes() {
				all = append(all, r.Entrypoint.ID, tb.ShadowedBy(r.Entrypoint.ID), fmt.Sprint(tb.Diagnostics(r.Entrypoint.ID)))
			}
			return all
		}
		if !slices.Equal(ids(got), ids(want)) {
			t.Fatal("routes or findings differ")
		}
		for _, host := range []string{"a.x", "b.x", "c.x"} {
			for _, p := range []string{"/", "/a", "/a/b/c"} {
				if g, w := idOf(got.Match(get(host, p))), idOf(want.Match(get(host, p))); g != w {
					t.Fatalf("%s%s: %s and %s", host, p, g, w)
				}
			}
		}
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	table := build(
		entrypoint(t, "http_a", "a.b.example", prefix("/api"), methods("POST"), header("x", "1"), query("q", "")),
		entrypoint(t, "http_b", "a.b.example", exact("/api/x"), clients("10.0.0.0/8")),
		entrypoint(t, "http_c", "/a|b/.b.example", regex("/api/.*")),
		entrypoint(t, "http_d", "**.example", priority(-1)),
		entrypoint(t, "http_e", "*"),
	)
	for _, r := range []*testRequest{get("a.b.example", "/api/x/y"), get("b.b.example", "/api/z"), get("q.r.example", "/"), get("none", "/a/b")} {
		r := Request(r)
		if n := testing.AllocsPerRun(100, func() { table.Match(r) }); n > 0 {
			t.Errorf("%s%s: %v allocations", r.Host(), r.MatchPath(), n)
		}
	}
}

// A path of thousands of segments must not cost more than the longest rule.
func TestLongPathsAreCutToTheLongestPrefix(t *testing.T) {
	table := build(entrypoint(t, "http_a", "h.example", prefix("/abc/def")), entrypoint(t, "http_b", "h.example", prefix("/abc")))
	for path, want := range map[string]string{
		"/abc/def" + strings.Repeat("/x", 5000): "http_a", "/abc/defg": "http_b", "/abc/de": "http_b", "/abcdefghijk/x": "",
		"/abcdefghijkl": "", "/abc/d/ef": "http_b", strings.Repeat("/a", 5000): "",
	} {
		if got := idOf(table.Match(get("h.example", path))); got != want {
			t.Errorf("%.20s: %q, want %q", path, got, want)
		}
	}
}

// Ten times the entrypoints may cost twelve times as much; allocations are the part
// of that which a test can count (BenchmarkBuild measures the time).
func TestBuildGrowsLinearly(t *testing.T) {
	for name, many := range map[string]func(testing.TB, int) []*route.Entrypoint{"hosts": manyHosts, "prefixes": manyPrefixes} {
		small, large := entries(many(t, 1000)...), entries(many(t, 10000)...)
		few := testing.AllocsPerRun(3, func() { Build(1, small) })
		lots := testing.AllocsPerRun(3, func() { Build(1, large) })
		if lots > 12*few {
			t.Errorf("%s: %v allocations for 1,000 and %v for 10,000", name, few, lots)
		}
	}
}
