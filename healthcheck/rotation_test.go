package healthcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// everyCandidate lists each combination of layers that a placement can be in.
func everyCandidate() []candidate {
	type layer struct {
		active    route.State
		initial   route.Initial
		succeeded bool
	}
	layers := []layer{
		{route.StateUnchecked, route.InitialAuto, false},
		{route.StatePending, route.InitialAuto, false},
		{route.StatePending, route.InitialUp, false},
		{route.StatePending, route.InitialDown, false},
		{route.StateUp, route.InitialAuto, true},
		{route.StateUp, route.InitialDown, true},
		{route.StateDown, route.InitialAuto, false},
		{route.StateDown, route.InitialDown, false},
		{route.StateDown, route.InitialDown, true},
	}
	words := []candidate{
		{provider: route.ProviderPresent}, {provider: route.ProviderStarting}, {provider: route.ProviderStarting, require: true},
		{provider: route.ProviderUnhealthy}, {provider: route.ProviderLeaving},
	}
	var all []candidate
	for _, l := range layers {
		for _, c := range words {
			for _, weight := range []int{0, 100} {
				c.active, c.initial, c.succeeded, c.weight = l.active, l.initial, l.succeeded, weight
				all = append(all, c)
			}
		}
	}
	return all
}

// oracle says of one candidate what the specification says, written anew.
type oracle struct{ inA, verified, pending bool }

func judge(c *candidate) oracle {
	var o oracle
	blocked := c.initial == route.InitialDown && !c.succeeded && (c.active == route.StatePending || c.active == route.StateDown)
	present := c.provider == route.ProviderPresent
	starting := c.provider == route.ProviderStarting && !c.require
	o.inA = (present || starting) && !blocked
	if !o.inA {
		return o
	}
	o.verified = present && (c.active == route.StateUp || c.active == route.StateUnchecked ||
		c.active == route.StatePending && c.initial == route.InitialUp)
	o.pending = !o.verified && (starting || c.active == route.StatePending)
	return o
}

// TestRotationInvariants enumerates three backends in every mixture of layers, under
// every panic mode.
func TestRotationInvariants(t *testing.T) {
	every := everyCandidate()
	trio := make([]candidate, 3)
	for i := range every {
		for j := i; j < len(every); j++ {
			for k := j; k < len(every); k++ {
				trio[0], trio[1], trio[2] = every[i], every[j], every[k]
				for n := range trio {
					trio[n].id = string(rune('a' + n))
					trio[n].wentBad = t0.Add(time.Duration(n%2) * time.Second)
				}
				for _, mode := range []route.PanicMode{route.PanicAll, route.PanicLast, route.PanicOff} {
					d := rotate(&rules{panic: mode, ejectedServe: true}, trio)
					if why := violation(mode, trio, &d); why != "" {
						t.Fatalf("panic=%s: %s\n%+v\n%+v", mode, why, trio, d)
					}
				}
			}
		}
	}
}

// violation names the invariant that a decision breaks, "" for none.
func violation(mode route.PanicMode, all []candidate, d *decision) string {
	var a, v, p, members int
	allPrimary, allBackup := true, true
	for i := range all {
		o := judge(&all[i])
		a, v, p = a+count(o.inA), v+count(o.verified), p+count(o.pending)
		if !d.in[i] {
			continue
		}
		members++
		allPrimary = allPrimary && all[i].weight > 0
		allBackup = allBackup && all[i].weight == 0
		if !o.inA {
			return all[i].id + " is gated, leaving or blocked, and serves"
		}
	}
	for i := range all {
		o := judge(&all[i])
		switch {
		case d.in[i] && v > 0 && !o.verified:
			return all[i].id + " is not verified and serves beside a verified one"
		case d.in[i] && v == 0 && p > 0 && !o.pending:
			return all[i].id + " is down and serves beside a pending one"
		case d.in[i] && !isIn(d.reasons[i]), !d.in[i] && !isOut(d.reasons[i]):
			return fmt.Sprintf("%s: in=%v with the reason %q", all[i].id, d.in[i], d.reasons[i])
		}
	}
	return shapeViolation(mode, all, d, a, v, p, members, allPrimary || allBackup)
}

func shapeViolation(mode route.PanicMode, all []candidate, d *decision, a, v, p, members int, oneKind bool) string {
	switch {
	case members == 0 && (v > 0 || p > 0):
		return "nobody serves though somebody is verified or pending"
	case members == 0 && a > 0 && mode != route.PanicOff:
		return "nobody serves though somebody may"
	case members > 0 && a > 0 && v == 0 && p == 0 && mode == route.PanicOff:
		return "panic=off serves"
	case (members == 0) != (d.reason != ""), (members == 0) != (d.tier == route.TierNone):
		return "an empty rotation has a reason and no tier, another one the opposite"
	case d.panic != (members > 0 && v == 0 && p == 0):
		return "panic is not what it means"
	case d.panic && mode == route.PanicLast && members != 1:
		return "panic=last serves several"
	case members > 0 && !oneKind:
		return "primaries and backups serve together"
	case d.backups != (members > 0 && !slices.ContainsFunc(all, func(c candidate) bool { return d.in[slices.Index(all, c)] && c.weight > 0 })):
		return "it does not say that backups serve"
	}
	for i := range all {
		o := judge(&all[i])
		best := v > 0 && o.verified || v == 0 && p > 0 && o.pending || v == 0 && p == 0 && o.inA && mode == route.PanicAll
		if best && all[i].weight > 0 && !d.in[i] {
			return all[i].id + " is a primary of the tier that serves, and does not"
		}
	}
	return ""
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func isIn(r route.RotationReason) bool {
	return slices.Contains([]route.RotationReason{
		route.InVerified, route.InUnchecked, route.InBackupActive, route.InPendingNoVerified,
		route.InPanicAll, route.InPanicLast, route.InInitialUp,
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
