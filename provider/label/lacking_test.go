package label

import (
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

// TestHintsSayWhatThisVersionLacks: a correction that only leads to the next finding is no
// fix, so the hint says so at once. Each case is followed until nothing is left to say.
func TestHintsSayWhatThisVersionLacks(t *testing.T) {
	for label, c := range map[string]struct {
		value, code string
		want        []string
	}{
		"auth.basc":        {"a:b", "E104", []string{"did you mean auth.basic?", "cannot enforce it (E113)"}},
		"ipAlowList":       {"10.0.0.0/8", "E104", []string{"did you mean ipAllowList?", "cannot enforce it (E113)"}},
		"basic-auth":       {"x", "E104", []string{"auth.basic, auth.basicFile", "cannot enforce it (E113)"}},
		"ipAllowList":      {"nobody", "E104", []string{"set sozune", "cannot enforce it (E113)"}},
		"forwardAuth.addr": {"x", "E104", []string{"forwardAuth.address?", "cannot enforce"}},
		"inFlightReq":      {"x", "W025", []string{"set sozune", "closes the route (E113)"}},
		"ratelimit.averag": {"5", "W013", []string{"ratelimit.average", "Not in this version: ratelimit.average (E113)"}},
		"compres":          {"true", "W013", []string{"did you mean compress? Not in this version: compress (I104)"}},
		"wieght":           {"3", "W013", []string{"did you mean weight?"}},
	} {
		p := Parse(Config{}, Candidate{Labels: map[string]string{
			"sozune.enable": "true", "sozune.http.a.host": "a.localhost", "sozune.http.a." + label: c.value,
		}})
		i := slices.IndexFunc(p.Diagnostics, func(d route.Diagnostic) bool { return d.Code == c.code })
		if i < 0 {
			t.Errorf("%s: no %s in %+v", label, c.code, p.Diagnostics)
			continue
		}
		hint := p.Diagnostics[i].Hint
		for _, want := range c.want {
			if !strings.Contains(hint, want) {
				t.Errorf("%s: no %q in %q", label, want, hint)
			}
		}
		if lacks := strings.Contains(hint, "this version") || strings.Contains(hint, "This version"); lacks == (label == "wieght") {
			t.Errorf("%s: %q", label, hint)
		}
	}
}

// TestStreamsAskForNothing where no listener can be declared: no correction routes them.
func TestStreamsAskForNothing(t *testing.T) {
	for _, labels := range []map[string]string{
		{"sozune.tcp.db.port": "5432"},
		{"sozune.tcp.db.entrypoint": "postgres", "sozune.tcp.db.port": "5432"},
		{"sozune.udp.db.entrypoint": "dns", "sozune.udp.db.port": "53"},
	} {
		labels["sozune.enable"] = "true"
		in := Input{Candidate: Candidate{ID: "c1", Name: "c1", Labels: labels}, Presence: Present}
		in.Parsed = Parse(Config{}, in.Candidate)
		out := Group([]Input{in}, nil)
		if len(in.Parsed.Diagnostics) != 1 || in.Parsed.Diagnostics[0].Code != "I104" || len(out.Rejected) != 1 || out.Rejected[0].Code != "I104" {
			t.Errorf("%v: %+v, %+v", labels, in.Parsed.Diagnostics, out.Rejected)
		}
	}
}
