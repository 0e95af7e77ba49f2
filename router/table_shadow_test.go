package router

import (
	"fmt"
	"strings"
	"testing"

	"fairlead/router/route"
)

func TestShadowedRoutesAreNamedOnBothSides(t *testing.T) {
	table := build(
		entrypoint(t, "http_old", "a.example,b.example", prefix("/x/")),
		entrypoint(t, "http_new", "a.example,b.example", prefix("/x"), claimed(1)),
		entrypoint(t, "http_part", "a.example,c.example", prefix("/x"), claimed(2)),
		entrypoint(t, "http_post", "a.example", prefix("/x"), methods("POST")),
		entrypoint(t, "http_other", "a.example", prefix("/y")),
		entrypoint(t, "http_higher", "b.example", prefix("/x"), priority(1)),
		entrypoint(t, "http_nobody", "a.example", prefix("/x"), func(e *route.Entrypoint) { e.Match.ClientNobody = true }),
		entrypoint(t, "http_nobody2", "a.example", prefix("/x"), func(e *route.Entrypoint) { e.Match.ClientNobody = true }),
		entrypoint(t, "http_re", "a.example", regex("/x"), claimed(1)),
		entrypoint(t, "http_re2", "a.example", regex("/x"), claimed(2)),
		entrypoint(t, "http_re3", "a.example", regex("/y"), claimed(2)),
	)
	for id, want := range map[string]struct {
		by    string
		texts []string
	}{
		"http_old":    {"", []string{"takes the requests of http_new, http_part for a.example, b.example Prefix /x"}},
		"http_new":    {"http_old", []string{"http_old takes the requests for a.example, b.example Prefix /x with the same rules: its claim is older"}},
		"http_part":   {"", []string{"http_old takes the requests for a.example Prefix /x"}},
		"http_post":   {},
		"http_other":  {},
		"http_higher": {}, "http_nobody": {}, "http_nobody2": {}, "http_re3": {},
		"http_re":  {"", []string{"takes the requests of http_re2"}},
		"http_re2": {"http_re", []string{"its claim is older"}},
	} {
		if got := table.ShadowedBy(id); got != want.by {
			t.Errorf("%s: shadowed by %q, want %q", id, got, want.by)
		}
		found := table.Diagnostics(id)
		if len(found) != len(want.texts) {
			t.Errorf("%s: %v", id, found)
			continue
		}
		for i, text := range want.texts {
			if found[i].Code != "W018" || !strings.Contains(found[i].Message, text) || found[i].Hint == "" {
				t.Errorf("%s: %+v, want %q", id, found[i], text)
			}
		}
	}
}

func TestShadowReasons(t *testing.T) {
	for _, tt := range []struct {
		winner, loser *route.Entrypoint
		why           string
	}{
		{entrypoint(t, "http_live", "a.example", claimed(1)), entrypoint(t, "http_gone", "a.example", retained()), "it has a backend"},
		{entrypoint(t, "http_a", "a.example"), entrypoint(t, "http_b", "a.example"), "its id comes first"},
	} {
		table := build(tt.loser, tt.winner)
		if got := table.ShadowedBy(tt.loser.ID); got != tt.winner.ID {
			t.Errorf("%s: shadowed by %q", tt.loser.ID, got)
		}
		if d := table.Diagnostics(tt.loser.ID); len(d) != 1 || !strings.Contains(d[0].Message, tt.why) {
			t.Errorf("%s: %v", tt.loser.ID, d)
		}
	}
}

func TestManyShadowsAreCounted(t *testing.T) {
	list := make([]*route.Entrypoint, 9)
	for i := range list {
		list[i] = entrypoint(t, fmt.Sprintf("http_%d", i), "a.example", claimed(i))
	}
	if d := build(list...).Diagnostics("http_0"); len(d) != 1 || !strings.Contains(d[0].Message, "http_5 and 3 more") {
		t.Errorf("%v", d)
	}
}

func TestRulesThatCannotMatchAreSaid(t *testing.T) {
	table := build(
		entrypoint(t, "http_path", "a.example", prefix("/a/..;/b")),
		entrypoint(t, "http_regex", "a.example", regex("(")),
		entrypoint(t, "http_host", "a.example", func(e *route.Entrypoint) {
			e.Match.Hosts = append(e.Match.Hosts, route.HostPattern{Kind: route.HostRegex, Text: "/(/.x"},
				route.HostPattern{Kind: route.HostRegex, Text: "/a"})
		}),
		entrypoint(t, "http_tcp", "a.example", prefix("/tcp"), func(e *route.Entrypoint) { e.Protocol = route.TCP }),
	)
	for _, id := range []string{"http_path", "http_regex", "http_host"} {
		if d := table.Diagnostics(id); len(d) != 1 || d[0].Code != "E109" {
			t.Errorf("%s: %v", id, d)
		}
	}
	if got := idOf(table.Match(get("a.example", "/a"))); got != "http_host" {
		t.Errorf("the good host of a broken list: %q", got)
	}
	if table.Route("http_tcp") != nil {
		t.Error("a tcp entrypoint is in the HTTP table")
	}
}

func TestPriorityWithoutBackendTakesNothingFromLivingRoutes(t *testing.T) {
	for name, c := range map[string]struct {
		retained, living *route.Entrypoint
		want             string
	}{
		"equal rules": {
			entrypoint(t, "http_a", "a.b.example", priority(10)), entrypoint(t, "http_z", "a.b.example", claimed(9)), "http_z"},
		"equal rules, more conditions": {
			entrypoint(t, "http_a", "a.b.example", priority(10), methods("GET")), entrypoint(t, "http_z", "a.b.example", claimed(9)), "http_z"},
		"equal rules, living one of negative priority": {
			entrypoint(t, "http_a", "a.b.example"), entrypoint(t, "http_z", "a.b.example", priority(-5)), "http_z"},
		"any host": {
			entrypoint(t, "http_a", "*", priority(1000)), entrypoint(t, "http_z", "a.b.example", claimed(9)), "http_z"},
		"shorter prefix": {
			entrypoint(t, "http_a", "a.b.example", priority(1000)), entrypoint(t, "http_z", "a.b.example", prefix("/x"), claimed(9)), "http_z"},
		"against a wildcard": {
			entrypoint(t, "http_a", "a.b.example", priority(10)), entrypoint(t, "http_z", "*.b.example"), "http_a"},
		"against any host": {
			entrypoint(t, "http_a", "a.b.example"), entrypoint(t, "http_z", "*"), "http_a"},
		"against a shorter prefix": {
			entrypoint(t, "http_a", "a.b.example", prefix("/x")), entrypoint(t, "http_z", "a.b.example"), "http_a"},
		"against a fallback": {
			entrypoint(t, "http_a", "a.b.example"), entrypoint(t, "http_z", "*", priority(-5)), "http_a"},
	} {
		t.Run(name, func(t *testing.T) {
			retained()(c.retained)
			table := build(c.retained, c.living)
			if got := idOf(table.Match(get("a.b.example", "/x/y"))); got != c.want {
				t.Errorf("%s wins, want %s", got, c.want)
			}
			if c.retained.Match.Priority != c.living.Match.Priority && len(table.Diagnostics("http_z")) > 0 {
				t.Errorf("a passing state is reported: %v", table.Diagnostics("http_z"))
			}
		})
	}
}
