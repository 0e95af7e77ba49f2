package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// skippedWorld has one container that is routed, and four that are not, each for another reason.
func skippedWorld(t *testing.T) *world {
	t.Helper()
	e := enginetest.New(enginetest.Docker29)
	e.AddNetwork(enginetest.Network{Name: "edge"})
	e.AddNetwork(enginetest.Network{Name: "away"})
	self := e.Run(enginetest.Container{Name: "router", Image: "fairlead", Networks: []string{"edge"}})
	for name, labels := range map[string]map[string]string{
		"bare":     {},
		"hostless": {"sozune.http.x.port": "8080", "sozune.http.x.wieght": "3"},
		"db":       {"sozune.http.db.host": "db.localhost", "sozune.http.db.pathRegex": "("},
		"far":      {"sozune.http.far.host": "far.localhost"},
		"fine":     {"sozune.http.fine.host": "fine.localhost", "sozune.http.fine.wieght": "3"},
	} {
		network := "edge"
		if name == "far" {
			network = "away"
		}
		labels["sozune.enable"] = "true"
		e.Run(enginetest.Container{Name: name, Image: "app", Networks: []string{network}, Expose: []string{"80/tcp"}, Labels: labels})
	}
	return &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "DOCKER_HOST=" + e.ServeUnix(t), "FAIRLEAD_CONTAINER_ID=" + self, "FAIRLEAD_ADMIN=http://127.0.0.1:1"}}
}

// TestValidateSaysWhyWhateverIsNotRouted: by name, with a code and a fix, once.
func TestValidateSaysWhyWhateverIsNotRouted(t *testing.T) {
	w := skippedWorld(t)
	for _, args := range []string{"validate --only-skipped", "validate", "validate --only-skipped --severity info", "validate --severity error"} {
		r := w.run(strings.Fields(args)...)
		_, rejected, _ := strings.Cut(r.out, "Not routed\n")
		rejected, findings, _ := strings.Cut(rejected, "\n\n")
		for name, code := range map[string]string{"bare": "E004", "hostless": "E002", "db": "E109"} {
			if row, _, _ := strings.Cut(rejected[max(strings.Index(rejected, "  "+name+" ("), 0):], "fix: "); !strings.Contains(row, "  "+code+"  ") {
				t.Errorf("%s: no row of %s with %s", args, name, code)
			}
			if strings.Count(r.out, code) != 1 {
				t.Errorf("%s: %s is not said once", args, code)
			}
		}
		if !strings.Contains(rejected, "sozune.http.db.pathRegex=(\n") || strings.Count(rejected, "fix: ") != 3 {
			t.Errorf("%s: no label, or not a fix for each", args)
		}
		if _, far, ok := strings.Cut(findings, "far ("); !ok || !strings.Contains(far, "error E105") || !strings.Contains(far, "fix: ") {
			t.Errorf("%s: nothing of far", args)
		}
		if plain := args == "validate"; strings.Contains(r.out, "W013") != plain || strings.Contains(r.out, "http_fine") == strings.Contains(args, "only") {
			t.Errorf("%s: of what is routed too much or too little", args)
		}
		if r.code != 1 || !strings.Contains(r.out, "\n2 entrypoints, 3 candidates not routed; 4 errors, 2 warnings, ") {
			t.Errorf("%s: exit %d", args, r.code)
		}
		if t.Failed() {
			t.Fatal(r.all())
		}
	}
	if r := w.run("doctor"); r.code != 1 || strings.Count(r.out, "fail  labels: ") != 4 || !strings.Contains(r.out, "bare: ") ||
		strings.Count(r.out, "(E004)")+strings.Count(r.out, "(E002)")+strings.Count(r.out, "(E109)") != 3 {
		t.Errorf("doctor: exit %d\n%s", r.code, r.all())
	}
}

