package cli

import (
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// printOrdered says how a backend stands after an order, which order of whom that one
// replaced or ended, and what comes next. was is the backend before it.
func (p *program) printOrdered(e *api.Entrypoint, b *api.BackendHealth, was *api.BackendHealth) {
	s := p.style(p.Out)
	change := s.state(b.State)
	if was != nil && was.State != b.State {
		change += s.dim(" (was " + was.State + ")")
	}
	name, id := backendName(b), ""
	if name != b.ID {
		id = b.ID + "  "
	}
	p.say("%s  %s%s", s.bold(e.ID+" "+name), id, change)
	p.say("%s", s.sentence("  ", b.Explain))
	if was != nil {
		for _, text := range []string{replacedText(&was.Admin, &b.Admin), readmittedText(was, b)} {
			if text != "" {
				p.say("%s", s.sentence("  ", text))
			}
		}
	}
	if b.Admin.State != string(route.AdminReady) {
		p.say("%s", s.sentence("  ", stopText(e, b, time.Now())))
	}
}

// readmittedText says that an order ended an ejection that another state goes on to hide, ""
// when it did not.
func readmittedText(was, is *api.BackendHealth) string {
	if was.Passive == nil || is.Passive == nil || was.State != is.State ||
		was.Passive.State == string(route.PhaseClosed) || is.Passive.State != string(route.PhaseClosed) {
		return ""
	}
	return "This ends its ejection; its state is " + is.State + " as before."
}

// replacedText says which order in force was replaced or ended by another, "" when there
// was none, or when it still stands.
func replacedText(was, is *api.Admin) string {
	if was.State == "" || was.State == string(route.AdminReady) || sameOrder(was, is) {
		return ""
	}
	text := orderText(was)
	if was.ExpiresAt != nil {
		text += ", which was to end at " + utc(*was.ExpiresAt)
	}
	if is.State == string(route.AdminReady) {
		return "This ends " + text + "."
	}
	if was.ExpiresAt == nil {
		text += ", which had no end"
	}
	return "This replaces " + text + "."
}

// sameOrder reports whether two words of an operator are one.
func sameOrder(a, b *api.Admin) bool {
	same := func(x, y *int64) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }
	return a.State == b.State && deref(a.Actor) == deref(b.Actor) && deref(a.Reason) == deref(b.Reason) && deref(a.Scope) == deref(b.Scope) &&
		same(a.Since, b.Since) && same(a.ExpiresAt, b.ExpiresAt)
}

// orderText names an order: whose, since when, and why.
func orderText(a *api.Admin) string {
	text := "the " + a.State + " by "
	if who := deref(a.Actor); who != "" {
		text += who
	} else {
		text += "an operator"
	}
	if a.Since != nil {
		text += " since " + utc(*a.Since)
	}
	if why := deref(a.Reason); why != "" {
		text += " (" + why + ")"
	}
	return text
}

// utc writes a time as the health engine does, with its day unless that is today.
func utc(epoch int64) string {
	at := time.Unix(epoch, 0).UTC()
	if at.Format(time.DateOnly) == time.Now().UTC().Format(time.DateOnly) {
		return at.Format("15:04:05 UTC")
	}
	return at.Format("2006-01-02 15:04:05 UTC")
}

// stopText says when a backend that is out, or its container, may be stopped.
func stopText(e *api.Entrypoint, b *api.BackendHealth, now time.Time) string {
	look := "fairlead health " + e.ID + " --json shows"
	left := plural(int(b.Load.InFlight), "request")
	if b.Load.Tunnels > 0 {
		left += " and " + plural(int(b.Load.Tunnels), "tunnel")
	}
	what := "it"
	if b.Container != nil {
		what = "its container"
	}
	idle := b.Load.InFlight+b.Load.Tunnels == 0
	until := boundUntil(e, b)
	switch {
	case until > now.Unix() && idle:
		return "Nothing is in flight there now, but bound clients may still come: " + what + " may be stopped after " + utc(until) +
			" when " + look + " that nothing is in flight (load)."
	case until > now.Unix():
		return "In flight now: " + left + ", and bound clients may still come: " + what + " may be stopped after " + utc(until) +
			" when " + look + " that nothing is in flight (load)."
	case idle:
		return "Nothing is in flight there: " + what + " may be stopped."
	}
	return "In flight now: " + left + ". " + look + " when none is left (load)."
}

// boundUntil is when the clients that a cookie binds to a draining backend move; 0 when
// none are bound.
func boundUntil(e *api.Entrypoint, b *api.BackendHealth) int64 {
	if !e.Config.StickySession || b.Admin.State != string(route.AdminDrain) || b.Admin.Since == nil {
		return 0
	}
	const second = 1000
	return *b.Admin.Since + (e.Config.DrainTimeoutMS+second-1)/second
}

// deref is the string behind a pointer, "" for nil.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
