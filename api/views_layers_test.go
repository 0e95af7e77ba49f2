package api

import (
	"encoding/json"
	"testing"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// passiveOn gives an entrypoint a passive layer.
func passiveOn(e *route.Entrypoint) *route.Entrypoint {
	e.Options.Passive.Failures = 5
	return e
}

// ejected is a backend that traffic took out.
func ejected(b route.Backend) route.BackendHealth {
	no := false
	h := up(b)
	h.State, h.Healthy, h.InRotation, h.RotationReason, h.Source = route.StateEjected, &no, false, route.OutEjected, "passive"
	h.Kind, h.Message, h.EffectiveWeight = route.KindEjectedFailures, "5 requests in a row failed; last: status 503", 0
	h.Since = ago(12 * time.Second)
	h.Passive = &route.PassiveView{
		State: route.PhaseOpen, ConsecutiveFailures: 5, Threshold: 5, Ejections: 2, Until: epoch0.Add(48 * time.Second), Recovery: route.RecoverAuto,
	}
	h.Explain = "Out of rotation: 5 requests in a row failed; last: status 503. On trial in 48 s."
	h.History = []route.Transition{{
		At: ago(12 * time.Second), Rev: 8, Backend: b.ID, Layer: "passive", From: "up", To: "ejected", Cause: "traffic",
		Kind: route.KindEjectedFailures, Message: "5 requests in a row failed; last: status 503",
	}}
	return h
}

// trial is an ejected backend that a single request tries.
func trial(b route.Backend) route.BackendHealth {
	h := ejected(b)
	h.State, h.InRotation, h.RotationReason, h.EffectiveWeight = route.StateTrial, true, route.InTrial, b.Weight
	h.Kind, h.Message = route.KindNone, ""
	h.Passive.State, h.Passive.Until = route.PhaseHalfOpen, time.Time{}
	h.Explain = "On trial: one request at a time."
	return h
}

// ordered is a backend that an operator took out.
func ordered(b route.Backend, state route.State, reason route.RotationReason) route.BackendHealth {
	h := up(b)
	h.State, h.Healthy, h.InRotation, h.RotationReason, h.Source, h.EffectiveWeight = state, nil, reason == route.InStickyOnly, reason, "admin", 0
	h.Admin = route.Admin{
		State: route.AdminDrain, Actor: "ops", Reason: "new kernel", Since: ago(time.Minute), ExpiresAt: epoch0.Add(29 * time.Minute), Scope: route.ScopeBackend,
	}
	h.Kind, h.Message = route.KindAdminDrain, "drained by ops: new kernel"
	from := "draining"
	if state == route.StateMaintenance {
		h.Admin.State, h.Kind, h.Message, h.Admin.ExpiresAt = route.AdminMaintenance, route.KindAdminMaintenance, "in maintenance by ops: new kernel", time.Time{}
		h.Admin.Scope, h.NextCheckAt, from = route.ScopeService, time.Time{}, "up"
	}
	h.Explain = "Out of rotation: " + h.Message + "."
	h.History = []route.Transition{{
		At: ago(time.Minute), Rev: 8, Backend: b.ID, Layer: "admin", From: from, To: string(state), Cause: "operator",
		Actor: "ops", Reason: "new kernel", Kind: h.Kind, Message: h.Message,
	}}
	return h
}

// shaken is the entrypoint that real traffic has shaken: one backend is ejected, one on
// trial, one kept although it fails; its breaker is open.
func shakenView() router.EntrypointView {
	a, b, c := container("shaken-1", "172.20.0.18", 80), container("shaken-2", "172.20.0.19", 80), container("shaken-3", "172.20.0.20", 80)
	httpCheck(&a)
	httpCheck(&b)
	httpCheck(&c)
	kept := up(c)
	kept.Passive = &route.PassiveView{State: route.PhaseClosed, ConsecutiveFailures: 5, Threshold: 5, BlockedBy: "last", Recovery: route.RecoverAuto}
	e := passiveOn(entrypoint("shaken", a, b, c))
	e.Options.Breaker.Threshold = 0.5
	h := health(route.EntrypointPartial, ejected(a), trial(b), kept)
	h.Breaker = &route.BreakerView{State: route.PhaseOpen, RetryAt: epoch0.Add(4 * time.Second), FailureRatio: 0.75, Samples: 20}
	return router.EntrypointView{Entrypoint: e, Health: h}
}

// servicedView is one that an operator works on: one drains and keeps its clients, one
// drains without any, one is in maintenance, one is left.
func servicedView() router.EntrypointView {
	a, b := container("serviced-1", "172.20.0.21", 80), container("serviced-2", "172.20.0.22", 80)
	c, d := container("serviced-3", "172.20.0.23", 80), container("serviced-4", "172.20.0.24", 80)
	for _, one := range []*route.Backend{&a, &b, &c, &d} {
		httpCheck(one)
	}
	e := entrypoint("serviced", a, b, c, d)
	e.Options.Sticky.On = true
	return router.EntrypointView{Entrypoint: e, Health: health(route.EntrypointOK, ordered(a, route.StateDraining, route.InStickyOnly),
		ordered(b, route.StateDraining, route.OutDraining), ordered(c, route.StateMaintenance, route.OutMaintenance), up(d))}
}

// busyView has a full backend and one that starts slowly.
func busyView() router.EntrypointView {
	a, b := container("busy-1", "172.20.0.25", 80), container("busy-2", "172.20.0.26", 80)
	a.MaxConnections, b.MaxConnections, b.SlowStart = 2, 10, time.Minute
	httpCheck(&a)
	httpCheck(&b)
	warming := up(b)
	warming.Warmup, warming.EffectiveWeight = &route.WarmupView{Percent: 25, EndsAt: epoch0.Add(45 * time.Second)}, 25
	return router.EntrypointView{Entrypoint: entrypoint("busy", a, b), Health: health(route.EntrypointOK, up(a), warming)}
}

// scarceView is in panic since too few are verified.
func scarceView() router.EntrypointView {
	a, b, c := container("scarce-1", "172.20.0.27", 80), container("scarce-2", "172.20.0.28", 80), container("scarce-3", "172.20.0.29", 80)
	httpCheck(&a)
	httpCheck(&b)
	httpCheck(&c)
	good := up(a)
	good.RotationReason = route.InPanicThreshold
	bad := []route.BackendHealth{down(b, route.InPanicThreshold), down(c, route.InPanicThreshold)}
	e := entrypoint("scarce", a, b, c)
	e.Options.PanicThreshold = 50
	h := health(route.EntrypointPanic, good, bad[0], bad[1])
	h.Panic = route.PanicView{Active: true, Mode: route.PanicAll, Threshold: 50, Since: ago(42 * time.Second), Reason: "1 of 3 is verified, less than 50 %"}
	return router.EntrypointView{Entrypoint: e, Health: h}
}

// probedView has the other kinds of probes: grpc, tls and websocket.
func probedView() router.EntrypointView {
	a, b, c := container("probed-1", "172.20.0.30", 50051), container("probed-2", "172.20.0.31", 443), container("probed-3", "172.20.0.32", 80)
	for _, one := range []*route.Backend{&a, &b, &c} {
		httpCheck(one)
	}
	a.Check.Type, a.Check.Path, a.Check.GRPCService = route.ProbeGRPC, "", "shop.Cart"
	b.Check.Type, b.Check.SNI, b.Check.Path, b.Check.Host = route.ProbeTLS, "probed.internal", "", ""
	c.Check.Type, c.Check.Path = route.ProbeWebSocket, "/socket?token="+canary
	grpc := down(a, route.OutProbeFailed)
	grpc.Kind, grpc.Message = route.KindGRPCNotServing, "the server says NOT_SERVING"
	grpc.LastResult = &route.ProbeResult{At: ago(3 * time.Second), Kind: grpc.Kind, Message: grpc.Message, Status: 200, GRPC: 0, Remote: a.Address(), Duration: time.Millisecond, Phases: route.Phases{DNS: -1, TLS: -1, Body: -1}}
	return router.EntrypointView{Entrypoint: entrypoint("probed", a, b, c), Health: health(route.EntrypointPartial, grpc, up(b), up(c))}
}

// TestWhatIsHealthyHasNoKind: a healthy backend that is taken out does not fail.
func TestWhatIsHealthyHasNoKind(t *testing.T) {
	schema := compile(t, "backend_health.schema.json")
	yes := true
	v := servicedView()
	for _, h := range v.Health.Backends {
		h.Healthy = &yes
		out := BackendHealthOf(&v, &h, true)
		if out.Kind != nil || out.unhealthy() {
			t.Errorf("%s: kind %v", out.State, out.Kind)
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		validate(t, schema, text)
	}
}
