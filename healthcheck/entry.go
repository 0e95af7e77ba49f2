package healthcheck

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"fairlead/router/route"
)

// entry is an entrypoint that the engine knows.
type entry struct {
	id         string
	key        string // of the entrypoint: it stays when the id goes to another one
	entrypoint *route.Entrypoint
	cell       *route.RotationCell
	placements []*placement // sorted by backend id
	batch      uint64       // of the last Apply that named it

	breaker *breaker // nil without one
	// steps counts what may have changed who serves: the request path reads it to see
	// that the engine would say the same again.
	steps atomic.Uint64

	rotation   *route.Rotation
	decision   decision
	counts     tally
	summary    summary
	told       route.EntrypointState // what its id was told to be in last, "" for nothing yet
	since      time.Time
	panicSince time.Time
	served     bool // some backend was in rotation once
	ordered    bool // an order took out the last one in rotation
	tripped    bool // told that its circuit breaker opened, and not yet that it closed
	outage     bool // told to be down, and not yet that it is no more
	restored   bool // an order from before the start of the router awaited a backend of it
	history    []route.Transition
	rev        uint64 // of the last change
	view       *route.EntrypointHealth
}

// placement is one backend of an entrypoint with the layers' words about it.
type placement struct {
	entry   *entry
	current *route.Placement
	rules   activeRules
	active  active
	check   *check   // nil while unchecked
	passive *ejector // nil while the passive layer is off
	admin   route.Admin
	// replaced is the order that the present one took the place of, while that is told.
	replaced route.Admin
	// ordered is since when the operator's state is what it is, by whatever orders.
	ordered time.Time
	warm    warmup
	// proving: when last published it served because its check was just turned on.
	proving bool

	in       bool                 // member of the published rotation
	reason   route.RotationReason // why in, or why not
	shown    route.State          // as the layers together gave it last
	since    time.Time            // of shown
	added    time.Time
	counters route.Counters
	last     *route.ProbeResult
	ticks    ticks
	anew     time.Time // results in ticks until then say nothing: of another question, or of before a maintenance
	history  []route.Transition
	founding *startup // while the first verdict is awaited
	// probedNow is when an operator last asked for a probe.
	probedNow time.Time
	// proof counts real requests that succeeded while it served unverified; nil
	// unless it does.
	proof *atomic.Int64
	storm storm
}

// backend is shorthand for the current settings.
func (p *placement) backend() *route.Backend { return &p.current.Backend }

// leaving reports whether the provider is taking the backend away.
func (p *placement) leaving() bool { return p.backend().Provider == route.ProviderLeaving }

// candidate is the placement as the rotation sees it.
func (p *placement) candidate() candidate {
	b := p.backend()
	return candidate{
		id:        b.ID,
		weight:    b.Weight,
		provider:  b.Provider,
		require:   b.Docker == route.DockerHealthRequire,
		admin:     p.admin.State,
		phase:     p.passive.phase(),
		active:    p.active.status,
		initial:   p.rules.initial,
		succeeded: p.active.succeeded,
		serving:   p.active.serving,
		founding:  p.founding != nil && !p.founding.over && !p.refuted(),
		wentBad:   p.wentBad(),
	}
}

// wentBad is when the placement was last taken out, by probes or by traffic.
func (p *placement) wentBad() time.Time { return later(p.active.wentBad, p.passive.ejectedAt()) }

// refuted reports whether a probe got a definite no. A timeout is none: at a start it
// may well be due to the router's own haste.
func (p *placement) refuted() bool {
	return p.active.fail > 0 && p.active.kind != route.KindTimeout
}

