package cli

import (
	"cmp"
	"fmt"
	"strings"

	"fairlead/router"
	"fairlead/router/route"
)

// printResolution tells the story of a request from the client to the backend: the
// verdict first, then the winner, its backends, what they would be asked, and why
// the others lost.
func (p *program) printResolution(r resolved) {
	p.printRequest(&r)
	p.printVerdict(&r)
	p.printWinner(&r)
	p.printRotation(&r)
	p.printUpstream(&r)
	p.printLosers(&r)
	p.printSuggestions(&r)
}

func (p *program) heading(text string) { p.say("\n%s", p.style(p.Out).bold(text)) }

func (p *program) printRequest(r *resolved) {
	q := &r.Request
	line := fmt.Sprintf("%s %s://%s%s", q.Method, q.Scheme, q.Host, q.Path)
	if q.ClientIP != nil {
		line += "  from " + *q.ClientIP
	}
	p.say("%s", p.style(p.Out).bold(line))
	if q.CanonicalPath != "" && q.CanonicalPath != q.Path {
		p.say("matched as %s", q.CanonicalPath)
	}
}

func (p *program) printVerdict(r *resolved) {
	s := p.style(p.Out)
	served := r.Outcome == router.OutcomeServed
	word := strings.ReplaceAll(string(r.Outcome), "_", " ")
	switch {
	case served && r.Offline:
		word = s.warn("would be served; not probed (offline)")
	case served && p.exit == router.ExitUnverified && pendingOnly(r):
		word = s.warn("would be tried; nothing is verified")
	case served && p.exit == router.ExitUnverified:
		word = s.warn("served, but nothing is verified")
	case served:
		word = s.good(word)
	default:
		word = s.bad(word)
	}
	if r.Status != nil {
		word += fmt.Sprintf(" (%d)", *r.Status)
		if r.Reason != nil && *r.Reason != "" && *r.Reason != route.ReasonNoRoute {
			word = strings.TrimSuffix(word, ")") + " " + string(*r.Reason) + ")"
		}
	}
	p.say("\n%s", word)
	p.say("%s", s.sentence("  ", r.Explain))
	if why := p.unverified(r); why != "" {
		p.say("%s", s.sentence("  ", why))
	}
}

// pendingOnly reports whether what would be picked never had a verdict.
func pendingOnly(r *resolved) bool {
	for i := range r.Rotation {
		if b := &r.Rotation[i]; b.WouldPick && b.Reason != route.InPendingNoVerified {
			return false
		}
	}
	return true
}

// unverified says what exit code 2 means here.
func (p *program) unverified(r *resolved) string {
	switch {
	case p.exit != router.ExitUnverified:
		return ""
	case r.Reason != nil && *r.Reason == route.ReasonMisconfigured:
		return "The route is closed until the label is right: no backend is asked."
	case r.Reason != nil && (*r.Reason == route.ReasonOverloaded || *r.Reason == route.ReasonQueueFull):
		return "" // the explanation says that it waits, and for how long
	case r.Outcome != router.OutcomeServed && r.Status != nil:
		return fmt.Sprintf("Clients get %d; no backend is asked.", *r.Status)
	}
	if r.Offline {
		return "Backends are not probed (offline): whether one answers is known to a running router only."
	}
	for i := range r.Rotation {
		b := &r.Rotation[i]
		if b.WouldPick && (b.Reason == route.InPanicAll || b.Reason == route.InPanicLast) {
			return "Panic serves it: no backend passes its check, and unverified ones are better than none."
		}
	}
	return "No backend has passed its first check yet; one is tried all the same."
}

func (p *program) printWinner(r *resolved) {
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if r.Entrypoint == nil || c.Entrypoint != *r.Entrypoint || !c.Matched || c.Failed != nil {
			continue
		}
		p.heading("Winner")
		t := ruleTable()
		t.add(c.Entrypoint, c.Rule.Host, c.Rule.Path, strings.Join(c.Rule.Conditions, "; "), fmt.Sprintf("%d of %d", c.Rank, len(r.Candidates)))
		t.write(p.Out, "  ", p.style(p.Out))
		return
	}
}

func ruleTable() *table {
	return &table{head: []string{"ENTRYPOINT", "HOST", "PATH", "CONDITIONS", "RANK"}}
}

func (p *program) printRotation(r *resolved) {
	if len(r.Rotation) == 0 {
		return
	}
	p.heading("Backends")
	s := p.style(p.Out)
	paint := backendPaint(s)
	t := table{
		head:  []string{"BACKEND", "ADDRESS", "STATE", "IN ROTATION", "REASON", "NEXT"},
		paint: func(column int, cell string) string { return paint(column, cell) },
	}
	for i := range r.Rotation {
		b := &r.Rotation[i]
		name, next := cmp.Or(b.Name, b.Backend), ""
		if b.WouldPick {
			next = "<- would be picked"
		}
		t.add(unless(b.Address, name), b.Address, string(b.State), yesNo(b.InRotation), string(b.Reason), next)
		t.note(b.Explain)
		for _, probe := range r.Probes {
			if probe.Address == b.Address {
				t.note(fmt.Sprintf("From this machine: %s (%.1f ms).", probe.Message, probe.ConnectMS))
			}
		}
	}
	t.write(p.Out, "  ", s)
}

func (p *program) printUpstream(r *resolved) {
	s := p.style(p.Out)
	if r.Upstream != nil {
		p.heading("Upstream")
		p.say("  %s", r.Upstream.URL)
		if len(r.Upstream.HeadersSet) > 0 {
			p.say("%s", s.sentence("  ", "headers set: "+strings.Join(r.Upstream.HeadersSet, ", ")))
		}
		if len(r.Upstream.HeadersRemoved) > 0 {
			p.say("%s", s.sentence("  ", "headers removed: "+strings.Join(r.Upstream.HeadersRemoved, ", ")))
		}
	}
	if len(r.Filters) > 0 {
		p.heading("Filters")
		t := table{head: []string{"FILTER", "VERDICT", "WHAT"}}
		for _, f := range r.Filters {
			t.add(f.Name, f.Verdict, f.Explain)
		}
		t.write(p.Out, "  ", p.style(p.Out))
	}
}

func (p *program) printLosers(r *resolved) {
	t := ruleTable()
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Failed == nil {
			continue
		}
		t.add(c.Entrypoint, c.Rule.Host, c.Rule.Path, strings.Join(c.Rule.Conditions, "; "), fmt.Sprint(c.Rank))
		t.note(c.Failed.Condition + ": " + c.Failed.Explain)
	}
	if len(t.rows) == 0 {
		return
	}
	p.heading(losersTitle(r))
	t.write(p.Out, "  ", p.style(p.Out))
}

func losersTitle(r *resolved) string {
	if r.Entrypoint != nil {
		return "Not chosen"
	}
	for i := range r.Candidates {
		if f := r.Candidates[i].Failed; f != nil && f.Condition != "host" {
			return "Why no route takes it"
		}
	}
	return "Nearest routes"
}

func (p *program) printSuggestions(r *resolved) {
	if len(r.Suggestions) == 0 {
		return
	}
	p.heading("Try")
	for _, text := range r.Suggestions {
		p.say("%s", p.style(p.Out).sentence("  ", text))
	}
}
