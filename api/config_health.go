package api

import (
	"strconv"
	"strings"

	"fairlead/router/route"
)

// HealthCheck is the check under Sōzune's names. What a kind of probe has no use for is
// null, or as it is by default.
type HealthCheck struct {
	Path               *string           `json:"path"`
	Status             any               `json:"status"` // a number, or a list such as "2xx,3xx"; null unless http
	TimeoutMS          int64             `json:"timeout_ms"`
	IntervalMS         int64             `json:"interval_ms"`
	Port               *uint16           `json:"port"` // null: the backend's
	UnhealthyThreshold int               `json:"unhealthy_threshold"`
	HealthyThreshold   int               `json:"healthy_threshold"`
	Headers            map[string]string `json:"headers"` // values are "***"
	Host               *string           `json:"host"`    // null: each backend's address
	Initial            string            `json:"initial"`
	InitialDelayMS     int64             `json:"initial_delay_ms"`
	Type               string            `json:"type"`   // tcp, http, tls, grpc, websocket
	Scheme             *string           `json:"scheme"` // http, https; null for tcp and tls
	SNI                *string           `json:"sni"`    // null: derived
	Method             *string           `json:"method"` // null unless http
	FollowRedirects    bool              `json:"follow_redirects"`
	Body               *BodyMatch        `json:"body"` // null when any body will do
	GRPCService        *string           `json:"grpc_service"`
	InsecureSkipVerify bool              `json:"insecure_skip_verify"`
	FastIntervalMS     int64             `json:"fast_interval_ms"` // 0: off
	DownIntervalMS     int64             `json:"down_interval_ms"`
	JitterPercent      int               `json:"jitter_percent"`
}

// BodyMatch is what the answer to a probe must hold; what is set must be found.
type BodyMatch struct {
	Contains *string `json:"contains"`
	Regex    *string `json:"regex"`
}

// Retry says what is tried again, and how often in all.
type Retry struct {
	Attempts      int      `json:"attempts"`
	On            []string `json:"on"`              // connect, timeout, 502, 503, 504
	Methods       []string `json:"methods"`         // empty: the idempotent ones
	TryDurationMS int64    `json:"try_duration_ms"` // 0: no bound
	TryIntervalMS int64    `json:"try_interval_ms"`
}

// CircuitBreaker is that of an entrypoint.
type CircuitBreaker struct {
	Threshold    float64 `json:"threshold"`
	MinRequests  int     `json:"min_requests"`
	CooldownSecs int64   `json:"cooldown_secs"` // rounded up
	CooldownMS   int64   `json:"cooldown_ms"`
}

// PassiveCheck is how real traffic judges the backends.
type PassiveCheck struct {
	Failures           int     `json:"failures"`
	WindowMS           int64   `json:"window_ms"`  // 0: in a row
	Panic              bool    `json:"panic"`      // false: 503 when ejection took them all
	Status             *string `json:"status"`     // null: none
	LatencyMS          int64   `json:"latency_ms"` // 0: off
	EjectionTimeMS     int64   `json:"ejection_time_ms"`
	MaxEjectionTimeMS  int64   `json:"max_ejection_time_ms"`
	MaxEjectionPercent int     `json:"max_ejection_percent"`
	Recovery           string  `json:"recovery"` // auto, time, probe, trial
	Trials             int     `json:"trials"`
	FeedsActive        bool    `json:"feeds_active"`
}

// Queue is where requests wait while every backend is full (max_connections).
type Queue struct {
	Size      int   `json:"size"`
	TimeoutMS int64 `json:"timeout_ms"`
}

// StickyCookie is the cookie of sticky sessions.
type StickyCookie struct {
	Name       *string `json:"name"`   // null: fl_ and 8 hexadecimal digits of the entrypoint's id
	Secure     bool    `json:"secure"` // false: when the request came by TLS
	SameSite   string  `json:"same_site"`
	MaxAgeSecs int64   `json:"max_age_secs"` // 0: ends with the browser
}

