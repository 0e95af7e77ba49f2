package api

import (
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// Providers is the answer of GET /providers.
type Providers struct {
	Providers []Provider `json:"providers"`
}

// Provider says how one source of entrypoints is doing.
type Provider struct {
	Name            string   `json:"name"`
	Enabled         bool     `json:"enabled"`
	Configured      bool     `json:"configured"`
	EntrypointCount int      `json:"entrypoint_count"`
	Connected       bool     `json:"connected"`
	Phase           string   `json:"phase"` // pending, ready, stale, failed
	Since           *int64   `json:"since"` // of the current value of connected
	LastSync        *int64   `json:"last_sync"`
	SyncAgeMS       *int64   `json:"sync_age_ms"`
	EngineVersion   *string  `json:"engine_version"`
	APIVersion      *string  `json:"api_version"`
	Candidates      int      `json:"candidates"`
	Ignored         int      `json:"ignored"`
	Rejected        int      `json:"rejected"`
	LastError       *string  `json:"last_error"`
	Hint            *string  `json:"hint"`
	Notes           []string `json:"notes"`
}

func newProviders(v *router.View, now time.Time) Providers {
	count := map[string]int{}
	for i := range v.Entrypoints {
		count[v.Entrypoints[i].Entrypoint.Source]++
	}
	out := Providers{Providers: make([]Provider, len(v.Providers))}
	for i := range v.Providers {
		s := &v.Providers[i]
		out.Providers[i] = Provider{
			Name: s.Name, Enabled: s.Enabled, Configured: s.Configured, EntrypointCount: count[s.Name],
			Connected: s.Connected, Phase: string(phaseOf(s)), Since: epoch(s.Since), LastSync: epoch(s.LastSync),
			EngineVersion: known(s.EngineVersion), APIVersion: known(s.APIVersion),
			Candidates: s.Candidates, Ignored: s.Ignored, Rejected: s.Rejected,
			LastError: known(s.LastError), Hint: known(s.Hint), Notes: list(s.Notes),
		}
		if !s.LastSync.IsZero() {
			age := millis(now.Sub(s.LastSync))
			out.Providers[i].SyncAgeMS = &age
		}
	}
	return out
}

func phaseOf(s *route.ProviderStatus) route.ProviderPhase {
	if s.Phase == "" {
		return route.PhasePending
	}
	return s.Phase
}
