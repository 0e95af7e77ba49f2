package router

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// maxSuggestions bounds the hints, and the near misses, of an answer.
const maxSuggestions = 5

// noRoute explains a 404 and says what was perhaps meant.
func (r *resolver) noRoute(related int) {
	host := r.asked.host
	r.suggestUnrouted()
	switch {
	case related > 0:
		r.say("No route of %s takes this request: 404.", host)
		r.suggestPaths()
	case r.view.Table.Len() == 0:
		r.say("There are no routes at all: 404.")
		r.suggestProviders()
	default:
		r.say("No route takes the host %s: 404.", host)
		r.suggestHosts()
	}
}

func (r *resolver) suggest(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if len(r.res.Suggestions) < maxSuggestions && !slices.Contains(r.res.Suggestions, s) {
		r.res.Suggestions = append(r.res.Suggestions, s)
	}
}

// suggestUnrouted names who declares the host and is not routed, the most exact first:
// that is meant more likely than any host that is only near.
func (r *resolver) suggestUnrouted() {
	type match struct {
		kind route.HostKind
		text string
	}
	var list []match
	for i := range r.view.Unrouted {
		u := &r.view.Unrouted[i]
		for _, h := range u.Hosts {
			if hostTakes(h, r.asked.host) {
				list = append(list, match{h.Kind, unroutedText(u)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b match) int { return cmp.Compare(a.kind, b.kind) })
	for _, m := range list {
		r.suggest("%s", m.text)
	}
}

// hostTakes reports whether a pattern of no route takes a host.
func hostTakes(pattern route.HostPattern, host string) bool {
	h := compiledHost{pattern: pattern}
	if pattern.Kind == route.HostRegex {
		labels, err := compileHost(pattern.Text)
		if err != nil {
			return false
		}
		h.labels = labels
	}
	return h.matches(host)
}

func unroutedText(u *route.Unrouted) string {
	text := u.What + " declares this host and is not routed: " + cmp.Or(u.Code, u.Reason)
	if advice := cmp.Or(u.Hint, u.Reason); u.Code != "" || u.Hint != "" {
		text += ", " + advice
	}
	return text
}

func (r *resolver) suggestPaths() {
	for i := range r.res.Candidates {
		c := &r.res.Candidates[i]
		r.suggest("%s takes %s: %s", c.Entrypoint, c.Rule.Path, c.Failed.Explain)
	}
}

func (r *resolver) suggestProviders() {
	for _, p := range r.view.Providers {
		if p.LastError != "" {
			r.suggest("provider %s: %s%s", p.Name, p.LastError, hint(p.Hint))
		}
	}
	if n := len(r.view.Rejected); n > 0 {
		r.suggest("%d candidates are not routed; `fairlead validate` says why", n)
	}
}

func hint(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func (r *resolver) suggestHosts() {
	host := r.asked.host
	r.suggestRefused()
	near := r.nearest()
	for i := range near {
		pattern := near[i].host.pattern
		if i > 0 && near[i-1].host.pattern == pattern {
			continue
		}
		var ids []string
		for _, n := range near[i:] {
			if n.host.pattern == pattern {
				ids = append(ids, n.route.Entrypoint.ID)
			}
		}
		r.suggestHost(pattern, host, enumerate(ids))
	}
	if len(r.res.Suggestions) == 0 {
		r.suggest("no known host is near %s; `fairlead route list` shows all", host)
	}
}

// suggestHost says what a pattern near the host lacks to take it.
func (r *resolver) suggestHost(pattern route.HostPattern, host, ids string) {
	text, wild := pattern.Text, pattern.Kind == route.HostWildcard
	switch {
	case wild && "."+host == pattern.Suffix():
		r.suggest("%s does not take the apex: add %s to the host label of %s", text, host, ids)
	case wild && strings.HasSuffix(host, pattern.Suffix()):
		r.suggest("%s takes one label only: **%s in the host label of %s takes any number", text, pattern.Suffix(), ids)
	case "www."+text == host || "www."+host == text:
		r.suggest("%s is routed, %s is not: add it to the host label of %s", text, host, ids)
	default:
		r.suggest("did you mean %s (%s)?", text, ids)
	}
}

// suggestRefused names the routes of the host whose rules can match nothing.
func (r *resolver) suggestRefused() {
	for _, rt := range r.view.Table.routes {
		names := func(h compiledHost) bool { return h.matches(r.asked.host) }
		if rt.rules.path.value == "" && slices.ContainsFunc(rt.rules.hosts, names) {
			r.suggest("%s is for this host, but no request can match it: %v", rt.Entrypoint.ID, rt.rules.refused)
		}
	}
}

// nearest returns the routes whose hosts are a slip away from the one asked for,
// the nearest first.
func (r *resolver) nearest() []candidate {
	type near struct {
		candidate
		distance int
	}
	var list []near
	for _, rt := range r.view.Table.routes {
		if rt.rules.path.value == "" {
			continue
		}
		best := near{distance: -1}
		for i := range rt.rules.hosts {
			h := &rt.rules.hosts[i]
			if d := hostDistance(h, r.asked.host); d >= 0 && (best.distance < 0 || d < best.distance) {
				best = near{candidate{rule{route: rt}, h}, d}
			}
		}
		if best.distance >= 0 {
			list = append(list, best)
		}
	}
	slices.SortStableFunc(list, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.host.pattern.Kind, b.host.pattern.Kind),
			strings.Compare(a.host.pattern.Text, b.host.pattern.Text))
	})
	list = list[:min(len(list), maxSuggestions)]
	out := make([]candidate, len(list))
	for i := range list {
		out[i] = list[i].candidate
	}
	return out
}

// hostDistance says how far a host is from a pattern that does not take it; -1 is
// too far to be a slip.
func hostDistance(h *compiledHost, host string) int {
	text := h.pattern.Text
	switch h.pattern.Kind {
	case route.HostExact:
		if "www."+text == host || "www."+host == text {
			return 0
		}
		most := max(2, len(text)/6)
		if d := editDistance(text, host, most); d <= most {
			return d
		}
	case route.HostWildcard:
		suffix := h.pattern.Suffix()
		if "."+host == suffix || strings.HasSuffix(host, suffix) {
			return 0
		}
		if i := strings.IndexByte(host, '.'); i > 0 {
			// The first label is free, so a full host that is as near comes first.
			if d := editDistance(suffix, host[i:], 2); d <= 2 {
				return d + 1
			}
		}
	case route.HostRegex, route.HostAny:
	}
	return -1
}

// editDistance counts insertions, deletions, substitutions and swaps of neighbours;
// more than most is most+1.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most+1 {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], most+1)
}
