package label

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

// TestSecretInANameNeverShows puts a canary behind a key, into the name of the label
// itself, as "name: value" in a list of labels does.
func TestSecretInANameNeverShows(t *testing.T) {
	fronts := []string{"sozune.http.web.", "sozune.tcp.db.", "SOZUNE.Http.web.", "sozune.htpp.web.", "sozune.web.", "sozune.http.", "sozune.", "sozune.http.nohost."}
	keys := []string{"", "auth.basic", "forwardAuth.address", "headers.X-A", "healthCheck.headers.X-A", "auth.basci", "headrs.X-A", "nonsense", "plugins.p.k", "errorPages.503"}
	odd := len(keys) // of these in places that hold no key, too
	for _, k := range Keys() {
		keys = append(keys, writing.Replace(k.Name))
	}
	for i, key := range keys {
		for _, joint := range []string{": ", ":", " : ", " ", "=", "$2y$05$", "@", "/", "?", "\n", "\"", ": user:", ": Bearer ", ": http://u:p@", ": /x?a=", ": a.host"} {
			if strings.HasPrefix(joint, "$") && strings.Contains(key, "eaders.") {
				continue // the name of a header may hold it
			}
			labels := map[string]string{"sozune.enable": "true", "sozune.http.web.host": "a.b"}
			for n, front := range fronts {
				if i >= odd && n > 1 {
					break
				}
				if front+key == "sozune." {
					continue // another prefix
				}
				name := strings.TrimSuffix(front+key, ".") + joint + canary
				labels[name], labels[name+"2"] = "", "="
				if shown := ShownName(testConfig(), name); strings.Contains(shown, canary) {
					t.Errorf("%q is shown as %q", name, shown)
				}
			}
			if shown := allOf(t, labels); strings.Contains(shown, canary) {
				t.Errorf("%q and %q: %s", key, joint, shown)
			}
		}
	}
}

// allOf is all that a container's labels amount to, and the entrypoints.
func allOf(t *testing.T, labels map[string]string) string {
	t.Helper()
	p := parseLabels(t, labels)
	out := Group([]Input{{Candidate: Candidate{ID: "c0ffee0123456789", Name: "web"}, Parsed: p, Presence: Present}}, nil)
	text, err := json.Marshal([]any{p, out.Entrypoints, out.Candidates, out.Rejected})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLabelWrittenAsNameAndValue: the finding says how to write it, a protection closes
// the route all the same, and the label is never taken for the one that was meant.
func TestLabelWrittenAsNameAndValue(t *testing.T) {
	for written, want := range map[string]struct{ code, label, hint string }{
		"auth.basic: admin:x":            {"E104", "auth.basic: ***", "auth.basic=VALUE"},
		"ipAllowList: 10.0.0.0/8":        {"E104", "ipAllowList: ***", "ipAllowList=VALUE"},
		"forwardAuth.address: http://u@": {"E104", "forwardAuth.address: ***", "forwardAuth.address=VALUE"},
		"matchClientIP: 10.0.0.1":        {"E112", "matchClientIP: ***", "matchClientIP=VALUE"},
		"matchQuery: token":              {"W013", "matchQuery: ***", "matchQuery=VALUE"},
		"headers.X-Key: k":               {"W008", "headers.X-Key: ***", "headers.X-Key=VALUE"},
		"healthCheck.headers.X-Key: k.a": {"W021", "healthCheck.headers.X-Key: ***", "healthCheck.headers.X-Key=VALUE"},
		"port:":                          {"W013", "port:", "port=VALUE"},
		"auth.basci: x":                  {"E104", "auth.basci: ***", "did you mean auth.basic?"},
		"my auth.basic":                  {"E104", "my ***", "did you mean"},
		"match ClientIP":                 {"E112", "match ***", "did you mean matchClientIP?"},
	} {
		d, _ := web(t, map[string]string{"healthCheck.path": "/", written: ""})
		i := slices.IndexFunc(d.Diagnostics, func(f route.Diagnostic) bool { return f.Label == "sozune.http.web."+want.label })
		if i < 0 || d.Diagnostics[i].Code != want.code || !strings.Contains(d.Diagnostics[i].Hint, want.hint) {
			t.Errorf("%s: %+v", written, d.Diagnostics)
			continue
		}
		if strings.Contains(written, ":") != strings.Contains(d.Diagnostics[i].Message, `written "name: value" where "name=value" is needed`) {
			t.Errorf("%s: %s", written, d.Diagnostics[i].Message)
		}
		if (want.code == "E104") != (d.FailClosed != nil) || (want.code == "E112") != d.Match.ClientNobody || d.Backend.Port != 0 || len(d.Options.Headers) > 0 {
			t.Errorf("%s: closed %v, nobody %t, %+v", written, d.FailClosed, d.Match.ClientNobody, d.Options)
		}
	}
}

// TestEnableWrittenAsNameAndValue enables nothing, and the reason names the right label.
func TestEnableWrittenAsNameAndValue(t *testing.T) {
	p := parseLabels(t, map[string]string{"sozune.enable: true": "", "sozune.http.web.host": "a.b"})
	if p.Enabled || p.Rejected == nil || p.Rejected.Hint != "did you mean sozune.enable=true?" {
		t.Errorf("%+v", p.Rejected)
	}
}

// TestStrayWrittenAsNameAndValue: a label that belongs to no service closes the route it
// was meant for, with and without a value in its name.
func TestStrayWrittenAsNameAndValue(t *testing.T) {
	for _, name := range []string{
		"sozune.auth.basic: a:b", "sozune.web.auth.basic: a:b", "sozune.htpp.web.auth.basic: a:b", "sozune.http.ipAllowList: 10.0.0.0/8", "sozune.auth: x",
		"sozune.http.auth: x", "sozune.htpp.web.my auth.basic",
	} {
		p := parseLabels(t, map[string]string{"sozune.enable": "true", "sozune.http.web.host": "a.b", name: ""})
		without := parseLabels(t, map[string]string{"sozune.enable": "true", "sozune.http.web.host": "a.b", strings.Split(name, ":")[0]: ""})
		if got, want := p.Declarations[0].FailClosed != nil, without.Declarations[0].FailClosed != nil; got != want {
			t.Errorf("%s: closed %t, without its value %t", name, got, want)
		}
	}
}

func TestShownName(t *testing.T) {
	long := "sozune.http.web.host" + strings.Repeat(" ", 3)
	for name, want := range map[string]string{
		"sozune.http.web.auth.basic": "sozune.http.web.auth.basic", "sozune.http.web.auth.basic: x": "sozune.http.web.auth.basic: ***",
		"sozune.http.web.auth.basic=x": "sozune.http.web.auth.basic=***", "sozune.http.my web.host": "sozune.http.my web.host",
		"sozune.http.my web.ho: s": "sozune.http.my ***", "sozune.http.w:1.host": "sozune.http.w:1.host", "sozune.http.w: 1.host": "sozune.http.w: ***",
		"sozune.http.wéb.hôst": "sozune.http.wéb.hôst", "sozune.http.web.headers.X_$!": "sozune.http.web.headers.X_$!", long: long, "sozune": "sozune", "sozune.": "sozune.",
		"traefik.http/a-b": "traefik.http/a-b", "other.auth: x": "other.auth: ***", "other.auth$x": "other.auth***", "": "",
	} {
		if got := ShownName(testConfig(), name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}
