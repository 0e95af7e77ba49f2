package router

import (
	"slices"
	"testing"

	"fairlead/router/route"
)

// TestResolveNamesWhoDeclaresTheHost before any host that is only near, the most exact
// pattern first.
func TestResolveNamesWhoDeclaresTheHost(t *testing.T) {
	hosts := func(texts ...string) (list []route.HostPattern) {
		for _, text := range texts {
			h, err := route.ParseHostPattern(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, h)
		}
		return list
	}
	const enable = "add the label sozune.enable=true"
	unrouted := []route.Unrouted{
		{What: "container any", Hosts: hosts("**.wild.localhost"), Code: "E001", Hint: enable, Reason: "not enabled"},
		{What: "container app", Hosts: hosts("a.localhost", "app.localhost", "x.wild.localhost", "x.wild.localhost"), Code: "E001", Hint: enable, Reason: "not enabled"},
		{What: "container run", Hosts: hosts("/job[0-9]+/.localhost"), Reason: "ignored: one-off", Hint: "use up"},
		{What: "service bad of container b", Hosts: hosts("bare.localhost"), Code: "E109", Reason: "bad path"},
	}
	v := Offline(
		route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{entrypoint(t, "http_ap", "ap.localhost"), entrypoint(t, "http_b", "bare.localhost", prefix("/b"))}, Unrouted: unrouted[:2]},
		route.Snapshot{Provider: "file", Unrouted: unrouted[2:]},
	)
	const app = "container app declares this host and is not routed: E001, " + enable
	for url, want := range map[string][]string{
		"app.localhost":    {app, "did you mean ap.localhost (http_ap)?"},
		"x.wild.localhost": {app, "container any declares this host and is not routed: E001, " + enable},
		"job7.localhost":   {"container run declares this host and is not routed: ignored: one-off, use up"},
		"bare.localhost/":  {"service bad of container b declares this host and is not routed: E109, bad path", "http_b takes Prefix /b: path / is not under /b"},
		"other.example":    {"no known host is near other.example; `fairlead route list` shows all"},
	} {
		if got := Resolve(v, Query{URL: url}); *got.Status != 404 || !slices.Equal(got.Suggestions, want) {
			t.Errorf("%s:\n got %q\nwant %q", url, got.Suggestions, want)
		}
	}
	v = Offline(route.Snapshot{Provider: "docker", Unrouted: unrouted})
	if got := Resolve(v, Query{URL: "app.localhost"}); !slices.Equal(got.Suggestions, []string{app}) {
		t.Errorf("without any route: %q", got.Suggestions)
	}
}
