package file

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// badChecksText has a bad health check in every way in which one can be written.
const badChecksText = `entrypoints:
  - name: good
    backends: [{address: 10.0.0.1, port: 80}]
    config: {hostnames: [good.example.com], health_check: {path: /health, status: 204}}
  - name: bad
    backends: [{address: 10.0.0.2, port: 80, weight: 70000}, {address: 10.0.0.3, port: 80}]
    config:
      hostnames: [bad.example.com]
      health_check:
        path: "//other/?token=` + canary + `"
        status: 999
        headers:
          Connection: ` + canary + `
          "X Y": ` + canary + `
  - name: merged
    backends: [{address: 10.0.0.4, port: 80}]
    config:
      hostnames: [merged.example.com]
      health_check:
        <<: {path: /, jitter_percent: 90}
        body: {regex: "("}
`

// TestStrict names each bad health check once, with its place and without its value;
// without strict the same file is in force.
func TestStrict(t *testing.T) {
	strict := Config{Path: "f.yaml", Label: testLabels, Strict: true}
	_, problems := understand(strict, []byte(badChecksText))
	err := &InvalidError{Path: "f.yaml", problems: problems}
	var got []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		place, rest, _ := strings.Cut(line, ": ")
		key, rest, _ := strings.Cut(rest, ": ")
		got = append(got, place+" "+key)
		if !strings.HasPrefix(rest, "refused by strict, without it W021: ") || strings.Contains(line, canary) {
			t.Errorf("%s", line)
		}
	}
	want := []string{
		"f.yaml:10:9 entrypoints[1].config.health_check.path",
		"f.yaml:11:9 entrypoints[1].config.health_check.status",
		"f.yaml:13:11 entrypoints[1].config.health_check.headers.Connection",
		`f.yaml:14:11 entrypoints[1].config.health_check.headers."X Y"`,
		"f.yaml:20:23 entrypoints[2].config.health_check.jitter_percent",
		"f.yaml:21:16 entrypoints[2].config.health_check.body.regex",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	strict.Strict = false
	if c, problems := understand(strict, []byte(badChecksText)); problems != nil || len(c.entrypoints) != 3 {
		t.Errorf("without strict: %d entrypoints, %v", len(c.entrypoints), problems)
	}
}

// TestStrictStart: a start fails for a bad check and a bad form, and waits for a file
// that is not there.
func TestStrictStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.yaml")
	check := func(strict bool) error {
		p, err := New(Config{Path: path, Label: testLabels, Strict: strict, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		return p.Check()
	}
	if err := check(true); err != nil {
		t.Errorf("no file: %v", err)
	}
	for text, refused := range map[string]bool{
		"entrypoints: []\n": false, badChecksText: true, "entrypoint: []\n": true,
		"entrypoints: [{name: a, backends: [{address: h, port: 80, weight: -1}], config: {hostnames: [a]}}]": false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		invalid, is := errors.AsType[*InvalidError](check(true))
		if is != refused || is && !strings.HasPrefix(invalid.Error(), path+":") {
			t.Errorf("%.40q: %v", text, invalid)
		}
		if err := check(false); err != nil {
			t.Errorf("without strict: %v", err)
		}
	}
}

// TestStrictWhileRunning: a file with a bad check does not replace a good one.
func TestStrictWhileRunning(t *testing.T) {
	now := time.Unix(1, 0)
	s := newState(Config{Path: "f.yaml", Label: testLabels, Strict: true, Log: zerolog.Nop()}, now)
	s.update([]byte("entrypoints: [{name: a, backends: [{address: 10.0.0.1, port: 80}], config: {hostnames: [a]}}]"), nil, now)
	if !s.update([]byte(badChecksText), nil, now) {
		t.Error("nothing is told")
	}
	snapshot := s.snapshot()
	if len(snapshot.Entrypoints) != 1 || snapshot.Status.Phase != route.PhaseStale || len(snapshot.Global) != 6 || snapshot.Global[0].Code != "E114" {
		t.Errorf("%+v", snapshot)
	}
}

// TestEveryLabelHasAKey: what labels can say the file can say, too.
func TestEveryLabelHasAKey(t *testing.T) {
	without := []string{"prefix", "backup", "dockerHealth", "auth.basicFile"}
	known := map[string]bool{}
	for _, k := range label.Keys() {
		known[k.Name] = true
		_, entry := places[k.Name]
		_, backend := backendPlaces[k.Name]
		if entry == backend && slices.Contains(k.Protocols, route.HTTP) && k.Available != label.Later && !k.Family() && !slices.Contains(without, k.Name) {
			t.Errorf("the file has no key for %s", k.Name)
		}
	}
	for _, table := range []map[string]string{places, backendPlaces} {
		for name := range table {
			if !known[name] {
				t.Errorf("there is no label %s", name)
			}
		}
	}
}

// TestQueueOfALimitedBackend: what stands beside a backend with a limit is not said to
// lack one.
func TestQueueOfALimitedBackend(t *testing.T) {
	for text, want := range map[string]int{
		"{address: 10.0.0.1, port: 80, max_connections: 5}, {address: 10.0.0.2, port: 80}": 0,
		"{address: 10.0.0.1, port: 80}, {address: 10.0.0.2, port: 80}":                     1,
	} {
		c := contentsOf(t, "entrypoints: [{name: a, backends: ["+text+"], config: {hostnames: [a], path: {rule_type: Prefix, value: /}, queue: {size: 3}}}]")
		e := c.entrypoints[0]
		if len(e.Diagnostics) != want || e.Options.Queue.Size != 3 {
			t.Errorf("%s: %+v, queue %+v", text, e.Diagnostics, e.Options.Queue)
		}
	}
}

// TestHealthKeysSpeakOfTheFile: no finding about the keys of health names a label.
func TestHealthKeysSpeakOfTheFile(t *testing.T) {
	c := contentsOf(t, `entrypoints:
  - name: a
    backends: [{address: 10.0.0.1, port: 80, slow_start_min_percent: 5}]
    config:
      hostnames: [a]
      retry: {attempts: 1, on: [503], try_interval_ms: 5}
      circuit_breaker: {min_requests: 5}
      passive: {window_ms: 5, status: "404"}
      sticky_cookie: {name: x}
      queue: {size: 5}
      health_check: {status: 200, sni: a.b, grpc_service: x, interval_ms: 5000, fast_interval_ms: 6000}
  - name: b
    backends: [{address: 10.0.0.1, port: 80, scheme: https, tls: {client_cert: nobody}}]
    config:
      hostnames: [b]
      retry: {try_duration_ms: 5}
      passive: {failures: 5, recovery: probe, max_ejection_time_ms: 1000}
      sticky_session: true
      sticky_cookie: {same_site: None}
      health_check: {type: tcp, insecure_skip_verify: true}
  - name: c
    backends: [{address: 10.0.0.1, port: 80}]
    config:
      hostnames: [c]
      health_check: {type: websocket}
`)
	text := dump(c.candidates)
	for _, never := range []string{"healthCheck", "stickySession", "passive.maxE", "maxConn", "slowStart", "circuitBreaker", "tryDuration", "dialTimeout", "backendTLS", "the label"} {
		if i := strings.Index(text, never); i >= 0 {
			t.Errorf("%q shows: ...%s...", never, text[max(0, i-150):min(len(text), i+60)])
		}
	}
	if n := strings.Count(text, `"code"`); n < 20 {
		t.Errorf("only %d findings", n)
	}
}
