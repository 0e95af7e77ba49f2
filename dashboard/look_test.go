package dashboard

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fairlead/router"
	"fairlead/router/route"
)

func itoa(n int) string { return strconv.Itoa(n) }

// contrastScript finds texts on the page whose contrast to what is behind them is too low
// (WCAG 2.2, 1.4.3), as the browser computes their colours.
const contrastScript = `(() => {
	const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
	const rgba = (colour) => {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = colour;
		canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data];
	};
	const lum = ([r, g, b]) => [r, g, b].map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; })
		.reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const c = rgba(getComputedStyle(e).backgroundColor);
			if (c[3] === 255) return c;
		}
		return [255, 255, 255, 255];
	};
	const bad = [];
	let seen = 0;
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest('.hush, svg, option, [hidden]')) continue;
		const style = getComputedStyle(e);
		let front = rgba(style.color), opacity = 1;
		for (let p = e; p; p = p.parentElement) opacity *= getComputedStyle(p).opacity;
		const back = ground(e);
		front = front.map((v, i) => v * opacity + back[i] * (1 - opacity));
		const a = lum(front), b = lum(back);
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		const size = parseFloat(style.fontSize);
		const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
		seen++;
		if (ratio < (large ? 3 : 4.5)) bad.push(ratio.toFixed(2) + ' ' + e.className + ' ' + walk.currentNode.data.trim().slice(0, 40));
	}
	return seen < 20 ? 'only ' + seen + ' texts' : bad.slice(0, 5).join('; ');
})()`

// TestContrastOnThePages computes it for every text of every page, in both themes.
func TestContrastOnThePages(t *testing.T) {
	ctx := newBrowser(t)
	for scene, build := range scenes() {
		if scene == "thousand" {
			continue
		}
		now := time.Now()
		server := serve(t, still{build(now)}, func(c *Config) { c.Series = series{now: now, broken: map[string]float64{"http_auth": .3}} })
		for _, theme := range []string{"light", "dark"} {
			scheme(t, ctx, theme)
			for _, page := range somePages() {
				do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/"+page))
				if bad := eval[string](t, ctx, contrastScript); bad != "" {
					t.Errorf("%s, %s, %s: %s", scene, theme, page, bad)
				}
			}
		}
	}
}

