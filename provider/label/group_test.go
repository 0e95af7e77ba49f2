package label

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/router/route"
)

// epoch is when the containers of the tests begin; age moves it.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench collects containers for Group.
type bench struct {
	testing.TB
	inputs []Input
}

func newBench(t testing.TB) *bench { return &bench{TB: t} }

type change func(*Input)

func age(d time.Duration) change {
	return func(in *Input) {
		in.Candidate.Created, in.Candidate.Started = epoch.Add(d), epoch.Add(d+time.Second)
	}
}

func is(p Presence) change { return func(in *Input) { in.Presence = p } }

func until(t time.Time) change {
	return func(in *Input) { in.Presence, in.Until = Retained, t }
}

func at(host string, port uint16) change {
	return func(in *Input) {
		for i := range in.Endpoints {
			in.Endpoints[i].Host, in.Endpoints[i].Port = host, port
		}
	}
}

func named(name string) change { return func(in *Input) { in.Candidate.Name = name } }

// number is the label by which compose tells replicas apart.
const number = "com.docker.compose.container-number"

func health(word string) change { return func(in *Input) { in.Health = word } }

func oneOff(in *Input) { in.Candidate.OneOff = true }

// run adds a container with one http service named web; keys are relative to it,
// those with "sozune." in front are whole.
func (b *bench) run(id, project, service string, keys map[string]string, changes ...change) {
	b.Helper()
	labels := map[string]string{"sozune.enable": "true", "sozune.http.web.host": "app.example.com", "sozune.http.web.path": "/"}
	for k, v := range keys {
		if !strings.HasPrefix(k, "sozune.") && k != number {
			k = "sozune.http.web." + k
		}
		labels[k] = v
	}
	in := Input{
		Candidate: Candidate{
			ID: id + strings.Repeat("0", 64-len(id)), Name: strings.Trim(project+"-"+service+"-"+id, "-"), Provider: "docker",
			Project: project, Service: service, Labels: labels, Created: epoch, Started: epoch.Add(time.Second),
		},
		Presence: Present, Health: "none",
	}
	for range 4 {
		in.Endpoints = append(in.Endpoints, Endpoint{Host: fmt.Sprintf("172.18.0.%d", len(b.inputs)+2), Port: 80})
	}
	for _, c := range changes {
		c(&in)
	}
	in.Parsed = Parse(testConfig(), in.Candidate)
	in.Endpoints = in.Endpoints[:min(len(in.Endpoints), len(in.Parsed.Declarations))]
	b.inputs = append(b.inputs, in)
}

func (b *bench) group(claims Claims) Grouped {
	b.Helper()
	return Group(b.inputs, claims)
}

