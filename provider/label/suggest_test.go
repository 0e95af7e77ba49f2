package label

import (
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

// TestDidYouMean is rule 5.
func TestDidYouMean(t *testing.T) {
	tests := []struct {
		unknown string
		want    string // the suggestions, "" for none
	}{
		{"timout", "dialTimeout, backendTimeout, drain.timeout"},
		{"Timeot", "dialTimeout, backendTimeout, drain.timeout"},
		{"hots", "host, healthCheck.host, headers.both.<Name>"},
		{"hsot", "host, healthCheck.host"},
		{"healthCheck.timout", "healthCheck.timeout"},
		{"helthchek.intervl", "healthCheck.interval"},
		{"interval", "fast, down"},
		{"stripprefx", "stripPrefix"},
		{"treshold", "panicThreshold, circuitBreaker.threshold, healthCheck.healthyThreshold"},
		{"header.X-A", "headers.<Name>"},
		{"headers.reponse.X-A", "headers.response.<Name>"},
		{"healthcheck.header.X-A", "healthCheck.headers.<Name>"},
		{"plugin.a.b", "plugins.<name>.<key>"},
		{"errorpage.404", "errorPages.<code>"},
		{"auth.basci", "auth.basic"},
		{"ipAlowList", "ipAllowList"},
		{"forwardauth.adress", "forwardAuth.address"},
		{"dockerHelth", "dockerHealth"},
		{"zzzzzz", ""},
		{"x", ""},
		{"", ""},
		{strings.Repeat("timout", 5000), ""},
		{strings.Repeat(".", 5000), ""},
	}
	for _, tt := range tests {
		got := strings.Join(names(keysOf(catalog.nearest(route.HTTP, tt.unknown))), ", ")
		if tt.unknown == "interval" {
			// Seven keys end in Interval; which three is a matter of length.
			if !strings.Contains(got, "healthCheck.interval") {
				t.Errorf("%q suggests %s", tt.unknown, got)
			}
			continue
		}
		if got != tt.want && (tt.unknown != "hsot" || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%q suggests %q, want %q", tt.unknown, got, tt.want)
		}
	}
}

// TestNoKeySuggestsItself guards the index: every known key is found, in any case.
func TestNoKeySuggestsItself(t *testing.T) {
	for _, k := range Keys() {
		for _, p := range append(slices.Clone(k.Protocols), "") {
			if (p == "") != (len(k.Protocols) == 0) {
				continue
			}
			name := writing.Replace(k.Name)
			for _, written := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
				if found, _ := catalog.find(p, written); found == nil || found.Name != k.Name {
					t.Errorf("%s: %q is found as %v", p, written, found)
				}
			}
		}
	}
	for _, unknown := range []string{"headers.", "headers.response.", "headers.a.b", "plugins.a", "plugins.a.b.c", "errorpages.", "healthcheck.headers.", "ho\u017ft", "\u212aey"} {
		if k, _ := catalog.find(route.HTTP, unknown); k != nil {
			t.Errorf("%q is taken for %s", unknown, k.Name)
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "a", 0}, {"a", "b", 1}, {"ab", "ba", 1}, {"basci", "basic", 1}, {"timout", "timeout", 1},
		{"abc", "ca", 3}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}, {"", "ab", 2}, {"", "abc", 3}, {"abcdef", "uvwxyz", 3},
	}
	for _, tt := range tests {
		for _, got := range []int{distance(tt.a, tt.b, 2), distance(tt.b, tt.a, 2)} {
			if got != tt.want {
				t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
			}
		}
	}
}

