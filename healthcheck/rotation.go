package healthcheck

import (
	"time"

	"fairlead/router/route"
)

// candidate is what the rotation knows of one placement: the word of each layer.
type candidate struct {
	id       string
	weight   int // 0 is a backup
	provider route.ProviderState
	// require: Docker's "starting" gates it out (dockerHealth=require).
	require   bool
	admin     route.AdminState   // "" is ready
	phase     route.PassivePhase // "" is closed
	active    route.State        // unchecked, pending, up or down
	initial   route.Initial
	succeeded bool // a probe succeeded once
	serving   bool // pending only because its check was just turned on
	// founding: of the provider's first snapshot, whose first verdicts the router
	// still waits for, and not seen to fail.
	founding bool
	wentBad  time.Time
}

// rules are an entrypoint's part in the decision.
type rules struct {
	panic route.PanicMode
	// threshold is the percent of verified primaries below which panic begins.
	threshold int
	// ejectedServe: in panic those that traffic took out serve, too (passive.panic).
	ejectedServe bool
	// taken: no trial has a place free.
	taken bool
}

// decision is what the rotation says about the candidates, in their order.
type decision struct {
	tier    route.Tier
	panic   bool
	scarce  bool // panic because fewer than panicThreshold percent are verified
	quorum  quorum
	reason  route.Reason // why nobody serves
	in      []bool
	reasons []route.RotationReason
	backups bool // backups serve
	// verified: one that serves is verified, or counts as such.
	verified bool
}

// standing is a candidate's place before anybody is chosen.
type standing uint8

const (
	standsOut      standing = iota // operator's word, gated, leaving
	standsBlocked                  // initial=down and no success yet
	standsEjected                  // panic at most, and not with passive.panic=false
	standsDown                     // panic at most
	standsPending                  // tiers 3 and 4
	standsFounding                 // pending, but one tier with the verified ones
	standsTrial                    // tiers 1 and 2, one request at a time
	standsVerified                 // tiers 1 and 2
)

// standing places one candidate (health.md, "Rotation": A, V and P).
func (c *candidate) standing(r *rules) standing {
	starting := c.provider == route.ProviderStarting
	switch {
	case c.admin == route.AdminDrain, c.admin == route.AdminMaintenance, c.provider == route.ProviderLeaving, c.provider == route.ProviderUnhealthy, starting && c.require:
		return standsOut
	case c.initial == route.InitialDown && !c.succeeded && c.active != route.StateUnchecked:
		return standsBlocked
	case c.active == route.StateDown && !starting && (c.phase != route.PhaseOpen || r.ejectedServe):
		return standsDown
	case c.phase == route.PhaseOpen, c.phase == route.PhaseHalfOpen && (r.taken || starting || !c.good()):
		return standsEjected
	case c.phase == route.PhaseHalfOpen:
		return standsTrial
	case starting || !c.good():
		return c.pending()
	}
	return standsVerified
}

// good reports whether the active layer has nothing against the candidate.
func (c *candidate) good() bool {
	return c.active == route.StateUp || c.active == route.StateUnchecked ||
		c.active == route.StatePending && (c.initial == route.InitialUp || c.serving)
}

func (c *candidate) pending() standing {
	if c.founding {
		return standsFounding
	}
	return standsPending
}

// rotate decides who serves: a pure function of the layers. The tiers are tried in
// order and the first that is not empty serves.
func rotate(r *rules, all []candidate) decision {
	d := decision{in: make([]bool, len(all)), reasons: make([]route.RotationReason, len(all))}
	places := make([]standing, len(all))
	for i := range all {
		places[i] = all[i].standing(r)
	}
	d.quorum = poll(all, places)
	verified := func(s standing) bool { return s >= standsFounding }
	pending := func(s standing) bool { return s == standsPending }
	switch {
	case d.quorum.scarce(r) && d.choose(all, places, func(s standing) bool { return s >= standsDown || r.ejectedServe && s == standsEjected }, false):
		d.tier, d.panic, d.scarce = route.TierPanic, true, true
	case d.choose(all, places, verified, false):
		d.tier = route.TierVerified
	case d.choose(all, places, verified, true):
		d.tier = route.TierVerifiedBackup
	case d.choose(all, places, pending, false):
		d.tier = route.TierPending
	case d.choose(all, places, pending, true):
		d.tier = route.TierPendingBackup
	case d.panics(r, all, places):
		d.tier, d.panic = route.TierPanic, true
	default:
		d.reason = emptyReason(all, places)
	}
	d.verified = d.serves(places, standsVerified)
	d.unverifiedOnly(places)
	d.explain(r.panic, all, places)
	return d
}

// quorum is how many primaries there are, and how many of them are verified. Those that
// wait for their first success by healthCheck.initial=down do not count.
type quorum struct{ verified, primaries int }

func poll(all []candidate, places []standing) quorum {
	var q quorum
	for i, s := range places {
		if all[i].weight == 0 || s <= standsBlocked {
			continue
		}
		q.primaries++
		if s >= standsFounding {
			q.verified++
		}
	}
	return q
}

// scarce reports whether too few primaries are verified (panicThreshold).
func (q quorum) scarce(r *rules) bool {
	return r.threshold > 0 && r.panic == route.PanicAll && q.verified*100 < r.threshold*q.primaries
}

