package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// hostile is one request that a page or a stranger may make.
type hostile struct {
	name   string
	method string
	path   string
	peer   string
	header []string
	status int
	code   string
	says   string // part of the message
}

func (h hostile) run(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Viewer, cfg.Log = fixed{richView()}, zerolog.Nop()
	r := httptest.NewRequest(h.method, h.path, strings.NewReader("{}"))
	r.Host, r.RemoteAddr = "127.0.0.1:3035", h.peer
	for i := 0; i+1 < len(h.header); i += 2 {
		if h.header[i] == "Host" {
			r.Host = h.header[i+1]
		} else {
			r.Header.Set(h.header[i], h.header[i+1])
		}
	}
	w := httptest.NewRecorder()
	New(cfg).Handler().ServeHTTP(w, r)
	if w.Code != h.status {
		t.Errorf("%s: %d %s, want %d", h.name, w.Code, w.Body, h.status)
		return
	}
	if h.code != "" {
		if e := decodeError(t, w.Body.Bytes()); e.Code != h.code || !strings.Contains(e.Message, h.says) {
			t.Errorf("%s: %+v, want code %s and %q", h.name, e, h.code, h.says)
		}
	}
	if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%s: headers %v", h.name, w.Header())
	}
}

const here = "127.0.0.1:50000"

// TestReboundHost: DNS rebinding needs a name, so names must be listed.
func TestReboundHost(t *testing.T) {
	cfg := Config{Hosts: []string{"Fairlead.Example.COM", "b\u00fccher.example:8443", "bad name", ""}}
	for host, status := range map[string]int{
		"127.0.0.1:3035": 200, "127.0.0.1": 200, "[::1]:3035": 200, "192.0.2.9:3035": 200, "[2001:db8::1]": 200,
		"localhost": 200, "localhost:3035": 200, "LOCALHOST.": 200,
		"fairlead.example.com": 200, "fairlead.example.com.:1": 200, "FAIRLEAD.example.com:3035": 200,
		"xn--bcher-kva.example": 200, "b\u00fccher.example": 200,
		"evil.example:3035": 403, "localhost.evil.example": 403, "evil.localhost": 403, "127.0.0.1.evil.example": 403,
		"": 403, "localhost:x": 403, "[::1": 403, "bad name": 403, "x.fairlead.example.com": 403, "127.0.0.1:3035, evil.example": 403,
	} {
		h := hostile{name: host, method: "GET", path: "/entrypoints", peer: here, header: []string{"Host", host}, status: status}
		if status == 403 {
			h.code, h.says = CodeBadHost, "admin.hosts"
		}
		h.run(t, cfg)
	}
}

func TestStrangers(t *testing.T) {
	for _, h := range []hostile{
		{name: "loopback", peer: here, status: 200},
		{name: "loopback, other address", peer: "127.9.9.9:1", status: 200},
		{name: "loopback, IPv6", peer: "[::1]:1", status: 200},
		{name: "loopback, mapped", peer: "[::ffff:127.0.0.1]:1", status: 200},
		{name: "the network", peer: "192.0.2.7:1", status: 403, code: CodeForbidden, says: "admin.anonymous"},
		{name: "the bridge's gateway", peer: "172.17.0.1:1", status: 403, code: CodeForbidden, says: "container port"},
		{name: "unknown", peer: "@", status: 403, code: CodeForbidden},
		{name: "claims to be local", peer: "192.0.2.7:1", header: []string{"X-Forwarded-For", "127.0.0.1", "X-Real-IP", "127.0.0.1", "Forwarded", "for=127.0.0.1"}, status: 403, code: CodeForbidden},
	} {
		h.method, h.path = "GET", "/entrypoints"
		h.run(t, Config{})
		h.path = "/" // the index tells a version
		h.run(t, Config{})
		h.path, h.status, h.code = "/healthy", 200, ""
		h.run(t, Config{})
		h.path = "/entrypoints"
		h.run(t, Config{Anonymous: true})
	}
}

