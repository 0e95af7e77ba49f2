package router

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// shadow is one host pattern on which a route loses every request to another.
type shadow struct {
	host          string
	winner, loser *Route
}

// appendShadows finds the rules of a sorted list that one request could match
// equally: same host and path rule, conditions and priority.
func appendShadows(shadows []shadow, host string, list []rule) []shadow {
	type key struct {
		path       string
		conditions string
		priority   int
	}
	first := map[key]*Route{}
	for i := range list {
		r := list[i].route
		if r.Entrypoint.Match.ClientNobody {
			continue
		}
		k := key{r.rules.path.value, r.rules.conditions, r.Entrypoint.Match.Priority}
		switch winner := first[k]; winner {
		case nil:
			first[k] = r
		case r: // one entrypoint that names a host twice
		default:
			shadows = append(shadows, shadow{host: host, winner: winner, loser: r})
		}
	}
	return shadows
}

// reportShadows puts W018 on both sides and marks the routes that get nothing.
func (t *Table) reportShadows(shadows []shadow) {
	slices.SortFunc(shadows, func(a, b shadow) int {
		return cmp.Or(strings.Compare(a.loser.Entrypoint.ID, b.loser.Entrypoint.ID),
			strings.Compare(a.winner.Entrypoint.ID, b.winner.Entrypoint.ID), strings.Compare(a.host, b.host))
	})
	lost := map[*Route][]shadow{}
	won := map[*Route][]shadow{}
	for _, s := range shadows {
		lost[s.loser] = append(lost[s.loser], s)
		won[s.winner] = append(won[s.winner], s)
	}
	for _, r := range t.routes {
		if l := lost[r]; l != nil {
			t.diagnose(r, lostDiagnostic(r, l))
			if len(l) == len(r.rules.hosts) {
				t.findings[r.Entrypoint.ID].shadowedBy = l[0].winner.Entrypoint.ID
			}
		}
		if w := won[r]; w != nil {
			t.diagnose(r, wonDiagnostic(r, w))
		}
	}
}

const shadowHint = "give one of them another host, path or condition, or a priority"

func lostDiagnostic(r *Route, lost []shadow) route.Diagnostic {
	why := "its claim is older"
	switch w, l := lost[0].winner.Entrypoint, r.Entrypoint; {
	case w.CanServe() && !l.CanServe():
		why = "it has a backend and this one has none"
	case w.Claim.Equal(l.Claim):
		why = "its id comes first"
	}
	return route.Diagnose("W018", shadowHint, "%s takes the requests for %s with the same rules: %s",
		lost[0].winner.Entrypoint.ID, shadowHosts(r, lost), why)
}

func wonDiagnostic(r *Route, won []shadow) route.Diagnostic {
	losers := make([]string, len(won))
	for i, s := range won {
		losers[i] = s.loser.Entrypoint.ID
	}
	return route.Diagnose("W018", shadowHint, "takes the requests of %s for %s: the rules are the same",
		enumerate(slices.Compact(losers)), shadowHosts(r, won))
}

func shadowHosts(r *Route, shadows []shadow) string {
	hosts := make([]string, len(shadows))
	for i, s := range shadows {
		hosts[i] = s.host
	}
	slices.Sort(hosts)
	return enumerate(slices.Compact(hosts)) + " " + describePath(&r.rules.path)
}

// enumerate joins names for people, at most five of them.
func enumerate(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// describePath is a path rule as answers show it: "Prefix /api".
func describePath(p *compiledPath) string { return p.kind.String() + " " + p.value }
