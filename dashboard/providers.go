package dashboard

import (
	"cmp"

	"fairlead/api"
)

// providersData is the page of where entrypoints come from.
type providersData struct {
	chrome
	Providers []provider
	Others    []string // known and not configured
}

// provider is one source of entrypoints.
type provider struct {
	api.Provider
	Mark     mark
	Since    moment
	Stale    moment
	LastSync moment
	Error    string
	Advice   string
	Engine   string
	API      string
	Seen     string // "" when it has no candidates, as a file
}

func (q *request) providers() answer {
	data := providersData{chrome: q.chrome(pageProviders, "Providers")}
	for _, p := range api.ProvidersOf(q.view, q.now).Providers {
		if !p.Enabled && !p.Configured {
			data.Others = append(data.Others, p.Name)
			continue
		}
		seen := ""
		if p.Candidates > 0 || p.Rejected > 0 {
			seen = seenWords(p.Candidates, p.Ignored, p.Rejected)
		}
		data.Providers = append(data.Providers, provider{
			Seen:     seen,
			Provider: p, Mark: providerMark(&p), Since: epochMaybe(p.Since, q.now), Stale: epochMaybe(p.StaleSince, q.now),
			LastSync: epochMaybe(p.LastSync, q.now), Error: text(p.LastError), Advice: text(p.Hint),
			Engine: cmp.Or(text(p.EngineVersion), "not known"), API: cmp.Or(text(p.APIVersion), "not known"),
		})
	}
	return q.found("providers", data)
}
