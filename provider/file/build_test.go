package file

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead/provider/label"
	"fairlead/router/route"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testLabels are the settings of a router that knows one CA.
var testLabels = label.Config{CAs: []string{"internal"}, ClientCerts: []string{"edge"}}

// contentsOf reads a text that must be good in its form.
func contentsOf(t *testing.T, text string) contents {
	t.Helper()
	doc, problems := decode([]byte(text))
	if problems != nil {
		t.Fatalf("%v", problems)
	}
	out, problems := build(testLabels, &doc)
	if problems != nil {
		t.Fatalf("%v", problems)
	}
	checkContents(t, &out)
	return out
}

// checkContents holds contents to what every snapshot promises.
func checkContents(t *testing.T, c *contents) {
	t.Helper()
	ids := map[string]bool{}
	for i, e := range c.entrypoints {
		if ids[e.ID] || i > 0 && c.entrypoints[i-1].ID > e.ID {
			t.Fatalf("ids repeat or are not sorted: %s", e.ID)
		}
		ids[e.ID] = true
		if e.Protocol != route.HTTP || len(e.Match.Hosts) == 0 || e.Match.Path.Value == "" || e.Source != Name || e.Claim.IsZero() || e.Options.RetryAttempts < 1 {
			t.Fatalf("%s is not complete: %+v", e.ID, e)
		}
		for j := range e.Backends {
			b := &e.Backends[j]
			if b.Host == "" || b.Port == 0 || b.ID != b.Address() || b.Container != nil || b.Provider != route.ProviderPresent || j > 0 && e.Backends[j-1].ID >= b.ID {
				t.Fatalf("%s: backend %+v", e.ID, b)
			}
			if b.Check != nil && (b.Check.Port == 0 || b.Check.Interval <= 0 || b.Check.Timeout <= 0) {
				t.Fatalf("%s: check %+v", e.ID, b.Check)
			}
		}
	}
	if len(c.entrypoints)+len(c.rejected) != c.entries {
		t.Fatalf("%d routed and %d rejected of %d entries", len(c.entrypoints), len(c.rejected), c.entries)
	}
	for _, r := range c.rejected {
		if r.Code == "" || r.Reason == "" || r.Hint == "" || !strings.HasPrefix(r.CandidateID, "file:") {
			t.Fatalf("rejected without words: %+v", r)
		}
	}
	for _, d := range c.candidates {
		for _, f := range d.Diagnostics {
			if strings.Contains(f.Label+f.Message+f.Hint, "file.http.") || strings.Contains(f.Hint, "sozune.") {
				t.Fatalf("the translation shows: %+v", f)
			}
		}
	}
}

// TestExamples compares every example with its golden file.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := contentsOf(t, string(text))
			got, err := json.MarshalIndent(map[string]any{"entrypoints": c.entrypoints, "candidates": c.candidates, "rejected": c.rejected}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", "golden", name+".json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("differs from %s (go test ./provider/file -update writes it anew):\n%s", golden, cmp.Diff(string(want), string(got)))
			}
		})
	}
}

