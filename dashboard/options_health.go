package dashboard

import (
	"fmt"
	"strconv"
	"time"

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
		r.add("Sticky sessions", "by a cookie", "sticky", "sticky.cookie")
	}
	if b := firstBackend(e); b.MaxConnections > 0 {
		r.add("Requests at once", fmt.Sprintf("%d for each backend; %d more wait up to %s", b.MaxConnections, o.Queue.Size, duration(o.Queue.Timeout)), "maxconnections", "maxconnections.queue")
	}
	if b := firstBackend(e); b.SlowStart > 0 {
		r.add("Slow start", fmt.Sprintf("from %d %% of its weight, in %s", b.SlowStartMin, duration(b.SlowStart)), "slowstart", "slowstart.min")
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

func firstBackend(e *route.Entrypoint) *route.Backend {
	if len(e.Backends) == 0 {
		return &route.Backend{}
	}
	return &e.Backends[0]
}

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
