package dashboard

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/router"
)

// browserPath finds a Chromium. Without one the test is skipped, and fails where one is
// required (make ci).
func browserPath(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("browser tests are for runs without -short")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("FAIRLEAD_REQUIRE_BROWSER") == "1" {
		t.Fatal("no Chromium found, and FAIRLEAD_REQUIRE_BROWSER=1: apt-get install chromium")
	}
	t.Skip("no Chromium found; install chromium to run the browser tests")
	return ""
}

// newBrowser starts a browser that ends with the test.
func newBrowser(t testing.TB, flags ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browserPath(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-dev-shm-usage", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), append(options, flags...)...)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func do(t testing.TB, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// eval is the value of an expression in the page.
func eval[T any](t testing.TB, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// eventually polls an expression until it is true.
func eventually(t testing.TB, ctx context.Context, limit time.Duration, expression string) time.Duration {
	t.Helper()
	start := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for time.Since(start) < limit {
		// A page in the middle of being loaded lacks things.
		if eval[bool](t, ctx, "(() => { try { return !!("+expression+") } catch { return false } })()") {
			return time.Since(start)
		}
		<-tick.C
	}
	t.Fatalf("not within %s: %s; the page says: %s", limit, expression, eval[string](t, ctx, "document.body.innerText.slice(0, 1500)"))
	return 0
}

// scheme makes the browser prefer light or dark.
func scheme(t testing.TB, ctx context.Context, name string) {
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// serve is the admin listener with the dashboard of a viewer, as the router wires it.
func serve(t testing.TB, viewer router.Viewer, change func(*Config), users ...api.User) *httptest.Server {
	t.Helper()
	cfg := Config{Viewer: viewer, Log: zerolog.Nop(), Version: "1.4.0", Started: time.Now().Add(-26 * time.Hour), Explain: meaning}
	if change != nil {
		change(&cfg)
	}
	d := New(cfg)
	events := api.NewEvents()
	s := api.New(api.Config{Viewer: viewer, Log: zerolog.Nop(), Version: cfg.Version, Dashboard: d, LoginPage: d.ServeLogin, Users: users, Events: events})
	server := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = events.Run(ctx, viewer) })
	t.Cleanup(func() {
		cancel()
		server.Close()
		wg.Wait()
	})
	return server
}

// meaning stands for the program's table of codes.
func meaning(code string) (Explanation, bool) {
	switch code {
	case "E104":
		return Explanation{"Protection cannot be used", "A label that protects the route has no usable value, or is misspelt.", "The route answers 503 rather than stand open.", "Correct the label.", "auth.basci -> auth.basic"}, true
	case "W021":
		return Explanation{"Health check value not usable", "A healthCheck label has a value that cannot be used.", "The default is used.", "Correct the value.", "healthCheck.interval=fast -> healthCheck.interval=10s"}, true
	}
	return Explanation{}, false
}