// TestSameAsLabels: an entry and the labels that say the same are the same route.
func TestSameAsLabels(t *testing.T) {
	fromFile := contentsOf(t, `entrypoints:
  - name: api
    protocol: Http
    backends:
      - {address: 10.0.0.5, port: 8443, weight: 3, scheme: https, dial_timeout_ms: 500, max_connections: 8, slow_start_ms: 30000, slow_start_min_percent: 5, tls: {server_name: api.internal, ca: internal, client_cert: edge}}
    config:
      hostnames: [API.example.com, "*.api.example.com", "/cdn[0-9]{1,2}/.example.com"]
      path: {rule_type: Regex, value: "/v[0-9]+/.*"}
      methods: [get, POST]
      priority: 7
      match_headers: [{key: x-key, value: abc}, {key: X-There}]
      match_query: [{key: Token, value: "1"}]
      match_client_ip: [10.0.0.0/8, 192.0.2.1]
      add_prefix: /base
      headers: [{name: x-a, value: b}, {name: Server, value: "", direction: response}, {name: X-B, value: c, direction: both}]
      backend_timeout: 5
      load_balancer: least_connections
      retry: {attempts: 4, on: [connect, 503], methods: [put, GET], try_duration_ms: 9000, try_interval_ms: 10}
      panic: last
      panic_threshold: 30
      no_backend_status: 502
      on_down: close
      drain_timeout_ms: 5000
      hold_for_ms: 0
      queue: {size: 7, timeout_ms: 50}
      circuit_breaker: {threshold: 0.25, min_requests: 9, cooldown_secs: 3}
      passive:
        failures: 4
        window_ms: 20000
        panic: false
        status: 5xx,!501
        latency_ms: 3000
        ejection_time_ms: 10000
        max_ejection_time_ms: 60000
        max_ejection_percent: 34
        recovery: trial
        trials: 2
        feeds_active: true
      sticky_session: true
      sticky_cookie: {name: sid, secure: true, same_site: None, max_age_secs: 60}
      health_check:
        path: h?x=1
        status: 200-299,401
        timeout_ms: 700
        interval_ms: 2000
        port: 9000
        unhealthy_threshold: 3
        healthy_threshold: 2
        headers: {Authorization: abc, Host: probe.internal}
        initial: down
        initial_delay_ms: 0
        type: http
        scheme: https
        sni: probe.internal
        method: OPTIONS
        follow_redirects: true
        body: {contains: "ok, well", regex: "^o"}
        insecure_skip_verify: false
        fast_interval_ms: 1000
        down_interval_ms: 3000
        jitter_percent: 0
`).entrypoints[0]
	c := label.Candidate{ID: "000000000000", Provider: Name, Labels: map[string]string{}}
	for key, value := range map[string]string{
		"host": "API.example.com, *.api.example.com, /cdn[0-9]{1,2}/.example.com", "pathRegex": "/v[0-9]+/.*", "methods": "get,POST", "priority": "7",
		"matchHeaders": "x-key:abc,X-There", "matchQuery": "Token:1", "matchClientIP": "10.0.0.0/8,192.0.2.1", "addPrefix": "/base",
		"headers.x-a": "b", "headers.response.Server": "", "headers.both.X-B": "c", "backendTimeout": "5", "loadBalancer": "least_connections",
		"retry.attempts": "4", "panic": "last", "drain.timeout": "5000", "holdFor": "0", "weight": "3", "scheme": "https", "dialTimeout": "500", "backendTLS.serverName": "api.internal", "backendTLS.ca": "internal",
		"healthCheck.path": "h?x=1", "healthCheck.status": "200-299,401", "healthCheck.timeout": "700", "healthCheck.interval": "2000", "healthCheck.port": "9000",
		"healthCheck.unhealthyThreshold": "3", "healthCheck.healthyThreshold": "2", "healthCheck.headers.Authorization": "abc", "healthCheck.headers.Host": "probe.internal",
		"healthCheck.initial": "down", "healthCheck.initialDelay": "0",
		"healthCheck.type": "http", "healthCheck.scheme": "https", "healthCheck.sni": "probe.internal", "healthCheck.method": "options",
		"healthCheck.followRedirects": "true", "healthCheck.body.contains": "ok, well", "healthCheck.body.regex": "^o",
		"healthCheck.insecureSkipVerify": "false", "healthCheck.fastInterval": "1s", "healthCheck.downInterval": "3s", "healthCheck.jitter": "0",
		"retry.on": "503,connect", "retry.methods": "GET,PUT", "retry.tryDuration": "9s", "retry.tryInterval": "10",
		"panicThreshold": "30", "noBackendStatus": "502", "onDown": "close", "maxConnections": "8", "maxConnections.queue": "7", "maxConnections.queueTimeout": "50",
		"circuitBreaker.threshold": "0.25", "circuitBreaker.minRequests": "9", "circuitBreaker.cooldown": "3",
		"passive.failures": "4", "passive.window": "20s", "passive.panic": "no", "passive.status": "5xx,!501", "passive.latency": "3s",
		"passive.ejectionTime": "10s", "passive.maxEjectionTime": "1m", "passive.maxEjectionPercent": "34", "passive.recovery": "trial",
		"passive.trials": "2", "passive.feedsActive": "on",
		"stickySession": "true", "stickySession.cookie": "sid", "stickySession.secure": "1", "stickySession.sameSite": "none", "stickySession.maxAge": "60",
		"slowStart": "30s", "slowStart.min": "5", "backendTLS.clientCert": "edge",
	} {
		c.Labels["sozune.http.api."+key] = value
	}
	c.Labels["sozune.enable"] = "true"
	for _, d := range label.Parse(testLabels, c).Diagnostics {
		if d.Severity != route.SeverityInfo && d.Label != "sozune.http.api.panicThreshold" { // idle beside panic=last, and read all the same
			t.Errorf("the example is wrong: %+v", d)
		}
	}
	in := label.Input{Candidate: c, Parsed: label.Parse(testLabels, c), Presence: label.Present, Endpoints: []label.Endpoint{{Host: "10.0.0.5", Port: 8443}}}
	fromLabels := label.Group([]label.Input{in}, nil).Entrypoints[0]
	ignored := []cmp.Option{
		cmpopts.IgnoreFields(route.Entrypoint{}, "Claim", "Identity"), cmpopts.IgnoreFields(route.Diagnostic{}, "Label", "Message", "Hint"), cmpopts.IgnoreFields(route.Origin{}, "Label"), cmpopts.IgnoreFields(route.Backend{}, "ID", "Container", "Incarnation"),
		cmp.AllowUnexported(route.StatusSet{}), cmpopts.EquateComparable(fromFile.Match.ClientIPs[0]),
	}
	if diff := cmp.Diff(fromLabels, fromFile, ignored...); diff != "" {
		t.Errorf("labels (-) and file (+) differ:\n%s", diff)
	}
	for _, want := range []route.Origin{
		{Key: "pathregex", Label: "entrypoints[0].config.path"}, {Key: "matchheaders", Label: "entrypoints[0].config.match_headers"},
		{Key: "healthcheck.interval", Label: "entrypoints[0].config.health_check.interval_ms"},
	} {
		if !slices.Contains(fromFile.Labels, want) {
			t.Errorf("%+v is not among the origins %+v", want, fromFile.Labels)
		}
	}
}

