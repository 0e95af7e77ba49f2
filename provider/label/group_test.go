package label

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
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

// TestConflicts has every row of the table "Conflicts".
func TestConflicts(t *testing.T) {
	soon := epoch.Add(time.Minute)
	tests := []struct {
		name  string
		build func(b *bench)
		want  string
	}{
		{"replicas are one entrypoint", func(b *bench) {
			b.run("c1", "shop", "web", nil)
			b.run("c2", "shop", "web", nil, age(time.Hour))
		}, "http_web: c1 c2"},
		{"hosts in another order are the same matchers", func(b *bench) {
			b.run("c1", "shop", "web", keys{"host": "a.b,c.d"})
			b.run("c2", "shop", "web", keys{"host": "C.D., a.b, a.b"})
		}, "http_web: c1 c2"},
		{"equal matchers in two projects share a pool", func(b *bench) {
			b.run("c1", "shop", "web", nil)
			b.run("c2", "blog", "web", nil, age(time.Hour))
		}, "http_web: c1 c2"},
		{"two projects with one service name (D22)", func(b *bench) {
			b.run("c1", "p1", "web", keys{"host": "p1.example"}, age(time.Hour))
			b.run("c2", "p2", "web", keys{"host": "p2.example"})
		}, "http_web: c2; http_web-p1: c1"},
		{"without a project the matchers tell names apart", func(b *bench) {
			b.run("c1", "", "", keys{"host": "a.example"})
			b.run("c2", "", "", keys{"host": "b.example"}, age(time.Hour))
		}, "http_web: c1; http_web-99b5a32c: c2"},
		{"three sets of matchers in one project", func(b *bench) {
			b.run("c1", "p", "web", keys{"path": "/1"})
			b.run("c2", "p", "web", keys{"path": "/2"}, age(time.Hour))
			b.run("c3", "p", "web", keys{"path": "/3"}, age(2*time.Hour))
		}, "http_web: c1; http_web-p: c2; http_web-p-a8259d6e: c3"},
		{"a suffix never takes another service's id", func(b *bench) {
			b.run("c1", "p", "web", keys{"path": "/1"})
			b.run("c2", "p", "web", keys{"path": "/2", "sozune.http.web-p.host": "x.example"}, age(time.Hour))
		}, "http_web: c1; http_web-p: c2; http_web-p-a0ed6571: c2"},
		{"rolling update with another path (D23)", func(b *bench) {
			b.run("c1", "p", "web", keys{"path": "/v1"})
			b.run("c2", "p", "web", keys{"path": "/v2"}, age(time.Hour))
		}, "http_web: c1; http_web-p: c2"},
		{"recreated: the stopped one is dropped", func(b *bench) {
			b.run("c1", "p", "web", nil, until(soon))
			b.run("c2", "p", "web", nil, age(time.Hour))
		}, "http_web: c2"},
		{"recreated without compose: the stopped one is dropped", func(b *bench) {
			b.run("c1", "", "", nil, until(soon), named("app"))
			b.run("c2", "", "", nil, age(time.Hour), named("app"))
		}, "http_web: c2"},
		{"a dead plain replica beside a living one is listed", func(b *bench) {
			b.run("c1", "", "", nil, until(soon))
			b.run("c2", "", "", nil, age(time.Hour))
		}, "http_web: c2 -c1=retained"},
		{"a dead compose replica beside a living one is listed", func(b *bench) {
			b.run("c1", "p", "web", keys{number: "1"})
			b.run("c2", "p", "web", keys{number: "2"}, until(soon))
			b.run("c3", "p", "web", keys{number: "3"}, is(Paused))
		}, "http_web: c1 -c2=retained -c3=paused"},
		{"a compose replica with a successor is dropped", func(b *bench) {
			b.run("c1", "p", "web", keys{number: "1"}, until(soon))
			b.run("c2", "p", "web", keys{number: "1"}, age(time.Hour))
		}, "http_web: c2"},
		{"a dead replica closes nothing", func(b *bench) {
			b.run("c1", "", "", nil)
			b.run("c2", "", "", keys{"auth.basci": "x"}, age(time.Hour), until(soon))
		}, "http_web: c1 -c2=retained"},
		{"only stopped ones: retained", func(b *bench) {
			b.run("c1", "p", "web", nil, until(soon))
			b.run("c2", "p", "web", nil, until(soon.Add(time.Minute)))
		}, "http_web: -c1=retained -c2=retained until 12:02"},
		{"a stopped one of another project is kept", func(b *bench) {
			b.run("c1", "p", "web", nil, until(soon))
			b.run("c2", "q", "web", nil, age(time.Hour))
		}, "http_web: c2 -c1=retained"},
		{"presences", func(b *bench) {
			b.run("c1", "p", "web", nil, is(Paused))
			b.run("c2", "p", "web", nil, is(Restarting))
			b.run("c3", "p", "web", nil, is(NoAddress))
			b.run("c4", "p", "web", nil, is(Starting))
			b.run("c5", "p", "web", nil, is(Unhealthy))
			b.run("c6", "p", "web", nil, is(Leaving))
		}, "http_web: c4=starting c5=unhealthy c6=leaving -c1=paused -c2=restarting -c3=no_address"},
		{"dockerHealth=require", func(b *bench) {
			b.run("c1", "p", "web", keys{"dockerHealth": "require"}, is(Starting))
			b.run("c2", "p", "web", keys{"dockerHealth": "require"}, is(Unhealthy))
		}, "http_web: c1=starting c2=unhealthy"},
		{"dockerHealth=report and ignore never gate", func(b *bench) {
			b.run("c1", "p", "web", keys{"dockerHealth": "report"}, is(Unhealthy))
			b.run("c2", "p", "web", keys{"dockerHealth": "ignore"}, is(Starting))
			b.run("c3", "p", "web", keys{"dockerHealth": "ignore"}, is(Leaving))
		}, "http_web: c1 c2 c3=leaving"},
		{"no address", func(b *bench) {
			b.run("c1", "p", "web", nil, at("", 0))
			b.run("c2", "p", "web", nil, at("172.18.0.9", 0), func(in *Input) {
				in.Endpoints[0].Diagnostics = []route.Diagnostic{route.Diagnose("E108", "set port", "ambiguous")}
			})
			b.run("c3", "p", "web", nil, func(in *Input) { in.Endpoints = nil })
		}, "http_web: -c1=no_address -c2=refused -c3=no_address"},
		{"a newcomer cannot take a protection away", func(b *bench) {
			b.run("c1", "p", "web", keys{"auth.basic": bcrypt})
			b.run("c2", "p", "web", nil, age(time.Hour))
		}, "http_web: c1 c2 E113"},
		{"a newcomer of the owner can bring one", func(b *bench) {
			b.run("c1", "p", "web", nil)
			b.run("c2", "p", "web", keys{"auth.basci": "x"}, age(time.Hour))
		}, "http_web: c1 c2 E104"},
		{"the protection ends with the container that asks for it", func(b *bench) {
			b.run("c1", "p", "web", keys{"auth.basic": bcrypt}, until(soon))
			b.run("c2", "p", "web", nil, age(time.Hour))
		}, "http_web: c2"},
		{"somebody else cannot close a route, nor is opened by it", func(b *bench) {
			b.run("c1", "p", "web", nil)
			b.run("c2", "q", "web", keys{"auth.basic": bcrypt}, age(time.Hour))
		}, "http_web: c1 -c2=refused"},
		{"somebody else does not open a protected route", func(b *bench) {
			b.run("c1", "p", "web", keys{"auth.basic": bcrypt})
			b.run("c2", "q", "web", nil, age(time.Hour))
		}, "http_web: c1 c2 E113"},
		{"a refused declaration is no entrypoint", func(b *bench) {
			b.run("c1", "p", "web", keys{"pathRegex": "[", "path": "", "sozune.tcp.db.entrypoint": "postgres"})
			b.run("c2", "p", "web", keys{"host": "https://x"})
		}, "http_web: c1"},
		{"one-off and disabled containers", func(b *bench) {
			b.run("c1", "p", "web", nil, oneOff)
			b.run("c2", "p", "web", keys{"sozune.enable": "false"})
		}, ""},
	}
	for _, tt := range tests {
		b := newBench(t)
		tt.build(b)
		if got := summary(b.group(nil)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestRefusedPathFallsToFirstKey(t *testing.T) {
	// path wins over pathRegex, so a bad expression next to it costs nothing.
	d, list := web(t, keys{"path": "/a", "pathRegex": "["})
	if d.Refused != "" || !slices.Contains(codesOf(list), "W110") {
		t.Errorf("%s %v", d.Refused, codesOf(list))
	}
}

// TestNewestOfTheOwnerDecides: options come from one container, never mixed, and
// what the others say is named.
func TestNewestOfTheOwnerDecides(t *testing.T) {
	b := newBench(t)
	b.run("c1", "shop", "web", keys{"priority": "1", "retry.attempts": "5", "weight": "1", "headers.X-A": "1"})
	b.run("c2", "shop", "web", keys{"priority": "2", "weight": "2"}, age(time.Hour))
	b.run("c3", "blog", "web", keys{"priority": "3", "weight": "3", "stripPrefix": "true", "healthCheck.port": "9"}, age(2*time.Hour))
	b.run("c4", "shop", "worker", keys{"priority": "4", "panic": "off"}, age(3*time.Hour))
	out := b.group(nil)
	e := out.Entrypoints[0]
	if len(out.Entrypoints) != 1 || e.Match.Priority != 2 || e.Options.RetryAttempts != 2 || e.Options.StripPrefix || e.Options.Panic != route.PanicAll || len(e.Options.Headers) != 0 {
		t.Errorf("%d entrypoints, priority %d, options %+v", len(out.Entrypoints), e.Match.Priority, e.Options)
	}
	weights := []int{}
	for _, backend := range e.Backends {
		weights = append(weights, backend.Weight)
	}
	if !slices.Equal(weights, []int{1, 2, 3, 100}) {
		t.Errorf("weights %v", weights)
	}
	if e.Backends[2].Check.Port != 9 || e.Backends[1].Check.Port != 80 {
		t.Errorf("check ports %d, %d", e.Backends[2].Check.Port, e.Backends[1].Check.Port)
	}
	encoded, err := json.MarshalIndent(out.Candidates, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/group/W111.json", append(encoded, '\n'))
}

func TestSharedNameIsSaid(t *testing.T) {
	b := newBench(t)
	for i := range 7 {
		b.run(fmt.Sprintf("c%d", i), fmt.Sprintf("p%d", i), "web", keys{"host": fmt.Sprintf("h%d.example", i)}, age(time.Duration(i)*time.Hour))
	}
	b.run("d1", "p", "web", keys{"sozune.http.api.host": "x.y", "sozune.http.API.host": "z.y"})
	b.run("d2", "q", "web", keys{"sozune.http.Api.host": "x.z", "host": "h9.example"}, age(100*time.Hour))
	out := b.group(nil)
	found := map[string]string{}
	for _, e := range out.Entrypoints {
		for _, d := range e.Diagnostics {
			if d.Code == "I105" || d.Code == "W103" && d.Label == "" {
				found[e.ID] += d.Code + ": " + d.Message + "\n"
			}
		}
	}
	encoded, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/group/I105.json", append(encoded, '\n'))
}

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
	if len(out.Rejected) != 1 || out.Rejected[0].CandidateID != "e" {
		t.Errorf("rejected %v", out.Rejected)
	}
}

// crowd makes n containers with every kind of conflict, from a seed.
func crowd(t testing.TB, n int, seed uint64) []Input {
	rnd := rand.New(rand.NewPCG(seed, 1))
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	presences := []Presence{Present, Present, Present, Starting, Unhealthy, Leaving, Paused, Restarting, NoAddress, Retained}
	b := newBench(t)
	for i := range n {
		b.run(fmt.Sprintf("%06x", i), pick("", "p", "q", "r"), pick("web", "api"), keys{
			"path": pick("/", "/a", "/b", "["), "priority": pick("1", "2"), pick("auth.basci", "x", "headers.X-A", "weight"): pick("1", "2"),
			"sozune.http." + pick("web-p", "Web", "other") + ".host": pick("a.b", "c.d", "https://x"),
		}, age(time.Duration(rnd.IntN(20))*time.Hour), is(presences[rnd.IntN(len(presences))]))
	}
	return b.inputs
}

// TestGroupIsDeterministic: neither the order of the input nor a second pass over
// its own claims changes anything.
func TestGroupIsDeterministic(t *testing.T) {
	for seed := range uint64(30) {
		in := crowd(t, 40, seed)
		want := Group(in, nil)
		for pass := range 3 {
			rand.New(rand.NewPCG(seed, uint64(pass))).Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
			got := Group(in, want.Claims)
			if diff := cmp.Diff(want, got, plain); diff != "" {
				t.Fatalf("seed %d, pass %d: %s", seed, pass, diff)
			}
		}
		checkInvariants(t, in, want)
	}
}

// checkInvariants holds what is true of every result.
func checkInvariants(t *testing.T, in []Input, out Grouped) {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range out.Entrypoints {
		if ids[e.ID] {
			t.Errorf("id %s is given twice", e.ID)
		}
		ids[e.ID] = true
		if len(e.Backends)+len(e.Absent) == 0 || e.Claim.IsZero() || len(e.Match.Hosts) == 0 {
			t.Errorf("%s has nobody, no claim or no host", e.ID)
		}
		if !slices.IsSortedFunc(e.Backends, func(a, b route.Backend) int { return strings.Compare(a.ID, b.ID) }) {
			t.Errorf("%s: backends are not sorted", e.ID)
		}
	}
	if !slices.IsSortedFunc(out.Entrypoints, func(a, b *route.Entrypoint) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("entrypoints are not sorted")
	}
	protected := map[string]bool{}
	for _, i := range in {
		for _, d := range i.Parsed.Declarations {
			if d.FailClosed != nil {
				protected[i.Candidate.ID+d.Service] = true
			}
		}
	}
	for _, e := range out.Entrypoints {
		for _, b := range e.Backends {
			if protected[b.Container.ID+e.Name] && e.FailClosed == nil {
				t.Errorf("%s serves %s, which asks for protection", e.ID, b.ID)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	labels := map[string]string{"sozune.enable": "true", "com.docker.compose.project": "p"}
	for _, k := range []string{"host", "path", "port", "priority", "headers.<Name>", "healthCheck.interval", "methods", "weight"} {
		labels["sozune.http.web."+writing.Replace(k)] = samples[k].good[0]
	}
	c := Candidate{ID: "c1", Labels: labels}
	for b.Loop() {
		Parse(Config{}, c)
	}
}

func BenchmarkGroup(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		spread := newBench(b)
		for i := range n {
			spread.run(fmt.Sprintf("%06x", i), fmt.Sprintf("p%d", i/3), "web", keys{"host": fmt.Sprintf("h%d.example", i/3)})
		}
		one := newBench(b)
		for i := range n {
			one.run(fmt.Sprintf("%06x", i), "p", "web", keys{"priority": fmt.Sprint(i % 7)})
		}
		b.Run(fmt.Sprintf("spread=%d", n), func(b *testing.B) {
			for b.Loop() {
				Group(spread.inputs, nil)
			}
		})
		b.Run(fmt.Sprintf("one=%d", n), func(b *testing.B) {
			for b.Loop() {
				Group(one.inputs, nil)
			}
		})
	}
}
