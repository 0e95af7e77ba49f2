package router

import "fairlead/router/route"

// View is one immutable picture of everything: table, health, providers and
// diagnostics under one generation. API, dashboard and CLI are functions of it.
type View struct {
	// Generation grows with every change of what the view shows.
	Generation  uint64
	Table       *Table
	Entrypoints []EntrypointView       // sorted by id
	Providers   []route.ProviderStatus // sorted by name
	Candidates  []route.CandidateDiagnostics
	Rejected    []route.Rejected
	// Unrouted are hosts that no route takes although somebody names them, for Resolve.
	Unrouted []route.Unrouted
	Global   []route.Diagnostic
	Health   *route.HealthView
}

// EntrypointView is one entrypoint with its health.
type EntrypointView struct {
	Entrypoint *route.Entrypoint
	Health     route.EntrypointHealth
	// Traffic counts its requests and is read live; nil where nothing serves, as in an
	// offline view.
	Traffic *route.Traffic
	// ShadowedBy is the id of the entrypoint that takes its requests, or "".
	ShadowedBy  string
	Stale       bool               // its provider is not connected
	Diagnostics []route.Diagnostic // the entrypoint's and the table's (W018, I105 ...)
}

// Viewer gives the current view. It is safe for concurrent use.
type Viewer interface {
	View() *View
}

// Health is what the Controller needs of the health engine. The engine implements
// it without importing this package. Both methods are safe for concurrent use.
type Health interface {
	// Apply replaces the engine's knowledge of all placements and publishes every
	// rotation before it returns. It never blocks on a probe.
	Apply(generation uint64, sets []route.PlacementSet)
	// View returns the engine's current picture.
	View() *route.HealthView
}

// Upstreams makes the data plane's live objects. It is called by the Controller's
// goroutine only.
type Upstreams interface {
	// Open returns the upstream of a backend. Two backends with equal incarnation
	// and transport settings share one; the Controller retires it with its last user.
	Open(b route.Backend) (route.Upstream, error)
}
