package dashboard

import (
	"bytes"
	"net/http"
	"net/url"
)

// loginData is the page where people log in.
type loginData struct {
	Title, Assets, Theme, Level, Root string
	Next, Name                        string
	Problem                           string
	Version                           string
}

// Login is what the login page says.
type Login struct {
	// Next is the address below the listener that follows, relative; "" is the overview.
	Next string
	// Name is put into the form again.
	Name string
	// Problem is why the last try did not succeed, "" at the first.
	Problem string
	// Status of the answer; 0 is 200.
	Status int
}

// ServeLogin sends the login page. It belongs at /login beside the folder that the
// dashboard is mounted at; its form is posted to where it came from, with the fields
// name, password and next.
func (d *Dashboard) ServeLogin(w http.ResponseWriter, r *http.Request, l Login) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
	const mount = "dashboard/"
	data := loginData{
		Title: "Log in · Fairlead", Assets: mount + d.assets.path(), Theme: themeOf(r), Level: levelCalm, Root: mount,
		Next: l.Next, Name: l.Name, Problem: l.Problem, Version: d.cfg.Version,
	}
	var buf bytes.Buffer
	if err := d.pages.renderBare(&buf, "login", data); err != nil {
		d.cfg.Log.Error().Err(err).Str("page", "login").Msg("dashboard page not rendered")
		http.Error(w, "the page could not be made; the router's log says more", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	d.send(w, r, max(l.Status, http.StatusOK), buf.Bytes())
}

// LoginAddress is where to send a browser that must log in first, relative to a page of
// the dashboard at the path below its mount.
func LoginAddress(path, query string) string {
	root := "../"
	for _, c := range path {
		if c == '/' {
			root += "../"
		}
	}
	next := "dashboard/" + path
	if query != "" {
		next += "?" + query
	}
	return root + "login?" + url.Values{"next": {next}}.Encode()
}
