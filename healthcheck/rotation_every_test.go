package healthcheck

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead/router/route"
)

// everyCandidate lists each combination of the layers that a placement can be in:
// operator, provider, active, passive and weight.
func everyCandidate() []candidate {
	words := []candidate{
		{provider: route.ProviderPresent}, {provider: route.ProviderStarting}, {provider: route.ProviderStarting, require: true},
		{provider: route.ProviderUnhealthy}, {provider: route.ProviderLeaving},
	}
	var all []candidate
	for _, admin := range []route.AdminState{route.AdminReady, route.AdminDrain, route.AdminMaintenance} {
		for _, word := range words {
			for _, c := range everyLayer() {
				c.admin, c.provider, c.require = admin, word.provider, word.require
				all = append(all, c)
			}
		}
	}
	return all
}

// everyLayer is the part of everyCandidate that operator and provider do not speak of.
func everyLayer() []candidate {
	probed := []candidate{
		{active: route.StateUnchecked, initial: route.InitialAuto},
		{active: route.StatePending, initial: route.InitialAuto},
		{active: route.StatePending, initial: route.InitialAuto, founding: true},
		{active: route.StatePending, initial: route.InitialAuto, serving: true},
		{active: route.StatePending, initial: route.InitialUp},
		{active: route.StatePending, initial: route.InitialDown},
		{active: route.StateUp, initial: route.InitialAuto, succeeded: true},
		{active: route.StateUp, initial: route.InitialDown, succeeded: true},
		{active: route.StateDown, initial: route.InitialAuto},
		{active: route.StateDown, initial: route.InitialDown},
		{active: route.StateDown, initial: route.InitialDown, succeeded: true},
	}
	var all []candidate
	for _, c := range probed {
		for _, phase := range []route.PassivePhase{route.PhaseClosed, route.PhaseOpen, route.PhaseHalfOpen} {
			for _, weight := range []int{0, 100} {
				c.phase, c.weight = phase, weight
				all = append(all, c)
			}
		}
	}
	return all
}

// everyRules lists each combination of an entrypoint's settings, and whether the
// trials are taken.
func everyRules() []rules {
	var all []rules
	for _, mode := range []route.PanicMode{route.PanicAll, route.PanicLast, route.PanicOff} {
		for n := range 8 {
			all = append(all, rules{panic: mode, ejectedServe: n&1 == 0, threshold: 50 * (n >> 1 & 1), taken: n&4 != 0})
		}
	}
	return all
}

// standIn is another candidate that the specification treats alike: it speaks of one
// that is not in A, or may never serve, only to leave it out; "up" under initial=down is
// "up"; and "down" is "down" once a probe has succeeded, whatever initial says.
func standIn(c candidate) candidate {
	s := specOf(&c, &rules{})
	switch {
	case !s.inA:
		c = candidate{admin: c.admin, provider: c.provider, require: c.require, weight: c.weight, active: route.StateUp, initial: route.InitialAuto}
		if c.admin != route.AdminReady {
			c.provider, c.require = route.ProviderPresent, false
		}
	case s.blocked:
		c = candidate{provider: route.ProviderPresent, admin: route.AdminReady, weight: c.weight, active: route.StatePending, initial: route.InitialDown}
	case c.succeeded:
		c.initial, c.succeeded = route.InitialAuto, c.active == route.StateUp
	}
	return c
}

// standsFor are what the words of the specification say of one candidate, written anew.
type standsFor struct{ inA, blocked, verified, pending, ejected bool }

func specOf(c *candidate, r *rules) standsFor {
	var s standsFor
	present, starting := c.provider == route.ProviderPresent, c.provider == route.ProviderStarting && !c.require
	s.inA = c.admin == route.AdminReady && (present || starting)
	if !s.inA {
		return s
	}
	// a placement that never had a successful probe (pending or down) is in no tier
	s.blocked = c.initial == route.InitialDown && !c.succeeded && (c.active == route.StatePending || c.active == route.StateDown)
	if s.blocked {
		return s
	}
	free := c.phase == route.PhaseClosed || c.phase == route.PhaseHalfOpen && !r.taken
	good := c.active == route.StateUp || c.active == route.StateUnchecked ||
		c.active == route.StatePending && (c.initial == route.InitialUp || c.serving)
	s.verified = present && free && good
	s.pending = !s.verified && c.phase == route.PhaseClosed && (starting || c.active == route.StatePending)
	// what ejection keeps out, and not a probe
	s.ejected = c.phase == route.PhaseOpen || c.phase == route.PhaseHalfOpen && !s.verified && (starting || c.active != route.StateDown)
	return s
}

