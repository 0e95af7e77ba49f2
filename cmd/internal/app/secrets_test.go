package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead/cmd/internal/config"
)

// secretRoutes puts secrets wherever an entrypoint may hold them.
func secretRoutes(backend string) string {
	host, port, _ := strings.Cut(strings.TrimPrefix(backend, "http://"), ":")
	return fmt.Sprintf(`entrypoints:
- name: app
  protocol: Http
  backends: [{address: %s, port: %s}]
  config:
    hostnames: [app.localhost]
    match_headers: [{key: X-Key, value: %[3]s}]
    match_query: [{key: token, value: %[3]s}]
    headers: [{name: Authorization, value: Bearer %[3]s, direction: request}, {name: X-Secret, value: %[3]s, direction: response}]
    health_check: {path: "/health?token=%[3]s&%[3]s", headers: {X-Probe: %[3]s}, status: "200"}
`, host, port, canary)
}

// ask sends a request with a secret in each place that a client has for one.
func ask(t *testing.T, address, target string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: app.localhost\r\nAuthorization: Basic "+canary+"\r\nCookie: s="+canary+
		"\r\nX-Key: "+canary+"\r\nX-Request-Id: "+canary+"\r\nTraceparent: "+canary+"\r\nReferer: http://x/?"+canary+"\r\nConnection: close\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	return res.Status
}

// TestSecretsAreNowhere: not in a series, an answer, a line of the access log or of the
// log at its most talkative.
func TestSecretsAreNowhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	s := settings(tempFile(t, secretRoutes(hello(t).URL)))
	s.Log.Level, s.Log.Access.Path = "trace", path
	s.Sticky.Key = canary + canary
	listening, log := make(chan Addresses, 1), &buffer{}
	a, err := New(Config{Settings: s, Logs: NewLogs(log, config.Log{Level: "trace", Format: "json"}, false, false), Listening: func(a Addresses) { listening <- a }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	addresses := <-listening
	for target, want := range map[string]string{
		"/a?token=" + canary: "200", "/?" + canary: "404", "/..%2f?token=" + canary: "400", "/#" + canary: "400",
		"http://user:" + canary + "@app.localhost/a?token=" + canary: "200", "http://user:" + canary + "@/x": "404",
	} {
		if status := ask(t, addresses.HTTP, target); !strings.HasPrefix(status, want) {
			t.Errorf("%s: %s, want %s", target, status, want)
		}
	}
	for _, page := range []string{"/metrics", "/entrypoints", "/entrypoints/http_app", "/entrypoints/http_app/backends", "/entrypoints/http_app/traffic",
		"/traffic", "/checks", "/diagnostics", "/providers", "/"} {
		wantGet(t, addresses.Admin, addresses.Admin, page, 200)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	lines, err := os.ReadFile(path)
	if err != nil || strings.Count(string(lines), "\n") != 6 {
		t.Errorf("%v: %s", err, lines)
	}
	for what, text := range map[string]string{"access log": string(lines), "log": log.String()} {
		if i := strings.Index(text, canary); i >= 0 {
			t.Errorf("a secret is in the %s: %s", what, text[max(0, i-300):i+20])
		}
	}
}
