package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/router/route"
)

// TestLoggingInAndOut in a browser: led to the form, back to the page, out again, and out
// by itself when the session ends while a page is open. The origin is a name without TLS,
// for which browsers send no Sec-Fetch-Site, behind a proxy that adds a path.
func TestLoggingInAndOut(t *testing.T) {
	hash, err := api.HashPassword("correct horse", false)
	if err != nil {
		t.Fatal(err)
	}
	viewer := still{brokenView(time.Now())}
	listener := func() http.Handler {
		d := New(Config{Viewer: viewer, Log: zerolog.Nop(), Version: "1.4.0"})
		return api.New(api.Config{
			Viewer: viewer, Log: zerolog.Nop(), Hosts: []string{"fairlead.test"}, Dashboard: d, LoginPage: d.ServeLogin,
			Users: []api.User{{Name: "ana", Role: api.RoleReadOnly, PasswordHash: route.Secret(hash)}},
		}).Handler()
	}
	var current atomic.Pointer[http.Handler]
	start := func() {
		h := listener()
		current.Store(&h)
	}
	start()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	front := httptest.NewServer(http.StripPrefix("/edge", proxy))
	t.Cleanup(front.Close)
	ctx := newBrowser(t, chromedp.Flag("host-resolver-rules", "MAP fairlead.test 127.0.0.1"))
	_, port, _ := strings.Cut(strings.TrimPrefix(front.URL, "http://"), ":")
	page := "http://fairlead.test:" + port + "/edge/dashboard/entrypoints?q=pay"

	do(t, ctx, chromedp.Navigate(page))
	eventually(t, ctx, 20*time.Second, `location.pathname === '/edge/login' && document.querySelector('.login') && getComputedStyle(document.querySelector('.login')).display === 'grid'`)
	do(t, ctx, chromedp.SendKeys("input[name=name]", "ana"), chromedp.SendKeys("input[name=password]", "wrong"), chromedp.Click(".login button"))
	eventually(t, ctx, 20*time.Second, `document.querySelector('#login-problem')?.innerText.length > 5 && document.querySelector('input[name=name]').value === 'ana' && document.activeElement.name === 'password'`)
	do(t, ctx, chromedp.SendKeys("input[name=password]", "correct horse"), chromedp.Click(".login button"))
	eventually(t, ctx, 20*time.Second, `location.pathname + location.search === '/edge/dashboard/entrypoints?q=pay' && document.querySelector('.who').innerText === 'ana' && document.getElementById('live').dataset.live === 'on'`)
	do(t, ctx, chromedp.Click(".theme .on-light"))
	eventually(t, ctx, 20*time.Second, `document.documentElement.dataset.theme === 'dark' && location.search === '?q=pay'`)
	do(t, ctx, chromedp.Click(".user button"))
	eventually(t, ctx, 20*time.Second, `location.pathname === '/edge/login'`)

	do(t, ctx, chromedp.Navigate(page))
	eventually(t, ctx, 20*time.Second, `document.querySelector('.login')`)
	do(t, ctx, chromedp.SendKeys("input[name=name]", "ana"), chromedp.SendKeys("input[name=password]", "correct horse"), chromedp.Click(".login button"))
	eventually(t, ctx, 20*time.Second, `document.getElementById('live')?.dataset.live === 'on'`)
	start() // a new run of the router knows no session
	eventually(t, ctx, 15*time.Second, `location.pathname === '/edge/login' && location.search.includes('entrypoints')`)
}
