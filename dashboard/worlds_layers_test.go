package dashboard

import (
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// layersView is a day on which every layer beside the probes has something to say.
func layersView(now time.Time) *router.View {
	w := newWorld(now)
	w.steady()
	w.ordered()
	w.judged()
	w.loaded()
	w.probed()
	return w.built()
}

// order makes backend i one that a person took out.
func (s *service) order(i int, state route.AdminState, actor, reason string, since, ends time.Duration) *service {
	h, w := &s.h.Backends[i], s.w
	h.Admin = route.Admin{State: state, Actor: actor, Reason: reason, Since: w.ago(since), Scope: route.ScopeBackend}
	if ends > 0 {
		h.Admin.ExpiresAt = w.now.Add(ends)
	}
	h.State, h.RotationReason, h.Kind, h.Message = route.StateDraining, route.OutDraining, route.KindAdminDrain, "drained by "+actor
	h.Explain = "Out of rotation: drained by " + actor + " since " + clock(w.ago(since)) + " (" + reason + "). What is in flight goes on. The command fairlead ready " + s.e.ID + " " + h.Backend.ID + " brings it back."
	if state == route.AdminMaintenance {
		h.State, h.RotationReason, h.Kind, h.Message = route.StateMaintenance, route.OutMaintenance, route.KindAdminMaintenance, "in maintenance by "+actor
		h.Explain = "Out of rotation: in maintenance by " + actor + " since " + clock(w.ago(since)) + " (" + reason + "). It is not probed meanwhile. The order ends at " + clock(h.Admin.ExpiresAt) + "; fairlead ready " + s.e.ID + " " + h.Backend.ID + " ends it now."
		h.NextCheckAt = time.Time{}
	}
	h.InRotation, h.EffectiveWeight, h.Source, h.Since = false, 0, "admin", w.ago(since)
	h.History = append(h.History, route.Transition{
		At: h.Since, Rev: 90100, Backend: h.Backend.ID, Layer: "admin", From: "up", To: string(h.State), Cause: "operator", Actor: actor, Reason: reason, Kind: h.Kind,
	})
	return s
}

// ordered are entrypoints that people work on.
func (w *world) ordered() {
	w.add("auth", "auth", "auth.example.com").replicas(3, 9000).
		order(0, route.AdminMaintenance, "anna", "new kernel, ticket OPS-2231", 22*time.Minute, 38*time.Minute).
		order(1, route.AdminDrain, "bela", "deploy 2.15", 40*time.Second, 0).
		is(route.EntrypointOK, 26*time.Hour, "Healthy: 1 of 3 backends in rotation, verified; out: auth-auth-1 (maintenance), auth-auth-2 (draining).").done()
}

// eject makes backend i one that traffic took out.
func (s *service) eject(i int, phase route.PassivePhase, ejections uint64, until time.Duration) *service {
	h, w, no := &s.h.Backends[i], s.w, false
	h.State, h.Healthy, h.Kind, h.Source = route.StateEjected, &no, route.KindEjectedFailures, "passive"
	h.Passive = &route.PassiveView{State: phase, ConsecutiveFailures: 5, Threshold: 5, Ejections: ejections, Recovery: route.RecoverAuto}
	h.RotationReason, h.InRotation, h.EffectiveWeight, h.Since = route.OutEjected, false, 0, w.ago(18*time.Second)
	h.Message = "5 requests in a row failed; last: status 503"
	h.Explain = "Out of rotation: 5 requests in a row failed; last: status 503. A trial request at " + clock(w.now.Add(until)) + "."
	h.History = append(h.History, route.Transition{At: h.Since, Rev: 90101, Backend: h.Backend.ID, Layer: "passive", From: "up", To: "ejected", Cause: "traffic", Kind: h.Kind, Message: h.Message, Fail: 5, Threshold: 5})
	if phase == route.PhaseOpen {
		h.Passive.Until = w.now.Add(until)
		return s
	}
	h.State, h.RotationReason, h.Passive.TrialInProgress = route.StateTrial, route.OutTrialInProgress, true
	h.Explain = "On trial: one request at a time shows whether it works again."
	h.History = append(h.History, route.Transition{At: w.ago(2 * time.Second), Rev: 90102, Backend: h.Backend.ID, Layer: "passive", From: "ejected", To: "trial", Cause: "timer"})
	h.Since = w.ago(2 * time.Second)
	return s
}

func passively(o *route.Options) { o.Passive.Failures = 5 }

// judged are entrypoints whose traffic ejects backends and opens a breaker.
func (w *world) judged() {
	pay := w.add("shop", "payments", "shop.example.com").path("/pay").replicas(4, 8443, func(h *route.BackendHealth) {
		h.Passive = &route.PassiveView{State: route.PhaseClosed, ConsecutiveFailures: 2, Threshold: 5, Recovery: route.RecoverAuto}
	}).eject(0, route.PhaseOpen, 3, 72*time.Second).eject(1, route.PhaseHalfOpen, 1, 0)
	passively(&pay.e.Options)
	pay.h.Backends[2].Passive.ConsecutiveFailures, pay.h.Backends[2].Passive.BlockedBy = 5, "cap"
	pay.e.Labels = append(pay.e.Labels, route.Origin{Key: "passive.failures", Label: "sozune.http.payments.passive.failures"})
	pay.is(route.EntrypointPartial, 18*time.Second, "Degraded: 2 of 4 backends in rotation; out: shop-payments-1 (ejected), shop-payments-2 (on trial).").done()
	search := w.add("search", "search", "search.example.com").replicas(2, 9200)
	search.e.Options.Breaker = route.Breaker{Threshold: .5, MinRequests: 20, Cooldown: 10 * time.Second}
	search.h.Breaker = &route.BreakerView{State: route.PhaseOpen, RetryAt: w.now.Add(7 * time.Second), FailureRatio: .65, Samples: 20}
	search.h.History = []route.Transition{{At: w.ago(3 * time.Second), Rev: 90103, Layer: "route", From: "closed", To: "open", Cause: "traffic", Message: "13 of the last 20 requests failed"}}
	search.h.Since = w.ago(26 * time.Hour)
	search.done()
}

// loaded are entrypoints with backends that are full, and that warm up.
func (w *world) loaded() {
	s := w.add("media", "media", "media.example.com").replicas(3, 8096, func(h *route.BackendHealth) {
		h.Backend.MaxConnections, h.Backend.SlowStart, h.Backend.SlowStartMin = 50, 30*time.Second, 10
	})
	s.h.Backends[0].InFlight = 50
	s.h.Backends[0].Load.InFlight.Store(50)
	s.h.Backends[1].Warmup, s.h.Backends[1].EffectiveWeight = &route.WarmupView{Percent: 40, EndsAt: w.now.Add(18 * time.Second)}, 40
	s.e.Options.PanicThreshold, s.e.Options.Sticky.On, s.e.Options.OnDown = 50, true, route.OnDownClose
	s.done()
}

// check changes what backend i is asked.
func (s *service) check(i int, change func(c *route.Check, h *route.BackendHealth)) {
	h := &s.h.Backends[i]
	c := *h.Backend.Check
	change(&c, h)
	h.Backend.Check, h.Check.Check = &c, c
}

// probed has one entrypoint for each kind of probe, and one whose check is doubted.
func (w *world) probed() {
	grpc := w.add("ledger", "ledger", "ledger.example.com").replicas(1, 9090)
	grpc.check(0, func(c *route.Check, h *route.BackendHealth) {
		c.Type, c.Path, c.Headers, c.GRPCService = route.ProbeGRPC, "", nil, "ledger.v1.Ledger"
		h.LastResult.GRPC, h.LastResult.Status, h.LastResult.Message = 0, 200, "SERVING"
		h.LastResult.Phases = route.Phases{DNS: -1, Connect: 300 * time.Microsecond, TLS: -1, FirstByte: 2 * time.Millisecond, Body: 100 * time.Microsecond}
	})
	grpc.done()
	tls := w.add("mail", "mail", "mail.example.com").replicas(1, 993)
	tls.check(0, func(c *route.Check, _ *route.BackendHealth) {
		c.Type, c.Path, c.Headers, c.SNI = route.ProbeTLS, "", nil, "imap.example.com"
	})
	tls.done()
	socket := w.add("live", "live", "live.example.com").replicas(1, 8080)
	socket.check(0, func(c *route.Check, _ *route.BackendHealth) { c.Type, c.Path = route.ProbeWebSocket, "/socket" })
	socket.done()
	body := w.add("report", "report", "report.example.com").replicas(2, 8080)
	for i := range 2 {
		body.check(i, func(c *route.Check, _ *route.BackendHealth) {
			c.FollowRedirects, c.BodyContains, c.BodyRegex, c.FastInterval, c.DownInterval = true, `"state":"ok"`, "lag=[0-9]{1,3}", time.Second, 5*time.Second
		})
		body.fail(i, route.KindBadBody, `the body does not hold "state":"ok"`, "correct healthCheck.body.contains - over 20 real requests succeeded meanwhile, so the check itself is probably wrong - all backends of the route fail alike, so suspect the configuration first",
			12*time.Minute, route.InPanicAll)
	}
	body.is(route.EntrypointPanic, 12*time.Minute, "Panic: no backend is verified; both get the requests anyway (panic=all); both fail alike (bad body), so suspect the configuration first.")
	body.h.Panic = route.PanicView{Active: true, Mode: route.PanicAll, Since: w.ago(12 * time.Minute), Reason: "no backend is verified; both get the requests anyway (panic=all)"}
	body.done()
}
