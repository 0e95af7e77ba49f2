package dashboard

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fairlead/router"
)

// screenshots is where make screenshots puts the pictures.
var screenshots = flag.String("screenshots", "", "write pictures of every page into this folder")

// scenes are the worlds that pictures are taken of.
func scenes() map[string]func(time.Time) *router.View {
	return map[string]func(time.Time) *router.View{
		"well": wellView, "broken": brokenView, "empty": emptyView, "stale": staleView, "layers": layersView,
		"thousand": func(now time.Time) *router.View { return largeView(now, 1000) },
	}
}

// shots are the pages by the name of their picture.
func shots() map[string]string {
	return map[string]string{
		"overview": "", "entrypoints": "entrypoints", "entrypoint": "entrypoints/http_auth", "entrypoint-panic": "entrypoints/http_payments",
		"entrypoint-down": "entrypoints/http_search", "health": "health", "diagnostics": "diagnostics", "providers": "providers", "about": "about",
		"resolve": "resolve?url=http%3A%2F%2Fshop.example.com%2Fpay%2Fcheckout&method=POST&client_ip=203.0.113.7", "missing": "entrypoints/http_nowhere",
	}
}

// TestScreenshots takes the pictures when it is asked to; make screenshots does.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("pictures are taken by make screenshots")
	}
	ctx := newBrowser(t)
	for scene, build := range scenes() {
		now := time.Now()
		s := series{now: now, quiet: scene == "empty"}
		if scene == "broken" {
			s.broken = map[string]float64{"http_payments": .93, "http_auth": .02}
		}
		server := serve(t, still{build(now)}, func(c *Config) { c.Series = s })
		for name, path := range shots() {
			if scene != "broken" && scene != "well" && (name == "about" || name == "resolve" || name == "missing" || name == "entrypoint-panic" || name == "entrypoint-down" || name == "entrypoint") {
				continue
			}
			for _, look := range []string{"light", "dark", "phone"} {
				shoot(t, ctx, server.URL+"/dashboard/"+path, look, scene+"-"+name+"-"+look)
			}
		}
	}
}

// shown are the pictures that the documentation shows: as much as a screen holds.
func shown() map[string]string {
	return map[string]string{
		"broken-overview-light": "dashboard-overview-light", "broken-overview-dark": "dashboard-overview-dark", "broken-overview-phone": "dashboard-phone",
		"broken-entrypoint-light": "dashboard-entrypoint",
	}
}

func shoot(t *testing.T, ctx context.Context, url, look, name string) {
	t.Helper()
	size := chromedp.EmulateViewport(1280, 900)
	if look == "phone" {
		size = chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile)
		scheme(t, ctx, "light")
	} else {
		scheme(t, ctx, look)
	}
	do(t, ctx, size, chromedp.Navigate(url))
	eventually(t, ctx, 20*time.Second, "document.readyState === 'complete' && document.getElementById('live').dataset.live === 'on'")
	save(t, ctx, name, chromedp.FullScreenshot(100))
	if kept, ok := shown()[name]; ok {
		save(t, ctx, kept, chromedp.CaptureScreenshot())
	}
}

func save(t *testing.T, ctx context.Context, name string, take chromedp.Action[[]byte]) {
	t.Helper()
	picture, err := chromedp.Run(ctx, take)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(*screenshots, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
