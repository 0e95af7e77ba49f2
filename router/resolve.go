package router

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// maxCandidates bounds the routes that an answer lists.
const maxCandidates = 50

// Resolve explains what the view's router would do with a request. It is a pure
// function of the view; nothing is sent to a backend and no turn is used up.
func Resolve(v *View, q Query) Resolution {
	a, err := newAsked(&q)
	r := resolver{view: v, asked: &a, res: Resolution{
		Request: ResolvedRequest{
			Method: a.method, Scheme: a.scheme, Host: a.host, Path: a.path.Forward, CanonicalPath: a.path.Match,
		},
		Candidates:  []ResolvedCandidate{},
		Filters:     []ResolvedFilter{},
		Rotation:    []ResolvedBackend{},
		Suggestions: []string{},
	}}
	if t, parseErr := parseTarget(q.URL); parseErr == nil {
		r.res.Request.Path = t.path
	}
	if a.client.IsValid() {
		text := a.client.String()
		r.res.Request.ClientIP = &text
	}
	switch {
	case err != nil:
		r.answer(OutcomeRefused, 400, route.ReasonBadRequest)
		r.say("Refused with 400: %v.", err)
	case strings.EqualFold(a.method, "CONNECT"):
		r.answer(OutcomeRefused, 405, route.ReasonBadRequest)
		r.say("Refused with 405: CONNECT is never forwarded.")
	default:
		r.resolve()
	}
	return r.res
}

// resolver fills one Resolution.
type resolver struct {
	view   *View
	asked  *asked
	winner *Route
	// winning is the winner with the host pattern that it won with.
	winning *candidate
	res     Resolution
}

func (r *resolver) answer(outcome Outcome, status int, reason route.Reason) {
	r.res.Outcome, r.res.Status, r.res.Reason = outcome, &status, &reason
}

func (r *resolver) say(format string, args ...any) {
	if r.res.Explain != "" {
		r.res.Explain += " "
	}
	r.res.Explain += fmt.Sprintf(format, args...)
}

func (r *resolver) resolve() {
	r.winner = r.view.Table.Match(r.asked)
	related := r.candidates()
	if r.winner == nil {
		r.answer(OutcomeNoRoute, 404, route.ReasonNoRoute)
		r.noRoute(related)
	} else {
		id := r.winner.Entrypoint.ID
		r.res.Entrypoint = &id
		r.serve()
	}
	if r.asked.scheme == "https" {
		r.say("This version routes HTTP only: the answer is the one for http://.")
	}
}

// candidates lists the routes of the host in the table's order and returns how
// many there are; without any it lists near ones.
func (r *resolver) candidates() int {
	related := r.related()
	if len(related) == 0 {
		for _, near := range r.nearest() {
			r.addCandidate(&near, 0)
		}
		return 0
	}
	for i := range related {
		if related[i].route == r.winner {
			r.winning = &related[i]
		}
	}
	for i := range related {
		c := &related[i]
		if i < maxCandidates-1 || c.route == r.winner || len(related) == maxCandidates {
			r.addCandidate(c, i+1)
		}
	}
	return len(related)
}

// candidate is a route with the host pattern that speaks for it.
type candidate struct {
	rule
	host *compiledHost
}

// related returns the routes with a pattern for the host, in order, each once.
func (r *resolver) related() []candidate {
	var list []candidate
	for _, rt := range r.view.Table.routes {
		if rt.rules.path.value == "" {
			continue
		}
		var best *candidate
		for i := range rt.rules.hosts {
			h := &rt.rules.hosts[i]
			if !h.matches(r.asked.host) {
				continue
			}
			c := &candidate{host: h, rule: r.view.Table.ruleOf(rt, h)}
			if best == nil || c.before(&best.rule) < 0 {
				best = c
			}
		}
		if best != nil {
			list = append(list, *best)
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return a.before(&b.rule) })
	return list
}

func (r *resolver) addCandidate(c *candidate, rank int) {
	if rank == 0 {
		rank = len(r.res.Candidates) + 1
	}
	failed := firstFailed(c, r.asked)
	matched := failed == nil
	if matched && c.route != r.winner {
		failed = &ResolvedFailed{Condition: "order", Explain: beaten(r.winning, c)}
	}
	r.res.Candidates = append(r.res.Candidates, ResolvedCandidate{
		Entrypoint: c.route.Entrypoint.ID,
		Rule: ResolvedRule{
			Host: c.host.pattern.Text, Path: describePath(&c.route.rules.path),
			Conditions: describeConditions(&c.route.Entrypoint.Match),
		},
		Matched: matched, Failed: failed, Rank: rank,
	})
}
