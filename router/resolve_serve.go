package router

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/router/route"
)

// serve explains what happens behind the winner: filters, upstream, rotation.
func (r *resolver) serve() {
	e := r.winner.Entrypoint
	health := r.health(e.ID)
	rot := r.winner.Cell.Load()
	next := r.rotation(e, &health, rot)
	path, err := r.rewrite()
	switch {
	case e.FailClosed != nil:
		r.filter("protection", "refuse", fmt.Sprintf("%s (%s) is wrong or not available, so the route is closed (`fairlead explain %s`)",
			e.FailClosed.Label, e.FailClosed.Code, e.FailClosed.Code))
		r.unavailable(e, route.ReasonMisconfigured, "A label that protects it is wrong or not available.")
		return
	case err != nil:
		r.answer(OutcomeRefused, 400, route.ReasonBadRequest)
		r.say("%s takes it, but the rewritten path is refused with 400: %v.", e.ID, err)
		return
	case next == nil && len(rot.Members) > 0:
		r.allFull(e)
		return
	case next == nil:
		r.unavailable(e, emptyRotation(&health, rot), health.Explain)
		if left := rot.HoldLeft(e.Options.HoldFor, time.Now()); left > 0 && !rot.At.IsZero() {
			r.say("Requests are held before they get this answer: for %s more a new backend would take them (holdFor=%s).",
				left.Round(time.Second/10), e.Options.HoldFor)
		}
		return
	case circuitRefuses(&health, time.Now()):
		r.pickNone()
		r.filter("circuit breaker", "refuse", health.Explain)
		r.unavailable(e, health.Reason, health.Explain)
		return
	}
	r.headers(e, next, path)
	r.res.Outcome = OutcomeServed
	r.say("%s takes it%s.", e.ID, r.nextWords(e, next))
	if health.Reason == route.ReasonCircuitOpen {
		const trial = "The circuit breaker is half open: the next request is its trial, and others get 503 circuit_open until that has its answer."
		r.filter("circuit breaker", "pass", trial)
		r.say("%s", trial)
	}
	switch {
	case rot.Panic || health.Panic.Active:
		r.say("Nothing is verified, so unverified backends serve (panic).")
		if neverServed(rot) {
			r.say("None of them has passed a probe or served a request yet: where they refuse the connection clients get 503 %s.", route.ReasonAllUnhealthy)
		}
	case neverAnswered(&health, rot):
		r.refusedSoFar(e)
	case r.res.ExitCode() == ExitUnverified:
		r.say("No verified backend would get it yet.")
	}
}

// health finds the winner's health in the view.
func (r *resolver) health(id string) route.EntrypointHealth {
	i, ok := slices.BinarySearchFunc(r.view.Entrypoints, id, func(v EntrypointView, id string) int {
		return strings.Compare(v.Entrypoint.ID, id)
	})
	if !ok {
		return route.EntrypointHealth{}
	}
	return r.view.Entrypoints[i].Health
}

func emptyRotation(h *route.EntrypointHealth, rot *route.Rotation) route.Reason {
	for _, reason := range []route.Reason{h.Reason, rot.Reason} {
		if reason != route.ReasonNone {
			return reason
		}
	}
	return route.ReasonNoBackends
}

func (r *resolver) unavailable(e *route.Entrypoint, reason route.Reason, why string) {
	status := e.Options.StatusFor(reason)
	r.answer(OutcomeUnavailable, status, reason)
	r.say("%s takes it and answers %d %s.", e.ID, status, reason)
	if why != "" {
		r.say("%s", why)
	}
}

func (r *resolver) filter(name, verdict, explain string) {
	r.res.Filters = append(r.res.Filters, ResolvedFilter{Name: name, Verdict: verdict, Explain: explain})
}

func (r *resolver) nextWords(e *route.Entrypoint, next *route.Backend) string {
	picks := 0
	for i := range r.res.Rotation {
		if r.res.Rotation[i].WouldPick {
			picks++
		}
	}
	if picks > 1 {
		return fmt.Sprintf("; %s picks any of %d backends", e.Options.LoadBalancer, picks)
	}
	name := next.Name
	if name == "" {
		return "; the next backend is " + next.Address()
	}
	return fmt.Sprintf("; the next backend is %s (%s)", name, next.Address())
}

// rewrite applies stripPrefix or addPrefix; addPrefix wins when both are set.
func (r *resolver) rewrite() (Path, error) {
	o, p := &r.winner.Entrypoint.Options, r.asked.path
	var name string
	var err error
	switch {
	case o.AddPrefix != "":
		name = "addPrefix"
		p, err = AddPrefix(p, o.AddPrefix)
	case o.StripPrefix && r.winner.Prefix != "":
		name = "stripPrefix"
		p, err = StripPrefix(p, r.winner.Prefix)
	}
	switch {
	case name == "":
	case err != nil:
		r.filter(name, "refuse", err.Error())
	case p == r.asked.path:
		r.filter(name, "pass", "the path stays "+p.Forward)
	default:
		r.filter(name, "rewrite", fmt.Sprintf("%s becomes %s", r.asked.path.Forward, p.Forward))
	}
	return p, err
}

// headers fills the upstream and the header filter, with names only.
func (r *resolver) headers(e *route.Entrypoint, next *route.Backend, path Path) {
	up := &ResolvedUpstream{
		URL:            string(next.Scheme) + "://" + next.Address() + path.Forward + r.asked.maskedQuery(),
		HeadersSet:     []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Proto", "X-Real-IP"},
		HeadersRemoved: []string{},
	}
	if next.Scheme == "" {
		up.URL = string(route.SchemeHTTP) + up.URL
	}
	if e.Options.StripPrefix && e.Options.AddPrefix == "" && r.winner.Prefix != "" {
		up.HeadersSet = append(up.HeadersSet, "X-Forwarded-Prefix")
	}
	var response []string
	for _, rule := range e.Options.Headers {
		if rule.Direction != route.OnResponse {
			if rule.Value == "" {
				up.HeadersRemoved = append(up.HeadersRemoved, rule.Name)
			} else {
				up.HeadersSet = append(up.HeadersSet, rule.Name)
			}
		}
		if rule.Direction != route.OnRequest {
			response = append(response, rule.Name)
		}
	}
	for _, names := range []*[]string{&up.HeadersSet, &up.HeadersRemoved, &response} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	if n := len(e.Options.Headers); n > 0 {
		r.filter("headers", "rewrite", fmt.Sprintf("%d rules; on the response: %s", n, orNone(response)))
	}
	r.res.Upstream = up
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
