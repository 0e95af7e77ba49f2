package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// somePages are one of each kind.
func somePages() []string {
	return []string{"", "entrypoints", "entrypoints/http_payments", "entrypoints/http_git", "health", "diagnostics", "providers", "about", "entrypoints/http_nowhere",
		"resolve?url=http%3A%2F%2Fshop.example.com%2Fpay&method=POST"}
}

// watch collects what a browser complains about and whom it asks.
type watch struct {
	mu       sync.Mutex
	problems []string
	asked    map[string]bool // origins
}

func watching(t *testing.T, ctx context.Context) *watch {
	t.Helper()
	w := &watch{asked: map[string]bool{}}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	err := chromedp.Listen(ctx, func(event any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			w.ask(e.Request.URL)
		case *network.EventWebSocketCreated:
			w.ask(e.URL)
		case *log.EventEntryAdded:
			if !strings.Contains(e.Entry.Text, "404 (Not Found)") {
				w.problems = append(w.problems, e.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			w.problems = append(w.problems, e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watch) ask(address string) {
	if u, err := url.Parse(address); err == nil {
		w.asked[strings.Replace(u.Scheme, "ws", "http", 1)+"://"+u.Host] = true
	}
}

// TestBrowserHasNothingToComplainAbout: no violation of the policy, no error, no request
// to anybody else, on every page, with the script at work.
func TestBrowserHasNothingToComplainAbout(t *testing.T) {
	r := newRig(t)
	backends := r.entrypoint("shop", 2)
	r.publish()
	ctx := newBrowser(t)
	w := watching(t, ctx)
	fixture := serve(t, still{brokenView(time.Now())}, func(c *Config) { c.Series = series{now: time.Now()} })
	for _, page := range somePages() {
		do(t, ctx, chromedp.Navigate(fixture.URL+"/dashboard/"+page))
		eventually(t, ctx, 20*time.Second, `document.getElementById('live')?.dataset.live === 'on'`)
	}
	for _, step := range []struct {
		page   string
		broken bool
		level  string
	}{
		{"", true, levelWatch}, {"entrypoints", false, levelCalm}, {"entrypoints/http_shop", true, levelWatch},
		{"health", false, levelWatch}, // well again, for the second time within minutes: it flaps
	} {
		open(t, ctx, r.url(step.page))
		backends[0].broken.Store(step.broken)
		eventually(t, ctx, 20*time.Second, `document.documentElement.dataset.level === '`+step.level+`'`)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.problems {
		t.Error(p)
	}
	for origin := range w.asked {
		if origin != fixture.URL && origin != r.admin.URL && origin != "about://" {
			t.Errorf("a request to %s", origin)
		}
	}
	if len(w.asked) < 2 {
		t.Errorf("only %v were seen", w.asked)
	}
}

// TestThePolicyIsInForce: what the policy forbids does not happen.
func TestThePolicyIsInForce(t *testing.T) {
	server := serve(t, still{wellView(time.Now())}, nil)
	ctx := newBrowser(t)
	do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/"))
	if got := eval[string](t, ctx, `(() => {
		try { document.body.innerHTML = '<img src=x>'; return 'set'; } catch (e) { return e.name; }
	})()`); got != "TypeError" {
		t.Errorf("innerHTML: %s", got)
	}
	if got := eval[int](t, ctx, `(() => {
		const s = document.createElement('div');
		s.setAttribute('style', 'width: 123px');
		document.body.append(s);
		return s.offsetWidth;
	})()`); got == 123 {
		t.Error("an inline style was taken")
	}
}

// TestEveryPageWorksWithoutScripts: content, links, filter and theme.
func TestEveryPageWorksWithoutScripts(t *testing.T) {
	server := serve(t, still{brokenView(time.Now())}, nil)
	ctx := newBrowser(t)
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	for _, page := range somePages() {
		do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/"+page))
		if eval[string](t, ctx, `document.querySelector('h1').textContent`) == "" {
			t.Errorf("%s has no heading", page)
		}
		if !eval[bool](t, ctx, `[...document.querySelectorAll('button, dialog, #live')].filter(b => b.checkVisibility()).every(b => b.form)`) {
			t.Errorf("%s shows a button that does nothing", page)
		}
	}
	do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/entrypoints"))
	do(t, ctx, chromedp.SendKeys("input[name=q]", "payments"), chromedp.Click(".filter button"))
	eventually(t, ctx, 20*time.Second, `location.search.includes('q=payments') && document.querySelectorAll('tbody tr').length === 1`)
	do(t, ctx, chromedp.Click("tbody a.row"))
	eventually(t, ctx, 20*time.Second, `location.pathname.endsWith('/entrypoints/http_payments')`)
	const shown = `[...document.querySelectorAll('.theme button')].filter(b => b.checkVisibility()).map(b => b.value).join()`
	for _, system := range []string{"light", "dark"} { // each press inverts what is seen, the first one, too
		scheme(t, ctx, system)
		other := map[string]string{"light": "dark", "dark": "light"}[system]
		eventually(t, ctx, 20*time.Second, shown+` === '`+other+`'`)
		do(t, ctx, chromedp.Click(".theme .on-"+system))
		eventually(t, ctx, 20*time.Second, `document.documentElement.dataset.theme === '`+other+`' && location.pathname.endsWith('/entrypoints/http_payments') && `+shown+` === 'auto'`)
		do(t, ctx, chromedp.Click(".theme .on-"+system))
		eventually(t, ctx, 20*time.Second, `document.documentElement.dataset.theme === undefined`)
	}
}

// TestBehindAPathPrefix: pages, script, events and filter through a proxy that adds a
// path of its own.
func TestBehindAPathPrefix(t *testing.T) {
	r := newRig(t)
	backends := r.entrypoint("shop", 2)
	r.publish()
	target, err := url.Parse(r.admin.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/ops/edge", httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(proxy.Close)
	t.Cleanup(r.cut)
	ctx := newBrowser(t)
	open(t, ctx, proxy.URL+"/ops/edge/")
	if at := eval[string](t, ctx, `location.pathname`); at != "/ops/edge/dashboard/" {
		t.Errorf("a browser is led to %s", at)
	}
	backends[0].broken.Store(true)
	eventually(t, ctx, 2*time.Second, `document.querySelector('.problem[data-key=http_shop]')`)
	do(t, ctx, chromedp.Click(".problem a.row"))
	eventually(t, ctx, 20*time.Second, `location.pathname === '/ops/edge/dashboard/entrypoints/http_shop' && document.getElementById('live').dataset.live === 'on'`)
	do(t, ctx, chromedp.Click(".theme .on-light"))
	eventually(t, ctx, 20*time.Second, `document.documentElement.dataset.theme === 'dark' && location.pathname === '/ops/edge/dashboard/entrypoints/http_shop'`)
}

// TestKeyboard: filter, rows, jumps, help, and none of it while somebody types.
func TestKeyboard(t *testing.T) {
	server := serve(t, still{brokenView(time.Now())}, nil)
	ctx := newBrowser(t)
	open(t, ctx, server.URL+"/dashboard/")
	press := func(keys string) { t.Helper(); do(t, ctx, chromedp.KeyEvent(keys)) }
	at := func(want string) { t.Helper(); eventually(t, ctx, 20*time.Second, want) }
	press("ge")
	at(`location.pathname.endsWith('/dashboard/entrypoints') && document.querySelector('.foot .hint')?.hidden === false`)
	strike(t, ctx, "/")
	at(`document.activeElement.name === 'q'`)
	press("jk?ge")
	at(`document.activeElement.value === 'jk?ge' && !document.getElementById('keys').open && location.pathname.endsWith('/entrypoints')`)
	at(`document.querySelectorAll('tbody tr').length === 0`)
	press(strings.Repeat(kb.Backspace, len("jk?ge")))
	at(`document.querySelectorAll('tbody tr').length > 10`)
	press(kb.Escape)
	at(`document.activeElement === document.body`)
	press("jj")
	at(`document.activeElement === document.querySelectorAll('a.row')[1]`)
	press("k")
	at(`document.activeElement === document.querySelectorAll('a.row')[0]`)
	first := eval[string](t, ctx, `document.activeElement.getAttribute('href')`)
	press(kb.Enter)
	at(`location.pathname.endsWith('/` + first + `') && document.querySelector('.foot .hint')?.hidden === false`)
	press("?")
	at(`document.getElementById('keys').open`)
	press(kb.Escape)
	at(`!document.getElementById('keys').open`)
	for key, page := range map[string]string{"h": "/health", "d": "/diagnostics", "r": "/resolve", "p": "/providers", "a": "/about", "o": "/dashboard/"} {
		press("g" + key)
		at(`location.pathname.endsWith('` + page + `') && document.querySelector('.foot .hint')?.hidden === false`)
	}
}

// strike sends a key with its letter in one, so that a page that takes the key keeps the
// letter from being typed, as with a real keyboard.
func strike(t *testing.T, ctx context.Context, key string) {
	t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		params := input.DispatchKeyEventParams{Type: kind, Key: key}
		if kind == input.DispatchKeyEventTypeKeyDown {
			params.Text = key
		}
		if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, params); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyDiagnosis puts the plain text on the clipboard.
func TestCopyDiagnosis(t *testing.T) {
	server := serve(t, still{brokenView(time.Now())}, nil)
	ctx := newBrowser(t)
	open(t, ctx, server.URL+"/dashboard/entrypoints/http_payments")
	eval[bool](t, ctx, `(document.addEventListener('copy', e => { window.old = getSelection().toString() || document.activeElement.value; }),
		window.text = '', navigator.clipboard.writeText = async t => { window.text = t; }, true)`)
	do(t, ctx, chromedp.Click("[data-copy]"))
	eventually(t, ctx, 20*time.Second, `document.querySelector('[data-copy]').textContent === 'Copied'`)
	text := eval[string](t, ctx, `window.text`)
	for _, want := range []string{"http_payments: PANIC since", "connection refused", "Next: ", "shop-payments-1", "7 of the last 30 probes passed"} {
		if !strings.Contains(text, want) {
			t.Errorf("the diagnosis lacks %q:\n%s", want, text)
		}
	}
	eval[bool](t, ctx, `(navigator.clipboard.writeText = async () => { throw new Error('not here'); }, true)`)
	do(t, ctx, chromedp.Click("[data-copy]"))
	eventually(t, ctx, 20*time.Second, `(window.old || '').includes('http_payments: PANIC')`)
}

// TestEverythingHasANameAndAPlace: whatever can be reached by Tab is reached in the order
// of the page, is visible while it has the focus, and has a name.
func TestEverythingHasANameAndAPlace(t *testing.T) {
	server := serve(t, still{brokenView(time.Now())}, func(c *Config) { c.Series = series{now: time.Now()} })
	ctx := newBrowser(t)
	for _, page := range somePages() {
		open(t, ctx, server.URL+"/dashboard/"+page)
		tree, err := chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			role, name := axText(n.Role), strings.TrimSpace(axText(n.Name))
			switch role {
			case "link", "button", "textbox", "searchbox", "combobox", "image", "img", "navigation", "dialog", "heading", "search", "form":
				named++
				if name == "" {
					t.Errorf("%s: a %s without a name", page, role)
				}
			}
		}
		if named < 12 {
			t.Errorf("%s: only %d things have names", page, named)
		}
		tabOrder(t, ctx, page)
	}
}

func axText(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}

// tabOrder goes through a page by Tab and holds the order to that of the document.
func tabOrder(t *testing.T, ctx context.Context, page string) {
	t.Helper()
	total := eval[int](t, ctx, `(window.stops = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')].filter(e => e.checkVisibility() && !e.disabled)).length`)
	for i := range min(total, 25) {
		do(t, ctx, chromedp.KeyEvent(kb.Tab))
		got := eval[string](t, ctx, `(() => {
			const a = document.activeElement, box = a.getBoundingClientRect();
			const seen = box.width > 0 && box.bottom > 0 && box.top < innerHeight && getComputedStyle(a).outlineStyle !== 'none';
			return window.stops.indexOf(a) + (seen ? '' : ' hidden: ' + a.outerHTML.slice(0, 120));
		})()`)
		if got != itoa(i) {
			t.Errorf("%s: Tab %d leads to %s", page, i, got)
			return
		}
	}
}
