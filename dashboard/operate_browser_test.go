package dashboard

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// heldEnter is what a held Enter key sends once more.
func heldEnter() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		repeat := true
		for _, event := range []input.DispatchKeyEventParams{
			{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, AutoRepeat: &repeat},
			{Type: input.DispatchKeyEventTypeChar, Key: "Enter", Text: "\r", UnmodifiedText: "\r", WindowsVirtualKeyCode: 13, AutoRepeat: &repeat},
		} {
			if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, event); err != nil {
				return err
			}
		}
		return nil
	})
}

// enter logs a user in by the form.
func enter(t *testing.T, ctx context.Context, base, user string) {
	t.Helper()
	do(t, ctx, chromedp.Navigate(base+"/login"), chromedp.SendKeys("input[name=name]", user), chromedp.SendKeys("input[name=password]", password+kb.Enter))
	eventually(t, ctx, 20*time.Second, `document.querySelector('.user .who')?.textContent === '`+user+`'`)
}

// state is an expression for the word of a backend's card.
func state(backend string) string {
	return `document.querySelector('article[data-key="http_shop/` + backend + `"] .word').textContent`
}

// press opens the window of an operation, from the keyboard.
func press(t *testing.T, ctx context.Context, backend, name string) {
	t.Helper()
	eventually(t, ctx, 20*time.Second, `document.querySelector('article[data-key="http_shop/`+backend+`"] a[href$="/`+name+`"]')`)
	eval[bool](t, ctx, `(document.querySelector('article[data-key="http_shop/`+backend+`"] a[href$="/`+name+`"]').focus(), true)`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	eventually(t, ctx, 20*time.Second, `document.getElementById('operator').open && document.querySelector('#operator #operate')`)
}

// TestAnAdministratorDrainsABackend: the window says what will happen, the card changes
// without a reload, the last one is refused and can be forced, and the policy is kept.
func TestAnAdministratorDrainsABackend(t *testing.T) {
	r := newRig(t, staff()...)
	r.entrypoint("shop", 2)
	r.publish()
	ctx := newBrowser(t)
	w := watching(t, ctx)
	enter(t, ctx, r.admin.URL, "anna")
	open(t, ctx, r.url("entrypoints/http_shop"))
	eventually(t, ctx, 20*time.Second, `document.querySelectorAll('article[data-level=calm]').length === 2`)

	press(t, ctx, "demo-shop-1", "drain")
	eventually(t, ctx, 20*time.Second, `document.activeElement.name === 'reason'`)
	for _, want := range []string{"No new requests; nothing is in flight", "1 of 2 backends stays in rotation"} {
		if text := eval[string](t, ctx, `document.getElementById('operator').innerText`); !contains(want, text) {
			t.Errorf("the window does not say %q: %s", want, text)
		}
	}
	do(t, ctx, chromedp.KeyEvent(kb.Escape)) // leaves the field or the window; a second one the window
	if eval[bool](t, ctx, `document.getElementById('operator').open`) {
		do(t, ctx, chromedp.KeyEvent(kb.Escape))
	}
	eventually(t, ctx, 20*time.Second, `!document.getElementById('operator').open && document.activeElement.href.endsWith('/drain')`)

	press(t, ctx, "demo-shop-1", "drain")
	// The key that opened the window is still held: it repeats, and its character arrives.
	do(t, ctx, heldEnter())
	if !eval[bool](t, ctx, `document.getElementById('operator').open && `+state("demo-shop-1")+` === 'up'`) {
		t.Error("a key that is held gives the order")
	}
	do(t, ctx, chromedp.KeyEvent(`deploy <b>2.15</b> "now"`), chromedp.KeyEvent(kb.Enter))
	eventually(t, ctx, 20*time.Second, `!document.getElementById('operator').open && `+state("demo-shop-1")+` === 'draining'`)
	eventually(t, ctx, 20*time.Second, `document.querySelector('article[data-key="http_shop/demo-shop-1"] .order').innerText.includes('anna drained it')`)
	if text := eval[string](t, ctx, `document.querySelector('article[data-key="http_shop/demo-shop-1"]').innerText`); !contains(`deploy <b>2.15</b> "now"`, text) || !contains("It drains: nothing is in flight.", text) {
		t.Errorf("the card says %s", text)
	}
	eventually(t, ctx, 20*time.Second, `document.activeElement.closest('article')?.dataset.key === 'http_shop/demo-shop-1' && document.getElementById('announce').textContent.includes('It drains')`)
	eventually(t, ctx, 20*time.Second, `document.querySelector('#timeline').innerText.includes('by anna')`)

	press(t, ctx, "demo-shop-2", "maintenance")
	do(t, ctx, chromedp.KeyEvent("disk"), chromedp.Click("#operator button[type=submit]"))
	eventually(t, ctx, 20*time.Second, `document.querySelector('#operator .problem-note') === document.activeElement && document.querySelector('#operator input[name=force]')`)
	if got := eval[string](t, ctx, state("demo-shop-2")+` + ' ' + document.querySelector('#operator [name=reason]').value`); got != "up disk" {
		t.Errorf("after the refusal: %s", got)
	}
	do(t, ctx, chromedp.Click("#operator input[name=force]"), chromedp.Click("#operator button[type=submit]"))
	eventually(t, ctx, 20*time.Second, `!document.getElementById('operator').open && `+state("demo-shop-2")+` === 'maintenance'`)
	eventually(t, ctx, 20*time.Second, `document.querySelector('.verdict .lead').textContent.includes('down')`)

	press(t, ctx, "demo-shop-2", "ready")
	do(t, ctx, chromedp.Click("#operator button[type=submit]"))
	eventually(t, ctx, 20*time.Second, `!document.getElementById('operator').open && `+state("demo-shop-2")+` === 'up'`)
	if eval[int](t, ctx, `window.marker ?? 0`) != 1 {
		t.Error("the page was loaded anew")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.problems {
		if !contains("409 (Conflict)", p) {
			t.Error(p)
		}
	}
}

// TestProbeNowInTheWindow shows phases and status beside a backend whose probes fail.
func TestProbeNowInTheWindow(t *testing.T) {
	r := newRig(t, staff()...)
	backends := r.entrypoint("shop", 2)
	r.publish()
	ctx := newBrowser(t)
	enter(t, ctx, r.admin.URL, "anna")
	open(t, ctx, r.url("entrypoints/http_shop"))
	eventually(t, ctx, 20*time.Second, `document.querySelectorAll('article[data-level=calm]').length === 2`)
	backends[0].broken.Store(true)
	eventually(t, ctx, 20*time.Second, state("demo-shop-1")+` === 'down'`)
	press(t, ctx, "demo-shop-1", "probe")
	do(t, ctx, chromedp.Click("#operator button[type=submit]"))
	eventually(t, ctx, 20*time.Second, `document.querySelector('#operator .report')`)
	text := eval[string](t, ctx, `document.querySelector('#operator').innerText`)
	for _, want := range []string{"failed", "503", "first byte", "GET /health HTTP/1.1", "A dry run"} {
		if !contains(want, text) {
			t.Errorf("the report does not say %q: %s", want, text)
		}
	}
	whole := r.served.Load()
	for _, c := range []struct {
		status int
		says   string
	}{{http.StatusUnauthorized, "the session is over"}, {http.StatusBadGateway, "it is not known whether that was done"}} {
		var other http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost {
				http.Error(w, "no", c.status)
				return
			}
			(*whole).ServeHTTP(w, req)
		})
		r.served.Store(&other)
		do(t, ctx, chromedp.Click("#operator button[type=submit]"))
		eventually(t, ctx, 20*time.Second, `document.querySelector('#operator .problem-note')?.textContent.includes('`+c.says+`') && document.activeElement.className === 'problem-note'`)
	}
	r.served.Store(whole)
	do(t, ctx, chromedp.Click("#operator [data-close]"))
	eventually(t, ctx, 20*time.Second, `!document.getElementById('operator').open`)
}

