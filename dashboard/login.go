package dashboard

import (
	"bytes"
	"net/http"

	"fairlead/api"
)

// loginData is the page where people log in.
type loginData struct {
	Title, Assets, Theme, Level string
	Next, Name, Problem         string
}

// ServeLogin sends the login page: it is the LoginPage of the api package, at /login
// beside the folder that the dashboard is mounted at.
func (d *Dashboard) ServeLogin(w http.ResponseWriter, r *http.Request, v api.LoginView) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", referrers)
	data := loginData{
		Title: "Log in · Fairlead", Assets: "dashboard/" + d.assets.path(), Theme: themeOf(r), Level: levelCalm,
		Next: v.Next, Name: v.Name, Problem: v.Problem,
	}
	var buf bytes.Buffer
	if err := d.pages.renderBare(&buf, "login", data); err != nil {
		d.cfg.Log.Error().Err(err).Str("page", "login").Msg("dashboard page not rendered")
		http.Error(w, "the page could not be made; the router's log says more", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	d.send(w, r, max(v.Status, http.StatusOK), buf.Bytes())
}
