package metrics

import (
	"fairlead/api"
	"fairlead/router/route"
)

// probing emits what is about probes as a whole.
func (c *Collector) probing(e emitter, p Probing) {
	e.put(probesFinished, float64(p.Finished), nil)
	e.put(probesLate, float64(p.Late), nil)
	e.put(probesLocal, float64(p.Local), nil)
	e.put(probesRunning, float64(p.Running), nil)
	e.put(probesWaiting, float64(p.Waiting), nil)
	for kind, n := range p.Results {
		name := string(kind)
		if kind == route.KindNone {
			name = "ok"
		}
		e.put(probeResults, float64(n), pairs{pair("kind", name)})
	}
	for probe, counts := range p.Took {
		e.out <- &histogram{desc: c.descs[probeDuration], labels: pairs{pair("type", string(probe))}, counts: counts}
	}
}

// line emits what is about requests that wait while every backend is full.
func (c *Collector) line(e emitter, l *route.Line, name pairs) {
	waits, turned := l.Counts()
	e.put(entrypointQueue, float64(l.Waiting()), name)
	e.put(entrypointQueued, float64(waits), name)
	e.put(entrypointRejected, float64(turned), name)
}

// layers emits what the layers of health say about a backend. It all comes from the view,
// so that a series goes with its backend, and a late outcome brings none back.
func (c *Collector) layers(e emitter, h *route.BackendHealth, name pairs) {
	e.put(backendLate, float64(h.Counters.LateResults), name)
	if !h.NextCheckAt.IsZero() {
		e.put(backendNextCheck, float64(h.NextCheckAt.UnixMilli())/1000, name)
	}
	if h.Check != nil {
		e.put(backendBound, h.Check.DetectionBound.Seconds(), name)
	}
	admin := h.Admin.State
	if admin == "" {
		admin = route.AdminReady
	}
	e.put(backendAdmin, 1, name.with("state", string(admin)))
	if h.Warmup != nil {
		e.put(backendWarmup, h.Warmup.Percent, name)
	}
	if h.Backend.MaxConnections > 0 {
		e.put(backendFull, bit(api.Full(h)), name)
	}
	p := h.Passive
	if p == nil {
		return
	}
	e.put(backendPassive, 1, name.with("state", string(p.State)))
	e.put(backendPassiveFailures, float64(p.Failures), name)
	e.put(backendEjections, float64(p.Ejections), name)
	e.put(backendTrials, float64(p.Trials), name)
	if p.BlockedBy != "" {
		e.put(backendBlocked, 1, name.with("reason", p.BlockedBy))
	}
}
