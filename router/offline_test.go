package router

import (
	"testing"
	"time"

	"fairlead/router/route"
)

func TestOfflineStatesAreThoseOfAStart(t *testing.T) {
	with := func(n int, change func(*route.Backend)) route.Backend {
		b := backend(n)
		change(&b)
		return b
	}
	initial := func(i route.Initial) func(*route.Backend) { return func(b *route.Backend) { b.Check.Initial = i } }
	provider := func(s route.ProviderState) func(*route.Backend) { return func(b *route.Backend) { b.Provider = s } }
	unchecked := func(b *route.Backend) { b.Check = nil }
	backup := func(b *route.Backend) { b.Weight = 0 }
	uncheckedBackup := func(b *route.Backend) { b.Weight, b.Check = 0, nil }
	required := func(b *route.Backend) { b.Provider, b.Docker = route.ProviderStarting, route.DockerHealthRequire }
	type want struct {
		state  route.State
		in     bool
		reason route.RotationReason
	}
	tests := []struct {
		name    string
		options []option
		state   route.EntrypointState
		reason  route.Reason
		tier    route.Tier
		want    []want
	}{
		{"pending", nil, route.EntrypointPending, "", route.TierPending,
			[]want{{route.StatePending, true, route.InPendingNoVerified}}},
		{"unchecked", []option{backends(with(1, unchecked))}, route.EntrypointUnchecked, "", route.TierVerified,
			[]want{{route.StateUnchecked, true, route.InUnchecked}}},
		{"one tier at a start", []option{backends(with(1, unchecked), backend(2))}, route.EntrypointOK, "", route.TierVerified,
			[]want{{route.StateUnchecked, true, route.InUnchecked}, {route.StatePending, true, route.InPendingNoVerified}}},
		{"initial up and down", []option{backends(with(1, initial(route.InitialUp)), with(2, initial(route.InitialDown)))},
			route.EntrypointPending, "", route.TierPending,
			[]want{{route.StatePending, true, route.InInitialUp}, {route.StatePending, false, route.OutInitialDown}}},
		{"initial down alone", []option{backends(with(1, initial(route.InitialDown)))}, route.EntrypointPending, route.ReasonInitializing, route.TierNone,
			[]want{{route.StatePending, false, route.OutInitialDown}}},
		{"backup stands by", []option{backends(backend(1), with(2, backup))}, route.EntrypointPending, "", route.TierPending,
			[]want{{route.StatePending, true, route.InPendingNoVerified}, {route.StatePending, false, route.OutBackupStandby}}},
		{"backup serves", []option{backends(with(1, provider(route.ProviderUnhealthy)), with(2, uncheckedBackup))},
			route.EntrypointPartial, "", route.TierVerifiedBackup,
			[]want{{route.StateGated, false, route.OutDockerUnhealthy}, {route.StateUnchecked, true, route.InBackupActive}}},
		{"pending backup serves", []option{backends(with(1, backup))}, route.EntrypointPending, "", route.TierPendingBackup,
			[]want{{route.StatePending, true, route.InPendingNoVerified}}},
		{"docker starting", []option{backends(with(1, provider(route.ProviderStarting)))}, route.EntrypointPending, "", route.TierPending,
			[]want{{route.StatePending, true, route.InPendingNoVerified}}},
		{"docker starting, required", []option{backends(with(1, required))}, route.EntrypointPending, route.ReasonInitializing, route.TierNone,
			[]want{{route.StateGated, false, route.OutDockerStarting}}},
		{"docker unhealthy", []option{backends(with(1, provider(route.ProviderUnhealthy)), with(2, provider(route.ProviderLeaving)))},
			route.EntrypointDown, route.ReasonDockerUnhealthy, route.TierNone,
			[]want{{route.StateGated, false, route.OutDockerUnhealthy}, {route.StateLeaving, false, route.OutLeaving}}},
		{"leaving", []option{backends(with(1, provider(route.ProviderLeaving)))}, route.EntrypointDown, route.ReasonLeaving, route.TierNone,
			[]want{{route.StateLeaving, false, route.OutLeaving}}},
		{"retained", []option{retained()}, route.EntrypointDown, route.ReasonRetained, route.TierNone, []want{}},
		{"paused", []option{retained(), func(e *route.Entrypoint) {
			e.RetainedUntil, e.Absent[0].Why = time.Time{}, route.AbsentPaused
		}}, route.EntrypointDown, route.ReasonNoBackends, route.TierNone, []want{}},
		{"one of several retained", []option{retained(), func(e *route.Entrypoint) { e.RetainedUntil = time.Time{} }},
			route.EntrypointDown, route.ReasonRetained, route.TierNone, []want{}},
		{"nothing", []option{backends()}, route.EntrypointDown, route.ReasonNoBackends, route.TierNone, []want{}},
		{"closed", []option{failClosed()}, route.EntrypointDown, route.ReasonMisconfigured, route.TierNone,
			[]want{{route.StatePending, false, route.RotationReason(route.ReasonMisconfigured)}}},
	}
	for _, tt := range tests {
		v := offline(entrypoint(t, "http_a", "a.example", tt.options...))
		h := v.Entrypoints[0].Health
		rot := v.Table.Route("http_a").Cell.Load()
		if h.State != tt.state || h.Reason != tt.reason || rot.Tier != tt.tier || rot.Reason != tt.reason || h.Explain == "" ||
			h.ServesWhenDown != tt.reason.Info().Status || len(rot.Members) != h.InRotation {
			t.Errorf("%s: %s %q, tier %d %q: %s", tt.name, h.State, h.Reason, rot.Tier, rot.Reason, h.Explain)
		}
		if len(h.Backends) != len(tt.want) {
			t.Errorf("%s: %d backends", tt.name, len(h.Backends))
			continue
		}
		for i, b := range h.Backends {
			if got := (want{b.State, b.InRotation, b.RotationReason}); got != tt.want[i] || b.Explain == "" {
				t.Errorf("%s: backend %d: %+v, want %+v", tt.name, i, got, tt.want[i])
			}
		}
	}
}

func TestOfflineMergesProviders(t *testing.T) {
	file := entrypoint(t, "http_a", "b.example", claimed(1), func(e *route.Entrypoint) { e.Source = "file" })
	v := Offline(route.Snapshot{Provider: "file", Entrypoints: []*route.Entrypoint{file}},
		route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{entrypoint(t, "http_a", "a.example")}, Global: []route.Diagnostic{{Code: "I108"}}})
	if len(v.Entrypoints) != 2 || v.Entrypoints[1].Entrypoint.ID != "http_a@file" || v.Entrypoints[0].Stale || len(v.Global) != 1 || len(v.Providers) != 2 {
		t.Errorf("%+v", v)
	}
	if v.Generation != 1 || v.Health.Sets != v.Table.Generation() {
		t.Errorf("generations %d, %d, %d", v.Generation, v.Health.Sets, v.Table.Generation())
	}
	if len(Offline().Entrypoints) != 0 || Resolve(Offline(), Query{URL: "a.example"}).Outcome != OutcomeNoRoute {
		t.Error("no snapshots at all")
	}
}
