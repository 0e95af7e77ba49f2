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
	Name            string `json:"name"`
	Enabled         bool   `json:"enabled"`
	Configured      bool   `json:"configured"`
	EntrypointCount int    `json:"entrypoint_count"`
	Connected       bool   `json:"connected"`
	Phase           string `json:"phase"` // pending, ready, stale, failed
	Since           *int64 `json:"since"` // of the current value of connected
	// StaleSince is since when what it gave last is not what its source holds, which
	// stays in force; null while it is current, or nothing was ever read.
	StaleSince    *int64   `json:"stale_since"`
	LastSync      *int64   `json:"last_sync"`
	SyncAgeMS     *int64   `json:"sync_age_ms"`
	EngineVersion *string  `json:"engine_version"`
	APIVersion    *string  `json:"api_version"`
	Candidates    int      `json:"candidates"`
	Ignored       int      `json:"ignored"`
	Rejected      int      `json:"rejected"`
	LastError     *string  `json:"last_error"`
	Hint          *string  `json:"hint"`
	Notes         []string `json:"notes"`
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
			Connected: s.Connected, Phase: string(phaseOf(s)), Since: epoch(s.Since), LastSync: epoch(s.LastSync), StaleSince: staleSince(s),
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

func staleSince(s *route.ProviderStatus) *int64 {
	since, stale := s.Stale()
	if !stale {
		return nil
	}
	return epoch(since)
}

// sourceStaleSince is since when an entrypoint's provider does not know better.
func sourceStaleSince(view *router.View, e *router.EntrypointView) *int64 {
	for i := range view.Providers {
		if s := &view.Providers[i]; e.Stale && s.Name == e.Entrypoint.Source {
			if since := staleSince(s); since != nil {
				return since
			}
			return epoch(s.Since)
		}
	}
	return nil
}

func phaseOf(s *route.ProviderStatus) route.ProviderPhase {
	if s.Phase == "" {
		return route.PhasePending
	}
	return s.Phase
}
