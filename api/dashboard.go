package api

import (
	"net/http"
	"strings"
)

// dashboardPath is where Config.Dashboard is mounted, without its last slash.
const dashboardPath = "/dashboard"

// toDashboard hands over what is the dashboard's and sends a person's browser there; it
// reports whether the request is answered. Redirects are relative, so that they hold
// behind a proxy that adds a path of its own.
func (s *Server) toDashboard(w http.ResponseWriter, r *http.Request) bool {
	if s.cfg.Dashboard == nil {
		return false
	}
	path := r.URL.Path
	if path == "/" {
		w.Header().Set("Vary", "Accept")
	}
	switch {
	case strings.HasPrefix(path, dashboardPath+"/"):
		http.StripPrefix(dashboardPath, s.cfg.Dashboard).ServeHTTP(w, r)
	case path == dashboardPath, path == "/" && forPerson(r):
		w.Header().Set("Location", strings.TrimPrefix(dashboardPath, "/")+"/")
		w.WriteHeader(http.StatusSeeOther)
	default:
		return false
	}
	return true
}

// forPerson reports whether a reading request names HTML among what it accepts, as
// browsers do and programs do not.
func forPerson(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && acceptsHTML(r)
}