// check is one stream of probes.
type check struct {
	id         string
	key        checkKey
	spec       Spec
	target     Target
	generation uint64
	seq        uint64
	users      []*placement

	nextAt   time.Time
	inFlight *task
	// crowded: it came with more checks than may be probed at once, and with all of them
	// on the same ticks it would wait at each.
	crowded bool
	// again: an expedite came while a probe was in flight.
	again     bool
	expedited bool      // the next launch was asked for by traffic or the provider
	hurriedAt time.Time // of the last expedite by traffic
	dueSince  time.Time // tick at which it became due; zero while it is not
	delay     time.Duration
	view      *route.CheckView
	asked     []asked // operators who wait for a result
}

// class orders checks in the dispatcher (health.md, "Scheduling", rule 3).
type class uint8

const (
	classUrgent class = iota // pending, confirming, expedited
	classUp
	classDown
)

func (c *check) class() class {
	down := true
	for _, p := range c.users {
		if p.unprobed() {
			continue
		}
		if p.active.undecided() || p.active.confirming() {
			return classUrgent
		}
		down = down && p.active.status == route.StateDown
	}
	switch {
	case c.expedited:
		return classUrgent
	case down:
		return classDown
	}
	return classUp
}

// share is the part of the budgets that a probe of the check takes.
func (c *check) share(cl class) share {
	up := slices.ContainsFunc(c.users, func(p *placement) bool { return p.active.status == route.StateUp && !p.unprobed() })
	return share{host: c.target.Host, down: cl == classDown, unproven: !up}
}

// pace is the wait between launches in the check's present condition, and its name.
func (c *check) pace(tick time.Duration) (time.Duration, string) {
	t := &c.key.timing
	pending, confirming, down := false, false, c.wanted()
	for _, p := range c.users {
		if p.unprobed() {
			continue // it awaits no verdict
		}
		pending = pending || p.active.undecided()
		confirming = confirming || p.active.confirming()
		down = down && p.active.status == route.StateDown
	}
	switch {
	case pending:
		return tick, paceFast
	case confirming && t.fast > 0:
		return t.fast, paceFast
	case confirming:
		return t.interval, paceNormal
	case down:
		return t.down, paceDown
	}
	return t.interval, paceNormal
}

// Names of paces (json.md).
const (
	paceNormal = "normal"
	paceFast   = "fast"
	paceDown   = "down"
)

// wanted reports whether anybody still wants probes: a backend that leaves gets none, nor
// one in maintenance.
func (c *check) wanted() bool {
	return slices.ContainsFunc(c.users, func(p *placement) bool { return !p.unprobed() })
}

// cancel ends the probe in flight; its result will be dropped.
func (c *check) cancel() {
	c.giveUp()
	c.dueSince = time.Time{}
	if c.inFlight == nil {
		return
	}
	c.inFlight.cancel(errProbeObsolete)
	c.inFlight = nil
}

// retryAt is when the next probe, or the end of an order, may change the entry's rotation.
func (en *entry) retryAt(now time.Time) time.Time {
	var at time.Time
	for _, p := range en.placements {
		next, ok := p.nextChange(now)
		if !ok {
			continue
		}
		if at.IsZero() || next.Before(at) {
			at = next
		}
	}
	return at
}

// nextChange is when something may change that decides whether the placement serves.
func (p *placement) nextChange(now time.Time) (at time.Time, ok bool) {
	switch {
	case p.leaving():
		return time.Time{}, false
	case p.admin.State == route.AdminDrain, p.inMaintenance():
		return p.admin.ExpiresAt, !p.admin.ExpiresAt.IsZero()
	}
	at, ok = p.nextProbe(now)
	if back := p.passive.returnsAt(); !back.IsZero() && (!ok || back.Before(at)) {
		return back, true
	}
	return at, ok
}

// nextProbe is when the next probe may give its result at the earliest.
func (p *placement) nextProbe(now time.Time) (at time.Time, ok bool) {
	switch {
	case p.check == nil:
		return time.Time{}, false
	case p.check.inFlight != nil, p.check.nextAt.Before(now):
		return now, true
	}
	return p.check.nextAt, true
}

func byBackendID(a, b *placement) int {
	return cmp.Compare(a.backend().ID, b.backend().ID)
}