// choose takes the primaries, or the backups, whose standing is accepted.
func (d *decision) choose(all []candidate, places []standing, accept func(standing) bool, backups bool) bool {
	found := false
	for i := range all {
		if accept(places[i]) && (all[i].weight == 0) == backups {
			d.in[i], found = true, true
		}
	}
	d.backups = found && backups
	return found
}

// unverifiedOnly names the tier by what it holds: without a verified member the
// founding ones are pending as any others.
func (d *decision) unverifiedOnly(places []standing) {
	if d.serves(places, standsTrial) {
		return
	}
	switch d.tier {
	case route.TierVerified:
		d.tier = route.TierPending
	case route.TierVerifiedBackup:
		d.tier = route.TierPendingBackup
	default:
	}
}

// serves reports whether one of a standing serves, or of a better one.
func (d *decision) serves(places []standing, least standing) bool {
	for i, in := range d.in {
		if in && places[i] >= least {
			return true
		}
	}
	return false
}

// panics chooses from those that are down, because nothing better exists.
func (d *decision) panics(r *rules, all []candidate, places []standing) bool {
	down := func(s standing) bool { return s == standsDown || r.ejectedServe && s == standsEjected }
	switch r.panic {
	case route.PanicOff:
		return false
	case route.PanicLast:
		last := -1
		for i := range all {
			if down(places[i]) && (last < 0 || fresher(&all[i], &all[last])) {
				last = i
			}
		}
		if last >= 0 {
			d.in[last] = true
			d.backups = all[last].weight == 0
		}
		return last >= 0
	default:
		return d.choose(all, places, down, false) || d.choose(all, places, down, true)
	}
}

// fresher reports whether a failed later than b; the lower id wins a tie.
func fresher(a, b *candidate) bool {
	if a.wentBad.Equal(b.wentBad) {
		return a.id < b.id
	}
	return a.wentBad.After(b.wentBad)
}

// emptyReason says why nobody serves although there are candidates; without any the
// entrypoint knows better.
func emptyReason(all []candidate, places []standing) route.Reason {
	var down, waiting, gated, leaving, draining, maintenance bool
	for i := range all {
		switch {
		case all[i].admin == route.AdminMaintenance:
			maintenance = true
		case places[i] == standsOut && all[i].provider == route.ProviderLeaving:
			leaving = true
		case all[i].admin == route.AdminDrain:
			draining = true
		case places[i] == standsDown, places[i] == standsEjected, places[i] == standsBlocked && all[i].active == route.StateDown:
			down = true
		case places[i] == standsBlocked, all[i].provider == route.ProviderStarting:
			waiting = true
		default:
			gated = true
		}
	}
	switch {
	case waiting:
		return route.ReasonInitializing
	case down:
		return route.ReasonAllUnhealthy
	case gated:
		return route.ReasonDockerUnhealthy
	case draining:
		return route.ReasonAllDraining
	case maintenance:
		return route.ReasonAllMaintenance
	case leaving:
		return route.ReasonLeaving
	}
	return route.ReasonNoBackends
}

// explain gives every candidate its rotation reason.
func (d *decision) explain(mode route.PanicMode, all []candidate, places []standing) {
	for i := range all {
		if d.in[i] {
			d.reasons[i] = d.inReason(mode, &all[i], places[i])
		} else {
			d.reasons[i] = d.outReason(mode, &all[i], places[i])
		}
	}
}

func (d *decision) inReason(mode route.PanicMode, c *candidate, place standing) route.RotationReason {
	switch {
	case d.scarce:
		return route.InPanicThreshold
	case d.panic && mode == route.PanicLast:
		return route.InPanicLast
	case d.panic:
		return route.InPanicAll
	case place == standsTrial:
		return route.InTrial
	case place != standsVerified:
		return route.InPendingNoVerified
	case d.tier == route.TierVerifiedBackup:
		return route.InBackupActive
	case c.active == route.StateUp:
		return route.InVerified
	case c.active == route.StateUnchecked, c.serving:
		return route.InUnchecked
	}
	return route.InInitialUp
}

func (d *decision) outReason(mode route.PanicMode, c *candidate, place standing) route.RotationReason {
	switch {
	case c.admin == route.AdminMaintenance:
		return route.OutMaintenance
	case c.provider == route.ProviderLeaving:
		return route.OutLeaving
	case c.admin == route.AdminDrain:
		return route.OutDraining
	case c.provider == route.ProviderUnhealthy:
		return route.OutDockerUnhealthy
	case place == standsBlocked:
		return route.OutInitialDown
	case c.provider == route.ProviderStarting:
		return route.OutDockerStarting
	case place == standsVerified, place == standsTrial:
		return route.OutBackupStandby
	case place == standsEjected && c.phase == route.PhaseHalfOpen && c.provider == route.ProviderPresent &&
		(c.active == route.StateUp || c.active == route.StateUnchecked):
		return route.OutTrialInProgress
	case place == standsEjected:
		return route.OutEjected
	case place == standsDown:
		return d.downReason(mode)
	case d.tier == route.TierPending && c.weight == 0:
		return route.OutBackupStandby
	}
	return route.OutPendingVerifiedExists
}

// downReason says why a backend that is down does not even serve in panic.
func (d *decision) downReason(mode route.PanicMode) route.RotationReason {
	switch {
	case d.tier == route.TierNone && mode == route.PanicOff:
		return route.OutPanicOff
	case d.panic && mode == route.PanicLast:
		return route.OutPanicNotSelected
	}
	return route.OutProbeFailed
}