// TestWhatClosesARoute tells misspelt protections from other mistakes: a protection
// must never be lost, and an ordinary typo must not take a route down.
func TestWhatClosesARoute(t *testing.T) {
	closing := []string{
		"auth.basci", "auth.basicfile2", "auth", "auth.", "AUTH.Basic ", "auht.basic", "aut.basic", "auth.user", "auth-basic", "basicAuth",
		"basic_auth", "digestAuth.users", "forwardauth", "forwardauth.adress", "forward-auth.url", "fowardAuth.address", "forwrdAuth.x",
		"ipAlowList", "ipallowlst", "ip-allow-list", "allowList", "ipWhiteList", "whitelist", "denylist", "ipAllowList.sourceRange", "basic",
	}
	for _, key := range closing {
		d, _ := web(t, map[string]string{key: "x"})
		if d.FailClosed == nil || d.FailClosed.Code != "E104" {
			t.Errorf("%s leaves the route open", key)
		}
	}
	harmless := []string{
		"timout", "pth", "path.x", "hots", "prot", "wwwAuthentcate", "wwwauthenticate2", "ratelimit.averge", "inFlightRq", "matchHeadrs",
		"healthcheck.pth", "compres", "tsl", "rule", "middlewares", "hostname", "loadbalancer.server.port", "list", "user",
	}
	for _, key := range harmless {
		d, list := web(t, map[string]string{key: "x"})
		if d.FailClosed != nil || d.Match.ClientNobody || d.Refused != "" {
			t.Errorf("%s closes the route", key)
		}
		if !slices.Contains(codesOf(list), "W013") {
			t.Errorf("%s: no W013 among %v", key, codesOf(list))
		}
	}
	for _, key := range []string{"matchClinetIP", "matchClientIPs", "clientIP", "matchclient-ip"} {
		if d, _ := web(t, map[string]string{key: "10.0.0.0/8"}); !d.Match.ClientNobody || d.FailClosed != nil {
			t.Errorf("%s does not restrict", key)
		}
	}
}

// TestStrayProtections: a protection in a label that belongs to no service closes
// the route it was meant for, and no other.
func TestStrayProtections(t *testing.T) {
	tests := map[string]string{ // label -> services that are closed
		"sozune.htpp.web.auth.basic":     "web",
		"sozune.htpp.WEB.auth.basci":     "web",
		"sozune.web.auth.basic":          "web",
		"sozune.web.ipAllowList":         "web",
		"sozune.web.ipAlowList":          "web",
		"sozune.http.ipAllowList":        "api web",
		"sozune.http..auth.basic":        "api web",
		"sozune.ipAllowList":             "api web",
		"sozune.ipWhiteList":             "api web",
		"sozune.htpp.other.auth.basic":   "",
		"sozune.other.auth.basic":        "",
		"sozune.http.we b.auth.basic":    "",
		"sozune.htpp.web.port":           "",
		"sozune.htpp.web.whatever":       "",
		"sozune.http.web":                "",
		"sozune.http":                    "",
		"sozune.whatever":                "",
		"sozune.http.ratelimit":          "",
		"sozune.http.inFlightReq":        "api web",
		"sozune.http.auth.basic":         "",
		"sozune.tcp.web.ipAllowList":     "",
		"sozune.http.authentik.address":  "",
		"sozune.http.ap.auth.basic":      "api", // services without a host, whose name is nearly that of another
		"sozune.http.wbe.ipAllowList":    "web",
		"sozune.http.Web.auth.basicFile": "web",
		"sozune.http.apis.auth.basci":    "api",
		"sozune.http.db.auth.basic":      "",
		"sozune.http.ap.port":            "",
		"sozune.http.ap.matchClientIP":   "",
	}
	for label, want := range tests {
		p := parseLabels(t, map[string]string{
			"sozune.enable": "true", "sozune.http.web.host": "a.b", "sozune.http.api.host": "c.d", label: "x",
		})
		var closed []string
		for _, d := range p.Declarations {
			if d.FailClosed != nil && d.Refused == "" {
				closed = append(closed, d.Service)
			}
		}
		if got := strings.Join(closed, " "); got != want {
			t.Errorf("%s closes %q, want %q", label, got, want)
		}
		if !slices.ContainsFunc(p.Diagnostics, func(d route.Diagnostic) bool { return strings.HasPrefix(d.Label, label) }) {
			t.Errorf("%s: no diagnostic names it: %v", label, p.Diagnostics)
		}
	}
}
