package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"fairlead/api"
)

func TestHeadersOfPages(t *testing.T) {
	d := newDashboard(wellView(noon), nil)
	for _, page := range []string{"", "entrypoints", "entrypoints/http_shop", "nowhere", "a/b/c/d", "entrypoints/", "entrypoints//diagnosis"} {
		w := get(d, page)
		h := w.Header()
		want := http.StatusOK
		if strings.HasPrefix(page, "nowhere") || strings.HasPrefix(page, "a/") || strings.HasSuffix(page, "/") || strings.Contains(page, "//") {
			want = http.StatusNotFound
		}
		if w.Code != want || h.Get("Cache-Control") != "no-store" || h.Get("Content-Security-Policy") != policy ||
			h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%q: %d %v", page, w.Code, h)
		}
	}
	if w := ask(d, http.MethodHead, ""); w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("HEAD: %d with %d bytes", w.Code, w.Body.Len())
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if w := ask(d, method, "entrypoints"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
}

func TestPolicyHoldsWhatTheDesignDemands(t *testing.T) {
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "base-uri 'none'",
		"form-action 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy lacks %s", part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "data:") {
		t.Errorf("the policy is soft: %s", policy)
	}
}

func TestAssetsAreKeptForEverUnderTheirHash(t *testing.T) {
	d := newDashboard(wellView(noon), nil)
	for name := range d.assets.files {
		w := get(d, d.assets.path()+name)
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Body.Len() == 0 ||
			strings.HasPrefix(w.Header().Get("Content-Type"), "application/octet") {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		if w := get(d, "static/0000000000000000/"+name); w.Code != http.StatusNotFound {
			t.Errorf("another hash: %d", w.Code)
		}
	}
	for _, path := range []string{"static/", "static/" + d.assets.version, d.assets.path(), d.assets.path() + "../dashboard.go", d.assets.path() + "nothing.js"} {
		if w := get(d, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := ask(d, http.MethodPost, d.assets.path()+"main.js"); w.Code != http.StatusNotFound {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestThemeIsKeptInACookie(t *testing.T) {
	d := newDashboard(wellView(noon), nil)
	set := func(theme, back string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/theme", strings.NewReader(url.Values{"theme": {theme}, "back": {back}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		return w
	}
	w := set("dark", "entrypoints?q=a&state=down")
	cookie := w.Result().Cookies()[0]
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "entrypoints?q=a&state=down" || cookie.Value != "dark" || !cookie.HttpOnly || cookie.Path != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for theme, want := range map[string]string{"dark": `<html lang="en" data-theme="dark"`, "light": `data-theme="light"`, "evil": `<html lang="en" data-level`, "": `<html lang="en" data-level`} {
		if body := get(d, "", "Cookie", themeCookie+"="+theme).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s: no %s", theme, want)
		}
	}
	if gone := set("auto", "").Result().Cookies()[0]; gone.MaxAge >= 0 {
		t.Errorf("the cookie stays: %v", gone)
	}
	for back, want := range map[string]string{
		"": "./", "health": "health", "entrypoints/http_a%2Fb": "entrypoints/http_a%2Fb", "https://evil.example/": "./", "//evil.example/x": "./",
		`\\evil.example`: "./", "javascript:alert(1)": "./", "/entrypoints": "./", "static/x": "./", "health\r\nX: y": "./", "../login": "./", "about:blank": "./",
	} {
		if got := set("dark", back).Header().Get("Location"); got != want {
			t.Errorf("back to %q leads to %q, want %q", back, got, want)
		}
	}
}

// TestEveryLinkHoldsBehindAPathPrefix follows every link of every page through a proxy
// that adds a path of its own.
func TestEveryLinkHoldsBehindAPathPrefix(t *testing.T) {
	server := serve(t, still{brokenView(time.Now())}, nil)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/ops/edge", httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(proxy.Close)
	const mount = "/ops/edge/"
	todo, seen := []string{proxy.URL + mount + "dashboard/"}, map[string]bool{}
	for len(todo) > 0 && len(seen) < 500 {
		page := todo[0]
		todo = todo[1:]
		if seen[page] {
			continue
		}
		seen[page] = true
		todo = append(todo, linksOf(t, page, mount)...)
	}
	if len(seen) < 60 {
		t.Errorf("only %d addresses were found", len(seen))
	}
}

// linksOf fetches an address, holds it to a success and returns where its page leads.
func linksOf(t *testing.T, page, mount string) []string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && !strings.HasSuffix(page, "/ready") {
		t.Errorf("%s: %d", page, resp.StatusCode)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return nil
	}
	root, err := html.Parse(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	for n := range root.Descendants() {
		for _, name := range []string{"href", "src"} {
			value := attribute(n, name)
			if n.Type != html.ElementNode || value == "" || strings.HasPrefix(value, "#") {
				continue
			}
			u, err := base.Parse(value)
			if err != nil || u.Host != base.Host || !strings.HasPrefix(u.Path, mount) {
				t.Errorf("%s: %s leads out of the prefix", page, value)
				continue
			}
			u.Fragment = ""
			links = append(links, u.String())
		}
	}
	return links
}

func TestLoginPage(t *testing.T) {
	d := newDashboard(wellView(noon), nil)
	r := httptest.NewRequest(http.MethodGet, "/login?next=dashboard/health", http.NoBody)
	w := httptest.NewRecorder()
	d.ServeLogin(w, r, api.LoginView{Next: `/dashboard/health?q="><script>`, Name: `a"b`, Problem: "<b>wrong</b>", Status: http.StatusUnauthorized})
	body := w.Body.String()
	if w.Code != http.StatusUnauthorized || w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	inert(t, "login", body)
	for _, want := range []string{`action="login"`, `method="post"`, `name="name"`, `name="password"`, `name="next" value="/dashboard/health?q=&#34;&gt;&lt;script&gt;"`,
		`href="dashboard/static/`, "&lt;b&gt;wrong&lt;/b&gt;", `autocomplete="current-password"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}
