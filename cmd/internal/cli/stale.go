package cli

import (
	"context"
	"slices"
	"time"

	"fairlead/api"
	"fairlead/api/client"
	"fairlead/router/route"
)

// stale is a provider that the router does not hear of: what it gave last stays in
// force, or it never gave anything.
type stale struct {
	Provider  string  `json:"provider"`
	Phase     string  `json:"phase"` // stale, failed
	Since     *int64  `json:"since"`
	LastError *string `json:"last_error"`
	Hint      *string `json:"hint"`

	connected bool
}

// stales asks the router for the providers that what it shows may be behind of. An
// error is none of the question that was asked, and was probably shown with it.
func stales(ctx context.Context, c *client.Client) []stale {
	providers, err := c.Providers(ctx)
	if err != nil {
		return nil
	}
	return stalesOf(providers)
}

func stalesOf(providers []api.Provider) []stale {
	var list []stale
	for i := range providers {
		if s, ok := staleOf(&providers[i]); ok {
			list = append(list, s)
		}
	}
	return list
}

// staleOf reports whether a provider is stale, and how.
func staleOf(v *api.Provider) (stale, bool) {
	s := stale{v.Name, v.Phase, v.Since, v.LastError, v.Hint, v.Connected}
	if v.StaleSince != nil {
		s.Since = v.StaleSince
	}
	phase := route.ProviderPhase(v.Phase)
	return s, v.Enabled && (phase == route.PhaseStale || phase == route.PhaseFailed)
}

// printStale writes a banner for each: what is away, since when, what that means, what
// to do.
func (p *program) printStale(list []stale, now time.Time) {
	s := p.style(p.Out)
	for _, v := range cleaned(slices.Clone(list)) {
		p.say("%s", s.warn(s.sentence("", v.banner(now))))
		for _, text := range []*string{v.LastError, v.Hint} {
			if text != nil {
				p.say("%s", s.sentence("  ", *text))
			}
		}
	}
	if len(list) > 0 {
		p.say("")
	}
}

func (v *stale) banner(now time.Time) string {
	what := v.Provider + " engine unreachable"
	switch {
	case v.Provider != "file":
	case v.connected:
		what = "file refused"
	default:
		what = "file not readable"
	}
	if v.Since != nil {
		what += " since " + clock(now, *v.Since) + " (" + ago(now, *v.Since) + ")"
	}
	if v.Phase == string(route.PhaseFailed) {
		return what + ", and never read: its routes are missing"
	}
	return what + ": routes are those of then"
}

// clock is a moment as this machine's clock shows it, with the day unless it is today.
func clock(now time.Time, epoch int64) string {
	at, today := time.Unix(epoch, 0).Local(), now.Local()
	if at.YearDay() == today.YearDay() && at.Year() == today.Year() {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04")
}

// staleNote is the remark about one entrypoint.
func staleNote(e *api.Entrypoint, now time.Time) string {
	note := "stale"
	if e.StaleSince != nil {
		note += " for " + ago(now, *e.StaleSince)
	}
	return note + ": this is what " + e.Source + " gave last"
}
