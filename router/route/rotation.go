package route

import (
	"sync/atomic"
	"time"
)

// Member is a placement that is in rotation now.
type Member struct {
	Placement *Placement
	Weight    int // effective, at least 1
	Reason    RotationReason
	// Judge hears what traffic sees of it; nil while nobody wants to know.
	Judge Judge
}

// Rotation is the immutable set of placements that serve an entrypoint now.
type Rotation struct {
	Rev     uint64    // engine-wide, strictly increasing
	At      time.Time // when it was published; zero means now
	Members []Member  // sorted by backend ID; all of one tier
	// Fallback serves while every member is on trial and the trials are taken: what
	// would serve without those on trial. Empty unless all members are on trial.
	Fallback []Member
	// Sticky are placements that serve the clients that are bound to them and nobody
	// else: those that drain. Sorted by backend ID.
	Sticky []Member
	// Gate is the entrypoint's circuit breaker; nil without one.
	Gate Gate
	// Total is the sum of the members' weights; Uniform is set when all are equal.
	Total   int
	Uniform bool
	Tier    Tier
	// Panic is set when unverified backends serve because nothing is verified.
	Panic bool
	// Reason says why Members is empty; "" otherwise.
	Reason Reason
}

// NewRotation completes a rotation from its members: totals and uniformity.
func NewRotation(rev uint64, tier Tier, members []Member) *Rotation {
	r := &Rotation{Rev: rev, Tier: tier, Members: members, Uniform: true}
	for _, m := range members {
		r.Total += m.Weight
		r.Uniform = r.Uniform && m.Weight == members[0].Weight
	}
	return r
}

// HoldLeft is how long a request that comes at now may wait for somebody to fill an
// empty rotation, given the entrypoint's HoldFor; 0 is not at all. Only a rotation that
// is empty because its backends left or were never yet verified is worth waiting for.
func (r *Rotation) HoldLeft(holdFor time.Duration, now time.Time) time.Duration {
	if len(r.Members) > 0 {
		return 0
	}
	switch r.Reason {
	case ReasonLeaving, ReasonRetained, ReasonInitializing:
	default:
		return 0
	}
	if r.At.IsZero() {
		return holdFor
	}
	return max(holdFor-now.Sub(r.At), 0)
}

// Tier is the step of the rotation that serves (health.md, "Rotation").
type Tier uint8

// Tiers, best first.
const (
	TierNone Tier = iota
	TierVerified
	TierVerifiedBackup
	TierPending
	TierPendingBackup
	TierPanic
)

// RotationCell is where an entrypoint's rotation is published. It lives as long as
// the entrypoint's id, survives table swaps, and is safe for concurrent use. The
// health engine is the only writer of the rotation; the request path reads it.
type RotationCell struct {
	current atomic.Pointer[Rotation]
	retryAt atomic.Int64
	changed atomic.Pointer[chan struct{}] // closed by the next Store; nil while nobody waits
	placed  atomic.Pointer[[]*Placement]  // nil before the first Place
	_       [64 - 32]byte                 // the cursor is written on every request
	// Cursor is the picker's turn counter.
	Cursor atomic.Uint64
	// Requests in flight for the whole entrypoint (budget of retries).
	InFlight atomic.Int64
	Retrying atomic.Int64
	// Held are the requests that wait for a backend now.
	Held atomic.Int64
	_    [64 - 32]byte
	// Line is where requests wait while every backend is full.
	Line Line
	// Traffic counts what clients got.
	Traffic Traffic
}

// Load returns the current rotation, never nil.
func (c *RotationCell) Load() *Rotation {
	if r := c.current.Load(); r != nil {
		return r
	}
	return emptyRotation
}

// emptyRotation stands for "not computed yet"; it is never modified.
var emptyRotation = &Rotation{Reason: ReasonInitializing, Uniform: true}

// Store publishes a rotation and wakes those who wait for one, or for room in it.
func (c *RotationCell) Store(r *Rotation) {
	c.current.Store(r)
	c.Line.Wake()
	if waiting := c.changed.Swap(nil); waiting != nil {
		close(*waiting)
	}
}

// Place publishes the entrypoint's placements, those out of rotation too. The list is the
// cell's from then on. The Controller is the only writer.
func (c *RotationCell) Place(list []*Placement) { c.placed.Store(&list) }

// Placements are those of the last Place, nil before the first; they must not be changed.
func (c *RotationCell) Placements() []*Placement {
	if list := c.placed.Load(); list != nil {
		return *list
	}
	return nil
}

// Changed returns a channel that the next Store closes. Call it before Load: a
// rotation that was stored between the two is seen by Load.
func (c *RotationCell) Changed() <-chan struct{} {
	fresh := make(chan struct{})
	for {
		if waiting := c.changed.Load(); waiting != nil {
			return *waiting
		}
		if c.changed.CompareAndSwap(nil, &fresh) {
			return fresh
		}
	}
}

// SetRetryAt notes when the next probe may change an empty rotation.
func (c *RotationCell) SetRetryAt(t time.Time) { c.retryAt.Store(t.UnixNano()) }

// RetryAfter is the whole seconds a client should wait, 1 to 30.
func (c *RotationCell) RetryAfter(now time.Time) int {
	at := c.retryAt.Load()
	if at == 0 {
		return 1
	}
	wait := time.Unix(0, at).Sub(now)
	return int(min(max((wait+time.Second-1)/time.Second, 1), 30))
}

// RotationReason says why a backend is in rotation or out of it (json.md).
type RotationReason string

// Rotation reasons: the first block is in rotation, the second out of it.
const (
	InVerified          RotationReason = "verified"
	InUnchecked         RotationReason = "unchecked"
	InBackupActive      RotationReason = "backup_active"
	InPendingNoVerified RotationReason = "pending_no_verified"
	InPanicAll          RotationReason = "panic_all"
	InPanicLast         RotationReason = "panic_last"
	InInitialUp         RotationReason = "initial_up"
	InTrial             RotationReason = "trial"
	InPanicThreshold    RotationReason = "panic_threshold"
	InStickyOnly        RotationReason = "sticky_only"

	OutProbeFailed           RotationReason = "probe_failed"
	OutPendingVerifiedExists RotationReason = "pending_verified_exists"
	OutInitialDown           RotationReason = "initial_down"
	OutBackupStandby         RotationReason = "backup_standby"
	OutDockerStarting        RotationReason = "docker_starting"
	OutDockerUnhealthy       RotationReason = "docker_unhealthy"
	OutLeaving               RotationReason = "leaving"
	OutEjected               RotationReason = "ejected"
	OutTrialInProgress       RotationReason = "trial_in_progress"
	OutDraining              RotationReason = "draining"
	OutMaintenance           RotationReason = "maintenance"
	OutFull                  RotationReason = "full"
	OutPanicNotSelected      RotationReason = "panic_not_selected"
	OutPanicOff              RotationReason = "panic_off"
	// OutMisconfigured: the entrypoint fails closed, whatever its backends say.
	OutMisconfigured RotationReason = "misconfigured_protection"
)
