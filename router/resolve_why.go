package router

import (
	"fmt"
	"net/netip"
	"strings"

	"fairlead/router/route"
)

// firstFailed returns the first condition of a candidate that a request does not
// fulfil, nil when all hold.
func firstFailed(c *candidate, a *asked) *ResolvedFailed {
	m := &c.route.Entrypoint.Match
	for _, step := range []struct{ condition, explain string }{
		{"host", hostFails(c.host, a.host)},
		{"path", pathFails(&c.route.rules.path, a.path.Match)},
		{"method", methodFails(m, a)},
		{"header", headerFails(m, a)},
		{"query", queryFails(m, a)},
		{"client_ip", clientFails(m, a)},
	} {
		if step.explain != "" {
			return &ResolvedFailed{Condition: step.condition, Explain: step.explain}
		}
	}
	return nil
}

func hostFails(h *compiledHost, host string) string {
	if h.matches(host) {
		return ""
	}
	text := h.pattern.Text
	switch h.pattern.Kind {
	case route.HostRegex:
		return fmt.Sprintf("host %s does not match %s: every label in slashes is matched whole", host, text)
	case route.HostWildcard:
		name, under := strings.CutSuffix(host, h.pattern.Suffix())
		switch {
		case "."+host == h.pattern.Suffix():
			return fmt.Sprintf("%s never takes the apex %s itself", text, host)
		case under:
			return fmt.Sprintf("%s takes one label, %s has %d before the suffix: **%s takes any number",
				text, host, strings.Count(name, ".")+1, h.pattern.Suffix())
		}
		return fmt.Sprintf("host %s does not end with %s", host, h.pattern.Suffix())
	case route.HostExact, route.HostAny:
	}
	return fmt.Sprintf("host %s is not %s", host, text)
}

func pathFails(p *compiledPath, path string) string {
	if p.matches(path) {
		return ""
	}
	switch p.kind {
	case route.PathExact:
		return fmt.Sprintf("path %s is not exactly %s", path, p.value)
	case route.PathRegex:
		return fmt.Sprintf("path %s does not match %s: the expression must match the whole path", path, p.value)
	case route.PathPrefix:
	}
	if strings.HasPrefix(path, p.value) {
		return fmt.Sprintf("path %s is not under %s: prefixes end at a segment", path, p.value)
	}
	return fmt.Sprintf("path %s is not under %s", path, p.value)
}

func methodFails(m *route.Match, a *asked) string {
	only := route.Match{Methods: m.Methods}
	if applies(&only, a) {
		return ""
	}
	return fmt.Sprintf("method %s is not one of %s", a.method, strings.Join(m.Methods, ", "))
}

func headerFails(m *route.Match, a *asked) string {
	for _, c := range m.Headers {
		switch {
		case a.HasHeader(c.Key, c.Value, c.Bare):
		case a.HasHeader(c.Key, "", true):
			return fmt.Sprintf("header %s has another value than the rule asks for", c.Key)
		default:
			return fmt.Sprintf("header %s is missing", c.Key)
		}
	}
	return ""
}

func queryFails(m *route.Match, a *asked) string {
	for _, c := range m.Query {
		switch {
		case a.HasQuery(c.Key, c.Value, c.Bare):
		case a.HasQuery(c.Key, "", true):
			return fmt.Sprintf("query parameter %s has another value than the rule asks for", c.Key)
		default:
			return fmt.Sprintf("query parameter %s is missing", c.Key)
		}
	}
	return ""
}

func clientFails(m *route.Match, a *asked) string {
	switch {
	case clientHolds(m, a):
		return ""
	case m.ClientNobody:
		return "matchClientIP holds nothing valid, so the route applies to nobody (E112)"
	case !a.client.IsValid():
		return "the route is for certain clients only, and no client address was given"
	}
	return fmt.Sprintf("client %s is not in %s", a.client, enumerate(prefixTexts(m.ClientIPs)))
}

func prefixTexts(prefixes []netip.Prefix) []string {
	texts := make([]string, len(prefixes))
	for i, p := range prefixes {
		texts[i] = p.String()
	}
	return texts
}

// describeConditions lists conditions in words, without header or query values.
func describeConditions(m *route.Match) []string {
	list := []string{}
	if len(m.Methods) > 0 {
		list = append(list, "method "+strings.Join(m.Methods, ", "))
	}
	for _, c := range m.Headers {
		list = append(list, "header "+c.Key)
	}
	for _, c := range m.Query {
		list = append(list, "query "+c.Key)
	}
	switch {
	case m.ClientNobody:
		list = append(list, "client nobody")
	case len(m.ClientIPs) > 0:
		list = append(list, "client "+enumerate(prefixTexts(m.ClientIPs)))
	}
	return list
}

// beaten says at which step of the order the winner w comes before c.
func beaten(w, c *candidate) string {
	id, we, ce := w.route.Entrypoint.ID, w.route.Entrypoint, c.route.Entrypoint
	wp, cp := &w.route.rules.path, &c.route.rules.path
	switch {
	case w.priority != c.priority && c.priority != ce.Match.Priority:
		return fmt.Sprintf("lower priority than %s: without a backend it counts as %d at present, against %d", id, c.priority, w.priority)
	case w.priority != c.priority:
		return fmt.Sprintf("lower priority than %s: %d against %d", id, c.priority, w.priority)
	case w.host.pattern != c.host.pattern && hostPlace(w.place) != hostPlace(c.place):
		return fmt.Sprintf("less specific than %s: %s comes before %s", id, describeHost(w.host), describeHost(c.host))
	case wp.kind != cp.kind:
		return fmt.Sprintf("less specific than %s: %s path rules come before %s ones",
			id, strings.ToLower(wp.kind.String()), strings.ToLower(cp.kind.String()))
	case wp.kind != route.PathExact && len(wp.value) != len(cp.value):
		return fmt.Sprintf("less specific than %s: %s is longer than %s", id, wp.value, cp.value)
	case we.CanServe() && !ce.CanServe():
		return fmt.Sprintf("%s has equal rules and a backend; this one has none at present", id)
	case we.Match.Conditions() != ce.Match.Conditions():
		return fmt.Sprintf("fewer conditions than %s: %d against %d", id, ce.Match.Conditions(), we.Match.Conditions())
	case !we.Claim.Equal(ce.Claim):
		return fmt.Sprintf("%s takes the same requests and its claim is older", id)
	}
	return fmt.Sprintf("%s takes the same requests, its claim is as old, and its id comes first", id)
}

// hostPlace is the part of a rule's place that its host gives.
func hostPlace(place uint64) uint64 { return place >> (2 + 24 + 1 + 3) }

func describeHost(h *compiledHost) string {
	switch h.pattern.Kind {
	case route.HostExact:
		return "the exact host " + h.pattern.Text
	case route.HostRegex:
		return "the expression " + h.pattern.Text
	case route.HostWildcard:
		return "the wildcard " + h.pattern.Text
	case route.HostAny:
	}
	return "any host"
}
