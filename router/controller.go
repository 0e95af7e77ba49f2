package router

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// ControllerConfig wires a Controller. Health and Upstreams are required.
type ControllerConfig struct {
	Health    Health
	Upstreams Upstreams
	// Prepare makes the data plane's part of a route. It is called again only when
	// the entrypoint's id, rules, options or protection changed; nil prepares nothing.
	Prepare func(*route.Entrypoint) any
	// Sticky gives Placement.Sticky for a backend of an entrypoint; nil leaves it empty.
	Sticky func(*route.Entrypoint, *route.Backend) string
	Log    zerolog.Logger
	// Doubt is told when a source that was lost can be reached again, and when what it
	// holds has been brought into force; nil is not called.
	Doubt func(on bool)
	// Notices tells what else there is to say in views, beyond providers and health; nil
	// is nothing. It is called whenever a view is made.
	Notices func() []route.Diagnostic
	// Providers are shown in views before their first snapshot.
	Providers []route.ProviderStatus
	// Changed is called by Run after each change of the table, of a provider's status
	// or of diagnostics, once a view shows it. It must not block; nil is not called.
	Changed func()
}

// Controller is the only writer of the table. It merges the providers' snapshots,
// owns what outlives a table (rotation cells, loads, upstreams) and hands the
// placements to the health engine.
type Controller struct {
	cfg     ControllerConfig
	table   atomic.Pointer[Table]
	picture atomic.Pointer[picture]
	swaps   struct {
		count atomic.Uint64
		took  atomic.Int64 // nanoseconds
	}

	// Owned by Run.
	snapshots  map[string]route.Snapshot
	objects    objects
	generation uint64

	unknown *route.HealthView // until the engine has a view

	mu    sync.Mutex // guards the cached view
	views viewCache
}

// viewCache is the last view and what it was made of.
type viewCache struct {
	view    *View
	picture *picture
}

// NewController returns a Controller with an empty table. It starts nothing.
func NewController(cfg ControllerConfig) *Controller {
	if cfg.Doubt == nil {
		cfg.Doubt = func(bool) {}
	}
	c := &Controller{
		cfg:       cfg,
		snapshots: map[string]route.Snapshot{},
		unknown:   &route.HealthView{},
		objects: objects{
			upstreams: cfg.Upstreams,
			prepare:   cfg.Prepare,
			sticky:    cfg.Sticky,
			live:      map[string]*live{},
			open:      map[upstreamKey]*sharedUpstream{},
		},
	}
	p := &picture{table: Build(0, nil)}
	p.describe(cfg.Providers, nil)
	c.table.Store(p.table)
	c.picture.Store(p)
	return c
}

// Run takes snapshots until ctx or the channel ends, and returns nil. A snapshot
// replaces its provider's previous one. Run must be called once. The table and all
// upstreams stay as they are when it returns.
func (c *Controller) Run(ctx context.Context, in <-chan route.Snapshot) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case s, ok := <-in:
			if !ok {
				return nil
			}
			c.take(s)
		}
	}
}

// Table returns the current table, never nil: one atomic load.
func (c *Controller) Table() *Table { return c.table.Load() }

// Swaps returns how many tables have come into force, and how long that took in all,
// from a snapshot's arrival on.
func (c *Controller) Swaps() (count uint64, took time.Duration) {
	return c.swaps.count.Load(), time.Duration(c.swaps.took.Load())
}

// take brings one snapshot into force.
func (c *Controller) take(s route.Snapshot) {
	began := time.Now()
	c.snapshots[s.Provider] = s
	if c.doubtful() {
		c.cfg.Doubt(true)
	} else {
		defer c.cfg.Doubt(false) // when the table is that of what was read
	}
	all := mergeEntrypoints(c.snapshots)
	was := c.picture.Load()
	next := &picture{table: was.table, entrypoints: was.entrypoints}
	next.describe(c.cfg.Providers, c.snapshots)
	if c.unchanged(all) {
		if !next.sameDescription(was) {
			c.picture.Store(next)
			c.changed()
		}
		return
	}
	c.generation++
	list, diff := c.objects.reconcile(c.generation, all)
	entries := make([]Entry, len(list))
	sets := make([]route.PlacementSet, len(list))
	for i, l := range list {
		entries[i] = l.entry
		sets[i] = route.PlacementSet{Entrypoint: l.entry.Entrypoint, Cell: l.entry.Cell, Placements: l.placements}
	}
	next.table = Build(c.generation, entries)
	next.entrypoints = list
	c.cfg.Health.Apply(c.generation, sets)
	c.table.Store(next.table)
	c.picture.Store(next)
	c.objects.retire(c.generation)
	for _, l := range diff.removed {
		l.entry.Cell.Line.Wake() // nobody publishes a rotation for it any more
	}
	c.swaps.count.Add(1)
	c.swaps.took.Add(int64(time.Since(began)))
	c.log(was.table, next.table, diff)
	c.changed()
}

func (c *Controller) changed() {
	if c.cfg.Changed != nil {
		c.cfg.Changed()
	}
}

// doubtful reports whether a source is back that has not been read yet.
func (c *Controller) doubtful() bool {
	for _, s := range c.snapshots {
		if s.Status.Returning {
			return true
		}
	}
	return false
}

// unchanged reports whether the entrypoints are those of the current table. The
// first snapshot of a synced provider is a change even without entrypoints: the
// health engine learns from it that there is nothing to wait for.
func (c *Controller) unchanged(all []merged) bool {
	if len(all) != len(c.objects.live) || c.generation == 0 && c.synced() {
		return false
	}
	for i := range all {
		l := c.objects.live[all[i].entrypoint.ID]
		if l == nil || !l.same(&all[i]) {
			return false
		}
	}
	return true
}

func (c *Controller) synced() bool {
	for _, s := range c.snapshots {
		if p := s.Status.Phase; p != route.PhasePending && p != route.PhaseFailed {
			return true
		}
	}
	return false
}

// View returns the current picture of everything. It is made when it is asked for
// and kept while nothing changes; its generation never goes back.
func (c *Controller) View() *View {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, health := c.consistent()
	last := &c.views
	if last.view != nil && last.picture == p && last.view.Health == health {
		return last.view
	}
	var generation uint64
	if last.view != nil {
		generation = last.view.Generation
	}
	if v := last.view; v == nil || last.picture != p || v.Health.Rev != health.Rev || v.Health.Sets != health.Sets {
		generation++
	}
	last.view, last.picture = p.view(generation, health, c.notices()), p
	return last.view
}

func (c *Controller) notices() []route.Diagnostic {
	if c.cfg.Notices == nil {
		return nil
	}
	return c.cfg.Notices()
}

// consistent reads a picture and the health of its placements. The two are
// published one after the other, so it reads again while they differ; it gives up
// rather than wait for an engine that is busy, and takes what is there.
func (c *Controller) consistent() (*picture, *route.HealthView) {
	const attempts = 100
	for i := 0; ; i++ {
		p, health := c.picture.Load(), c.cfg.Health.View()
		if health == nil {
			health = c.unknown
		}
		if health.Sets == p.table.generation || i == attempts {
			return p, health
		}
		runtime.Gosched()
	}
}