// specServes says who serves and on which tier, as the text of the specification has it.
func specServes(r *rules, all []candidate) (in []bool, tier route.Tier) {
	specs := make([]standsFor, len(all))
	primariesOfA, primariesOfV := 0, 0
	for i := range all {
		specs[i] = specOf(&all[i], r)
		if all[i].weight > 0 && specs[i].inA && !specs[i].blocked {
			primariesOfA++
			if specs[i].verified || specs[i].pending && all[i].founding {
				primariesOfV++
			}
		}
	}
	pick := func(accept func(i int) bool) []bool {
		chosen := make([]bool, len(all))
		for i := range all {
			chosen[i] = specs[i].inA && !specs[i].blocked && accept(i)
		}
		if !slices.Contains(chosen, true) {
			return nil
		}
		return chosen
	}
	primary := func(i int) bool { return all[i].weight > 0 }
	verified := func(i int) bool { return specs[i].verified || specs[i].pending && all[i].founding }
	pending := func(i int) bool { return specs[i].pending }
	panicking := func(i int) bool { return r.ejectedServe || !specs[i].ejected }
	if r.panic == route.PanicAll && primariesOfV*100 < r.threshold*primariesOfA {
		if in = pick(func(i int) bool { return primary(i) && panicking(i) }); in != nil {
			return in, route.TierPanic
		}
	}
	for _, step := range []struct {
		tier   route.Tier
		accept func(i int) bool
	}{
		{route.TierVerified, func(i int) bool { return verified(i) && primary(i) }},
		{route.TierVerifiedBackup, func(i int) bool { return verified(i) && !primary(i) }},
		{route.TierPending, func(i int) bool { return pending(i) && primary(i) }},
		{route.TierPendingBackup, func(i int) bool { return pending(i) && !primary(i) }},
	} {
		if in = pick(step.accept); in != nil {
			return in, step.tier
		}
	}
	switch r.panic {
	case route.PanicAll:
		if in = pick(func(i int) bool { return primary(i) && panicking(i) }); in == nil {
			in = pick(panicking)
		}
	case route.PanicLast:
		in = pick(func(i int) bool {
			return panicking(i) && !slices.ContainsFunc(all, func(o candidate) bool { return beats(&o, &all[i], r) })
		})
	default:
	}
	if in == nil {
		return make([]bool, len(all)), route.TierNone
	}
	return in, route.TierPanic
}

// beats reports whether panic=last prefers o to c: it went bad later, or has the lower id.
func beats(o, c *candidate, r *rules) bool {
	s := specOf(o, r)
	return s.inA && !s.blocked && (r.ejectedServe || !s.ejected) &&
		(o.wentBad.After(c.wentBad) || o.wentBad.Equal(c.wentBad) && o.id < c.id)
}

// mixture gives candidates ids and times at which they went bad.
func mixture(all ...candidate) []candidate {
	for n := range all {
		all[n].id = string(rune('a' + n))
		all[n].wentBad = t0.Add(time.Duration(n%2) * time.Second)
	}
	return all
}

// TestRotationInvariants enumerates three backends in every mixture of operator,
// provider, active and passive layer and weight, under every panic mode, panicThreshold,
// passive.panic, with trials free and taken (health.md, test 9). Those that are alike by
// the specification stand for each other here; TestRotationStandIns proves that.
func TestRotationInvariants(t *testing.T) {
	for part, r := range everyRules() {
		t.Run(fmt.Sprintf("%d-%s-%d-%v-%v", part, r.panic, r.threshold, r.ejectedServe, r.taken), func(t *testing.T) {
			t.Parallel()
			every := representatives()
			for i := range every {
				for j := i; j < len(every); j++ {
					for k := j; k < len(every); k++ {
						holdInvariants(t, &r, mixture(every[i], every[j], every[k]))
					}
				}
			}
		})
	}
}

