package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"fairlead/router"
	"fairlead/router/route"
)

// snapshotOf is what the providers said before a view was made of it.
func snapshotOf(views []router.EntrypointView) route.Snapshot {
	s := route.Snapshot{Provider: "docker", Status: route.ProviderStatus{Name: "docker", Enabled: true}}
	for i := range views {
		s.Entrypoints = append(s.Entrypoints, views[i].Entrypoint)
	}
	return s
}

func decodeError(t *testing.T, body []byte) Error {
	t.Helper()
	var e Error
	if err := json.Unmarshal(body, &e); err != nil || e.Message == "" || e.Code == "" {
		t.Fatalf("not an error body: %s (%v)", body, err)
	}
	return e
}

func TestErrors(t *testing.T) {
	s := newServer(richView())
	for _, c := range []struct {
		method, path string
		status       int
		code, field  string
	}{
		{"GET", "/nothing", 404, CodeNotFound, ""},
		{"GET", "/entrypoints/", 404, CodeNotFound, ""},
		{"GET", "//entrypoints", 404, CodeNotFound, ""},
		{"GET", "/entrypoints/../me", 404, CodeNotFound, ""},
		{"GET", "/entrypoints/http_none", 404, CodeNotFound, ""},
		{"GET", "/entrypoints/http_none/backends", 404, CodeNotFound, ""},
		{"GET", "/entrypoints/http_none/backends/x", 404, CodeNotFound, ""},
		{"GET", "/entrypoints/http_api/backends/none", 404, CodeNotFound, ""},
		{"GET", "/entrypoints/http_api/backends/none/history", 404, CodeNotFound, ""},
		{"GET", "/entrypoints?stat=down", 400, CodeBadParameter, "stat"},
		{"GET", "/entrypoints?state=broken", 400, CodeBadParameter, "state"},
		{"GET", "/entrypoints?protocol=quic", 400, CodeBadParameter, "protocol"},
		{"GET", "/entrypoints?tls=perhaps", 400, CodeBadParameter, "tls"},
		{"GET", "/entrypoints?limit=0", 400, CodeBadParameter, "limit"},
		{"GET", "/entrypoints?limit=x", 400, CodeBadParameter, "limit"},
		{"GET", "/entrypoints?a=%zz", 400, CodeBadParameter, ""},
		{"GET", "/resolve", 400, CodeBadParameter, "url"},
		{"GET", "/resolve?url=" + strings.Repeat("a", maxAskedURL+1), 400, CodeBadParameter, "url"},
		{"GET", "/resolve?url=http://a/&client-ip=1.2.3.4", 400, CodeBadParameter, "client-ip"},
		{"GET", "/resolve?url=http://a/&client_ip=me", 400, CodeBadParameter, "client_ip"},
		{"GET", "/resolve?url=http://a/&header=nocolon", 400, CodeBadParameter, "header"},
		{"GET", "/resolve?url=http://a/" + strings.Repeat("&header=a:b", maxAskedHeaders+1), 400, CodeBadParameter, "header"},
		{"POST", "/entrypoints", 405, CodeMethodNotAllowed, ""},
		{"DELETE", "/entrypoints/http_api", 405, CodeMethodNotAllowed, ""},
		{"OPTIONS", "/entrypoints", 405, CodeMethodNotAllowed, ""},
		{"POST", "/healthy", 405, CodeMethodNotAllowed, ""},
		{"PUT", "/nothing", 404, CodeNotFound, ""},
	} {
		w := ask(s, c.method, c.path)
		e := decodeError(t, w.Body.Bytes())
		if w.Code != c.status || e.Code != c.code || e.Field != c.field {
			t.Errorf("%s %.60s: %d %+v, want %d %s %s", c.method, c.path, w.Code, e, c.status, c.code, c.field)
		}
		if got := w.Header().Get("Allow"); (got == "GET, HEAD") != (c.status == 405) {
			t.Errorf("%s %.60s: Allow %q", c.method, c.path, got)
		}
		if strings.Contains(w.Header().Get("Location"), "/") {
			t.Errorf("%s %.60s: a redirect", c.method, c.path)
		}
	}
}

// TestIDsAreDecodedOnce: ids of other providers and IPv6 backends are in paths as
// they are, or encoded.
func TestIDsAreDecodedOnce(t *testing.T) {
	v := richView()
	renamed := *v.Entrypoints[len(v.Entrypoints)-2].Entrypoint
	renamed.ID = "http_zzz@file"
	v.Entrypoints = append(v.Entrypoints[:len(v.Entrypoints)-1], router.EntrypointView{Entrypoint: &renamed})
	s := newServer(v)
	for _, p := range []string{"/entrypoints/http_zzz@file", "/entrypoints/http_zzz%40file",
		"/entrypoints/http_six/backends/[fd00::5]:80", "/entrypoints/http_six/backends/%5Bfd00::5%5D:80/history"} {
		if w := get(s, p); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", p, w.Code, w.Body)
		}
	}
	if w := get(s, "/entrypoints/http_zzz%2540file"); w.Code != http.StatusNotFound {
		t.Errorf("decoded twice: %d", w.Code)
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	s := newServer(richView())
	for _, p := range []string{"/", "/healthy", "/ready", "/entrypoints", "/nothing"} {
		w := get(s, p)
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Content-Type": "application/json", "Access-Control-Allow-Origin": "", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", p, name, got, want)
			}
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: CSP %q", p, csp)
		}
	}
}

