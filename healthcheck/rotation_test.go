package healthcheck

import (
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

func isIn(r route.RotationReason) bool {
	return slices.Contains([]route.RotationReason{
		route.InVerified, route.InUnchecked, route.InBackupActive, route.InPendingNoVerified,
		route.InPanicAll, route.InPanicLast, route.InPanicThreshold, route.InInitialUp, route.InTrial, route.InStickyOnly,
	}, r)
}

func isOut(r route.RotationReason) bool { return r != "" && !isIn(r) }

// TestRotationReasons names the reason of every backend in telling mixtures.
func TestRotationReasons(t *testing.T) {
	up := candidate{provider: route.ProviderPresent, active: route.StateUp, succeeded: true, weight: 1}
	edit := func(c candidate, f func(*candidate)) candidate { f(&c); return c }
	down := edit(up, func(c *candidate) { c.active = route.StateDown })
	pending := edit(up, func(c *candidate) { c.active, c.succeeded = route.StatePending, false })
	backup := func(c candidate) candidate { c.weight = 0; return c }
	provider := func(c candidate, s route.ProviderState) candidate { c.provider = s; return c }
	gatekept := edit(pending, func(c *candidate) { c.initial = route.InitialDown })
	founding := edit(pending, func(c *candidate) { c.founding = true })
	later := edit(down, func(c *candidate) { c.wentBad = t0 })
	for _, tt := range []struct {
		name    string
		mode    route.PanicMode
		all     []candidate
		tier    route.Tier
		reason  route.Reason
		reasons string
	}{
		{"verified", "", []candidate{up, down, pending, backup(up)}, route.TierVerified, "",
			"verified probe_failed pending_verified_exists backup_standby"},
		{"backup active", "", []candidate{down, backup(up), pending}, route.TierVerifiedBackup, "",
			"probe_failed backup_active pending_verified_exists"},
		{"pending", "", []candidate{down, pending, backup(pending)}, route.TierPending, "",
			"probe_failed pending_no_verified backup_standby"},
		{"pending backup", "", []candidate{down, backup(pending)}, route.TierPendingBackup, "", "probe_failed pending_no_verified"},
		{"starting beside verified", "", []candidate{up, provider(up, route.ProviderStarting)}, route.TierVerified, "",
			"verified docker_starting"},
		{"starting alone", "", []candidate{provider(down, route.ProviderStarting)}, route.TierPending, "", "pending_no_verified"},
		{"starting and required", "", []candidate{edit(provider(up, route.ProviderStarting), func(c *candidate) { c.require = true })},
			route.TierNone, route.ReasonInitializing, "docker_starting"},
		{"unhealthy and leaving", "", []candidate{provider(up, route.ProviderUnhealthy), provider(up, route.ProviderLeaving)},
			route.TierNone, route.ReasonDockerUnhealthy, "docker_unhealthy leaving"},
		{"leaving", "", []candidate{provider(up, route.ProviderLeaving)}, route.TierNone, route.ReasonLeaving, "leaving"},
		{"panic all", route.PanicAll, []candidate{down, later, backup(down)}, route.TierPanic, "", "panic_all panic_all probe_failed"},
		{"panic all, backups only", route.PanicAll, []candidate{backup(down)}, route.TierPanic, "", "panic_all"},
		{"panic last", route.PanicLast, []candidate{down, later, backup(down)}, route.TierPanic, "",
			"panic_not_selected panic_last panic_not_selected"},
		{"panic off", route.PanicOff, []candidate{down, later}, route.TierNone, route.ReasonAllUnhealthy, "panic_off panic_off"},
		{"gatekeeper", "", []candidate{gatekept}, route.TierNone, route.ReasonInitializing, "initial_down"},
		{"gatekeeper that failed", "", []candidate{edit(gatekept, func(c *candidate) { c.active = route.StateDown })},
			route.TierNone, route.ReasonAllUnhealthy, "initial_down"},
		{"initial up", "", []candidate{edit(pending, func(c *candidate) { c.initial = route.InitialUp }), pending}, route.TierVerified, "",
			"initial_up pending_verified_exists"},
		{"unchecked", "", []candidate{edit(up, func(c *candidate) { c.active = route.StateUnchecked })}, route.TierVerified, "", "unchecked"},
		{"check just turned on", "", []candidate{edit(pending, func(c *candidate) { c.serving = true }), up}, route.TierVerified, "",
			"unchecked verified"},
		{"founding beside verified", "", []candidate{founding, up, down}, route.TierVerified, "", "pending_no_verified verified probe_failed"},
		{"founding alone", "", []candidate{founding, down}, route.TierPending, "", "pending_no_verified probe_failed"},
		{"founding backup", "", []candidate{backup(founding), down}, route.TierPendingBackup, "", "pending_no_verified probe_failed"},
		{"nobody", "", nil, route.TierNone, route.ReasonNoBackends, ""},
	} {
		d := rotate(&rules{panic: tt.mode, ejectedServe: true}, tt.all)
		var reasons []string
		for _, r := range d.reasons {
			reasons = append(reasons, string(r))
		}
		if got := strings.Join(reasons, " "); d.tier != tt.tier || d.reason != tt.reason || got != tt.reasons {
			t.Errorf("%s: tier %d %q %q, want %d %q %q", tt.name, d.tier, d.reason, got, tt.tier, tt.reason, tt.reasons)
		}
	}
}

// TestSummary holds the entrypoint's state for every kind of rotation.
func TestSummary(t *testing.T) {
	plain := &route.Entrypoint{}
	for _, tt := range []struct {
		name   string
		e      *route.Entrypoint
		d      decision
		t      tally
		state  route.EntrypointState
		reason route.Reason
	}{
		{"ok", plain, decision{}, tally{total: 2, healthy: 2, inRotation: 2}, route.EntrypointOK, ""},
		{"partial", plain, decision{}, tally{total: 2, healthy: 1, inRotation: 1, unhealthy: 1}, route.EntrypointPartial, ""},
		{"panic", plain, decision{panic: true}, tally{total: 1, inRotation: 1, unhealthy: 1}, route.EntrypointPanic, ""},
		{"pending", plain, decision{}, tally{total: 1, inRotation: 1, pending: 1}, route.EntrypointPending, ""},
		{"unchecked", plain, decision{}, tally{total: 1, inRotation: 1, healthy: 1, disabled: 1}, route.EntrypointUnchecked, ""},
		{"down", plain, decision{reason: route.ReasonAllUnhealthy}, tally{total: 1, unhealthy: 1}, route.EntrypointDown, route.ReasonAllUnhealthy},
		{"no backends", plain, decision{reason: route.ReasonNoBackends}, tally{}, route.EntrypointDown, route.ReasonNoBackends},
		{"retained", &route.Entrypoint{RetainedUntil: t0}, decision{}, tally{}, route.EntrypointDown, route.ReasonRetained},
		{"no address yet", &route.Entrypoint{Absent: []route.Absence{{Why: route.AbsentNoAddress}}}, decision{}, tally{},
			route.EntrypointDown, route.ReasonInitializing},
		{"paused", &route.Entrypoint{Absent: []route.Absence{{Why: route.AbsentPaused}}}, decision{}, tally{},
			route.EntrypointDown, route.ReasonNoBackends},
		{"fails closed", &route.Entrypoint{FailClosed: &route.FailClosed{Code: "E104"}}, decision{}, tally{total: 1, healthy: 1},
			route.EntrypointDown, route.ReasonMisconfigured},
	} {
		if got := summarize(tt.e, &tt.d, &tt.t); got.state != tt.state || got.reason != tt.reason {
			t.Errorf("%s: %s %q, want %s %q", tt.name, got.state, got.reason, tt.state, tt.reason)
		}
	}
}
