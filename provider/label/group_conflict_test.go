package label

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead/router/route"
)

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