// summary is one line per entrypoint, for tables.
func summary(g Grouped) string {
	var out []string
	for _, e := range g.Entrypoints {
		line := e.ID + ":"
		for _, b := range e.Backends {
			line += " " + strings.TrimRight(b.ID, "0")
			if b.Provider != route.ProviderPresent {
				line += "=" + string(b.Provider)
			}
		}
		for _, a := range e.Absent {
			line += " -" + strings.TrimRight(a.CandidateID, "0") + "=" + string(a.Why)
		}
		if e.FailClosed != nil {
			line += " " + e.FailClosed.Code
		}
		if !e.RetainedUntil.IsZero() {
			line += " until " + e.RetainedUntil.Format("15:04")
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

type keys = map[string]string

// TestClaims: the oldest claim keeps the plain name over a recreate within the
// retention, and loses it after it.
func TestClaims(t *testing.T) {
	soon := epoch.Add(50 * time.Hour)
	old := func(b *bench, c ...change) { b.run("c1", "p1", "web", keys{"host": "p1.example"}, c...) }
	young := func(b *bench) { b.run("c2", "p2", "web", keys{"host": "p2.example"}, age(time.Hour)) }
	steps := []struct {
		name  string
		build func(b *bench)
		want  string
	}{
		{"both run", func(b *bench) { old(b); young(b) }, "http_web: c1; http_web-p2: c2"},
		{"the old one stopped", func(b *bench) { old(b, until(soon)); young(b) }, "http_web: -c1=retained until 14:00; http_web-p2: c2"},
		{"and is recreated", func(b *bench) {
			old(b, until(soon))
			b.run("c3", "p1", "web", keys{"host": "p1.example"}, age(48*time.Hour))
			young(b)
		}, "http_web: c3; http_web-p2: c2"},
		{"the stopped one is forgotten", func(b *bench) {
			b.run("c3", "p1", "web", keys{"host": "p1.example"}, age(48*time.Hour))
			young(b)
		}, "http_web: c3; http_web-p2: c2"},
		{"the claim ends", young, "http_web: c2"},
		{"and begins anew", func(b *bench) {
			b.run("c3", "p1", "web", keys{"host": "p1.example"}, age(48*time.Hour))
			young(b)
		}, "http_web: c2; http_web-p1: c3"},
	}
	claims := Claims{}
	for _, s := range steps {
		b := newBench(t)
		s.build(b)
		before := maps.Clone(claims)
		out := b.group(claims)
		if got := summary(out); got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.name, got, s.want)
		}
		if !maps.Equal(before, claims) {
			t.Errorf("%s: the claims that were given are changed", s.name)
		}
		claims = out.Claims
	}
	for k, since := range claims {
		if k.Owner == "p1" && !since.Equal(epoch.Add(48*time.Hour)) {
			t.Errorf("claim %+v since %s", k, since)
		}
	}
}

func TestClaimsAreEqualForAllReplicas(t *testing.T) {
	b := newBench(t)
	for i := range 5 {
		b.run(fmt.Sprintf("c%d", i), "p", "web", nil, age(time.Duration(5-i)*time.Hour))
	}
	out := b.group(nil)
	if len(out.Claims) != 1 || !out.Entrypoints[0].Claim.Equal(epoch.Add(time.Hour)) {
		t.Errorf("claims %v, entrypoint %s", out.Claims, out.Entrypoints[0].Claim)
	}
}

// TestClaimWithoutCreationTime: a candidate whose creation is not known must not
// become the oldest of all.
func TestClaimWithoutCreationTime(t *testing.T) {
	b := newBench(t)
	b.run("c1", "p", "web", keys{"host": "a.b"})
	b.run("c2", "q", "web", keys{"host": "c.d"}, age(time.Hour), func(in *Input) { in.Candidate.Created = time.Time{} })
	if got := summary(b.group(nil)); got != "http_web: c1; http_web-q: c2" {
		t.Error(got)
	}
}

func TestBackend(t *testing.T) {
	b := newBench(t)
	b.run("0123456789abcdef", "p", "web", keys{
		"scheme": "https", "backendTLS.serverName": "in.example", "dialTimeout": "1s", "weight": "0", "dockerHealth": "ignore",
		"healthCheck.path": "/health", "healthCheck.port": "8443",
	}, at("fd00::5", 443), health("unhealthy"), func(in *Input) { in.Endpoints[0].Loopback = true })
	got := b.group(nil).Entrypoints[0].Backends[0]
	full := "0123456789abcdef" + strings.Repeat("0", 48)
	check := route.DefaultCheck()
	check.Type, check.Path, check.Scheme, check.Port, check.Host = route.ProbeHTTP, "/health", route.SchemeHTTPS, 8443, "[fd00::5]:8443"
	check.TLS = route.BackendTLS{ServerName: "in.example"}
	want := route.Backend{
		ID: "0123456789ab", Name: "p-web-0123456789abcdef",
		Container:   &route.Container{ID: full, Name: "p-web-0123456789abcdef", CreatedAt: epoch, StartedAt: epoch.Add(time.Second), Health: "none"},
		Incarnation: fmt.Sprintf("docker/%s/%d/[fd00::5]:443", full, epoch.Add(time.Second).UnixNano()),
		Host:        "fd00::5", Port: 443, Scheme: route.SchemeHTTPS, TLS: route.BackendTLS{ServerName: "in.example"},
		DialTimeout: time.Second, Docker: route.DockerHealthIgnore, Provider: route.ProviderPresent,
		StartedAt: epoch.Add(time.Second), Loopback: true, Check: &check, SlowStartMin: route.DefaultSlowStartMin,
	}
	if diff := cmp.Diff(want, got, plain); diff != "" {
		t.Error(diff)
	}
}

func TestCheckHostFollowsTheBackend(t *testing.T) {
	tests := []struct {
		keys keys
		host string
		port uint16
		want string
	}{
		{keys{}, "10.0.0.5", 80, "10.0.0.5"},
		{keys{}, "10.0.0.5", 8080, "10.0.0.5:8080"},
		{keys{}, "fd00::5", 80, "[fd00::5]"},
		{keys{"scheme": "https"}, "10.0.0.5", 443, "10.0.0.5"},
		{keys{"scheme": "https"}, "10.0.0.5", 80, "10.0.0.5:80"},
		{keys{"scheme": "h2c"}, "10.0.0.5", 80, "10.0.0.5"},
		{keys{"healthCheck.port": "80"}, "10.0.0.5", 9000, "10.0.0.5"},
		{keys{"healthCheck.host": "app.example"}, "10.0.0.5", 9000, "app.example"},
	}
	for _, tt := range tests {
		b := newBench(t)
		tt.keys["healthCheck.path"] = "/"
		b.run("c1", "p", "web", tt.keys, at(tt.host, tt.port))
		if c := b.group(nil).Entrypoints[0].Backends[0].Check; c.Host != tt.want {
			t.Errorf("%v at %s:%d: Host %q, want %q", tt.keys, tt.host, tt.port, c.Host, tt.want)
		}
	}
}

func TestCheckIsTheEntrypoints(t *testing.T) {
	b := newBench(t)
	b.run("c1", "p", "web", keys{"healthCheck": "false", "healthCheck.port": "99"})
	b.run("c2", "p", "web", keys{"healthCheck.path": "/h"}, age(time.Hour))
	e := b.group(nil).Entrypoints[0]
	if one, two := e.Backends[0].Check, e.Backends[1].Check; one == nil || one.Path != "/h" || one.Port != 99 || two.Port != 80 {
		t.Errorf("checks %+v, %+v", one, two)
	}
	b = newBench(t)
	b.run("c1", "p", "web", nil)
	b.run("c2", "p", "web", keys{"healthCheck": "false"}, age(time.Hour))
	if e := b.group(nil).Entrypoints[0]; e.Backends[0].Check != nil || e.Backends[1].Check != nil {
		t.Error("the newest switched the check off, and it is on")
	}
}

func TestIncarnationChangesWithTheStart(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []change{age(0), age(time.Nanosecond), at("172.18.0.3", 80), at("172.18.0.2", 81)} {
		b := newBench(t)
		b.run("c1", "p", "web", nil, c)
		seen[b.group(nil).Entrypoints[0].Backends[0].Incarnation] = true
	}
	if len(seen) != 4 {
		t.Errorf("incarnations %v", seen)
	}
}

func TestShortIDsThatCollide(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"0123456789abc", "0123456789abd", "0123456789abe", "fff"} {
		b.run(id, "p", "web", nil)
	}
	ids := map[string]bool{}
	for _, backend := range b.group(nil).Entrypoints[0].Backends {
		ids[backend.ID] = true
	}
	if len(ids) != 4 || !ids["fff000000000"] {
		t.Errorf("ids %v", ids)
	}
}

