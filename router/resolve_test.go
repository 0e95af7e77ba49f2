package router

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// offline is the view of some entrypoints of one provider.
func offline(list ...*route.Entrypoint) *View {
	return Offline(route.Snapshot{Provider: "docker", Entrypoints: list, Status: connected("docker")})
}

// shop is a host with overlapping rules, as in the acceptance list.
func shop(t testing.TB) *View {
	withHeaders := func(e *route.Entrypoint) {
		e.Options.StripPrefix = true
		e.Options.Headers = []route.HeaderRule{
			{Name: "X-Token", Value: "canary-secret", Direction: route.OnRequest},
			{Name: "X-Powered-By", Direction: route.OnBoth},
			{Name: "X-Frame-Options", Value: "canary-secret", Direction: route.OnResponse},
		}
	}
	return offline(
		entrypoint(t, "http_api", "app.example.com", prefix("/api"), withHeaders, backends(backend(1), backend(2))),
		entrypoint(t, "http_web", "app.example.com,*.example.com", backends(backend(3))),
		entrypoint(t, "http_canary", "app.example.com", prefix("/api"), header("x-canary", "canary-secret"), query("key", "canary-secret"), claimed(2)),
		entrypoint(t, "http_late", "app.example.com", prefix("/api"), claimed(3)),
		entrypoint(t, "http_admin", "app.example.com", prefix("/admin"), clients("10.0.0.0/8"), methods("GET", "POST")),
		entrypoint(t, "http_exact", "app.example.com", exact("/status")),
		entrypoint(t, "http_gone", "gone.example.com", retained()),
		entrypoint(t, "http_shut", "shut.example.com", failClosed()),
		entrypoint(t, "http_deep", "**.deep.example.org", backends(func() route.Backend { b := backend(7); b.Check = nil; return b }())),
	)
}