func TestHead(t *testing.T) {
	s := newServer(richView())
	for _, p := range []string{"/healthy", "/entrypoints", "/nothing"} {
		g, h := get(s, p), ask(s, http.MethodHead, p)
		if h.Code != g.Code || h.Body.Len() != 0 || h.Header().Get("Content-Length") != g.Header().Get("Content-Length") {
			t.Errorf("HEAD %s: %d, %d bytes, length %s; GET %d", p, h.Code, h.Body.Len(), h.Header().Get("Content-Length"), g.Code)
		}
	}
}

func ids(t *testing.T, body []byte) string {
	t.Helper()
	var all []Entrypoint
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var out []string
	for _, e := range all {
		out = append(out, strings.TrimPrefix(e.ID, "http_"))
	}
	return strings.Join(out, " ")
}

func TestFilters(t *testing.T) {
	s := newServer(richView())
	for query, want := range map[string]string{
		"state=panic":                   "scarce sick",
		"state=partial,PANIC":           "backup half probed scarce shaken sick",
		"state=unchecked&state=panic":   "plain scarce sick",
		"state=down&q=closed":           "closed-e104 closed-e113",
		"source=file":                   "six",
		"source=FILE&protocol=http":     "six",
		"protocol=tcp":                  "tcp_db",
		"protocol=udp":                  "",
		"tls=true":                      "",
		"tls=false&q=api.example":       "api",
		"q=172.20.0.16":                 "backup",
		"q=SHOP-API-2":                  "api",
		"q=closed%20E113":               "closed-e113",
		"q=fd00":                        "six",
		"q=/api":                        "api",
		"q=nothing":                     "",
		"q=" + canary:                   "",
		"limit=2":                       "api backup",
		"limit=2&after=http_backup":     "busy closed-e104",
		"after=tcp_db":                  "",
		"after=http_zzz&protocol=tcp":   "tcp_db",
		"limit=1&state=partial":         "backup",
		"limit=10000&state=pending&q=y": "young",
	} {
		w := get(s, "/entrypoints?"+query)
		if got := ids(t, w.Body.Bytes()); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestPagesVisitEachOnce follows the links to the end.
func TestPagesVisitEachOnce(t *testing.T) {
	s := newServer(richView())
	all := ids(t, get(s, "/entrypoints").Body.Bytes())
	var seen []string
	path := "/entrypoints?limit=3"
	for range 20 {
		w := get(s, path)
		seen = append(seen, ids(t, w.Body.Bytes()))
		link := w.Header().Get("Link")
		if link == "" {
			break
		}
		target, rest, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if rest != `; rel="next"` || !strings.HasPrefix(target, "?") {
			t.Fatalf("Link: %s", link)
		}
		path = "/entrypoints" + target
	}
	if got := strings.Join(seen, " "); got != all {
		t.Errorf("pages: %s\nall:   %s", got, all)
	}
	if link := get(s, "/entrypoints").Header().Get("Link"); link != "" {
		t.Errorf("paged without being asked: %s", link)
	}
}

func TestEntityTag(t *testing.T) {
	v := richView()
	s := newServer(v)
	tag := get(s, "/entrypoints").Header().Get("ETag")
	if tag != `W/"b00t-7"` {
		t.Fatalf("ETag %s", tag)
	}
	for _, h := range []string{tag, `"b00t-7"`, `"other", ` + tag, "*"} {
		w := get(s, "/entrypoints", "If-None-Match", h)
		if w.Code != http.StatusNotModified || w.Body.Len() != 0 || w.Header().Get("ETag") != tag || w.Header().Get("Content-Type") != "" {
			t.Errorf("%s: %d, %d bytes", h, w.Code, w.Body.Len())
		}
	}
	if w := get(s, "/entrypoints/http_api", "If-None-Match", tag); w.Code != http.StatusNotModified {
		t.Errorf("one: %d", w.Code)
	}
	next := *v
	next.Generation++
	s.cfg.Viewer = fixed{&next}
	if w := get(s, "/entrypoints", "If-None-Match", tag); w.Code != http.StatusOK || w.Header().Get("ETag") == tag {
		t.Errorf("a new generation: %d %s", w.Code, w.Header().Get("ETag"))
	}
	again := New(Config{Viewer: fixed{v}})
	if w := get(again, "/entrypoints", "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("restarted_router_answers_304: generations begin anew, so the tag of another process must not match: %d", w.Code)
	}
}
