package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// layerNotes are what layers of a backend say beside the state that its sentence
// explains: failures that are counted, an order and its end, a slow start, its load.
func layerNotes(b *api.BackendHealth, now time.Time) []string {
	var list []string
	if text := passiveNote(b.Passive, now); text != "" {
		list = append(list, "Traffic: "+text)
	}
	if text := orderNote(&b.Admin, now); text != "" {
		list = append(list, "Operator: "+text)
	}
	if w := b.Warmup; w != nil {
		list = append(list, fmt.Sprintf("Slow start: %s %% of its weight, all of it in %s", number(w.Percent), left(now, w.EndsAt)))
	}
	if l := &b.Load; l.Max != nil && l.InFlight > 0 {
		text := fmt.Sprintf("Load: %d of %d requests (maxConnections)", l.InFlight, *l.Max)
		if l.Full {
			text += ", full"
		}
		list = append(list, text)
	}
	return list
}

func passiveNote(p *api.Passive, now time.Time) string {
	if p == nil {
		return ""
	}
	times := ""
	if p.Ejections > 0 {
		times = ", ejected " + plural(int(min(p.Ejections, 1<<30)), "time") + " so far"
	}
	switch route.PassivePhase(p.State) {
	case route.PhaseOpen:
		if p.Until != nil {
			return "ejected for another " + left(now, *p.Until) + times
		}
		return "ejected" + times
	case route.PhaseHalfOpen:
		if p.TrialInProgress {
			return "on trial, and one request is trying it" + times
		}
		return "on trial: the next request tries it" + times
	case route.PhaseClosed:
	}
	text := fmt.Sprintf("%d of %d failures that eject it", p.ConsecutiveFailures, p.Threshold)
	switch {
	case p.BlockedBy != nil && *p.BlockedBy == "cap":
		return text + "; it stays, because as many are ejected as passive.maxEjectionPercent permits" + times
	case p.BlockedBy != nil:
		return text + "; it stays, because nothing verified would be left" + times
	case p.ConsecutiveFailures > 0:
		return text + times
	}
	return strings.TrimPrefix(times, ", ")
}

func orderNote(a *api.Admin, now time.Time) string {
	if a.State == string(route.AdminReady) {
		return ""
	}
	text := a.State
	if a.Actor != nil {
		text += " by " + *a.Actor
	}
	if a.Reason != nil {
		text += " (" + *a.Reason + ")"
	}
	if a.Since != nil {
		if since := ago(now, *a.Since); since != "" {
			text += " for " + since
		}
	}
	if a.Scope != nil && *a.Scope == string(route.ScopeService) {
		text += ", for every backend of the entrypoint"
	}
	if a.ExpiresAt != nil {
		return text + "; ready again in " + left(now, *a.ExpiresAt)
	}
	return text + "; until another order"
}

// lineNotes are what keeps requests of an entrypoint from its backends now.
func lineNotes(e *api.Entrypoint, now time.Time) []string {
	var list []string
	if b := e.Health.Breaker; b != nil && b.State != string(route.PhaseClosed) {
		text := fmt.Sprintf("circuit breaker %s: %s %% of the last %s failed", strings.ReplaceAll(b.State, "_", " "), number(b.FailureRatio*100), plural(b.Samples, "request"))
		if b.RetryAt != nil {
			text += ", one is tried in " + left(now, *b.RetryAt)
		}
		list = append(list, text)
	}
	t := e.Traffic
	if t == nil {
		return list
	}
	if t.Waiting != nil && *t.Waiting > 0 {
		list = append(list, plural(int(*t.Waiting), "request")+" held until a backend is there (holdFor)")
	}
	var queue []string
	if t.Queued != nil && *t.Queued > 0 {
		queue = append(queue, plural(int(*t.Queued), "request")+" in line, because every backend is full")
	}
	if t.TurnedAway != nil && *t.TurnedAway > 0 {
		queue = append(queue, plural(int(min(*t.TurnedAway, 1<<30)), "request")+" turned away so far, because every backend was full")
	}
	if len(queue) > 0 {
		list = append(list, strings.Join(queue, "; "))
	}
	return list
}

// absentOnce lists the containers that are no backends now, each name and reason once: a
// service that was replaced several times has several predecessors. The last end counts.
func absentOnce(all []api.Absence) []api.Absence {
	var list []api.Absence
	for _, a := range all {
		i := slices.IndexFunc(list, func(b api.Absence) bool { return a.Name == b.Name && a.Reason == b.Reason })
		switch {
		case i < 0:
			list = append(list, a)
		case a.Until == nil || list[i].Until != nil && *a.Until > *list[i].Until:
			list[i] = a
		}
	}
	return list
}
