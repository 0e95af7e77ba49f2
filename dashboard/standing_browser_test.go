package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestAWindowThatWasOpenMeanwhile asks again when another order came in, shows it, and
// keeps what was filled in.
func TestAWindowThatWasOpenMeanwhile(t *testing.T) {
	r := newRig(t, staff()...)
	r.entrypoint("shop", 2)
	r.publish()
	ctx := newBrowser(t)
	enter(t, ctx, r.admin.URL, "anna")
	open(t, ctx, r.url("entrypoints/http_shop"))
	eventually(t, ctx, 20*time.Second, `document.querySelectorAll('article[data-level=calm]').length === 2`)
	press(t, ctx, "demo-shop-1", "maintenance")
	do(t, ctx, chromedp.KeyEvent("mine"))

	id := eval[string](t, ctx, `decodeURIComponent(document.querySelector('article[data-key="http_shop/demo-shop-1"] a[href$="/drain"]').pathname.split('/').at(-2))`)
	order, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.admin.URL+"/entrypoints/http_shop/backends/"+id+"/drain", strings.NewReader(`{"reason":"new disk","for":"10m"}`))
	if err != nil {
		t.Fatal(err)
	}
	order.Header.Set("Content-Type", "application/json")
	order.SetBasicAuth("anna", password)
	res, err := http.DefaultClient.Do(order)
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}

	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	eventually(t, ctx, 20*time.Second, `document.activeElement === document.querySelector('#operator .problem-note')`)
	for _, want := range []string{"Nothing was done", "the drain by anna", "(new disk), which ends at"} {
		if text := eval[string](t, ctx, `document.querySelector('#operator .problem-note').innerText`); !contains(want, text) {
			t.Errorf("the window does not say %q: %s", want, text)
		}
	}
	eventually(t, ctx, 20*time.Second, state("demo-shop-1")+` === 'draining' && document.querySelector('#operator [name=reason]').value === 'mine'`)
	if text := eval[string](t, ctx, `document.querySelector('#operator .effects').innerText`); !contains("Replaces the drain by anna", text) {
		t.Error(text)
	}
	do(t, ctx, chromedp.Click("#operator button[type=submit]"))
	eventually(t, ctx, 20*time.Second, `!document.getElementById('operator').open && `+state("demo-shop-1")+` === 'maintenance'`)
	eventually(t, ctx, 20*time.Second, `document.querySelector('article[data-key="http_shop/demo-shop-1"] .said').textContent.includes('Replaces the drain by anna')`)
}
