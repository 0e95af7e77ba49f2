package healthcheck

import (
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// What became of a probe's result, in its line.
const (
	traceOK     = "ok"
	traceFailed = "failed"
	traceLocal  = "local" // the router lacked a resource: no verdict
	traceLate   = "late"  // dropped: the check is gone or has changed
)

// traced is the line of one finished probe. It holds neither header nor query values.
type traced struct {
	check       string
	entrypoints []string
	address     string
	result      string
	probe       *route.ProbeResult
	next        time.Time // zero: none is planned
}

// tracing reports whether every probe gets a line (log.levels: {healthcheck: trace}).
func (e *Engine) tracing() bool {
	return e.cfg.Log.GetLevel() <= zerolog.TraceLevel && zerolog.GlobalLevel() <= zerolog.TraceLevel
}

// trace queues the line of a finished probe, behind those of what it changed.
func (e *Engine) trace(t *task, r *Result, result string, now time.Time) {
	if !e.tracing() {
		return
	}
	c := t.check
	line := &traced{check: c.id, address: c.target.Address(), result: result, probe: r.seen(now, now.Sub(t.started))}
	for _, p := range c.users {
		line.entrypoints = append(line.entrypoints, p.entry.id)
	}
	if c.inFlight == nil && c.wanted() {
		line.next = c.nextAt
	}
	e.notify(notice{probe: line})
}

// write writes the line.
func (l *traced) write(log *zerolog.Logger) {
	line := log.Trace().Str("check", l.check).Strs("entrypoints", l.entrypoints).Str(route.FieldAddress, l.address).
		Str("result", l.result).Str(route.FieldKind, string(l.probe.Kind)).Int("status", l.probe.Status).
		Dur("duration_ms", l.probe.Duration)
	for _, phase := range []struct {
		name string
		took time.Duration
	}{
		{"dns_ms", l.probe.Phases.DNS}, {"connect_ms", l.probe.Phases.Connect}, {"tls_ms", l.probe.Phases.TLS},
		{"first_byte_ms", l.probe.Phases.FirstByte}, {"body_ms", l.probe.Phases.Body},
	} {
		if phase.took >= 0 {
			line.Dur(phase.name, phase.took)
		}
	}
	if !l.next.IsZero() {
		line.Time("next", l.next)
	}
	line.Msg("probe")
}
