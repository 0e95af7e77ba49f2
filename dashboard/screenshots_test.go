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
	"fairlead/router/route"
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
	pictured := scenes()
	pictured["crowd"] = crowdView
	for scene, build := range pictured {
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

// TestScreenshotsOfAdministrators takes those of what only they see, and of every layer.
func TestScreenshotsOfAdministrators(t *testing.T) {
	if *screenshots == "" {
		t.Skip("pictures are taken by make screenshots")
	}
	ctx := newBrowser(t)
	now := time.Now()
	v := layersView(now)
	k := newDesk(v)
	k.report = expiredReport(now)
	server := serve(t, still{v}, func(c *Config) { c.Operator, c.Series = &k.clerk, series{now: now} }, staff()...)
	enter(t, ctx, server.URL, "anna")
	for name, page := range map[string]string{
		"overview": "", "entrypoints": "entrypoints", "health": "health", "ordered": "entrypoints/http_auth", "ejected": "entrypoints/http_payments", "circuit": "entrypoints/http_search",
		"full": "entrypoints/http_media", "doubted": "entrypoints/http_report", "grpc": "entrypoints/http_ledger", "drain-page": k.page("http_auth", k.in("http_auth", "up"), "drain"),
	} {
		for _, look := range []string{"light", "dark", "phone"} {
			shoot(t, ctx, server.URL+"/dashboard/"+page, look, "admin-"+name+"-"+look)
		}
	}
	for _, name := range []string{"drain", "probe", "refused"} {
		for _, look := range []string{"light", "dark", "phone"} {
			k.err = nil
			shootWindow(t, ctx, k, server.URL+"/dashboard/entrypoints/http_payments", name, look)
		}
	}
}

// shootWindow takes a picture of the window of an operation, before or after it.
func shootWindow(t *testing.T, ctx context.Context, k *desk, url, name, look string) {
	t.Helper()
	shoot(t, ctx, url, look, "admin-window")
	operation, after := name, ""
	switch name {
	case "probe":
		after = ".report"
	case "refused":
		operation, after = "maintenance", "[name=force]"
		k.err = &route.OrderError{Code: route.OrderWouldEmpty, Message: "maintenance would leave http_payments without a backend that may serve (it has no other), so clients would get 503; force it if that is meant"}
	}
	do(t, ctx, chromedp.Click(`article[data-level=calm] a[href$="/`+operation+`"]`))
	eventually(t, ctx, 20*time.Second, `document.querySelector('#operator[open] form')`)
	if after != "" {
		do(t, ctx, chromedp.Click("#operator button[type=submit]"))
		eventually(t, ctx, 20*time.Second, `document.querySelector('#operator `+after+`')`)
	}
	save(t, ctx, "admin-"+name+"-"+look, chromedp.CaptureScreenshot())
	if kept, ok := shown()["admin-"+name+"-"+look]; ok {
		save(t, ctx, kept, chromedp.CaptureScreenshot())
	}
}

// shown are the pictures that the documentation shows: as much as a screen holds.
func shown() map[string]string {
	return map[string]string{
		"broken-overview-light": "dashboard-overview-light", "broken-overview-dark": "dashboard-overview-dark", "broken-overview-phone": "dashboard-phone",
		"broken-entrypoint-light": "dashboard-entrypoint", "admin-drain-light": "dashboard-drain",
	}
}

func shoot(t *testing.T, ctx context.Context, url, look, name string) {
	t.Helper()
	screen, size := int64(900), func(height int64) chromedp.Action[chromedp.Void] { return chromedp.EmulateViewport(1280, height) }
	if look == "phone" {
		screen, size = 844, func(height int64) chromedp.Action[chromedp.Void] {
			return chromedp.EmulateViewport(390, height, chromedp.EmulateMobile)
		}
		scheme(t, ctx, "light")
	} else {
		scheme(t, ctx, look)
	}
	do(t, ctx, size(screen), chromedp.Navigate(url))
	eventually(t, ctx, 20*time.Second, "document.readyState === 'complete' && document.getElementById('live').dataset.live === 'on'")
	if kept, ok := shown()[name]; ok {
		save(t, ctx, kept, chromedp.CaptureScreenshot())
	}
	// A screen as high as the page, since rows out of sight are not laid out. Their heights are guesses before.
	for range 2 {
		do(t, ctx, size(eval[int64](t, ctx, "document.documentElement.scrollHeight")))
		eval[bool](t, ctx, "(window.drawn = false, requestAnimationFrame(() => requestAnimationFrame(() => window.drawn = true)), true)")
		eventually(t, ctx, 20*time.Second, "window.drawn")
	}
	save(t, ctx, name, chromedp.FullScreenshot(100))
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