func representatives() []candidate {
	var list []candidate
	for _, c := range everyCandidate() {
		if c = standIn(c); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// TestRotationStandIns puts every single candidate beside every representative: one that
// stands for it decides the same for both.
func TestRotationStandIns(t *testing.T) {
	t.Parallel()
	reps := representatives()
	for _, r := range everyRules() {
		for _, c := range everyCandidate() {
			if standIn(c) == c {
				continue
			}
			for _, beside := range reps {
				got, want := mixture(c, beside), mixture(standIn(c), beside)
				d, e := rotate(&r, got), rotate(&r, want)
				if !slices.Equal(d.in, e.in) || d.tier != e.tier || d.panic != e.panic {
					t.Fatalf("%+v\n%+v stands for\n%+v beside\n%+v:\n%v, want %v", r, want[0], c, beside, d, e)
				}
			}
		}
	}
}

// holdInvariants fails the test when the decision about a mixture is not the one that the
// specification gives, or breaks a promise.
func holdInvariants(t *testing.T, r *rules, all []candidate) {
	d := rotate(r, all)
	in, tier := specServes(r, all)
	switch why := violation(r, all, &d); {
	case !slices.Equal(d.in, in):
		t.Fatalf("%+v\n%+v\n%+v: serves %v, want %v", *r, all, d, d.in, in)
	case d.tier != tier && !renamed(all, &d, tier):
		t.Fatalf("%+v\n%+v\n%+v: tier %d, want %d", *r, all, d, d.tier, tier)
	case why != "":
		t.Fatalf("%s: %+v\n%+v\n%+v", why, *r, all, d)
	}
}

// renamed: a tier without a verified member is told as pending.
func renamed(all []candidate, d *decision, tier route.Tier) bool {
	for i := range all {
		if d.in[i] && !all[i].founding {
			return false
		}
	}
	return tier == route.TierVerified && d.tier == route.TierPending || tier == route.TierVerifiedBackup && d.tier == route.TierPendingBackup
}

// violation names the promise that a decision breaks, "" for none. It knows nothing of
// tiers: it looks at who serves beside whom.
func violation(r *rules, all []candidate, d *decision) string {
	var members, primaries, able, verified, unverified int
	for i := range all {
		c := &all[i]
		s := specOf(c, r)
		if s.inA && !s.blocked {
			able++
		}
		if s.verified {
			verified++
		}
		if !d.in[i] {
			if !isOut(d.reasons[i]) {
				return fmt.Sprintf("%s is out with the reason %q", c.id, d.reasons[i])
			}
			continue
		}
		members++
		if c.weight > 0 {
			primaries++
		}
		if !s.verified && !c.founding {
			unverified++
		}
		switch {
		case c.admin != route.AdminReady:
			return c.id + " drains or is in maintenance, and serves"
		case c.provider == route.ProviderUnhealthy || c.provider == route.ProviderLeaving || c.require:
			return c.id + " is gated out by Docker, and serves"
		case s.blocked:
			return c.id + " never succeeded under initial=down, and serves"
		case c.phase == route.PhaseHalfOpen && !d.panic && d.tier != route.TierVerified && d.tier != route.TierVerifiedBackup:
			return c.id + " is on trial outside of the verified tiers"
		case c.phase == route.PhaseOpen && !d.panic:
			return c.id + " is ejected and serves without panic"
		case c.phase == route.PhaseOpen && !r.ejectedServe:
			return c.id + " is ejected and serves with passive.panic=false"
		case !isIn(d.reasons[i]):
			return fmt.Sprintf("%s is in with the reason %q", c.id, d.reasons[i])
		}
	}
	return shapeViolation(r, all, d, members, primaries, able, verified, unverified)
}

func shapeViolation(r *rules, all []candidate, d *decision, members, primaries, able, verified, unverified int) string {
	switch {
	case members == 0 && able > 0 && r.panic != route.PanicOff && r.ejectedServe:
		return "nobody serves though somebody may"
	case members == 0 && verified > 0:
		return "nobody serves though somebody is verified"
	case unverified > 0 && verified > 0 && !d.scarce:
		return "an unverified one is chosen though a verified one exists"
	case d.panic && r.panic == route.PanicOff:
		return "panic=off panics"
	case (members == 0) != (d.reason != ""), (members == 0) != (d.tier == route.TierNone):
		return "an empty rotation has a reason and no tier, another one the opposite"
	case d.panic != (d.tier == route.TierPanic), d.scarce && !d.panic:
		return "panic is not what it means"
	case d.panic && r.panic == route.PanicLast && members != 1:
		return "panic=last serves several"
	case primaries > 0 && primaries < members:
		return "primaries and backups serve together"
	case d.backups != (members > 0 && primaries == 0):
		return "it does not say that backups serve"
	}
	if r.taken && members == 0 && r.panic != route.PanicOff && r.ejectedServe {
		free := *r
		free.taken = false
		if e := rotate(&free, all); e.tier != route.TierNone {
			return "taken trials empty what was not empty"
		}
	}
	return ""
}
