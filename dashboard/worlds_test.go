package dashboard

import (
	"fmt"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// wellView is a machine on a good day.
func wellView(now time.Time) *router.View {
	w := newWorld(now)
	w.steady()
	w.add("auth", "auth", "auth.example.com").replicas(2, 9000).done()
	w.add("shop", "payments", "shop.example.com").path("/pay").replicas(2, 8443).done()
	w.add("git", "git", "git.example.com").replicas(1, 3000).done()
	w.add("wiki", "wiki", "wiki.example.com").replicas(1, 3000).done()
	w.view.Candidates = []route.CandidateDiagnostics{{CandidateID: w.container("http_blog", 0), Diagnostics: []route.Diagnostic{
		{Code: "I001", Severity: route.SeverityInfo, Message: "no path is set: the route takes the whole host (/)", Label: "sozune.http.blog.path", Hint: "set sozune.http.blog.path to take a part of the host only"},
	}}}
	return w.built()
}

// container is the full id of an entrypoint's backend.
func (w *world) container(id string, backend int) string {
	for i := range w.view.Entrypoints {
		if e := &w.view.Entrypoints[i]; e.Entrypoint.ID == id {
			return e.Health.Backends[backend].Backend.Container.ID
		}
	}
	panic("no entrypoint " + id)
}

// brokenView is the same machine in a bad night: every state there is.
func brokenView(now time.Time) *router.View {
	w := newWorld(now)
	w.steady()
	w.degraded()
	w.closed()
	w.moving()
	w.view.Providers[0].Rejected = 3
	w.view.Rejected = []route.Rejected{
		{CandidateID: "0d3c" + fmt.Sprintf("%060d", 1), Name: "intranet-web-1", Project: "intranet", Service: "web", Reason: "the container has labels for routes but is not enabled", Code: "E001", Hint: "add the label sozune.enable=true"},
		{CandidateID: "1f77" + fmt.Sprintf("%060d", 2), Name: "billing-run-migrate", Project: "billing", Service: "app", Reason: "ignored: one-off", Hint: "`docker compose run` containers get no traffic; start the service with `docker compose up`"},
		{CandidateID: "2b90" + fmt.Sprintf("%060d", 3), Name: "crm", Reason: "sozune.enabel is not a label of ours", Code: "E001", Hint: "did you mean sozune.enable=true?"},
	}
	w.view.Candidates = append(w.view.Candidates, route.CandidateDiagnostics{CandidateID: w.view.Rejected[2].CandidateID, Diagnostics: []route.Diagnostic{
		{Code: "E001", Severity: route.SeverityError, Message: "sozune.enabel is not a label of ours", Label: "sozune.enabel", Value: "true", Hint: "did you mean sozune.enable=true?"},
		{Code: "W013", Severity: route.SeverityWarn, Message: "there is no such key; did you mean host?", Label: "sozune.http.crm.hots", Value: "crm.example.com", Hint: "correct or remove the label"},
	}})
	w.view.Candidates = append(w.view.Candidates, route.CandidateDiagnostics{CandidateID: w.container("http_docs", 0), Diagnostics: []route.Diagnostic{
		{Code: "W021", Severity: route.SeverityWarn, Message: "the interval cannot be used: the default of 10s is used", Label: "sozune.http.docs.healthCheck.interval", Value: "fast", Hint: "write milliseconds or a duration such as 10s"},
		{Code: "W013", Severity: route.SeverityWarn, Message: "there is no such key; did you mean loadBalancer?", Label: "sozune.http.docs.loadBalancr", Value: "round_robin", Hint: "correct or remove the label"},
	}})
	return w.built()
}

// degraded are entrypoints with failing backends.
func (w *world) degraded() {
	const refused = "nothing listens on port 8443: is the application up, and does it listen on 0.0.0.0 rather than 127.0.0.1?"
	pay := w.add("shop", "payments", "shop.example.com").path("/pay").replicas(2, 8443).
		fail(0, route.KindConnectionRefused, "connection refused", refused, 4*time.Minute+12*time.Second, route.InPanicAll).
		fail(1, route.KindConnectionRefused, "connection refused", refused, 3*time.Minute+52*time.Second, route.InPanicAll).
		is(route.EntrypointPanic, 3*time.Minute+52*time.Second, "Panic: no backend is verified; both get the requests anyway (panic=all); both fail alike (connection refused), so suspect the configuration first.")
	pay.h.Panic = route.PanicView{Active: true, Mode: route.PanicAll, Since: w.ago(3*time.Minute + 52*time.Second), Reason: "no backend is verified; both get the requests anyway (panic=all)"}
	pay.done()
	w.add("auth", "auth", "auth.example.com").replicas(2, 9000).
		fail(1, route.KindBadStatus, "the status is 503", "the application answers and says that it cannot serve: docker logs auth-auth-2", 47*time.Second, route.OutProbeFailed).
		is(route.EntrypointPartial, 47*time.Second, "Degraded: 1 of 2 backends in rotation; out: auth-auth-2 (probe failed: the status is 503).").done()
	cms := w.add("cms", "cms", "cms.example.com").replicas(1, 1337, func(h *route.BackendHealth) {
		h.State, h.Healthy, h.InRotation, h.RotationReason, h.Source = route.StateGated, nil, false, route.OutDockerUnhealthy, "provider"
		h.Kind, h.Message, h.EffectiveWeight, h.Since = route.KindDockerUnhealthy, "Docker's HEALTHCHECK says unhealthy", 0, w.ago(31*time.Minute)
		h.Backend.Provider, h.Backend.Container.Health = route.ProviderUnhealthy, "unhealthy"
		h.Explain = "Out of rotation: Docker's HEALTHCHECK says unhealthy; it returns when Docker says healthy."
		h.History = append(h.History, route.Transition{At: h.Since, Backend: h.Backend.ID, Layer: "provider", From: "up", To: "gated", Cause: "provider", Kind: h.Kind, Message: h.Message})
	}).is(route.EntrypointDown, 31*time.Minute, "Down: Docker's HEALTHCHECK says unhealthy; out: cms-cms-1 (docker unhealthy).")
	cms.h.Reason, cms.h.ServesWhenDown = route.ReasonDockerUnhealthy, 503
	cms.done()
	git := w.add("git", "git", "git.example.com").is(route.EntrypointDown, 96*time.Second, "Down: every container has stopped; the route is kept until "+clock(w.now.Add(8*time.Minute+24*time.Second))+" in case one returns.")
	git.e.RetainedUntil = w.now.Add(8*time.Minute + 24*time.Second)
	git.e.Absent = []route.Absence{{CandidateID: "9a1e" + fmt.Sprintf("%060d", 4), Name: "git-gitea-1", Why: route.AbsentRetained, Detail: "exited with code 137 (killed, out of memory)", Until: git.e.RetainedUntil}}
	git.h.Reason, git.h.ServesWhenDown = route.ReasonRetained, 503
	git.done()
}

// closed are entrypoints whose labels are wrong.
func (w *world) closed() {
	s := w.add("search", "search", "search.example.com").replicas(2, 9200)
	label := "sozune.http.search.auth.basci"
	s.e.FailClosed = &route.FailClosed{Code: "E104", Label: label}
	s.e.Diagnostics = []route.Diagnostic{{Code: "E104", Severity: route.SeverityError, Message: "the label protects the route and cannot be used, so the route answers 503 rather than stand open", Label: label, Value: route.Redacted, Hint: "did you mean sozune.http.search.auth.basic?"}}
	s.is(route.EntrypointDown, 2*time.Hour, "Closed: the label "+label+" protects the route and is wrong or not available (E104), so clients get 503.")
	s.h.Reason, s.h.Code, s.h.ServesWhenDown = route.ReasonMisconfigured, "E104", 503
	for i := range s.h.Backends {
		b := &s.h.Backends[i]
		b.InRotation, b.RotationReason, b.EffectiveWeight = false, route.OutMisconfigured, 0
	}
	s.done()
	w.view.Candidates = append(w.view.Candidates, route.CandidateDiagnostics{CandidateID: w.container("http_search", 0), Diagnostics: s.e.Diagnostics})
	guarded := w.add("shop", "admin", "admin.example.com").replicas(1, 8080)
	guarded.e.Match.Query = []route.KeyValue{{Key: "token", Value: canary}}
	guarded.e.Match.Headers = []route.KeyValue{{Key: "X-Key", Value: canary}, {Key: "X-There", Bare: true}}
	guarded.e.Options.Headers = []route.HeaderRule{{Name: "Authorization", Value: canary, Direction: route.OnRequest}, {Name: "Set-Cookie", Value: canary, Direction: route.OnResponse}, {Name: "X-Both", Value: canary, Direction: route.OnBoth}}
	guarded.done()
	late := w.add("blog-staging", "blog-staging", "blog.example.com").replicas(1, 2368)
	late.done(func(v *router.EntrypointView) {
		v.ShadowedBy = "http_blog"
		v.Diagnostics = append(v.Diagnostics, route.Diagnose("W018", "change host, path or priority of one of them", "the same requests as http_blog, which is older"))
	})
}

// moving are entrypoints in the middle of a deploy.
func (w *world) moving() {
	w.add("wiki", "wiki", "wiki.example.com").replicas(1, 3000, func(h *route.BackendHealth) {
		h.State, h.Healthy, h.RotationReason, h.Source = route.StatePending, nil, route.InPendingNoVerified, "none"
		h.Since, h.LastChecked, h.LastResult, h.Probes, h.Counters = w.ago(3*time.Second), time.Time{}, nil, nil, route.Counters{}
		h.Backend.StartedAt, h.Backend.Container.StartedAt = w.ago(3*time.Second), w.ago(3*time.Second)
		h.NextCheckAt, h.Message, h.History = w.now.Add(time.Second), "", nil
		h.Explain = "Waiting for its first verdict; it serves because nothing verified exists. Next probe at " + clock(h.NextCheckAt) + "."
	}).is(route.EntrypointPending, 3*time.Second, "Starting: 1 of 1 backend serving before the first verdict.").done()
	media := w.add("media", "media", "media.example.com").replicas(3, 8096)
	b := &media.h.Backends[0]
	b.State, b.Healthy, b.InRotation, b.RotationReason, b.Source = route.StateLeaving, nil, false, route.OutLeaving, "provider"
	b.Kind, b.Message, b.EffectiveWeight, b.Since, b.Backend.Provider = route.KindLeaving, "the container is stopping", 0, w.ago(6*time.Second), route.ProviderLeaving
	b.Explain = "Out of rotation: the container is stopping; what is in flight may go on until " + clock(w.now.Add(24*time.Second)) + " (drain.timeout=30s)."
	b.History = append(b.History, route.Transition{At: b.Since, Backend: b.Backend.ID, Layer: "provider", From: "up", To: "leaving", Cause: "provider", Kind: route.KindLeaving, Message: b.Message})
	media.done()
}

// staleView is the good day with an engine that is gone.
func staleView(now time.Time) *router.View {
	v := wellView(now)
	p := &v.Providers[0]
	p.Connected, p.Phase, p.Since, p.LastSync = false, route.PhaseStale, now.Add(-3*time.Minute-12*time.Second), now.Add(-3*time.Minute-20*time.Second)
	p.LastError = "cannot connect to unix:///var/run/docker.sock: connection refused"
	p.Hint = "start the engine (systemctl start docker); the router connects by itself when it answers"
	for i := range v.Entrypoints {
		v.Entrypoints[i].Stale = v.Entrypoints[i].Entrypoint.Source == "docker"
	}
	return v
}

// emptyView is a router that nobody has given a container yet.
func emptyView(now time.Time) *router.View {
	w := newWorld(now)
	w.view.Generation = 1
	w.view.Providers[0].Candidates, w.view.Providers[0].Ignored = 6, 6
	w.view.Health.Rev, w.view.Health.Sets = 1, 1
	return w.built()
}

// largeView has n entrypoints with two backends each, every 50th of them with trouble.
func largeView(now time.Time, n int) *router.View {
	w := newWorld(now)
	names := []string{"shop", "blog", "auth", "api", "docs", "wiki", "git", "mail", "media", "search", "status", "files"}
	for i := range n {
		name := fmt.Sprintf("%s-%05d", names[i%len(names)], i)
		s := w.add("team-"+names[(i/7)%len(names)], name, name+".example.com").replicas(2, 8080)
		if i%50 == 17 {
			s.fail(0, route.KindTimeout, "no answer within 5s", "", time.Duration(i%600)*time.Second+time.Minute, route.OutProbeFailed).
				is(route.EntrypointPartial, time.Duration(i%600)*time.Second+time.Minute, "Degraded: 1 of 2 backends in rotation.")
		}
		s.done()
	}
	return w.built()
}