// TestHostilePage: what a page in the operator's browser can send. Reads across
// origins are answered, but no header lets the page see the answer.
func TestHostilePage(t *testing.T) {
	evil := []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}
	for _, h := range []hostile{
		{name: "cross-origin form", method: "POST", header: append([]string{"Content-Type", "text/plain"}, evil...), status: 403, code: CodeCrossOrigin},
		{name: "cross-origin JSON", method: "POST", header: append([]string{"Content-Type", "application/json"}, evil...), status: 403, code: CodeCrossOrigin},
		{name: "cross-origin delete", method: "DELETE", header: evil, status: 403, code: CodeCrossOrigin},
		{name: "sandboxed frame", method: "POST", header: []string{"Origin", "null"}, status: 403, code: CodeCrossOrigin},
		{name: "old browser", method: "POST", header: []string{"Origin", "https://evil.example"}, status: 403, code: CodeCrossOrigin},
		{name: "sister site", method: "PUT", header: []string{"Sec-Fetch-Site", "same-site"}, status: 403, code: CodeCrossOrigin},
		{name: "other port of this machine", method: "POST", header: []string{"Origin", "http://127.0.0.1:8080"}, status: 403, code: CodeCrossOrigin},
		{name: "same origin", method: "POST", header: []string{"Origin", "http://127.0.0.1:3035", "Content-Type", "text/plain"}, status: 405, code: CodeMethodNotAllowed},
		{name: "program", method: "POST", header: []string{"Content-Type", "application/json"}, status: 405, code: CodeMethodNotAllowed},
		{name: "preflight", method: "OPTIONS", header: append([]string{"Access-Control-Request-Method", "POST"}, evil...), status: 405, code: CodeMethodNotAllowed},
		{name: "cross-origin read", method: "GET", header: evil, status: 200},
	} {
		h.path, h.peer = "/entrypoints", here
		h.run(t, Config{})
	}
	hostile{name: "unknown path", method: "POST", path: "/nothing", peer: here, header: evil, status: 403, code: CodeCrossOrigin}.run(t, Config{})
	hostile{name: "open path", method: "POST", path: "/healthy", peer: here, header: evil, status: 405, code: CodeMethodNotAllowed}.run(t, Config{})
}

// TestHostInErrorIsShort: what a stranger wrote is shown escaped and cut.
func TestHostInErrorIsShort(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Host, r.RemoteAddr = strings.Repeat("<\u202e\x1b", 500), here
	w := httptest.NewRecorder()
	newServer(richView()).Handler().ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != http.StatusForbidden || len(body) > 1500 || strings.ContainsAny(body, "<\u202e\x1b") {
		t.Errorf("%d, %d bytes: %s", w.Code, len(body), body)
	}
}

func TestCheckBind(t *testing.T) {
	for _, c := range []struct {
		addr             string
		users, anonymous bool
		refused          string
	}{
		{"127.0.0.1:3035", false, false, ""},
		{"127.1.2.3:0", false, false, ""},
		{"[::1]:3035", false, false, ""},
		{"localhost:3035", false, false, ""},
		{"[::ffff:127.0.0.1]:3035", false, false, ""},
		{":3035", false, false, "admin.anonymous"},
		{"0.0.0.0:3035", false, false, "admin.anonymous"},
		{"[::]:3035", false, false, "admin.anonymous"},
		{"192.0.2.1:3035", false, false, "--admin 127.0.0.1:3035"},
		{"router.example.com:3035", false, false, "admin.anonymous"},
		{"0.0.0.0:3035", true, false, ""},
		{"0.0.0.0:3035", false, true, ""},
		{"3035", false, true, "host:port"},
		{"", false, false, "host:port"},
	} {
		err := CheckBind(c.addr, c.users, c.anonymous)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%q users %t anonymous %t: %v, want %q", c.addr, c.users, c.anonymous, err, c.refused)
		}
	}
}