// TestValidateListsStreamsOnce: no correction routes a tcp or udp service in this version, so
// none is asked for, and a pipeline does not stop at one.
func TestValidateListsStreamsOnce(t *testing.T) {
	file := tempFile(t, "compose.yaml", `services:
  db:
    image: db
    labels: {sozune.enable: "true", sozune.tcp.db.port: "5432"}
  dns:
    image: dns
    labels: {sozune.enable: "true", sozune.udp.dns.entrypoint: dns, sozune.udp.dns.port: "53"}
`)
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	r := w.run("validate", "-f", file)
	if r.code != 0 || strings.Count(r.out, "I104") != 2 || strings.Contains(r.out, "listener") ||
		!strings.Contains(r.out, "0 entrypoints, 2 candidates not routed; 0 errors, 0 warnings, 2 notes") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

// TestValidateSkippedForPrograms: the rejected by name and code, and no finding that is no error.
func TestValidateSkippedForPrograms(t *testing.T) {
	var out report
	r := skippedWorld(t).run("validate", "--only-skipped", "--json")
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range out.Rejected {
		got[c.Name] = c.Code
	}
	if !maps.Equal(got, map[string]string{"bare": "E004", "hostless": "E002", "db": "E109"}) || out.Errors != 4 || len(out.Findings) != 4 {
		t.Errorf("%s", r.out)
	}
	for _, f := range out.Findings {
		if slices.ContainsFunc(f.Diagnostics, func(d route.Diagnostic) bool { return d.Severity != route.SeverityError }) {
			t.Errorf("%+v", f)
		}
	}
}

// TestValidateWithNothingToSay gives lists, empty ones.
func TestValidateWithNothingToSay(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	routes := tempFile(t, "routes.yaml", "entrypoints: []\n")
	for _, args := range [][]string{{"validate", "--json", "-f", routes}, {"validate", "--json", "--only-skipped", "-f", routes}} {
		r := w.run(args...)
		for _, key := range []string{"entrypoints", "findings", "rejected"} {
			if !strings.Contains(r.out, `"`+key+`": []`) {
				t.Errorf("%v: no empty list %s in\n%s", args, key, r.all())
			}
		}
	}
}

// TestValidateSaysWhatNobodyServes: an entry without backends is an error, and so is a
// service whose only container is refused; neither stands among what is routed.
func TestValidateSaysWhatNobodyServes(t *testing.T) {
	routes := tempFile(t, "routes.yaml", `entrypoints:
  - {name: void, protocol: Http, backends: [], config: {hostnames: [void.localhost]}}
  - {name: fine, protocol: Http, backends: [{address: 10.0.0.1, port: 80}], config: {hostnames: [fine.localhost]}}
`)
	compose := tempFile(t, "compose.yaml", `services:
  void: {image: x, network_mode: host, labels: {sozune.enable: "true", sozune.http.void.host: void.localhost}}
  fine: {image: x, labels: {sozune.enable: "true", sozune.http.fine.host: fine.localhost, sozune.http.fine.port: "80"}}
`)
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	for file, code := range map[string]string{routes: "E107", compose: "E106"} {
		r := w.run("validate", "-f", file)
		routed, rest, _ := strings.Cut(r.out, "Routed, but nothing would serve\n")
		if r.code != 1 || !strings.Contains(routed, "http_fine") || strings.Contains(routed, "http_void") ||
			!strings.Contains(rest, "no backend: "+code+"\n") || strings.Contains(rest, "http_fine") || !strings.Contains(rest, "1 error, ") {
			t.Errorf("%s: rc %d\n%s", code, r.code, r.all())
		}
	}
}

// TestReportedRouteNotes: what is missing of one that serves is said, too.
func TestReportedRouteNotes(t *testing.T) {
	for want, r := range map[string]reportedRoute{
		"":                                 {Backends: []string{"a"}},
		"no backend":                       {},
		"no backend: E106, E107":           {Refused: []string{"E106", "E107"}},
		"without those refused by E106":    {Refused: []string{"E106"}, Backends: []string{"a"}},
		"closed by E104":                   {Closed: "E104", Backends: []string{"a"}},
		"closed by E104; no backend: E107": {Closed: "E104", Refused: []string{"E107"}},
	} {
		if got := r.note(); got != want || r.serves() != (r.Closed == "" && len(r.Backends) > 0) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestValidateCountsBeforeItFilters: the last line is about everything that was read.
func TestValidateCountsBeforeItFilters(t *testing.T) {
	routes := tempFile(t, "routes.yaml", `entrypoints:
  - {name: odd, protocol: Ftp, backends: [{address: 10.0.0.1, port: 80}], config: {}}
  - {name: fine, protocol: Http, backends: [{address: 10.0.0.1, port: 80}], config: {hostnames: [fine.localhost]}}
`)
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	for args, shown := range map[string]bool{"": true, "--severity error": false, "--only-skipped": true, "--only-skipped --severity error": true} {
		r := w.run(append([]string{"validate", "-f", routes}, strings.Fields(args)...)...)
		if !strings.Contains(r.out, "1 entrypoint, 1 candidate not routed; 0 errors, 1 warning, ") || strings.Contains(r.out, "W012") != shown {
			t.Errorf("%s\n%s", args, r.all())
		}
	}
}

// TestValidateShowsWhatIsRejectedWithoutACode: it is not routed either.
func TestValidateShowsWhatIsRejectedWithoutACode(t *testing.T) {
	for severity, shown := range map[string]int{"info": 1, "warn": 1, "error": 0} {
		r := report{Rejected: []route.Rejected{{CandidateID: "c1", Name: "once", Reason: "ignored: one-off"}}}
		r.filter(&validateOptions{severity: severity})
		if len(r.Rejected) != shown {
			t.Errorf("%s: %v", severity, r.Rejected)
		}
	}
}
