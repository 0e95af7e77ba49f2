package dashboard

import (
	"net/http"
	"net/url"
	"strings"
)

// themeCookie holds light or dark; without it the page follows the system.
const themeCookie = "fairlead_theme"

func themeOf(r *http.Request) string {
	c, err := r.Cookie(themeCookie)
	if err != nil || c.Value != "light" && c.Value != "dark" {
		return ""
	}
	return c.Value
}

// setTheme keeps the chosen theme in a cookie and goes back to the page. The cookie has
// no path: the browser takes the folder of this address, which is right behind a proxy
// that adds a path of its own too.
func (d *Dashboard) setTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	cookie := &http.Cookie{ //nolint:gosec // with Secure, the browser would not send it to a listener without TLS
		Name: themeCookie, Value: r.PostFormValue("theme"), MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.TLS != nil,
	}
	if cookie.Value != "light" && cookie.Value != "dark" {
		cookie.Value, cookie.MaxAge = "", -1
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Location", backTo(r.PostFormValue("back")))
	w.WriteHeader(http.StatusSeeOther)
}

// backTo is a page of ours as a relative address, the overview when it is none.
func backTo(page string) string {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || strings.ContainsAny(page, "\\\r\n\t") {
		return "./"
	}
	path := u.EscapedPath()
	first, _, _ := strings.Cut(path, "/")
	switch first {
	case pageEntrypoints, pageHealth, pageDiagnostics, pageResolve, pageProviders, pageAbout:
	default:
		return "./"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}
