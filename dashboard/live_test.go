package dashboard

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fairlead/router/route"
)

// open shows a page and waits until its script follows the events.
func open(t testing.TB, ctx context.Context, url string) {
	t.Helper()
	do(t, ctx, chromedp.Navigate(url))
	eventually(t, ctx, 20*time.Second, `document.getElementById('live')?.dataset.live === 'on'`)
	eval[int](t, ctx, `window.marker = 1`)
}

// tab is another page in the same browser.
func tab(t *testing.T, ctx context.Context) context.Context {
	t.Helper()
	other, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	do(t, other)
	return other
}

// TestABackendThatGoesDownIsSeenWithoutReload is the promise of two seconds, on four
// pages at once.
func TestABackendThatGoesDownIsSeenWithoutReload(t *testing.T) {
	r := newRig(t)
	backends := r.entrypoint("shop", 2)
	r.entrypoint("blog", 1)
	r.publish()
	overview := newBrowser(t)
	list, health, one := tab(t, overview), tab(t, overview), tab(t, overview)
	for ctx, page := range map[context.Context]string{overview: "", list: "entrypoints", health: "health", one: "entrypoints/http_shop"} {
		open(t, ctx, r.url(page))
	}
	eventually(t, overview, 20*time.Second, `document.querySelector('.verdict .lead').textContent.includes('All well')`)
	backends[0].broken.Store(true)
	broke := time.Now()
	for _, want := range []struct {
		ctx        context.Context
		name, what string
	}{
		{overview, "overview", `document.querySelector('.verdict .lead').textContent.includes('1 partial') && document.querySelector('.problem[data-key=http_shop] .why').textContent.includes('demo-shop-1')`},
		{list, "entrypoints", `document.querySelector('tr[data-key=http_shop] .state').textContent.includes('partial') && document.querySelector('tr[data-key=http_shop] .ratio').textContent === '1 of 2'`},
		{health, "health", `document.querySelector('article[data-key="http_shop/demo-shop-1"] .why')?.textContent.includes('503')`},
		{one, "entrypoint", `document.querySelector('article[data-key="http_shop/demo-shop-1"][data-level=alarm] .word').textContent === 'down'`},
	} {
		eventually(t, want.ctx, 2*time.Second, want.what)
		if took := time.Since(broke); took > 2*time.Second {
			t.Errorf("%s: seen after %s", want.name, took)
		} else {
			t.Logf("%s: seen within %s of the fault, its detection included", want.name, took.Round(time.Millisecond))
		}
		if eval[int](t, want.ctx, `window.marker ?? 0`) != 1 {
			t.Errorf("%s was loaded anew", want.name)
		}
	}
	if title := eval[string](t, overview, `document.documentElement.dataset.level + ' ' + document.getElementById('icon').href`); title == "calm" {
		t.Error(title)
	}
	backends[0].broken.Store(false)
	eventually(t, overview, 20*time.Second, `document.querySelector('.verdict .lead').textContent.includes('All well') && !document.querySelector('.problem')`)
	eventually(t, health, 20*time.Second, `!document.querySelector('article.backend')`)
}

// TestNewAndRemovedEntrypointsAppearAndGo: the table's frames are heeded, and a row that
// somebody is on stays until they leave it.
func TestNewAndRemovedEntrypointsAppearAndGo(t *testing.T) {
	r := newRig(t)
	r.entrypoint("shop", 1)
	r.publish()
	ctx := newBrowser(t)
	open(t, ctx, r.url("entrypoints"))
	eventually(t, ctx, 20*time.Second, `document.querySelectorAll('tbody tr').length === 1`)
	r.entrypoint("auth", 1)
	r.publish()
	eventually(t, ctx, 2*time.Second, `[...document.querySelectorAll('tbody tr')].map(r => r.dataset.key).join() === 'http_auth,http_shop'`)
	eval[bool](t, ctx, `document.querySelector('tr[data-key=http_auth] a.row').focus(), true`)
	r.entries = r.entries[1:]
	r.publish()
	eventually(t, ctx, 2*time.Second, `document.querySelector('tr[data-key=http_auth]').classList.contains('gone')`)
	if !eval[bool](t, ctx, `document.activeElement.closest('tr')?.dataset.key === 'http_auth'`) {
		t.Error("the focus moved by itself")
	}
	eval[bool](t, ctx, `document.activeElement.blur(), true`)
	eventually(t, ctx, 2*time.Second, `!document.querySelector('tr[data-key=http_auth]')`)
}