// TestTheAnswerToAnOrderIsThePage: the card changes by it, and not only by the next
// reading of the page, which may be seconds away.
func TestTheAnswerToAnOrderIsThePage(t *testing.T) {
	r := newRig(t, staff()...)
	r.entrypoint("shop", 2)
	r.publish()
	ctx := newBrowser(t)
	enter(t, ctx, r.admin.URL, "anna")
	open(t, ctx, r.url("entrypoints/http_shop"))
	eventually(t, ctx, 20*time.Second, `document.querySelectorAll('article[data-level=calm]').length === 2`)
	press(t, ctx, "demo-shop-1", "drain")
	eval[bool](t, ctx, `(() => { // no reading any more
		for (let i = setTimeout(() => {}, 0); i > 0; i--) clearTimeout(i);
		window.setTimeout = () => 0;
		return true;
	})()`)
	do(t, ctx, chromedp.Click("#operator button[type=submit]"))
	eventually(t, ctx, 20*time.Second, `!document.getElementById('operator').open && `+state("demo-shop-1")+` === 'draining'`)
}

// TestWithoutRightsThereIsNothingToPress: no button, no window.
func TestWithoutRightsThereIsNothingToPress(t *testing.T) {
	r := newRig(t, staff()...)
	r.entrypoint("shop", 1)
	r.publish()
	ctx := newBrowser(t)
	enter(t, ctx, r.admin.URL, "rita")
	open(t, ctx, r.url("entrypoints/http_shop"))
	if eval[bool](t, ctx, `!!document.querySelector('[data-operate], #operator, article .acts')`) {
		t.Error("one who may only read sees actions")
	}
}