// TestDiagnosticsAreKept: findings about labels and addresses are listed once with
// the candidate and once with the entrypoint, also when nothing is routed.
func TestDiagnosticsAreKept(t *testing.T) {
	ambiguous := route.Diagnose("E108", "set port", "ambiguous")
	noPort := func(in *Input) {
		in.Endpoints[0] = Endpoint{Diagnostics: []route.Diagnostic{ambiguous}}
	}
	b := newBench(t)
	b.run("c1", "p", "web", keys{"port": "x"}, noPort)
	b.run("c2", "p", "web", keys{"port": "x"}, noPort)
	b.run("c3", "p", "web", keys{"host": ""})
	b.run("c4", "p", "web", nil)
	b.run("c5", "p", "web", keys{"port": "x"}, until(epoch))
	b.inputs = append(b.inputs, Input{Candidate: Candidate{ID: "e"}, Parsed: Parsed{Rejected: &route.Rejected{CandidateID: "e", Code: "E001"}}})
	out := b.group(nil)
	if got := codesOf(out.Entrypoints[0].Diagnostics); !slices.Equal(got, []string{"E108", "W001"}) {
		t.Errorf("entrypoint has %v", got)
	}
	var got []string
	for _, c := range out.Candidates {
		got = append(got, strings.TrimRight(c.CandidateID, "0")+" "+strings.Join(codesOf(c.Diagnostics), ","))
	}
	if want := []string{"c1 E108,W001", "c2 E108,W001", "c3 E002"}; !slices.Equal(got, want) {
		t.Errorf("candidates have %v, want %v", got, want)
	}
	if list := out.Rejected; len(list) != 2 || !strings.HasPrefix(list[0].CandidateID, "c3") || list[1].CandidateID != "e" {
		t.Errorf("rejected %v", list)
	}
}
