package healthcheck

import (
	"fmt"
	"time"

	"fairlead/router/route"
)

// who names who gave an order.
func who(a *route.Admin) string {
	if a.Actor == "" {
		return "an operator"
	}
	return a.Actor
}

// because is the operator's reason in brackets, "" without one.
func because(a *route.Admin) string {
	if a.Reason == "" {
		return ""
	}
	return " (" + a.Reason + ")"
}

// instead says whose order another one took the place of.
func instead(a, by *route.Admin) string {
	return fmt.Sprintf(", in place of the %s that %s ordered at %s%s", a.State, who(a), moment(a.Since, by.Since), because(a))
}

// expired is the reason of a backend that is ready because an order ended by itself.
func expired(a *route.Admin) string {
	return fmt.Sprintf("the %s that %s ordered was to end now", a.State, who(a))
}

// adminCause is the kind and the message of a state that the operator decided.
func (p *placement) adminCause() (route.Kind, string) {
	a := &p.admin
	kind, text := route.KindAdminDrain, "drained by "
	if a.State == route.AdminMaintenance {
		kind, text = route.KindAdminMaintenance, "in maintenance by "
	}
	text += who(a) + because(a)
	if !a.ExpiresAt.IsZero() {
		text += ", until " + moment(a.ExpiresAt, a.Since)
	}
	return kind, text
}

// readyCause is the kind and the message of a transition by which the operator's word ends:
// the fault that keeps the backend out now, if there is one.
func (p *placement) readyCause(to route.State, cause string) (route.Kind, string) {
	text := p.admin.Reason
	if cause != causeTimer {
		text = "ready again by " + who(&p.admin) + because(&p.admin)
	}
	if !to.Faulty() {
		return route.KindNone, text
	}
	kind, fault := p.cause(to)
	if p.admin.Actor != "" {
		return kind, fault // the transition's actor and reason are the operator's words
	}
	return kind, fault + "; " + text
}

// moment writes a time, with its day when that is not the day of another.
func moment(t, other time.Time) string {
	if t.UTC().Format(time.DateOnly) == other.UTC().Format(time.DateOnly) {
		return clock(t)
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// adminStory says who took the placement out, why, since and until when, and what
// happens next.
func (p *placement) adminStory(now time.Time) string {
	a := &p.admin
	text := fmt.Sprintf("Out of rotation: %s by %s since %s%s.", adminWord(a.State), who(a), moment(a.Since, now), because(a))
	if a.Scope == route.ScopeService {
		text += " The order is about every backend of " + p.entry.id + ", later ones included."
	}
	if a.State == route.AdminMaintenance {
		text += " It is not probed meanwhile."
	} else {
		text += p.drainedStory()
	}
	back := "fairlead ready " + p.entry.id + " " + p.backend().ID
	if a.ExpiresAt.IsZero() {
		return text + " The command " + back + " brings it back."
	}
	return text + fmt.Sprintf(" The order ends at %s; %s ends it now.", moment(a.ExpiresAt, a.Since), back)
}

// drainedStory is what of a draining placement goes on.
func (p *placement) drainedStory() string {
	text := " What is in flight goes on."
	switch o := &p.entry.entrypoint.Options; {
	case !o.Sticky.On:
	case p.bound():
		text += fmt.Sprintf(" Clients that a cookie binds to it are served until %s (drain.timeout=%s).", clock(p.boundUntil()), o.DrainTimeout)
	default:
		text += " Clients that a cookie bound to it are served by others."
	}
	switch p.active.status {
	case route.StateDown:
		text += " It would not serve anyway: " + p.evidence() + "."
	case route.StatePending:
		text += " It has no verdict yet."
	default:
	}
	return text
}

// takenOut says why nothing serves when the operator took out all that could.
func (en *entry) takenOut() string {
	word := "in maintenance"
	if en.summary.reason == route.ReasonAllDraining {
		word = "drained or in maintenance"
	}
	text := everyBackend(len(en.placements)) + " is " + word + ", so " + en.get() + en.others() + "."
	var first time.Time
	for _, p := range en.placements {
		if at := p.admin.ExpiresAt; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		text += " The first order ends at " + moment(first, en.since) + "."
	}
	return text + " The command fairlead ready " + en.id + " --all brings all back."
}

// everyBackend names all backends of an entrypoint.
func everyBackend(n int) string {
	if n == 1 {
		return "the only backend"
	}
	return "every backend"
}

// adminWhy is who took a placement out, with a colon before it; "" when nobody did.
func (p *placement) adminWhy() string {
	if state := p.state(); state != route.StateDraining && state != route.StateMaintenance {
		return ""
	}
	return ": by " + who(&p.admin) + because(&p.admin)
}