// TestNothingOverflowsOnAPhone: no page is wider than the screen, and what is touched is
// not too small.
func TestNothingOverflowsOnAPhone(t *testing.T) {
	ctx := newBrowser(t)
	for scene, build := range map[string]func(time.Time) any{
		"broken":  func(now time.Time) any { return brokenView(now) },
		"hostile": func(now time.Time) any { return nil },
	} {
		now := time.Now()
		view := brokenView(now)
		pages := somePages()
		if build(now) == nil {
			view = hostileView(now, hostile()[7]) // 300 letters without a break
			pages = []string{"", "entrypoints", "health", "diagnostics", "providers"}
		}
		server := serve(t, still{view}, func(c *Config) { c.Series = series{now: now} })
		do(t, ctx, chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
		for _, page := range pages {
			do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/"+page))
			if wide := eval[string](t, ctx, `document.documentElement.scrollWidth <= 360 ? '' : document.documentElement.scrollWidth + ' ' +
				[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 361).slice(0, 3).map(e => e.tagName + '.' + e.className).join()`); wide != "" {
				t.Errorf("%s %s is %s wide", scene, page, wide)
			}
			if small := eval[string](t, ctx, `[...document.querySelectorAll('nav .nav a, button, select, input')].filter(e => e.checkVisibility())
				.filter(e => e.getBoundingClientRect().height < 24).slice(0, 3).map(e => e.outerHTML.slice(0, 60)).join()`); small != "" {
				t.Errorf("%s %s: too small to touch: %s", scene, page, small)
			}
		}
	}
}

// TestADoubtHasThePhonesWidth: its sentence stands below its title, not in a strip beside it.
func TestADoubtHasThePhonesWidth(t *testing.T) {
	ctx := newBrowser(t)
	server := serve(t, still{layersView(time.Now())}, nil)
	do(t, ctx, chromedp.EmulateViewport(400, 900, chromedp.EmulateMobile))
	for _, page := range []string{"", "health", "entrypoints/http_report"} {
		do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/"+page))
		if narrow := eval[float64](t, ctx, `Math.min(...[...document.querySelectorAll('.suspect bdi')].map(e => e.getBoundingClientRect().width))`); narrow < 200 || narrow > 400 {
			t.Errorf("%q: a sentence is %v wide", page, narrow)
		}
	}
}

// crowdView has entrypoints with 1 to 12 backends, and one with more than a strip shows.
func crowdView(now time.Time) *router.View {
	w := newWorld(now)
	for n := 1; n <= 12; n++ {
		s := w.add("crowd", fmt.Sprintf("of%02d", n), fmt.Sprintf("of%02d.example.com", n)).replicas(n, 8080)
		if n > 3 {
			s.fail(1, route.KindTimeout, "no answer", "", time.Minute, route.OutProbeFailed).
				is(route.EntrypointPartial, time.Minute, fmt.Sprintf("Degraded: %d of %d backends in rotation.", n-1, n))
		}
		s.done()
	}
	w.add("crowd", "of60", "of60.example.com").replicas(60, 8080).done()
	return w.built()
}

// TestAPhonesRowKeepsItsNumbersTogether: on one line and in the columns of the other rows,
// however many backends it has.
func TestAPhonesRowKeepsItsNumbersTogether(t *testing.T) {
	ctx := newBrowser(t)
	now := time.Now()
	server := serve(t, still{crowdView(now)}, func(c *Config) { c.Series = series{now: now, broken: map[string]float64{"http_of12": .93}} })
	for _, width := range []int64{320, 360, 390, 430, 700} {
		do(t, ctx, chromedp.EmulateViewport(width, 2400, chromedp.EmulateMobile), chromedp.Navigate(server.URL+"/dashboard/entrypoints"))
		if n := eval[int](t, ctx, `document.querySelectorAll('.entries tbody tr').length`); n != 13 {
			t.Fatalf("%d rows", n)
		}
		if odd := eval[string](t, ctx, `(() => {
			const columns = new Set(), odd = []
			for (const row of document.querySelectorAll('.entries tbody tr')) {
				const cells = [...row.querySelectorAll('td.n')].map(c => c.getBoundingClientRect())
				columns.add(cells.map(c => Math.round(c.right)).join())
				const parts = [...row.querySelector('.strip').children].map(c => c.getBoundingClientRect())
				const over = parts.some(p => p.right > row.getBoundingClientRect().right - 14 || cells.some(c => p.right > c.left && p.bottom > c.top + 2))
				if (cells.length !== 3 || new Set(cells.map(c => Math.round(c.top))).size !== 1 || over) odd.push(row.dataset.key)
			}
			return odd.join(' ') + (columns.size === 1 ? '' : ' columns ' + [...columns].join(' '))
		})()`); odd != "" {
			t.Errorf("%d wide: %s", width, odd)
		}
	}
}

// TestTheClockOfThePageWritesAsTheServer does.
func TestTheClockOfThePageWritesAsTheServer(t *testing.T) {
	server := serve(t, still{wellView(time.Now())}, nil)
	ctx := newBrowser(t)
	do(t, ctx, chromedp.Navigate(server.URL+"/dashboard/"))
	path := eval[string](t, ctx, `document.querySelector('script[type=module]').src.replace('main.js', 'clock.js')`)
	eval[bool](t, ctx, `(import('`+path+`').then(m => { window.span = m.span; }), true)`)
	eventually(t, ctx, 20*time.Second, `window.span`)
	for _, d := range []time.Duration{0, 999 * time.Millisecond, 59 * time.Second, time.Minute, 9*time.Minute + 59*time.Second, 10 * time.Minute, time.Hour,
		time.Hour + 59*time.Second, 3*time.Hour + 4*time.Minute, 10 * time.Hour, 47*time.Hour + 59*time.Minute, 48 * time.Hour, 1000 * time.Hour} {
		if got, want := eval[string](t, ctx, `window.span(`+strconv.FormatInt(d.Milliseconds(), 10)+`)`), span(d); got != want {
			t.Errorf("%s: the page writes %q, the server %q", d, got, want)
		}
	}
}
