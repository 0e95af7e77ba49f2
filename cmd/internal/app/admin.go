package app

import "fairlead/api"

// adminServer wires what answers on the admin listener.
func (a *App) adminServer() *api.Server {
	s, pages := &a.cfg.Settings, a.dashboard()
	return api.New(api.Config{
		Viewer: a.controller, Log: a.cfg.Logs.For("api"), Version: a.cfg.Version,
		File: a.cfg.File, Settings: a.cfg.Shown, Hosts: s.Admin.Hosts, Anonymous: s.Admin.Anonymous == "read-only", Users: s.Admin.Users, Verbose: s.Admin.Verbose,
		Readiness: api.Readiness(s.Admin.Readiness),
		Phase:     a.stopping.Load, Accepting: a.accepting.Load,
		Operator: a.operator(), History: a.engine, Events: a.events, Traffic: a.traffic, Dashboard: pages, Metrics: a.guardedMetrics(),
		LoginPage: pages.ServeLogin,
	})
}