func newRetry(o *route.Options) *Retry {
	out := &Retry{
		Attempts: o.RetryAttempts, On: []string{}, Methods: []string{},
		TryDurationMS: millis(o.Retry.TryDuration), TryIntervalMS: millis(o.Retry.TryInterval),
	}
	for _, f := range []struct {
		bit  route.RetryOn
		word string
	}{
		{route.RetryConnect, "connect"}, {route.RetryTimeout, "timeout"},
		{route.Retry502, "502"}, {route.Retry503, "503"}, {route.Retry504, "504"},
	} {
		if o.Retry.On&f.bit != 0 {
			out.On = append(out.On, f.word)
		}
	}
	if o.Retry.Methods != "" {
		out.Methods = strings.Split(o.Retry.Methods, ",")
	}
	return out
}

func newCircuitBreaker(b *route.Breaker) *CircuitBreaker {
	if !b.On() {
		return nil
	}
	return &CircuitBreaker{
		Threshold: b.Threshold, MinRequests: b.MinRequests,
		CooldownSecs: (millis(b.Cooldown) + 999) / 1000, CooldownMS: millis(b.Cooldown),
	}
}

func newPassiveCheck(p *route.Passive) *PassiveCheck {
	if !p.On() {
		return nil
	}
	return &PassiveCheck{
		Failures: p.Failures, WindowMS: millis(p.Window), Panic: p.KeepServing, Status: known(p.Status.String()),
		LatencyMS: millis(p.Latency), EjectionTimeMS: millis(p.EjectionTime), MaxEjectionTimeMS: millis(p.MaxEjectionTime),
		MaxEjectionPercent: p.MaxEjectionPercent, Recovery: string(p.Recovery), Trials: p.Trials, FeedsActive: p.FeedsActive,
	}
}

func newStickyCookie(s *route.Sticky) *StickyCookie {
	if !s.On {
		return nil
	}
	return &StickyCookie{Name: known(s.Cookie), Secure: s.Secure, SameSite: s.SameSite, MaxAgeSecs: millis(s.MaxAge) / 1000}
}

// newHealthCheck shows the check that the backends share; ports that differ from
// the backends' stand in backend_health too.
func newHealthCheck(backends []route.Backend) *HealthCheck {
	for i := range backends {
		if c := backends[i].Check; c != nil {
			return healthCheckOf(&backends[i], c)
		}
	}
	return nil
}

func healthCheckOf(b *route.Backend, c *route.Check) *HealthCheck {
	out := &HealthCheck{
		TimeoutMS: millis(c.Timeout), IntervalMS: millis(c.Interval),
		FastIntervalMS: millis(c.FastInterval), DownIntervalMS: millis(orElse(c.DownInterval, c.Interval)), JitterPercent: c.Jitter,
		UnhealthyThreshold: c.UnhealthyThreshold, HealthyThreshold: c.HealthyThreshold,
		Headers: map[string]string{}, Initial: string(c.Initial), InitialDelayMS: millis(c.InitialDelay),
		Type: string(c.Type), Path: known(redactQuery(c.Path)), Scheme: known(c.Scheme), SNI: known(c.SNI),
		FollowRedirects: c.FollowRedirects, GRPCService: known(c.GRPCService), InsecureSkipVerify: c.TLS.InsecureSkipVerify,
	}
	if c.Port != b.Port {
		out.Port = &c.Port
	}
	if c.Type != route.ProbeTCP && !derivedHost(b, c) {
		out.Host = known(c.Host)
	}
	for _, h := range c.Headers {
		out.Headers[h.Name] = route.Redacted
	}
	if c.Type != route.ProbeHTTP {
		return out
	}
	out.Status, out.Method = newStatus(c.Status), known(c.Method)
	if c.BodyContains != "" || c.BodyRegex != "" {
		out.Body = &BodyMatch{Contains: known(c.BodyContains), Regex: known(c.BodyRegex)}
	}
	return out
}

// derivedHost reports whether a check's Host is nothing but the backend's address.
func derivedHost(b *route.Backend, c *route.Check) bool {
	address := route.JoinHostPort(b.Host, c.Port)
	port := ":" + strconv.Itoa(int(c.Scheme.DefaultPort()))
	return c.Host == address || c.Host == strings.TrimSuffix(address, port) && strings.HasSuffix(address, port)
}

// newStatus is a number where one status passes alone, as in Sōzune.
func newStatus(s route.StatusSet) any {
	if n, err := strconv.Atoi(s.String()); err == nil {
		return n
	}
	return s.String()
}
