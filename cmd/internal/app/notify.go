package app

import (
	"fmt"

	"fairlead/api/webhook"
	"fairlead/cmd/internal/config"
	"fairlead/router"
	"fairlead/router/route"
)

// newWebhook makes the sender of notices, nil when no receiver is set.
func (a *App) newWebhook(s *config.Webhook) (*webhook.Sender, error) {
	if s.URL == "" {
		return nil, nil
	}
	sender, err := webhook.New(webhook.Config{
		URL: s.URL, Secret: s.Secret, Level: webhook.Level(s.Level), Timeout: s.Timeout, Queue: s.Queue,
		Version: a.cfg.Version, Log: a.cfg.Logs.For("api"), Explain: a.explainNow,
	})
	if err != nil {
		return nil, fmt.Errorf("notify.webhook.url: %w", err)
	}
	return sender, nil
}

// transition tells everybody who wants to know; none of them waits.
func (a *App) transition(t route.Transition) {
	a.events.Transition(t)
	if a.webhook != nil {
		a.webhook.Transition(t)
	}
}

// explainNow says why a backend, or with "" the entrypoint itself, is in a state; "" when
// it is not in it any more.
func (a *App) explainNow(entrypoint, backend, state string) string {
	return explainIn(a.controller.View(), entrypoint, backend, state)
}

func explainIn(v *router.View, entrypoint, backend, state string) string {
	for i := range v.Entrypoints {
		e := &v.Entrypoints[i]
		if e.Entrypoint.ID != entrypoint {
			continue
		}
		if backend == "" {
			if b := e.Health.Breaker; string(e.Health.State) == state || b != nil && string(b.State) == state {
				return e.Health.Explain
			}
			return ""
		}
		for j := range e.Health.Backends {
			if h := &e.Health.Backends[j]; h.Backend.ID == backend && string(h.State) == state {
				return h.Explain
			}
		}
	}
	return ""
}
