package label

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead/router/route"
)

func TestWhichContainers(t *testing.T) {
	host := map[string]string{"sozune.http.web.host": "a.b"}
	with := func(m map[string]string, kv ...string) map[string]string {
		m = maps.Clone(m)
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	tests := []struct {
		name     string
		labels   map[string]string
		expose   bool
		oneOff   bool
		enabled  bool
		rejected string
		network  string
	}{
		{name: "no labels"},
		{name: "no labels of ours", labels: map[string]string{"traefik.enable": "true", "sozun.enable": "true", "sozune": "x"}},
		{name: "no labels, exposed", expose: true},
		{name: "labels without enable", labels: host, rejected: "E001"},
		{name: "labels without enable, exposed", labels: host, expose: true, enabled: true},
		{name: "enabled", labels: with(host, "sozune.enable", " TRUE "), enabled: true},
		{name: "enabled in capitals", labels: with(host, "SOZUNE.Enable", "on"), enabled: true},
		{name: "disabled", labels: with(host, "sozune.enable", "off")},
		{name: "disabled, exposed", labels: with(host, "sozune.enable", "0"), expose: true},
		{name: "not a boolean", labels: with(host, "sozune.enable", "x"), rejected: "E001"},
		{name: "not a boolean, exposed", labels: with(host, "sozune.enable", "x"), expose: true, enabled: true},
		{name: "one-off", labels: with(host, "sozune.enable", "true"), oneOff: true, rejected: "ignored: one-off"},
		{name: "one-off without labels", oneOff: true},
		{name: "one-off, disabled", labels: with(host, "sozune.enable", "false"), oneOff: true},
		{name: "network", labels: with(host, "sozune.enable", "true", "sozune.NETWORK", "edge"), enabled: true, network: "edge"},
	}
	for _, tt := range tests {
		p := Parse(Config{ExposeByDefault: tt.expose}, Candidate{ID: "c1", Name: "n", Project: "p", Service: "s", Labels: tt.labels, OneOff: tt.oneOff})
		if p.Enabled != tt.enabled || p.Network != tt.network || (len(p.Declarations) > 0) != tt.enabled {
			t.Errorf("%s: enabled %v, network %q, %d declarations", tt.name, p.Enabled, p.Network, len(p.Declarations))
		}
		switch r := p.Rejected; {
		case r == nil && tt.rejected == "":
		case r == nil || r.Code != tt.rejected && r.Reason != tt.rejected || r.Hint == "" || r.CandidateID != "c1" || r.Project != "p":
			t.Errorf("%s: rejected %+v, want %q", tt.name, r, tt.rejected)
		}
	}
}

func TestPrefixIsASetting(t *testing.T) {
	labels := map[string]string{"Edge.Router.enable": "true", "edge.router.http.web.host": "a.b", "sozune.http.x.host": "c.d"}
	p := Parse(Config{Prefix: "edge.router"}, Candidate{Labels: labels})
	if !p.Enabled || len(p.Declarations) != 1 || p.Declarations[0].Service != "web" {
		t.Errorf("%+v", p)
	}
}

// TestOneContainerWithEveryLabelWrong is rule 3: neighbours in the same container
// are as they would be alone.
func TestOneContainerWithEveryLabelWrong(t *testing.T) {
	labels := map[string]string{"sozune.enable": "true", "sozune.http.good.host": "good.example.com", "sozune.http.good.port": "80"}
	alone := parseLabels(t, labels).Declarations[0]
	for name, s := range samples {
		for i, v := range append(s.bad, "\x00", strings.Repeat("x", 200_000)) {
			labels[fmt.Sprintf("sozune.http.bad%d.%s", i, writing.Replace(name))] = v
			labels[fmt.Sprintf("sozune.nonsense%d.%s", i, name)] = v
			labels[fmt.Sprintf("sozune.tcp.bad%d.%s", i, name)] = v
		}
	}
	p := parseLabels(t, labels)
	i := slices.IndexFunc(p.Declarations, func(d Declaration) bool { return d.Service == "good" })
	if diff := cmp.Diff(alone, p.Declarations[i], plain); diff != "" {
		t.Error(diff)
	}
	if len(p.Diagnostics) > maxDiagnostics+1 {
		t.Errorf("%d diagnostics", len(p.Diagnostics))
	}
}

// TestKeysAreCaseInsensitive is D33 of the field: whatever the case, the same result.
func TestKeysAreCaseInsensitive(t *testing.T) {
	labels := map[string]string{}
	for _, k := range Keys() {
		if s := samples[k.Name]; slices.Contains(k.Protocols, route.HTTP) && k.Available == Working && len(s.good) > 0 {
			labels["sozune.http.Web."+writing.Replace(k.Name)] = s.good[0]
		}
	}
	labels["sozune.enable"] = "true"
	upper := map[string]string{}
	for k, v := range labels {
		first, key, _ := strings.Cut(k, ".Web.")
		if key != "" {
			key = ".Web." + strings.ToUpper(key)
		}
		upper[strings.ToUpper(first)+key] = v
	}
	a, b := parseLabels(t, labels), parseLabels(t, upper)
	for i := range a.Declarations {
		a.Declarations[i].Diagnostics, b.Declarations[i].Diagnostics = nil, nil
	}
	if diff := cmp.Diff(a.Declarations, b.Declarations, plain, cmpopts.IgnoreFields(route.Origin{}, "Label")); diff != "" {
		t.Error(diff)
	}
}

func TestTooManyFindingsKeepErrors(t *testing.T) {
	labels := map[string]string{"sozune.enable": "true", "sozune.http.zz.port": "80"}
	for i := range 2000 {
		labels[fmt.Sprintf("sozune.http.web.nonsense%d", i)] = "x"
	}
	p := parseLabels(t, labels)
	codes := codesOf(p.Diagnostics)
	if len(codes) != maxDiagnostics+1 || strings.Count(strings.Join(codes, " "), "E002") != 2 {
		t.Errorf("%d diagnostics, %d of them E002", len(codes), strings.Count(strings.Join(codes, " "), "E002"))
	}
	if last := p.Diagnostics[len(codes)-1]; !strings.Contains(last.Message, "more findings") {
		t.Errorf("the last one is %+v", last)
	}
}

func TestListsAreBounded(t *testing.T) {
	many := func(n int, entry func(int) string) string {
		var out []string
		for i := range n {
			out = append(out, entry(i))
		}
		return strings.Join(out, ",")
	}
	d, list := web(t, map[string]string{
		"host":          many(1000, func(i int) string { return fmt.Sprintf("h%d.example.com", i) }),
		"matchClientIP": many(5000, func(i int) string { return fmt.Sprintf("10.0.%d.%d", i/250, i%250) }),
	})
	if len(d.Match.Hosts) != maxHosts || len(d.Match.ClientIPs) != maxNetworks {
		t.Errorf("%d hosts, %d networks", len(d.Match.Hosts), len(d.Match.ClientIPs))
	}
	if !slices.Equal(codesOf(list), []string{"W102", "W102"}) {
		t.Errorf("diagnostics %v", codesOf(list))
	}
}
