package file

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/router/route"
)

// TestContradictions make the whole file invalid: leaving one out would route what
// nobody asked for.
func TestContradictions(t *testing.T) {
	for text, want := range map[string]string{
		"entrypoints:\n  - name: a\n  - name: b\n  - name: a\n":                      `f:4:5: entrypoints[2]: the name "a" is taken by entrypoints[0] in line 2; give one of them another name, or put their backends together`,
		"entrypoints:\n  - name: a\n    config: {path: {rule_type: Prefix}}\n":       "f:2:5: entrypoints[0].config.path: value is missing",
		"entrypoints: [{name: a, config: {match_query: [{value: " + canary + "}]}}]": "entrypoints[0].config.match_query[0]: key is missing",
		"entrypoints: [{name: a, config: {match_headers: [{key: A}, {key: ' '}]}}]":  "entrypoints[0].config.match_headers[1]: key is missing",
	} {
		doc, problems := decode([]byte(text))
		if problems == nil {
			_, problems = build(testLabels, &doc)
		}
		if len(problems) != 1 || !strings.Contains(problems[0].text("f"), want) {
			t.Errorf("%s\n got %v\nwant %s", text, problems, want)
		}
	}
	c := contentsOf(t, "entrypoints: [{name: a, protocol: Http, config: {hostnames: [a]}}, {name: a, protocol: Tcp}]")
	if len(c.entrypoints) != 1 || len(c.rejected) != 1 {
		t.Errorf("one name in two protocols: %+v", c)
	}
}

// TestOneBadEntry changes nothing for its neighbours.
func TestOneBadEntry(t *testing.T) {
	const good = "entrypoints:\n  - {name: good, backends: [{address: 10.0.0.1, port: 80}], config: {hostnames: [good.example.com]}}\n"
	want := contentsOf(t, good).entrypoints[0]
	for _, bad := range []string{
		"{}", "{name: a.b}", "{name: 'a b'}", "{name: bad, protocol: Quic}", "{name: bad}", "{name: bad, config: {hostnames: ['http://x/']}}",
		"{name: bad, config: {hostnames: [x], path: {rule_type: Glob, value: /x}}}", "{name: bad, config: {hostnames: [x], path: {rule_type: Regex, value: '('}}}",
		"{name: tcp, protocol: Tcp, backends: [{address: h, port: 1}], config: {hostnames: [], entrypoint: postgres}}", "{name: udp, protocol: udp}",
		"{name: " + strings.Repeat("n", 101) + "}", "{name: '\u202e', config: {hostnames: [x]}}",
	} {
		c := contentsOf(t, good+"  - "+bad+"\n")
		if len(c.entrypoints) != 1 || len(c.rejected) != 1 {
			t.Errorf("%s: %d routed, rejected %+v", bad, len(c.entrypoints), c.rejected)
			continue
		}
		if diff := cmp.Diff(want, c.entrypoints[0], cmp.AllowUnexported(route.StatusSet{})); diff != "" {
			t.Errorf("%s changes its neighbour:\n%s", bad, diff)
		}
	}
}

func TestAddresses(t *testing.T) {
	port := func(n int) *int { return &n }
	for _, c := range []struct {
		address  string
		port     *int
		want     string
		loopback bool
		err      string
	}{
		{"10.0.0.5", port(80), "10.0.0.5:80", false, ""},
		{" 10.0.0.5 ", port(80), "10.0.0.5:80", false, ""},
		{"10.0.0.5:8080", nil, "10.0.0.5:8080", false, ""},
		{"app.internal:8080", nil, "app.internal:8080", false, ""},
		{"[fd00::5]:8080", nil, "[fd00::5]:8080", false, ""},
		{"fd00::5", port(80), "[fd00::5]:80", false, ""},
		{"[fd00::5]", port(80), "[fd00::5]:80", false, ""},
		{"::ffff:10.0.0.5", port(80), "10.0.0.5:80", false, ""},
		{"127.0.0.1", port(80), "127.0.0.1:80", true, ""},
		{"::1", port(80), "[::1]:80", true, ""},
		{"localhost", port(80), "localhost:80", true, ""},
		{"app.localhost", port(80), "app.localhost:80", true, ""},
		{"my_app", port(80), "my_app:80", false, ""},
		{"App.Internal.", port(80), "app.internal:80", false, ""},
		{"", port(80), "", false, "missing"},
		{"10.0.0.5", nil, "", false, "port"},
		{"fd00::5", nil, "", false, "port"},
		{"10.0.0.5", port(0), "", false, "1-65535"},
		{"10.0.0.5", port(65536), "", false, "1-65535"},
		{"10.0.0.5:x", nil, "", false, "port"},
		{"http://10.0.0.5", port(80), "", false, "URL"},
		{"10.0.0.5/x", port(80), "", false, "URL"},
		{"169.254.169.254", port(80), "", false, "metadata"},
		{"::ffff:169.254.169.254", port(80), "", false, "link-local"},
		{"0.0.0.0", port(80), "", false, "unspecified"},
		{"224.0.0.1", port(80), "", false, "multicast"},
		{"fe80::1%eth0", port(80), "", false, "link-local"},
		{"fd00::1%eth0", port(80), "", false, "zone"},
		{"*.example.com", port(80), "", false, "neither"},
		{"/x/.example.com", port(80), "", false, "URL"},
		{"a b", port(80), "", false, "neither"},
		{"1.2.3", port(80), "", false, "looks like one"},
		{"256.1.1.1", port(80), "", false, "looks like one"},
		{"2130706433", port(80), "", false, "looks like one"},
	} {
		got, hint, err := parseTarget(&backend{Address: c.address, Port: c.port})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || hint == "" {
				t.Errorf("%q: %v (%s), want %q", c.address, err, hint, c.err)
			}
			continue
		}
		if err != nil || got.address() != c.want || got.loopback != c.loopback {
			t.Errorf("%q: %s loopback %t %v, want %s %t", c.address, got.address(), got.loopback, err, c.want, c.loopback)
		}
	}
}

