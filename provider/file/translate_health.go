package file

import (
	"maps"
	"slices"
	"strconv"
)

// failing translates what becomes of requests when backends fail.
func (t *translation) failing(s *settings) {
	maybe(t, "panic", s.Panic)
	maybe(t, "panicThreshold", s.PanicThreshold)
	maybe(t, "noBackendStatus", s.NoBackendStatus)
	maybe(t, "drain.timeout", s.DrainTimeoutMS)
	maybe(t, "onDown", s.OnDown)
	maybe(t, "holdFor", s.HoldForMS)
	if q := s.Queue; q != nil {
		maybe(t, "maxConnections.queue", q.Size)
		maybe(t, "maxConnections.queueTimeout", q.TimeoutMS)
	}
	if r := s.Retry; r != nil {
		maybe(t, "retry.attempts", r.Attempts)
		joined(t, "retry.on", r.On)
		joined(t, "retry.methods", r.Methods)
		maybe(t, "retry.tryDuration", r.TryDurationMS)
		maybe(t, "retry.tryInterval", r.TryIntervalMS)
	}
	if b := s.CircuitBreaker; b != nil {
		maybe(t, "circuitBreaker.threshold", b.Threshold)
		maybe(t, "circuitBreaker.minRequests", b.MinRequests)
		maybe(t, "circuitBreaker.cooldown", b.CooldownSecs)
	}
	if s.Passive != nil {
		t.judging(s.Passive)
	}
	t.flag("stickySession", s.StickySession)
	if c := s.StickyCookie; c != nil {
		maybe(t, "stickySession.cookie", c.Name)
		t.flag("stickySession.secure", c.Secure)
		maybe(t, "stickySession.sameSite", c.SameSite)
		maybe(t, "stickySession.maxAge", c.MaxAgeSecs)
	}
}

func (t *translation) judging(p *passive) {
	maybe(t, "passive.failures", p.Failures)
	maybe(t, "passive.window", p.WindowMS)
	maybe(t, "passive.panic", p.Panic)
	maybe(t, "passive.status", p.Status)
	maybe(t, "passive.latency", p.LatencyMS)
	maybe(t, "passive.ejectionTime", p.EjectionTimeMS)
	maybe(t, "passive.maxEjectionTime", p.MaxEjectionTimeMS)
	maybe(t, "passive.maxEjectionPercent", p.MaxEjectionPercent)
	maybe(t, "passive.recovery", p.Recovery)
	maybe(t, "passive.trials", p.Trials)
	t.flag("passive.feedsActive", p.FeedsActive)
}

func (t *translation) checking(h *healthCheck) {
	maybe(t, "healthCheck", h.Enabled)
	maybe(t, "healthCheck.type", h.Type)
	maybe(t, "healthCheck.path", h.Path)
	maybe(t, "healthCheck.port", h.Port)
	maybe(t, "healthCheck.scheme", h.Scheme)
	maybe(t, "healthCheck.host", h.Host)
	maybe(t, "healthCheck.sni", h.SNI)
	maybe(t, "healthCheck.method", h.Method)
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		t.put("healthCheck.headers."+name, "config.health_check.headers."+shown(name), h.Headers[name])
	}
	maybe(t, "healthCheck.status", h.Status)
	t.flag("healthCheck.followRedirects", h.FollowRedirects)
	if b := h.Body; b != nil {
		maybe(t, "healthCheck.body.contains", b.Contains)
		maybe(t, "healthCheck.body.regex", b.Regex)
	}
	maybe(t, "healthCheck.grpcService", h.GRPCService)
	maybe(t, "healthCheck.insecureSkipVerify", h.InsecureSkipVerify)
	maybe(t, "healthCheck.interval", h.IntervalMS)
	maybe(t, "healthCheck.fastInterval", h.FastIntervalMS)
	maybe(t, "healthCheck.downInterval", h.DownIntervalMS)
	maybe(t, "healthCheck.timeout", h.TimeoutMS)
	maybe(t, "healthCheck.jitter", h.JitterPercent)
	maybe(t, "healthCheck.unhealthyThreshold", h.UnhealthyThreshold)
	maybe(t, "healthCheck.healthyThreshold", h.HealthyThreshold)
	maybe(t, "healthCheck.initial", h.Initial)
	maybe(t, "healthCheck.initialDelay", h.InitialDelayMS)
}

// withBackend returns the labels of the entry together with those of one backend.
func (t *translation) withBackend(index int, b *backend) *translation {
	out := &translation{
		prefix: t.prefix, base: t.base, backend: "backends[" + strconv.Itoa(index) + "].",
		labels: maps.Clone(t.labels), places: maps.Clone(t.places),
	}
	maybe(out, "weight", b.Weight)
	maybe(out, "scheme", b.Scheme)
	maybe(out, "dialTimeout", b.DialTimeoutMS)
	maybe(out, "maxConnections", b.MaxConnections)
	maybe(out, "slowStart", b.SlowStartMS)
	maybe(out, "slowStart.min", b.SlowStartMinPercent)
	if b.TLS != nil {
		maybe(out, "backendTLS.serverName", b.TLS.ServerName)
		out.flag("backendTLS.insecureSkipVerify", b.TLS.InsecureSkipVerify)
		maybe(out, "backendTLS.ca", b.TLS.CA)
		maybe(out, "backendTLS.clientCert", b.TLS.ClientCert)
	}
	return out
}
