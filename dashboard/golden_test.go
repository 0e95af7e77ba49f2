package dashboard

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"fairlead/router"
)

var update = flag.Bool("update", false, "write the golden files anew")

// newDashboard shows a view with made-up traffic.
func newDashboard(v *router.View, s Series) *Dashboard {
	return New(Config{
		Viewer: still{v}, Log: zerolog.Nop(), Series: s, Version: "1.4.0", Started: noon.Add(-26 * time.Hour), Explain: meaning,
	})
}

// ask asks a dashboard as the listener does, below its mount.
func ask(d *Dashboard, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/"+path, http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

func get(d *Dashboard, path string, header ...string) *httptest.ResponseRecorder {
	return ask(d, http.MethodGet, path, header...)
}

// atNoon runs f in a bubble whose clock shows noon.
func atNoon(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(noon)) // virtual
		f(t)
	})
}

// pagesOf are the pages that are held to a golden file, by world.
func pagesOf(scene string) []string {
	some := []string{"", "entrypoints", "health", "diagnostics", "providers"}
	switch scene {
	case "well":
		return append(some, "about", "resolve", "entrypoints/http_shop", "entrypoints/http_status")
	case "broken":
		return append(some, "entrypoints/http_auth", "entrypoints/http_payments", "entrypoints/http_cms", "entrypoints/http_search",
			"entrypoints/http_git", "entrypoints/http_blog-staging", "entrypoints/http_wiki", "entrypoints/http_media", "entrypoints/http_nowhere",
			"resolve?url=http%3A%2F%2Fshop.example.com%2Fpay&method=POST&client_ip=203.0.113.7", "resolve?url=http%3A%2F%2Fshup.example.com%2F",
			"entrypoints?state=down%2Cpanic%2Cpartial&q=example", "entrypoints?q=nothing-like-it", "entrypoints?state=bogus",
			"diagnostics?severity=warn", "diagnostics?severity=all", "diagnosis", "entrypoints/http_payments/diagnosis")
	case "layers":
		return append(some[:3:3], "entrypoints/http_auth", "entrypoints/http_payments", "entrypoints/http_search", "entrypoints/http_media", "entrypoints/http_ledger",
			"entrypoints/http_mail", "entrypoints/http_live", "entrypoints/http_report", "diagnosis")
	case "stale":
		return []string{"", "entrypoints", "providers", "entrypoints/http_shop"}
	}
	return some
}

// TestPages holds every page in every state to its golden file.
func TestPages(t *testing.T) {
	for scene, build := range scenes() {
		if scene == "thousand" {
			continue
		}
		for _, page := range pagesOf(scene) {
			t.Run(scene+"/"+page, func(t *testing.T) {
				atNoon(t, func(t *testing.T) {
					s := series{now: noon, quiet: scene == "empty"}
					if scene == "broken" {
						s.broken = map[string]float64{"http_payments": .93, "http_auth": .02}
					}
					d := newDashboard(build(noon), s)
					w := get(d, page)
					body := bytes.ReplaceAll(w.Body.Bytes(), []byte(d.assets.version), []byte("VERSION"))
					golden(t, scene+"-"+fileName(page), withoutSigns(body))
				})
			})
		}
	}
}

// withoutSigns leaves out what is the same on every page.
func withoutSigns(page []byte) []byte {
	before, rest, found := bytes.Cut(page, []byte(`<svg class="signs"`))
	if !found {
		return page
	}
	_, after, _ := bytes.Cut(rest, []byte("</svg>\n"))
	return append(append([]byte(nil), before...), after...)
}

func fileName(page string) string {
	if page == "" {
		return "overview"
	}
	return strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-", "%", "", ":", "").Replace(page)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".html")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs (go test ./dashboard -update writes it anew; - is the file):\n%s", file, diff)
	}
}
