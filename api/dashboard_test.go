package api

import (
	"net/http"
	"testing"

	"github.com/rs/zerolog"
)

// browser is what a browser says that it accepts.
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

func TestDashboardIsMountedBehindTheGuards(t *testing.T) {
	s := New(Config{Viewer: fixed{richView()}, Log: zerolog.Nop(), Dashboard: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("dashboard at " + r.URL.EscapedPath()))
	})})
	for _, c := range []struct {
		path, accept, host string
		status             int
		location, body     string
	}{
		{"/dashboard/", "", "", 200, "", "dashboard at /"},
		{"/dashboard/entrypoints/a%2Fb", "", "", 200, "", "dashboard at /entrypoints/a%2Fb"},
		{"/dashboard", "", "", 303, "dashboard/", ""},
		{"/", browser, "", 303, "dashboard/", ""},
		{"/", "*/*", "", 200, "", ""},
		{"/", "application/json", "", 200, "", ""},
		{"/", "text/html;q=0, */*", "", 200, "", ""},
		{"/", "", "", 200, "", ""},
		{"/dashboards", browser, "", 404, "", ""},
		{"/dashboard/", "", "evil.example", 403, "", ""},
	} {
		header := []string{"Accept", c.accept}
		if c.host != "" {
			header = append(header, "Host", c.host)
		}
		w := get(s, c.path, header...)
		if w.Code != c.status || w.Header().Get("Location") != c.location || c.body != "" && w.Body.String() != c.body {
			t.Errorf("%s for %q: %d %q %q", c.path, c.accept, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
}

func TestWithoutDashboardTheListStaysAtTheRoot(t *testing.T) {
	s := newServer(richView())
	if w := get(s, "/", "Accept", browser); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := get(s, "/dashboard/"); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
