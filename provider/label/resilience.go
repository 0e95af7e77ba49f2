package label

import (
	"slices"
	"strings"

	"fairlead/router/route"
)

// resilience reads what becomes of requests when backends fail. It comes after the
// backend's own settings and the check.
func (s *scope) resilience() {
	o := &s.decl.Options
	o.Panic = route.PanicMode(read(s, "panic", values.choice))
	o.PanicThreshold = read(s, "panicThreshold", asInt)
	if e, ok := s.get("panicThreshold"); ok && o.PanicThreshold > 0 && o.Panic != route.PanicAll && e.key.values.problem(e.text) == nil {
		s.add("W129", e.label, show(e.key, e.text), "set "+s.label("panic")+" to all, or remove the label",
			"panic=%s never lets all backends serve: the label has no effect", o.Panic)
	}
	o.NoBackendStatus = read(s, "noBackendStatus", asInt)
	o.OnDown = route.OnDown(read(s, "onDown", values.choice))
	o.DrainTimeout = read(s, "drain.timeout", values.duration)
	o.HoldFor = read(s, "holdFor", values.duration)
	o.Queue = route.Queue{
		Size:    read(s, "maxConnections.queue", asInt),
		Timeout: read(s, "maxConnections.queueTimeout", values.duration),
	}
	s.dependents("maxConnections.", "maxConnections", s.decl.Backend.MaxConnections > 0)
	s.retry(o)
	s.breaker(&o.Breaker)
	s.passive()
	s.sticky(&o.Sticky)
}

func (s *scope) retry(o *route.Options) {
	o.RetryAttempts = read(s, "retry.attempts", asInt)
	o.Retry = route.Retry{
		On:          read(s, "retry.on", asFailures),
		Methods:     read(s, "retry.methods", asRetryMethods),
		TryDuration: read(s, "retry.tryDuration", values.duration),
		TryInterval: read(s, "retry.tryInterval", values.duration),
	}
	dial := s.decl.Backend.DialTimeout
	if e, ok := s.get("retry.tryDuration"); ok && o.Retry.TryDuration > 0 && o.Retry.TryDuration < dial && !s.cfg.unlikely(e) {
		s.advise(e, "set "+e.label+" to "+short(dial)+" or more, or lower "+s.label("dialTimeout"),
			"shorter than dialTimeout (%s): one backend that does not answer uses it up, and no other one is tried", short(dial))
	}
	if o.RetryAttempts > 1 || o.Retry.TryDuration > 0 {
		s.repeatable(&o.Retry)
	} else {
		s.idle("retry.", "retry.attempts", "raise "+s.label("retry.attempts")+", or remove the label",
			"retry.attempts permits one try in all, so nothing is tried again: the label has no effect")
	}
}

// repeatable warns of methods that a second try may carry out twice. What was never sent
// is tried again whatever the method.
func (s *scope) repeatable(r *route.Retry) {
	e, ok := s.get("retry.methods")
	if !ok || r.Methods == "" {
		return
	}
	unsafe := slices.DeleteFunc(strings.Split(r.Methods, ","), route.Idempotent)
	if len(unsafe) > 0 {
		s.advise(e, "leave "+strings.Join(unsafe, ", ")+" out, unless the application recognizes a request that comes again",
			"%s is not idempotent (RFC 9110, section 9.2.2): a backend may carry the same request out twice", orList(unsafe))
	}
}

func (s *scope) breaker(b *route.Breaker) {
	b.Threshold = read(s, "circuitBreaker.threshold", asRatio)
	b.MinRequests = read(s, "circuitBreaker.minRequests", asInt)
	b.Cooldown = read(s, "circuitBreaker.cooldown", values.duration)
	s.dependents("circuitBreaker.", "circuitBreaker.threshold", b.On())
}

func (s *scope) sticky(k *route.Sticky) {
	k.On = read(s, "stickySession", asBool)
	k.Cookie = read(s, "stickySession.cookie", asText)
	k.Secure = read(s, "stickySession.secure", asBool)
	word := read(s, "stickySession.sameSite", values.choice)
	k.SameSite = strings.ToUpper(word[:1]) + word[1:]
	k.MaxAge = read(s, "stickySession.maxAge", values.duration)
	s.dependents("stickySession.", "stickySession", k.On)
	if e, ok := s.get("stickySession.sameSite"); ok && k.On && k.SameSite == "None" && !k.Secure {
		s.advise(e, "add "+s.label("stickySession.secure")+"=true",
			"browsers drop a cookie with SameSite=None that is not Secure: it works for requests by TLS only")
	}
}