// TestDiagnosticsSpeakOfTheFile: findings name keys of the file and never a value
// that may be secret.
func TestDiagnosticsSpeakOfTheFile(t *testing.T) {
	c := contentsOf(t, `entrypoints:
  - name: a
    backends:
      - {address: 10.0.0.1, port: 80, weight: 70000}
      - {address: 10.0.0.1:80}
      - {address: 10.0.0.2, port: 80, scheme: gopher, tls: {insecure_skip_verify: true}}
    config:
      hostnames: ["https://a.example.com:8080", b.example.com]
      methods: [BREW]
      backend_timeout: -1
      load_balancer: magic
      compress: true
      headers:
        - {name: Host, value: `+canary+`}
        - {name: X-A, value: `+canary+`, direction: sideways}
        - {name: X-B, value: `+canary+`}
        - {name: x-b, value: `+canary+`}
        - {name: response.x, value: `+canary+`}
      match_query: [{key: token, value: `+canary+`}]
      auth: {basic: [{username: u, password_hash: `+canary+`}]}
      health_check: {path: "//x?`+canary+`", timeout_ms: 1, headers: {"Content-Length": `+canary+`, "bad name": `+canary+`}}
      error_pages: {"200": "<p>"}
`)
	text := dump(c.candidates)
	for _, want := range []string{
		`"W027","severity":"warn","message":`, `"label":"entrypoints[0].backends[0].weight","value":"70000"`,
		`"code":"W110","severity":"warn","message":"backends[0] has the same address: this one is left out","label":"entrypoints[0].backends[1]"`,
		`"label":"entrypoints[0].backends[2].scheme","value":"gopher","hint":"set entrypoints[0].backends[2].scheme to one of http, https, h2c, or remove the key"`,
		`"label":"entrypoints[0].backends[2].tls.insecure_skip_verify"`,
		`"label":"entrypoints[0].config.hostnames"`, `"label":"entrypoints[0].config.methods","value":"BREW"`,
		`"label":"entrypoints[0].config.backend_timeout","value":"-1"`, `"label":"entrypoints[0].config.load_balancer","value":"magic"`,
		`"code":"I104","severity":"info"`, `"label":"entrypoints[0].config.compress"`, `"label":"entrypoints[0].config.headers[0]"`, `"code":"W008","severity":"warn","message":"the name cannot be used`,
		`"label":"entrypoints[0].config.headers[4]"`, `headers[2] is about the same header: this one counts`,
		`"label":"entrypoints[0].config.health_check.path"`, `"label":"entrypoints[0].config.health_check.timeout_ms"`,
		`"label":"entrypoints[0].config.error_pages.200"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, never := range []string{canary, "file.http", "the label", "comma separated", "compose", "healthCheck"} {
		if i := strings.Index(text, never); i >= 0 {
			t.Errorf("%q shows: ...%s...", never, text[max(0, i-150):min(len(text), i+60)])
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
	e := c.entrypoints[0]
	if len(e.Options.Headers) != 1 || e.Options.Headers[0].Name != "X-B" || len(e.Backends) != 2 || e.Backends[0].Weight != route.DefaultWeight {
		t.Errorf("what is left: %+v %+v", e.Options, e.Backends)
	}
}
