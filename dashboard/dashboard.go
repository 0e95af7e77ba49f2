package dashboard

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
)

// Config wires a Dashboard. Viewer is required.
type Config struct {
	Viewer router.Viewer
	Log    zerolog.Logger
	// Series gives the charts; nil means that traffic is not recorded.
	Series Series
	// Operator carries out what administrators ask for on the pages; with nil there is
	// nothing to ask for.
	Operator Operator
	// Logins is set when somebody can log in: those who have not are shown the way.
	Logins bool
	// Explain says what a diagnostic code means; nil leaves the words out.
	Explain func(code string) (Explanation, bool)
	// Version of the router, and when it started.
	Version string
	Started time.Time
	// Prefix of the labels, for the example on an empty page; "sozune" when "".
	Prefix string
}

// Explanation says what a diagnostic code means.
type Explanation struct {
	Title, Cause, Effect, Fix, Example string
}

// Dashboard serves the pages below the path it is mounted at, which is stripped. It is
// safe for concurrent use.
type Dashboard struct {
	cfg    Config
	assets *assets
	pages  *pages
	key    [32]byte // proves which words in an address are its own
}

// New returns a Dashboard. It starts nothing; a template that does not parse is a
// mistake of the build and panics.
func New(cfg Config) *Dashboard {
	if cfg.Prefix == "" {
		cfg.Prefix = "sozune"
	}
	d := &Dashboard{cfg: cfg, assets: newAssets(), pages: newPages()}
	_, _ = rand.Read(d.key[:]) // never fails (crypto/rand)
	return d
}

// policy lets nothing in that is not ours, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// referrers is what a browser tells of pages. With no-referrer it would send their forms
// with the origin null, which the guard against other origins refuses.
const referrers = "same-origin"

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", referrers)
	h.Set("X-Content-Type-Options", "nosniff")
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	if rest, ok := strings.CutPrefix(path, staticFolder+"/"); ok {
		d.assets.serve(w, r, rest)
		return
	}
	if path == "theme" && r.Method == http.MethodPost {
		d.setTheme(w, r)
		return
	}
	if r.Method == http.MethodPost && isOperation(path) {
		r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	} else if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", allowed(path))
		http.Error(w, "this page can only be read", http.StatusMethodNotAllowed)
		return
	}
	d.page(w, r, path) //nolint:contextcheck // the request has it
}

// allowed are the methods of a page.
func allowed(path string) string {
	if isOperation(path) {
		return "GET, HEAD, POST"
	}
	return "GET, HEAD"
}

// answer is a rendered page, a plain text, or the way to another page.
type answer struct {
	leads  string // relative address of another page
	status int
	text   string // plain text instead of a page
	page   string // name of the template
	data   any    // has the chrome embedded
}

// page finds and sends the page at a path.
func (d *Dashboard) page(w http.ResponseWriter, r *http.Request, path string) {
	q := d.newRequest(w, r, path)
	out := q.answer()
	if out.leads != "" {
		w.Header().Set("Location", out.leads)
		d.send(w, r, http.StatusSeeOther, nil)
		return
	}
	if out.page == "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		d.send(w, r, http.StatusOK, []byte(out.text))
		return
	}
	var buf bytes.Buffer
	if err := d.pages.render(&buf, out.page, out.data); err != nil {
		d.cfg.Log.Error().Err(err).Str("page", out.page).Msg("dashboard page not rendered")
		http.Error(w, "the page could not be made; the router's log says more", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	d.send(w, r, out.status, buf.Bytes())
}

func (d *Dashboard) send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client is gone: nobody is left to tell
	}
}
