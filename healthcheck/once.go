package healthcheck

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"time"

	"fairlead/router/route"
)

// Once makes one probe without an engine and says all that it saw. Of the configuration
// it uses what concerns probers: Dial, Resolve, AllowLoopback, AllowLinkLocal, CAs,
// ClientCerts, Version and Log. What the check lacks is filled in as the engine does.
// The result counts nowhere. It returns within the check's timeout, or soon after ctx
// ends; the result is then of no use.
func Once(ctx context.Context, cfg Config, b route.Backend, c route.Check) route.ProbeReport {
	cfg = cfg.withDefaults()
	c = normalized(c, &b)
	key := keyOf(maphash.MakeSeed(), &c, &b)
	spec := newSpec(&c, &b)
	spec.Detailed = true
	target := Target{Host: b.Host, Port: c.Port, Loopback: b.Loopback}
	begin := time.Now()
	r := cfg.once(ctx, target, &spec, begin)
	return report(&r, &spec, target, b.Port, route.CheckView{ID: publicID(&key), Incarnation: b.Incarnation}, begin)
}

// once runs a prober of its own under the check's deadline.
func (c *Config) once(ctx context.Context, target Target, spec *Spec, begin time.Time) (r Result) {
	defer func() {
		if v := recover(); v != nil {
			c.Log.Error().Str("panic", fmt.Sprintf("%T", v)).Bytes("stack", debug.Stack()).Msg("a prober panicked; please report this bug")
			r = misconfigured("the prober failed (a bug; the log has the stack)", clueNone)
		}
	}()
	p := newProbers(c)[spec.Check.Type]
	if p == nil {
		return misconfigured(fmt.Sprintf("probes of type %q are not in this version", spec.Check.Type), clueNone)
	}
	ctx, cancel := context.WithDeadlineCause(ctx, begin.Add(spec.Check.Timeout), errProbeDeadline)
	defer cancel()
	r = p.Probe(ctx, target, spec)
	return r.timed(time.Since(begin), spec.Check.Timeout, context.Cause(ctx))
}

// report tells a result of a detailed probe, with the advice that it gives by itself.
func report(r *Result, spec *Spec, target Target, trafficPort uint16, view route.CheckView, begin time.Time) route.ProbeReport {
	now := time.Now()
	view.Check, view.Target = spec.Check, target.Address()
	view.Check.Path = redactQuery(view.Check.Path)
	out := route.ProbeReport{Address: target.Address(), Check: view, Result: *r.seen(now, now.Sub(begin))}
	if r.Exchange != nil {
		out.Exchange = *r.Exchange
	}
	if !r.OK {
		out.Hint = advice(&complaint{kind: r.Kind, clue: r.clue, status: r.Status, check: &spec.Check, trafficPort: trafficPort})
		if mayWantTLS(r, &spec.Check) {
			out.Hint = also("the port may speak TLS, which some servers answer plain text on by closing: probe it by https, wss, grpcs or tls, and set scheme=https if that passes", out.Hint)
		}
	}
	return out
}

// mayWantTLS reports whether a probe in the clear was hung up on without a word, as some
// TLS servers do.
func mayWantTLS(r *Result, c *route.Check) bool {
	switch c.Type {
	case route.ProbeHTTP, route.ProbeGRPC, route.ProbeWebSocket:
	default:
		return false
	}
	silent := r.Kind == route.KindHTTPError || r.Kind == route.KindConnectionReset
	return silent && c.Scheme != route.SchemeHTTPS && r.Status == 0 && r.clue == clueNone && r.Phases.Connect >= 0
}

// Question is what a check asks of an address, for people: "GET http://10.0.0.5/health".
// It holds no value of a query.
func Question(c *route.Check, address string) string { return question(c, address) }
