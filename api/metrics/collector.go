package metrics

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// Config says where the numbers come from. Viewer is required; what is nil has no
// series.
type Config struct {
	Viewer   router.Viewer
	Unrouted *route.Traffic                            // requests without a route
	Probing  func() Probing                            // the health engine as a whole
	Swaps    func() (count uint64, took time.Duration) // of tables
	Access   func() (lines, dropped uint64)            // of the access log
	Webhook  func() Notices                            // of the webhook
	Version  string
	Revision string
}

// Probing are the counters of the health engine.
type Probing struct {
	Finished, Late, Local uint64
	Running, Waiting      int
	Results               map[route.Kind]uint64                   // "" are successes
	Took                  map[route.ProbeType]route.TrafficCounts // durations
}

// Notices are the counters of the webhook.
type Notices struct {
	Sent, Failed, Dropped, Retries uint64
	Waiting                        int
}

// Collector reads the router at each scrape. It is safe for concurrent use.
type Collector struct {
	cfg   Config
	descs [numFamilies]*prometheus.Desc
	kinds [numFamilies]kind
}

// New returns a collector.
func New(cfg Config) *Collector {
	c := &Collector{cfg: cfg}
	for i, f := range table() {
		c.descs[i] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
		c.kinds[i] = kindOf(f.Type)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	e := emitter{c: c, out: out}
	v := c.cfg.Viewer.View()
	c.router(e)
	c.providers(e, v, time.Now())
	c.diagnostics(e, v)
	states := map[route.EntrypointState]int{
		route.EntrypointOK: 0, route.EntrypointPartial: 0, route.EntrypointPanic: 0,
		route.EntrypointDown: 0, route.EntrypointPending: 0, route.EntrypointUnchecked: 0,
	}
	for i := range v.Entrypoints {
		entry := &v.Entrypoints[i]
		state, _, _ := api.VerdictOf(entry)
		states[state]++
		c.entrypoint(e, v, entry, state)
	}
	for state, n := range states {
		e.put(entrypoints, float64(n), pairs{pair("state", string(state))})
	}
}

// router emits what is about the router itself.
func (c *Collector) router(e emitter) {
	e.put(buildInfo, 1, pairs{pair("goversion", runtime.Version()), pair("revision", c.cfg.Revision), pair("version", c.cfg.Version)})
	if t := c.cfg.Unrouted; t != nil {
		counts := t.Counts()
		e.classes(unroutedRequests, &counts.Classes, nil)
	}
	if c.cfg.Probing != nil {
		c.probing(e, c.cfg.Probing())
	}
	if c.cfg.Swaps != nil {
		n, took := c.cfg.Swaps()
		e.put(tableSwaps, float64(n), nil)
		e.out <- &summary{desc: c.descs[tableBuild], count: n, sum: took.Seconds()}
	}
	if c.cfg.Access != nil {
		lines, dropped := c.cfg.Access()
		e.put(accessLines, float64(lines), nil)
		e.put(accessDropped, float64(dropped), nil)
	}
	if c.cfg.Webhook != nil {
		n := c.cfg.Webhook()
		e.put(webhookSent, float64(n.Sent), nil)
		e.put(webhookFailed, float64(n.Failed), nil)
		e.put(webhookDropped, float64(n.Dropped), nil)
		e.put(webhookRetries, float64(n.Retries), nil)
		e.put(webhookWaiting, float64(n.Waiting), nil)
	}
}

func (c *Collector) providers(e emitter, v *router.View, now time.Time) {
	for i := range v.Providers {
		p := &v.Providers[i]
		if !p.Enabled {
			continue
		}
		name := pairs{pair("provider", p.Name)}
		e.put(providerConnected, bit(p.Connected), name)
		e.put(providerCandidates, float64(p.Candidates), name)
		e.put(providerRejected, float64(p.Rejected), name)
		if !p.LastSync.IsZero() {
			e.put(providerSync, float64(p.LastSync.UnixMilli())/1000, name)
			e.put(providerAge, max(now.Sub(p.LastSync), 0).Seconds(), name)
		}
	}
}

func (c *Collector) diagnostics(e emitter, v *router.View) {
	found := map[route.Severity]int{route.SeverityError: 0, route.SeverityWarn: 0, route.SeverityInfo: 0}
	count := func(list []route.Diagnostic) {
		for i := range list {
			found[list[i].Severity]++
		}
	}
	all := api.DiagnosticsOf(v)
	count(all.Global)
	for i := range all.Items {
		count(all.Items[i].Diagnostics)
	}
	for i := range all.Entrypoints {
		count(all.Entrypoints[i].Diagnostics)
	}
	for severity, n := range found {
		e.put(diagnostics, float64(n), pairs{pair("severity", string(severity))})
	}
}

func (c *Collector) entrypoint(e emitter, v *router.View, entry *router.EntrypointView, state route.EntrypointState) {
	id := entry.Entrypoint.ID
	name := pairs{pair("entrypoint", id)}
	h := &entry.Health
	e.put(entrypointState, 1, name.with("state", string(state)))
	e.put(entrypointPanic, bit(state == route.EntrypointPanic), name)
	e.put(entrypointBackends, float64(len(h.Backends)), name)
	e.put(entrypointRotation, float64(h.InRotation), name)
	counted := entry.Entrypoint.Protocol == route.HTTP
	if counted && entry.Traffic != nil {
		c.traffic(e, entry.Traffic, name)
		if r := v.Table.Route(id); r != nil {
			e.put(entrypointInFlight, float64(max(r.Cell.InFlight.Load(), 0)), name)
			e.put(entrypointWaiting, float64(max(r.Cell.Held.Load(), 0)), name)
			c.line(e, &r.Cell.Line, name)
		}
	}
	if b := h.Breaker; b != nil {
		e.put(entrypointBreaker, 1, name.with("state", string(b.State)))
		e.put(entrypointOpens, float64(b.Opens), name)
	}
	for i := range h.Backends {
		c.backend(e, &h.Backends[i], name, counted)
	}
}

func (c *Collector) traffic(e emitter, t *route.Traffic, name pairs) {
	counts := t.Counts()
	e.classes(entrypointRequests, &counts.Classes, name)
	e.put(entrypointHeld, float64(counts.Held), name)
	e.put(entrypointRetries, float64(counts.Retries), name)
	e.put(entrypointCut, float64(counts.Cut), name)
	if counts.Requests() > 0 {
		e.out <- &histogram{desc: c.descs[entrypointDuration], labels: name, counts: counts}
	}
}

func (c *Collector) backend(e emitter, h *route.BackendHealth, entry pairs, counted bool) {
	b := &h.Backend
	name := pairs{pair("backend", b.ID), entry[0]}
	container := ""
	if b.Container != nil {
		container = b.Container.Name
	}
	e.put(backendInfo, 1, pairs{pair("address", b.Address()), name[0], pair("container", container), entry[0]})
	e.put(backendState, 1, name.with("state", string(h.State)))
	e.put(backendInRotation, bit(h.InRotation && !api.Full(h)), name)
	if h.Healthy != nil {
		e.put(backendUp, bit(*h.Healthy), name)
	}
	e.put(backendProbes, float64(h.Counters.Probes), name)
	e.put(backendProbeFailures, float64(h.Counters.Failures), name)
	e.put(backendTransitions, float64(h.Counters.Transitions), name)
	c.layers(e, h, name)
	if h.Load == nil || !counted {
		return
	}
	counts := h.Load.Traffic.Counts()
	e.classes(backendRequests, &counts.Classes, name)
	e.put(backendInFlight, float64(max(h.Load.InFlight.Load(), 0)), name)
	e.put(backendTunnels, float64(max(h.Load.Tunnels.Load(), 0)), name)
	e.put(backendRetries, float64(counts.Retries), name)
	e.put(backendCut, float64(counts.Cut), name)
	e.put(backendAbandoned, float64(counts.Abandoned), name)
}

func bit(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