func TestResolveGolden(t *testing.T) {
	v := shop(t)
	for name, q := range map[string]Query{
		"overlapping":    {URL: "http://user:canary-secret@App.Example.com:8080/api/v1/x%2fy?token=canary-secret&flag#top", ClientIP: netip.MustParseAddr("::ffff:192.0.2.7")},
		"segment_border": {URL: "app.example.com/apix"},
		"client":         {URL: "http://app.example.com/admin", ClientIP: netip.MustParseAddr("192.0.2.7")},
		"retained":       {URL: "http://gone.example.com/"},
		"fail_closed":    {URL: "http://shut.example.com/x"},
		"misspelt":       {URL: "http://ap.exmaple.com/"},
		"https":          {URL: "https://a.b.deep.example.org/"},
		"refused_path":   {URL: "http://app.example.com/public/..%2fadmin"},
	} {
		got, err := json.MarshalIndent(Resolve(v, q), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(got, []byte("canary-secret")) {
			t.Errorf("%s: a secret is in the answer:\n%s", name, got)
		}
		file := filepath.Join("testdata", "resolve", name+".json")
		if *update {
			if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func verdicts(r *Resolution) []string {
	out := make([]string, len(r.Candidates))
	for i, c := range r.Candidates {
		out[i] = c.Entrypoint + ": matched"
		if c.Failed != nil {
			out[i] = fmt.Sprintf("%s: %s: %s", c.Entrypoint, c.Failed.Condition, c.Failed.Explain)
		}
	}
	return out
}

func TestResolveSaysWhyCandidatesLost(t *testing.T) {
	nobody := func(e *route.Entrypoint) { e.Match.ClientNobody = true }
	tests := []struct {
		name string
		list []*route.Entrypoint
		q    Query
		want []string
	}{
		{"order", []*route.Entrypoint{
			entrypoint(t, "http_high", "*.b.example", priority(5)),
			entrypoint(t, "http_exact", "a.b.example", exact("/x/y")),
			entrypoint(t, "http_regex", "/a/.b.example"),
			entrypoint(t, "http_any", "*"),
		}, Query{URL: "a.b.example/x/y"}, []string{
			"http_high: matched",
			"http_exact: order: lower priority than http_high: 0 against 5",
			"http_regex: order: lower priority than http_high: 0 against 5",
			"http_any: order: lower priority than http_high: 0 against 5",
		}},
		{"hosts", []*route.Entrypoint{
			entrypoint(t, "http_exact", "a.b.example"), entrypoint(t, "http_regex", "/a/.b.example"),
			entrypoint(t, "http_wild", "*.b.example"), entrypoint(t, "http_any", "*"),
		}, Query{URL: "a.b.example/x/y"}, []string{
			"http_exact: matched",
			"http_regex: order: less specific than http_exact: the exact host a.b.example comes before the expression /a/.b.example",
			"http_wild: order: less specific than http_exact: the exact host a.b.example comes before the wildcard *.b.example",
			"http_any: order: less specific than http_exact: the exact host a.b.example comes before any host",
		}},
		{"wildcards", []*route.Entrypoint{
			entrypoint(t, "http_one", "*.b.example"), entrypoint(t, "http_deep", "**.b.example"), entrypoint(t, "http_short", "**.example"),
		}, Query{URL: "a.b.example"}, []string{
			"http_one: matched",
			"http_deep: order: less specific than http_one: the wildcard *.b.example comes before the wildcard **.b.example",
			"http_short: order: less specific than http_one: the wildcard *.b.example comes before the wildcard **.example",
		}},
		{"priority without a backend", []*route.Entrypoint{
			entrypoint(t, "http_living", "a.b.example", priority(5)), entrypoint(t, "http_stopped", "*", priority(9), retained()),
		}, Query{URL: "a.b.example"}, []string{
			"http_living: matched",
			"http_stopped: order: lower priority than http_living: without a backend it counts as 0 at present, against 5",
		}},
		{"any", []*route.Entrypoint{
			entrypoint(t, "http_any", "*"), entrypoint(t, "http_rare", "*", priority(-1)),
		}, Query{URL: "a.b.example"}, []string{
			"http_any: matched", "http_rare: order: lower priority than http_any: -1 against 0",
		}},
		{"regex host wins", []*route.Entrypoint{
			entrypoint(t, "http_re", "/a/.b.example"), entrypoint(t, "http_wild", "*.b.example"),
		}, Query{URL: "a.b.example"}, []string{
			"http_re: matched",
			"http_wild: order: less specific than http_re: the expression /a/.b.example comes before the wildcard *.b.example",
		}},
		{"paths", []*route.Entrypoint{
			entrypoint(t, "http_exact", "h.example", exact("/x/y")), entrypoint(t, "http_regex", "h.example", regex("/x/.*")),
			entrypoint(t, "http_root", "h.example"), entrypoint(t, "http_other", "h.example", exact("/x")),
			entrypoint(t, "http_re2", "h.example", regex("/x")),
		}, Query{URL: "h.example/x/y"}, []string{
			"http_exact: matched",
			"http_other: path: path /x/y is not exactly /x",
			"http_regex: order: less specific than http_exact: exact path rules come before regex ones",
			"http_re2: path: path /x/y does not match /x: the expression must match the whole path",
			"http_root: order: less specific than http_exact: exact path rules come before prefix ones",
		}},
		{"prefixes", []*route.Entrypoint{
			entrypoint(t, "http_long", "h.example", prefix("/api/v1")), entrypoint(t, "http_short", "h.example", prefix("/api")),
			entrypoint(t, "http_not", "h.example", prefix("/api/v1/us")), entrypoint(t, "http_far", "h.example", prefix("/b")),
		}, Query{URL: "h.example/api/v1/users"}, []string{
			"http_not: path: path /api/v1/users is not under /api/v1/us: prefixes end at a segment",
			"http_long: matched",
			"http_short: order: less specific than http_long: /api/v1 is longer than /api",
			"http_far: path: path /api/v1/users is not under /b",
		}},
		{"conditions", []*route.Entrypoint{
			entrypoint(t, "http_win", "h.example", header("X-A", "1"), query("q", "")),
			entrypoint(t, "http_less", "h.example", header("x-a", "")),
			entrypoint(t, "http_value", "h.example", header("x-a", "2"), methods("GET"), query("q", "")),
			entrypoint(t, "http_missing", "h.example", header("x-b", "2"), claimed(1)),
			entrypoint(t, "http_query", "h.example", query("q", "2"), claimed(2)),
			entrypoint(t, "http_noquery", "h.example", query("r", "2"), claimed(3)),
			entrypoint(t, "http_method", "h.example", methods("PATCH", "PUT"), claimed(4)),
			entrypoint(t, "http_client", "h.example", clients("10.0.0.0/8"), claimed(5)),
			entrypoint(t, "http_nobody", "h.example", nobody, claimed(6)),
		}, Query{URL: "h.example?q=1", Headers: map[string][]string{"x-A": {" 1 "}}}, []string{
			"http_value: header: header x-a has another value than the rule asks for",
			"http_win: matched",
			"http_less: order: fewer conditions than http_win: 1 against 2",
			"http_missing: header: header x-b is missing",
			"http_query: query: query parameter q has another value than the rule asks for",
			"http_noquery: query: query parameter r is missing",
			"http_method: method: method GET is not one of PATCH, PUT",
			"http_client: client_ip: the route is for certain clients only, and no client address was given",
			"http_nobody: client_ip: matchClientIP holds nothing valid, so the route applies to nobody (E112)",
		}},
		{"equals", []*route.Entrypoint{
			entrypoint(t, "http_live", "h.example", claimed(3)), entrypoint(t, "http_gone", "h.example", retained()),
			entrypoint(t, "http_young", "h.example", claimed(4)), entrypoint(t, "http_zlast", "h.example", claimed(3)),
		}, Query{URL: "h.example"}, []string{
			"http_live: matched",
			"http_zlast: order: http_live takes the same requests, its claim is as old, and its id comes first",
			"http_young: order: http_live takes the same requests and its claim is older",
			"http_gone: order: http_live has equal rules and a backend; this one has none at present",
		}},
		{"client", []*route.Entrypoint{
			entrypoint(t, "http_a", "h.example", clients("10.0.0.0/8")),
		}, Query{URL: "h.example", ClientIP: netip.MustParseAddr("192.0.2.1")}, []string{
			"http_a: client_ip: client 192.0.2.1 is not in 10.0.0.0/8",
		}},
	}
	for _, tt := range tests {
		got := Resolve(offline(tt.list...), tt.q)
		if v := verdicts(&got); !slices.Equal(v, tt.want) {
			t.Errorf("%s: got\n  %s\nwant\n  %s", tt.name, strings.Join(v, "\n  "), strings.Join(tt.want, "\n  "))
		}
		for i, c := range got.Candidates {
			if c.Rank != i+1 {
				t.Errorf("%s: rank %d at %d", tt.name, c.Rank, i)
			}
		}
	}
}

func TestResolveSuggests(t *testing.T) {
	v := offline(
		entrypoint(t, "http_app", "app.example.com"), entrypoint(t, "http_wild", "*.sub.example.org"),
		entrypoint(t, "http_cdn", "/cdn[0-9]/.example.net"), entrypoint(t, "http_www", "www.example.de"),
		entrypoint(t, "http_paths", "paths.example.com", prefix("/one")),
	)
	for url, want := range map[string]string{
		"ap.example.com":       "did you mean app.example.com (http_app)?",
		"papp.example.com":     "did you mean app.example.com (http_app)?",
		"www.app.example.com":  "app.example.com is routed, www.app.example.com is not: add it to the host label of http_app",
		"example.de":           "www.example.de is routed, example.de is not: add it to the host label of http_www",
		"sub.example.org":      "*.sub.example.org does not take the apex: add sub.example.org to the host label of http_wild",
		"a.b.sub.example.org":  "*.sub.example.org takes one label only: **.sub.example.org in the host label of http_wild takes any number",
		"a.sbu.example.org":    "did you mean *.sub.example.org (http_wild)?",
		"somewhere.else":       "no known host is near somewhere.else; `fairlead route list` shows all",
		"paths.example.com/tw": "http_paths takes Prefix /one: path /tw is not under /one",
	} {
		got := Resolve(v, Query{URL: url})
		if got.Outcome != OutcomeNoRoute || *got.Status != 404 || *got.Reason != route.ReasonNoRoute || got.Entrypoint != nil || got.ExitCode() != ExitNoRoute {
			t.Errorf("%s: %+v", url, got)
		}
		if len(got.Suggestions) == 0 || got.Suggestions[0] != want {
			t.Errorf("%s: %q, want %q", url, got.Suggestions, want)
		}
	}
	got := Resolve(v, Query{URL: "a.b.sub.example.org"})
	if v := verdicts(&got); len(v) != 1 || v[0] != "http_wild: host: *.sub.example.org takes one label, a.b.sub.example.org has 2 before the suffix: **.sub.example.org takes any number" {
		t.Errorf("%q", v)
	}
	got = Resolve(shop(t), Query{URL: "ap.exmaple.com"})
	if want := "did you mean app.example.com (http_admin, http_api, http_canary, http_exact, http_late)?"; got.Suggestions[0] != want {
		t.Errorf("%q", got.Suggestions)
	}
	got = Resolve(v, Query{URL: "sub.example.org"})
	if v := verdicts(&got); len(v) != 1 || !strings.Contains(v[0], "never takes the apex") {
		t.Errorf("%q", v)
	}
	got = Resolve(v, Query{URL: "a.sbu.example.org"})
	if v := verdicts(&got); len(v) != 1 || !strings.Contains(v[0], "does not end with .sub.example.org") {
		t.Errorf("%q", v)
	}
}

func TestResolveWithoutAnyRoute(t *testing.T) {
	v := Offline(route.Snapshot{
		Provider: "docker", Rejected: []route.Rejected{{CandidateID: "c1"}},
		Status: route.ProviderStatus{LastError: "permission denied", Hint: "add the user to the docker group"},
	}, route.Snapshot{Provider: "file", Status: route.ProviderStatus{LastError: "no such file"}})
	got := Resolve(v, Query{URL: "app.example.com"})
	want := []string{
		"provider docker: permission denied (add the user to the docker group)", "provider file: no such file",
		"1 candidates are not routed; `fairlead validate` says why",
	}
	if !slices.Equal(got.Suggestions, want) || !strings.HasPrefix(got.Explain, "There are no routes at all") {
		t.Errorf("%q, %s", got.Suggestions, got.Explain)
	}
}

func TestResolveShowsThePickWithoutTakingATurn(t *testing.T) {
	three := func(algo route.LoadBalancer) option {
		return func(e *route.Entrypoint) {
			e.Options.LoadBalancer = algo
			e.Backends = []route.Backend{backend(1), backend(2), backend(3)}
		}
	}
	picks := func(r *Resolution) (ids []string) {
		for _, b := range r.Rotation {
			if b.WouldPick {
				ids = append(ids, b.Backend)
			}
		}
		return ids
	}
	v := offline(entrypoint(t, "http_a", "a.example", three(route.RoundRobin)))
	r := v.Table.Route("http_a")
	for _, want := range []string{"b1", "b2", "b3", "b1"} {
		for range 2 {
			got := Resolve(v, Query{URL: "a.example"})
			if p := picks(&got); !slices.Equal(p, []string{want}) {
				t.Errorf("%v, want %s", p, want)
			}
		}
		if p, _ := Pick(r.Cell.Load(), r.Cell, route.RoundRobin, nil); p.Placement.Backend.ID != want {
			t.Errorf("picked %s, want %s", p.Placement.Backend.ID, want)
		}
	}
	for _, algo := range []route.LoadBalancer{route.Random, route.PowerOfTwo} {
		got := Resolve(offline(entrypoint(t, "http_a", "a.example", three(algo))), Query{URL: "a.example"})
		if len(picks(&got)) != 3 || !strings.Contains(got.Explain, "any of 3 backends") {
			t.Errorf("%s: %v, %s", algo, picks(&got), got.Explain)
		}
	}
}

func TestResolveExitCodes(t *testing.T) {
	unchecked, gated, unset := backend(1), backend(1), backend(1)
	unchecked.Check, unset.Check, unset.Scheme = nil, nil, ""
	gated.Provider = route.ProviderUnhealthy
	for name, tt := range map[string]struct {
		options []option
		want    int
		explain string
	}{
		"verified":     {[]option{backends(unchecked)}, ExitServed, "http_a takes it; the next backend is app-1 (10.0.0.1:80)."},
		"plain scheme": {[]option{backends(unset)}, ExitServed, "next backend"},
		"pending":      {nil, ExitUnverified, "next backend"},
		"gated":        {[]option{backends(gated)}, ExitUnverified, "answers 503 docker_unhealthy"},
		"retained":     {[]option{retained()}, ExitUnverified, "answers 503 retained"},
		"none":         {[]option{backends()}, ExitUnverified, "answers 503 no_backends"},
		"closed":       {[]option{backends(unchecked), failClosed()}, ExitUnverified, "answers 503 misconfigured_protection"},
	} {
		got := Resolve(offline(entrypoint(t, "http_a", "a.example", tt.options...)), Query{URL: "a.example"})
		if code := got.ExitCode(); code != tt.want || !strings.Contains(got.Explain, tt.explain) {
			t.Errorf("%s: exit %d, %q", name, code, got.Explain)
		}
	}
}

func TestResolveSaysThatPanicServes(t *testing.T) {
	v := offline(entrypoint(t, "http_a", "a.example"))
	cell := v.Table.Route("http_a").Cell
	rot := *cell.Load()
	rot.Panic = true
	cell.Store(&rot)
	v.Entrypoints[0].Health.Backends[0].State = route.StateDown
	got := Resolve(v, Query{URL: "a.example"})
	if got.Outcome != OutcomeServed || got.ExitCode() != ExitUnverified || !strings.Contains(got.Explain, "(panic)") {
		t.Errorf("%+v", got)
	}
	// A rotation that emptied after the view was made.
	cell.Store(route.NewRotation(2, route.TierNone, nil))
	v.Entrypoints[0].Health.Reason = route.ReasonNone
	if got := Resolve(v, Query{URL: "a.example"}); *got.Reason != route.ReasonNoBackends {
		t.Errorf("%+v", got)
	}
	v.Entrypoints = nil
	if got := Resolve(v, Query{URL: "a.example"}); got.Outcome != OutcomeUnavailable {
		t.Errorf("%+v", got)
	}
}
