package route

import (
	"sync/atomic"
	"time"
)

// Placement is one backend of one entrypoint. The value is immutable: when the
// backend's settings change the Controller makes a new Placement that shares Load
// and Upstream with the old one, as long as the identity (entrypoint, incarnation)
// is the same.
type Placement struct {
	Entrypoint string
	Backend    Backend
	Load       *Load
	Upstream   Upstream
	// Sticky names the placement in the cookies of its clients: opaque, equal over
	// restarts of the router when the configuration gives the key. "" when unknown.
	Sticky string
}

// Key identifies the placement: entrypoint id and incarnation.
func (p *Placement) Key() PlacementKey {
	return PlacementKey{Entrypoint: p.Entrypoint, Incarnation: p.Backend.Incarnation}
}

// PlacementKey is the identity of a placement.
type PlacementKey struct {
	Entrypoint  string
	Incarnation string
}

// Load counts what a placement carries. It lives as long as the placement's
// identity and is safe for concurrent use.
type Load struct {
	InFlight atomic.Int64 // requests sent and not ended, tunnels included
	Tunnels  atomic.Int64
	Requests atomic.Uint64
	// Proven is set once the backend passed a probe or answered real traffic. A dial
	// that is refused before that means "not yet", not a failure.
	Proven atomic.Bool
	_      [64 - 25]byte // own cache line: it is written on every request
	// Traffic counts the backend's answers; class 0 are contacts without one.
	Traffic Traffic
}

// Upstream is the live object of the data plane that holds a backend's
// connections, one per incarnation and transport settings. Its methods never block.
type Upstream interface {
	// CloseIdle closes pooled idle connections (a backend went down).
	CloseIdle()
	// CloseTunnels closes the tunnels of one entrypoint, by its Key (a backend of it went down
	// and its onDown is close): others that share the upstream keep theirs.
	CloseTunnels(entrypoint string)
	// Retire ends the upstream: idle connections close now, nothing is pooled any
	// more, and what is in flight when the drain is over is cut.
	Retire(drain Drain)
	// Reinstate undoes Retire: a backend that was about to leave goes on running. What
	// is still in flight is not cut.
	Reinstate()
}

// Drain says how long requests and tunnels of a retired upstream may go on.
type Drain struct {
	Timeout int64 // nanoseconds; 0 cuts at once
}

// PlacementSet is what the Controller hands to the health engine for one
// entrypoint: the whole truth about it. The engine publishes its rotation in Cell.
type PlacementSet struct {
	Entrypoint *Entrypoint
	Cell       *RotationCell
	Placements []*Placement // sorted by backend ID
}

// Outcome is what real traffic saw of a placement. It is reported once per attempt.
type Outcome struct {
	Placement *Placement
	// Kind is "" for success, else how the contact failed.
	Kind Kind
	// Transport is set when the failure was one of the connection (dial, TLS,
	// reset, timeout), not a bad status.
	Transport bool
	Status    int // HTTP status of the response, 0 without one
	// Latency is the time to the response head, 0 without one.
	Latency time.Duration
	// Void is set when the attempt says nothing about the backend: the client left, the
	// router refused or cut it, or nothing was sent.
	Void bool
	// Late is set when a response broke off on the backend's side after its head, which
	// was told already: as a success it does not count any more.
	Late bool
}
