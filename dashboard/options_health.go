package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// rotates adds the options that decide who serves, those that are on.
func rotates(r *rows, e *route.Entrypoint) {
	o := &e.Options
	if o.PanicThreshold > 0 {
		r.add("Panic threshold", "all serve when fewer than "+strconv.Itoa(o.PanicThreshold)+" % are verified", "panicthreshold")
	}
	if o.NoBackendStatus != route.DefaultNoBackendStatus && o.NoBackendStatus != 0 {
		r.add("When nothing serves", "status "+strconv.Itoa(o.NoBackendStatus), "nobackendstatus")
	}
	if o.OnDown != route.OnDownIdle {
		r.add("When one fails", "onDown="+string(o.OnDown), "ondown")
	}
	if o.Sticky.On {
		r.add("Sticky sessions", "by a cookie", "stickysession")
	}
	if most := ofBackends(e, func(b *route.Backend) string {
		if b.MaxConnections == 0 {
			return ""
		}
		return strconv.Itoa(b.MaxConnections) + " for each backend"
	}); most != "" {
		r.own("Requests at once", most)
		r.add("Beyond those", fmt.Sprintf("%d wait up to %s", o.Queue.Size, duration(o.Queue.Timeout)), "maxconnections.queue", "maxconnections.queuetimeout")
	}
	if start := ofBackends(e, func(b *route.Backend) string {
		if b.SlowStart == 0 {
			return ""
		}
		return fmt.Sprintf("from %d %% of its weight, in %s", b.SlowStartMin, duration(b.SlowStart))
	}); start != "" {
		r.own("Slow start", start)
	}
}

// ofBackends is what the first backend that has a setting says of it, and whether others
// differ; "" when none has it.
func ofBackends(e *route.Entrypoint, say func(b *route.Backend) string) string {
	first, differ := "", false
	for i := range e.Backends {
		text := say(&e.Backends[i])
		if first == "" {
			first, differ = text, differ || text != "" && i > 0
			continue
		}
		differ = differ || text != first
	}
	if first != "" && differ {
		return first + "; not all backends alike"
	}
	return first
}

// retries adds what is tried again, where anything is.
func retries(r *rows, c *api.Retry) {
	if c == nil {
		return
	}
	r.add("Tries in all", strconv.Itoa(c.Attempts), "retry.attempts")
	if c.Attempts < 2 && c.TryDurationMS == 0 {
		return
	}
	on := strings.Join(c.On, ", ")
	if on == "" {
		on = "nothing"
	}
	r.add("Tries again on", on, "retry.on")
	methods := strings.Join(c.Methods, ", ")
	if methods == "" {
		methods = "idempotent ones; any when nothing was sent"
	}
	r.add("Methods tried again", methods, "retry.methods")
	if c.TryDurationMS > 0 {
		r.add("Tries for", "up to "+durationText(c.TryDurationMS), "retry.tryduration")
		r.add("Pause between tries", durationText(c.TryIntervalMS), "retry.tryinterval")
	}
}

// judges are the rules by which traffic ejects backends or opens the breaker, nil
// without any.
func judges(e *route.Entrypoint, o origins) []optionRow {
	r := rows{origins: o}
	if b := &e.Options.Breaker; b.On() {
		r.add("Circuit breaker", fmt.Sprintf("opens when %s of %d requests fail, for %s", shareText(b.Threshold), b.MinRequests, duration(b.Cooldown)), "circuitbreaker.threshold", "circuitbreaker")
	}
	p := &e.Options.Passive
	if !p.On() {
		return r.list
	}
	after := countOf(p.Failures, "failure") + " in a row"
	if p.Window > 0 {
		after = countOf(p.Failures, "failure") + " within " + duration(p.Window)
	}
	r.add("Ejects after", after, "passive.failures", "passive.window")
	r.add("Failures are", "broken connections, status "+p.Status.String(), "passive.status")
	if p.Latency > 0 {
		r.add("And answers slower than", duration(p.Latency), "passive.latency")
	}
	r.add("Ejected for", duration(p.EjectionTime)+", then longer, up to "+duration(p.MaxEjectionTime), "passive.ejectiontime", "passive.maxejectiontime")
	r.add("Ejected at most", strconv.Itoa(p.MaxEjectionPercent)+" % of the backends", "passive.maxejectionpercent")
	r.add("Comes back", returnText(p.Recovery, p.Trials), "passive.recovery", "passive.trials")
	if !p.KeepServing {
		r.add("When all are ejected", "nothing serves", "passive.panic")
	}
	return r.list
}

func duration(d time.Duration) string { return durationText(d.Milliseconds()) }

// checkOf is the check of the first backend that has one.
func checkOf(e *route.Entrypoint) *route.Check {
	for i := range e.Backends {
		if c := e.Backends[i].Check; c != nil {
			return c
		}
	}
	c := route.DefaultCheck()
	return &c
}

func probeName(t route.ProbeType) string {
	switch t {
	case route.ProbeHTTP:
		return "HTTP request"
	case route.ProbeTLS:
		return "TLS handshake"
	case route.ProbeGRPC:
		return "gRPC health"
	case route.ProbeWebSocket:
		return "WebSocket upgrade"
	case route.ProbeTCP:
	}
	return "TCP connect"
}