// TestNothingMovesByItself: focus, marked text, an open part and the scroll position
// stay while the page is patched.
func TestNothingMovesByItself(t *testing.T) {
	r := newRig(t)
	backends := r.entrypoint("shop", 2)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		r.entrypoint(name, 1)
	}
	r.publish()
	ctx := newBrowser(t)
	do(t, ctx, chromedp.EmulateViewport(1000, 500))
	open(t, ctx, r.url("entrypoints/http_shop"))
	eventually(t, ctx, 20*time.Second, `document.querySelectorAll('article[data-level=calm]').length === 2`)
	before := eval[string](t, ctx, `(() => {
		const details = document.querySelector('article details.history');
		details.open = true;
		details.querySelector('summary').focus();
		window.node = document.querySelector('article h3 bdi').firstChild;
		getSelection().setBaseAndExtent(window.node, 1, window.node, 6);
		window.place = () => [document.activeElement.tagName, details.open, getSelection().toString(), Math.round(scrollY), window.node.isConnected].join();
		scrollTo({ top: 120, behavior: 'instant' });
		return window.place();
	})()`)
	backends[1].broken.Store(true)
	eventually(t, ctx, 2*time.Second, `document.querySelector('article[data-key="http_shop/demo-shop-2"][data-level=alarm]')`)
	if after := eval[string](t, ctx, `window.place()`); after != before {
		t.Errorf("before %q, after %q", before, after)
	}
}

// TestTheStaleBanner appears on every page when the engine is gone, and goes when it
// returns.
func TestTheStaleBanner(t *testing.T) {
	r := newRig(t)
	r.entrypoint("shop", 1)
	r.publish()
	ctx := newBrowser(t)
	open(t, ctx, r.url("about"))
	if eval[bool](t, ctx, `!!document.querySelector('.banner')`) {
		t.Fatal("a banner on a good day")
	}
	r.publish(func(s *route.ProviderStatus) {
		s.Connected, s.Phase, s.Since = false, route.PhaseStale, time.Now()
		s.LastError, s.Hint = "cannot connect to unix:///var/run/docker.sock", "start the engine"
	})
	eventually(t, ctx, 2*time.Second, `document.querySelector('.banner')`)
	text := eval[string](t, ctx, `document.querySelector('.banner').innerText`)
	for _, want := range []string{"docker is not connected", "since 20", "The table is frozen", "cannot connect to unix:///var/run/docker.sock", "start the engine", "Providers"} {
		if !contains(want, text) {
			t.Errorf("the banner does not say %q: %s", want, text)
		}
	}
	for _, page := range []string{"", "entrypoints", "entrypoints/http_shop", "health", "diagnostics", "resolve", "providers", "about"} {
		do(t, ctx, chromedp.Navigate(r.url(page)))
		if !eval[bool](t, ctx, `document.querySelector('.banner')?.innerText.includes('docker is not connected')`) {
			t.Errorf("no banner on %s", page)
		}
	}
	eventually(t, ctx, 20*time.Second, `document.getElementById('live')?.dataset.live === 'on'`)
	r.publish()
	eventually(t, ctx, 2*time.Second, `!document.querySelector('.banner')`)
}

// TestTheLampSaysWhetherThePageIsLive: no socket is said, no answer at all is said
// louder, and both end by themselves.
func TestTheLampSaysWhetherThePageIsLive(t *testing.T) {
	r := newRig(t)
	r.entrypoint("shop", 1)
	r.publish()
	ctx := newBrowser(t)
	open(t, ctx, r.url(""))
	handler := r.served.Swap(nil)
	r.cut()
	eventually(t, ctx, 20*time.Second, `document.getElementById('live').dataset.live !== 'on'`)
	eventually(t, ctx, 15*time.Second, `document.getElementById('live').innerText.includes('no answer since')`)
	r.served.Store(handler)
	eventually(t, ctx, 20*time.Second, `document.getElementById('live').dataset.live === 'on'`)
}

// TestWithoutASocketThePageIsPolled: an old proxy in between that knows no WebSocket.
func TestWithoutASocketThePageIsPolled(t *testing.T) {
	r := newRig(t)
	backends := r.entrypoint("shop", 2)
	r.publish()
	whole := *r.served.Load()
	var deaf http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/events" {
			http.Error(w, "no upgrades here", http.StatusBadGateway)
			return
		}
		whole.ServeHTTP(w, req)
	})
	r.served.Store(&deaf)
	ctx := newBrowser(t)
	do(t, ctx, chromedp.Navigate(r.url("")))
	eventually(t, ctx, 20*time.Second, `document.getElementById('live').innerText.includes('not live')`)
	eventually(t, ctx, 20*time.Second, `document.querySelector('.verdict .lead').textContent.includes('All well')`)
	backends[0].broken.Store(true)
	eventually(t, ctx, 7*time.Second, `document.querySelector('.verdict .lead').textContent.includes('1 partial')`)
}