// TestOrdersWithoutScripts: the pages ask, refuse and lead back.
func TestOrdersWithoutScripts(t *testing.T) {
	r := newRig(t, staff()...)
	r.entrypoint("shop", 1)
	r.publish()
	ctx := newBrowser(t)
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	enter(t, ctx, r.admin.URL, "anna")
	do(t, ctx, chromedp.Navigate(r.url("entrypoints/http_shop")))
	do(t, ctx, chromedp.Click(`article a[href$="/drain"]`))
	eventually(t, ctx, 20*time.Second, `document.activeElement.name === 'reason' && document.querySelector('#operate').innerText.includes('No other backend is left')`)
	do(t, ctx, chromedp.SendKeys("input[name=reason]", "deploy"), chromedp.Click("#operate button"))
	eventually(t, ctx, 20*time.Second, `document.querySelector('.problem-note').innerText.includes('would leave http_shop')`)
	if got := eval[string](t, ctx, `document.querySelector('[name=reason]').value`); got != "deploy" {
		t.Errorf("the reason is gone: %q", got)
	}
	do(t, ctx, chromedp.Click("input[name=force]"), chromedp.Click("#operate button"))
	eventually(t, ctx, 20*time.Second, `location.pathname.endsWith('/entrypoints/http_shop') && location.hash === '#backend-demo-shop-1' && document.querySelector('.said').innerText.includes('It drains') && `+state("demo-shop-1")+` === 'draining'`)
}

// TestWindowsInBothThemesAndOnAPhone: contrast, names and width of what administrators
// see.
func TestWindowsInBothThemesAndOnAPhone(t *testing.T) {
	now := time.Now()
	v := layersView(now)
	k := newDesk(v)
	server := serve(t, still{v}, func(c *Config) { c.Operator = &k.clerk }, staff()...)
	ctx := newBrowser(t)
	enter(t, ctx, server.URL, "anna")
	up := k.in("http_auth", "up")
	pages := []string{"entrypoints/http_auth", "entrypoints/http_payments", k.page("http_auth", up, "drain"), k.page("http_auth", up, "probe")}
	for _, theme := range []string{"light", "dark"} {
		scheme(t, ctx, theme)
		for _, page := range pages {
			do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/"+page))
			if bad := eval[string](t, ctx, contrastScript); bad != "" {
				t.Errorf("%s, %s: %s", theme, page, bad)
			}
		}
	}
	for _, page := range []string{pages[0], pages[1], pages[3]} { // the form of an order begins at its first field
		open(t, ctx, server.URL+"/dashboard/"+page)
		tabOrder(t, ctx, page)
	}
	do(t, ctx, chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for _, page := range pages {
		do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/"+page))
		if wide := eval[int](t, ctx, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d wide", page, wide)
		}
		if small := eval[string](t, ctx, `[...document.querySelectorAll('article .acts a, button, input:not([type=hidden])')].filter(e => e.checkVisibility() && (e.closest('.tick') || e).getBoundingClientRect().height < 24).map(e => e.outerHTML).join()`); small != "" {
			t.Errorf("%s: too small to touch: %s", page, small)
		}
	}
}
