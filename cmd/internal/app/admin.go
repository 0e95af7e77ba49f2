package app

import (
	"net/http"

	"fairlead/api"
	"fairlead/dashboard"
)

// adminServer wires what answers on the admin listener.
func (a *App) adminServer() *api.Server {
	s, pages := &a.cfg.Settings, a.dashboard()
	return api.New(api.Config{
		Viewer: a.controller, Log: a.cfg.Logs.For("api"), Version: a.cfg.Version,
		File: a.cfg.File, Settings: a.cfg.Shown, Hosts: s.Admin.Hosts, Anonymous: s.Admin.Anonymous == "read-only", Users: s.Admin.Users, Verbose: s.Admin.Verbose,
		Phase: a.stopping.Load, Accepting: a.accepting.Load,
		Events: a.events, Traffic: a.traffic, Dashboard: pages, Metrics: a.guardedMetrics(),
		LoginPage: func(w http.ResponseWriter, r *http.Request, v api.LoginView) {
			pages.ServeLogin(w, r, dashboard.Login{Next: v.Next, Name: v.Name, Problem: v.Problem, Status: v.Status})
		},
	})
}

// identity tells the dashboard who asks.
func identity(r *http.Request) dashboard.Identity {
	me, session := api.Who(r)
	if me.Name == api.Anonymous {
		return dashboard.Identity{}
	}
	return dashboard.Identity{Name: me.Name, Session: session}
}