func TestAnOptionThatTheFileDoesNotSetHasNoOrigin(t *testing.T) {
	e := contentsOf(t, "entrypoints:\n  - {name: good, backends: [{address: 10.0.0.1, port: 80}], config: {hostnames: [good.example.com]}}\n").entrypoints[0]
	if want := []route.Origin{{Key: "host", Label: "entrypoints[0].config.hostnames"}}; !slices.Equal(e.Labels, want) {
		t.Errorf("%+v, want %+v", e.Labels, want)
	}
}

// TestProtectionFailsClosed: whatever restricts is never simply left out.
func TestProtectionFailsClosed(t *testing.T) {
	for config, want := range map[string]string{
		`auth: {basic: [{username: a, password_hash: "` + strings.Repeat("a", 64) + `"}]}`: "E113 config.auth.basic",
		`auth: {basic: [{username: a, password_hash: x}]}`:                                 "E104 config.auth.basic",
		`auth: {basic: []}`: "E104 config.auth.basic",
		`auth: {}`:          "E104 config.auth.basic",
		`forward_auth: {address: "http://auth.internal/check"}`: "E113 config.forward_auth.address",
		`forward_auth: {address: nonsense}`:                     "E104 config.forward_auth.address",
		`forward_auth: {}`:                                      "E104 config.forward_auth.address",
		`ip_allow_list: [10.0.0.0/8]`:                           "E113 config.ip_allow_list",
		`ip_allow_list: [nonsense]`:                             "E104 config.ip_allow_list",
		`ip_allow_list: [""]`:                                   "E104 config.ip_allow_list",
		`rate_limit: {average: 5}`:                              "E113 config.rate_limit.average",
		`in_flight_req: 5`:                                      "E113 config.in_flight_req",
		`redirect: unauthorized`:                                "E113 config.redirect",
		`auth: null`:                                            "E104 config.auth.basic", // its lines are commented out
		`forward_auth: `:                                        "E104 config.forward_auth.address",
		`ip_allow_list: []`:                                     "E104 config.ip_allow_list",
		`ip_allow_list: null`:                                   "E104 config.ip_allow_list",
	} {
		c := contentsOf(t, "entrypoints: [{name: a, backends: [{address: h, port: 80}], config: {hostnames: [a.example.com], "+config+"}}]")
		f, got := c.entrypoints[0].FailClosed, ""
		if f != nil {
			got = f.Code + " " + strings.TrimPrefix(f.Label, "entrypoints[0].")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
		if want != "" && !slices.ContainsFunc(c.entrypoints[0].Diagnostics, func(d route.Diagnostic) bool { return d.Code == f.Code && d.Label == f.Label }) {
			t.Errorf("%s: no diagnostic says why: %+v", config, c.entrypoints[0].Diagnostics)
		}
	}
	for _, list := range []string{"[nonsense]", "[]", "null"} {
		c := contentsOf(t, "entrypoints: [{name: a, config: {hostnames: [a.example.com], match_client_ip: "+list+"}}]")
		if m := c.entrypoints[0].Match; !m.ClientNobody {
			t.Errorf("match_client_ip: %s: %+v", list, m)
		}
	}
}

// TestClaimsFollowTheOrderOfTheFile: of equal rules the first entry wins, and every
// entry is older than any container.
func TestClaimsFollowTheOrderOfTheFile(t *testing.T) {
	c := contentsOf(t, "entrypoints: [{name: z, config: {hostnames: [a]}}, {name: bad}, {name: a, config: {hostnames: [a]}}]")
	a, z := c.entrypoints[0], c.entrypoints[1]
	if a.ID != "http_a" || z.ID != "http_z" || !z.Claim.Before(a.Claim) || a.Claim.Year() != 1970 {
		t.Errorf("%s %v, %s %v", a.ID, a.Claim, z.ID, z.Claim)
	}
}

// TestManyEntries: a large file is no quadratic affair.
func TestManyEntries(t *testing.T) {
	var b strings.Builder
	b.WriteString("entrypoints:\n")
	for i := range 2000 {
		b.WriteString("  - {name: e" + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + ", backends: [{address: 10.0.0.1, port: 80}], config: {hostnames: [a.example.com]}}\n")
	}
	if c := contentsOf(t, b.String()); len(c.entrypoints) != 2000 {
		t.Errorf("%d entrypoints, rejected %v", len(c.entrypoints), c.rejected[:min(len(c.rejected), 3)])
	}
}
