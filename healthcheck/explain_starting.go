package healthcheck

import (
	"fmt"
	"time"

	"fairlead/router/route"
)

// startingExplain is about an entrypoint that nothing verified serves yet. What is tried
// although it has not answered so far is told apart from what is merely new.
func (en *entry) startingExplain(h *route.EntrypointHealth) string {
	silent := en.silent()
	tail := en.others() + "." + en.missing()
	if len(silent) == 0 {
		return fmt.Sprintf("Starting: %d of %s serving before the first verdict%s", h.InRotation, backends(h.Total), tail)
	}
	text := fmt.Sprintf("Starting: %d of %s serving before the first verdict, but %s", h.InRotation, backends(h.Total), en.unanswered(silent))
	switch {
	case len(silent) < h.InRotation:
	case h.InRotation == 1:
		text = fmt.Sprintf("Starting: 1 of %s is tried although %s", backends(h.Total), en.unanswered(silent))
	default:
		text = fmt.Sprintf("Starting: %d of %s are tried although %s", h.InRotation, backends(h.Total), en.unanswered(silent))
	}
	return text + tail + en.patience(silent)
}

// silent are those in rotation whose probes have all failed so far, without a verdict.
func (en *entry) silent() []*placement {
	var list []*placement
	for _, p := range en.placements {
		if p.in && p.active.status == route.StatePending && p.active.fail > 0 {
			list = append(list, p)
		}
	}
	return list
}

// unanswered says of such placements since when their probes fail, and how.
func (en *entry) unanswered(list []*placement) string {
	since, same, did := time.Time{}, true, "answered yet"
	for _, p := range list {
		if since.IsZero() || p.since.Before(since) {
			since = p.since
		}
		same = same && p.active.message == list[0].active.message
		if p.active.answered != 0 {
			did = "passed a probe yet"
		}
	}
	who, causes := "none has", list[0].active.message
	if len(list) == 1 {
		who = "it has not"
		if en.counts.inRotation > 1 {
			who = list[0].name() + " has not"
		}
	} else if len(list) < en.counts.inRotation {
		who = fmt.Sprintf("%d of them have not", len(list))
	}
	if !same {
		var each []string
		for _, p := range list {
			each = append(each, p.name()+" "+p.active.message)
		}
		causes = few(each)
	}
	return fmt.Sprintf("%s %s: %s, since %s", who, did, causes, clock(since))
}

// patience says when failures begin to count, and what requests get meanwhile.
func (en *entry) patience(list []*placement) string {
	var text string
	p := list[0]
	for _, other := range list[1:] {
		if other.rules.started.Add(other.rules.initialDelay).Before(p.rules.started.Add(p.rules.initialDelay)) {
			p = other
		}
	}
	if p.rules.young(later(p.active.checked, p.active.failed)) {
		text = " Failures count from " + p.grownUp() + " on (healthCheck.initialDelay)."
	}
	limit := en.entrypoint.Options.HoldFor
	if limit > 0 && p.active.kind == route.KindConnectionRefused && en.entrypoint.Protocol == route.HTTP && len(list) == en.counts.inRotation {
		text += fmt.Sprintf(" A request waits for up to %s (holdFor), then gets %d.", limit, en.entrypoint.Options.StatusFor(route.ReasonInitializing))
	}
	return text
}
