package healthcheck

import (
	"fmt"
	"strings"
	"time"

	"fairlead/router/route"
)

// explain is one sentence or two about a placement: state, cause, evidence, next
// step (health.md, "explain wording model").
func explain(p *placement, h *route.BackendHealth, now time.Time) string {
	var parts []string
	if p.entry.entrypoint.FailClosed != nil {
		parts = append(parts, "Gets nothing: the route is closed because a label that protects it is wrong or not available.")
	}
	parts = append(parts, p.story(h, now))
	if p.active.stale && p.check != nil {
		parts = append(parts, p.staleStory(h))
	}
	if note := p.passiveNote(h, now); note != "" {
		parts = append(parts, note)
	}
	if next := p.next(h); next != "" {
		parts = append(parts, next)
	}
	return strings.Join(parts, " ")
}

// staleStory says that the verdict is one of an older check, and what replaces it.
func (p *placement) staleStory(h *route.BackendHealth) string {
	text := "The check has changed since; the next result decides"
	if p.rules.young(later(p.active.checked, h.NextCheckAt)) {
		text += ", a failure only from " + p.grownUp() + " on (healthCheck.initialDelay)"
	}
	return text + "."
}

// grownUp is when failures begin to count.
func (p *placement) grownUp() string { return clock(p.rules.started.Add(p.rules.initialDelay)) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// drainText says how long requests and tunnels of a leaving backend may go on.
func (p *placement) drainText(h *route.BackendHealth) string {
	limit := p.entry.entrypoint.Options.DrainTimeout
	if limit <= 0 {
		return "what was in flight is cut (drain.timeout=0)."
	}
	return fmt.Sprintf("what is in flight may go on until %s (drain.timeout=%s).", clock(h.Since.Add(limit)), limit)
}

// story is state, cause and evidence.
func (p *placement) story(h *route.BackendHealth, now time.Time) string {
	switch h.State {
	case route.StateLeaving:
		return "Out of rotation: the container is stopping; " + p.drainText(h)
	case route.StateGated:
		if p.backend().Provider == route.ProviderStarting {
			return "Out of rotation: Docker's HEALTHCHECK is still starting, and dockerHealth=require waits for its first success."
		}
		return "Out of rotation: Docker's HEALTHCHECK says unhealthy; it returns when Docker says healthy."
	case route.StateMaintenance, route.StateDraining:
		return p.adminStory(now)
	case route.StateEjected, route.StateTrial:
		return p.passiveStory(h, now)
	case route.StateDown:
		return p.downStory(h)
	case route.StatePending:
		return p.pendingStory(h)
	case route.StateUnchecked:
		return p.uncheckedStory(h)
	default:
		return p.upStory(h)
	}
}

func (p *placement) downStory(h *route.BackendHealth) string {
	lead := "Out of rotation"
	switch h.RotationReason {
	case route.InPanicThreshold:
		lead = fmt.Sprintf("Still gets requests because fewer than %d %% are verified (panicThreshold)", p.entry.entrypoint.Options.PanicThreshold)
	case route.InPanicAll:
		lead = "Still gets requests because nothing else is verified (panic=all)"
	case route.InPanicLast:
		lead = "Still gets requests because nothing is verified and it failed last (panic=last)"
	case route.OutPanicOff:
		lead = "Out of rotation, and panic=off keeps it out although nothing is verified"
	case route.OutPanicNotSelected:
		lead = "Out of rotation; panic=last serves another one that failed later"
	case route.OutInitialDown:
		lead = "Out of rotation until its first success (healthCheck.initial=down)"
	default:
	}
	return lead + ": " + p.evidence() + "."
}

// evidence is how many probes failed, or requests that count as such, and what the last
// one saw.
func (p *placement) evidence() string {
	a := &p.active
	fed, seen := min(a.fed, a.streak), a.message+" at "+clock(a.failed)
	if a.request == nil {
		seen += p.asked()
	}
	switch {
	case a.streak == 0:
		return "last failure: " + seen
	case fed == 0 && a.streak == 1:
		return "1 probe failed: " + seen
	case fed == 0:
		return fmt.Sprintf("%d probes in a row failed; last: %s", a.streak, seen)
	case fed < a.streak:
		return fmt.Sprintf("%d failures in a row, %d of requests (passive.feedsActive); last: %s", a.streak, fed, seen)
	}
	seen = strings.TrimPrefix(seen, requestFailed)
	if fed == 1 {
		return "1 request failed (passive.feedsActive): " + seen
	}
	return fmt.Sprintf("%d requests failed (passive.feedsActive); last: %s", fed, seen)
}

// asked is what the probe asks, in brackets.
func (p *placement) asked() string {
	if p.check == nil {
		return ""
	}
	return " (" + p.check.question() + ")"
}

// question is what a check asks: "GET http://10.0.0.5:8081/health" or "TCP 10.0.0.5:80".
func (c *check) question() string { return question(&c.spec.Check, c.target.Address()) }

func (p *placement) pendingStory(h *route.BackendHealth) string {
	starting := p.backend().Provider == route.ProviderStarting
	lead := "Waiting for its first verdict"
	if starting {
		lead = "Docker's HEALTHCHECK is still starting"
	}
	lead += p.meantime(h)
	if p.active.fail == 0 || starting && p.active.status != route.StatePending {
		return lead + "."
	}
	lead += ". So far " + p.evidence()
	if p.rules.young(later(p.active.checked, p.active.failed)) {
		lead += "; failures count from " + p.grownUp() + " on (healthCheck.initialDelay)"
	}
	return lead + "."
}

// meantime is what a placement without a verdict does until it has one, or who serves
// instead of it.
func (p *placement) meantime(h *route.BackendHealth) string {
	verified := p.entry.decision.verified
	switch h.RotationReason {
	case route.InPendingNoVerified:
		if verified {
			return "; it serves beside verified backends because the router has just started"
		}
		return "; it serves because nothing verified exists"
	case route.InInitialUp:
		return "; it counts as up until then (healthCheck.initial=up)"
	case route.InUnchecked:
		return "; it goes on serving" + p.share(h) + ", as before its check was turned on"
	case route.InBackupActive:
		return "; it serves as a backup because no primary is verified"
	case route.InPanicThreshold:
		return fmt.Sprintf("; it serves because fewer than %d %% are verified (panicThreshold)", p.entry.entrypoint.Options.PanicThreshold)
	case route.OutInitialDown:
		return "; it gets nothing before its first success (healthCheck.initial=down)"
	case route.OutBackupStandby:
		return "; it is a backup, and primaries serve"
	case route.OutMisconfigured: // nobody serves, which is said already
		return ""
	default:
	}
	if verified {
		return "; verified backends serve meanwhile"
	}
	return "; others serve meanwhile"
}

func (p *placement) uncheckedStory(h *route.BackendHealth) string {
	why := "healthCheck=false"
	if p.entry.entrypoint.Protocol == route.UDP {
		why = "UDP is not probed"
	}
	switch h.RotationReason {
	case route.OutBackupStandby:
		return "Standing by as a backup; it is not probed (" + why + ")."
	case route.InBackupActive:
		return "In rotation as a backup because no primary is verified; it is not probed (" + why + ")."
	case route.OutMisconfigured:
		return "It is not probed (" + why + ")."
	default:
	}
	return "In rotation" + p.share(h) + "; it is not probed (" + why + "), so it counts as healthy."
}

func (p *placement) upStory(h *route.BackendHealth) string {
	lead := "In rotation" + p.share(h)
	switch h.RotationReason {
	case route.OutBackupStandby:
		lead = "Standing by as a backup"
	case route.InBackupActive:
		lead = "In rotation as a backup because no primary is verified"
	case route.OutMisconfigured:
		lead = "Verified"
	default:
	}
	switch {
	case p.active.fail > 0 && p.active.stale: // no count decides, the next result does
		return fmt.Sprintf("%s, but %s.", lead, p.evidence())
	case p.active.fail > 0:
		return fmt.Sprintf("%s, but %s; %d of %d failures in a row that would take it out.",
			lead, p.evidence(), p.active.fail, p.rules.unhealthy)
	}
	return fmt.Sprintf("%s: %s at %s%s.", lead, cmpMessage(p.last), clock(p.active.checked), p.asked())
}

func cmpMessage(r *route.ProbeResult) string {
	if r == nil || r.Message == "" {
		return "the last probe succeeded"
	}
	return fmt.Sprintf("the last probe %s in %s", r.Message, r.Duration.Round(100*time.Microsecond))
}

// next is what happens next and what it takes.
func (p *placement) next(h *route.BackendHealth) string {
	var when string
	switch {
	case h.InFlightProbe:
		when = "A probe is on its way"
	case h.NextCheckAt.IsZero():
		return ""
	default:
		when = "Next probe at " + clock(h.NextCheckAt)
	}
	if h.State != route.StateDown {
		return when + "."
	}
	needed := p.rules.healthy - p.active.ok
	if p.active.stale {
		needed = 1
	}
	switch {
	case needed == 1 && p.active.ok == 0:
		return when + "; 1 success needed."
	case p.active.ok > 0:
		return fmt.Sprintf("%s; %d of %d successes seen.", when, p.active.ok, p.rules.healthy)
	}
	return fmt.Sprintf("%s; %d successes needed.", when, needed)
}
