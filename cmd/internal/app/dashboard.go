package app

import (
	"time"

	"fairlead/dashboard"
	"fairlead/provider/label"
)

// dashboard makes the pages for people, which the admin listener serves.
func (a *App) dashboard() *dashboard.Dashboard {
	return dashboard.New(dashboard.Config{
		Viewer: a.controller, Log: a.cfg.Logs.For("dashboard"), Version: a.cfg.Version, Started: time.Now(),
		Prefix: a.cfg.Settings.Labels.Prefix, Explain: explainCode, Series: a.traffic, Operator: a.operator(),
		Logins: len(a.cfg.Settings.Admin.Users) > 0,
	})
}

// explainCode takes the words of `fairlead explain`.
func explainCode(code string) (dashboard.Explanation, bool) {
	e, ok := label.Explain(code)
	return dashboard.Explanation{Title: e.Title, Cause: e.Cause, Effect: e.Effect, Fix: e.Fix, Example: e.Example}, ok
}
