package api

import (
	"time"

	"fairlead/router/route"
)

// EntrypointConfig is an entrypoint's configuration under Sōzune's names: what is in force,
// defaults included. Values that may be secret are "***".
type EntrypointConfig struct {
	Hostnames    []string    `json:"hostnames"`
	Path         *Path       `json:"path"`
	Methods      []string    `json:"methods"` // empty: any
	Priority     int         `json:"priority"`
	MatchHeaders []Condition `json:"match_headers"`
	MatchQuery   []Condition `json:"match_query"`
	// MatchClientIP is empty when any client will do, unless MatchClientNobody.
	MatchClientIP     []string          `json:"match_client_ip"`
	MatchClientNobody bool              `json:"match_client_nobody,omitempty"`
	TLS               bool              `json:"tls"`
	StripPrefix       bool              `json:"strip_prefix"`
	AddPrefix         *string           `json:"add_prefix"`
	HTTPSRedirect     bool              `json:"https_redirect"`
	Headers           []HeaderRule      `json:"headers"`
	BackendTimeout    *int64            `json:"backend_timeout"` // seconds, rounded up; 0 is none
	BackendTimeoutMS  int64             `json:"backend_timeout_ms"`
	HealthCheck       *HealthCheck      `json:"health_check"` // null when nothing is probed
	LoadBalancer      string            `json:"load_balancer"`
	StickySession     bool              `json:"sticky_session"`
	StickyCookie      *StickyCookie     `json:"sticky_cookie"` // null without sticky_session
	Retry             *Retry            `json:"retry"`
	CircuitBreaker    *CircuitBreaker   `json:"circuit_breaker"` // null when off
	Passive           *PassiveCheck     `json:"passive"`         // null when off
	Queue             Queue             `json:"queue"`
	Panic             string            `json:"panic"`
	PanicThreshold    int               `json:"panic_threshold"` // percent
	NoBackendStatus   int               `json:"no_backend_status"`
	OnDown            string            `json:"on_down"` // idle, close, keep
	DrainTimeoutMS    int64             `json:"drain_timeout_ms"`
	HoldForMS         int64             `json:"hold_for_ms"`
	Compress          bool              `json:"compress"`
	ErrorPages        map[string]string `json:"error_pages"`
}

// Path is a path rule.
type Path struct {
	RuleType string `json:"rule_type"` // Prefix, Exact, Regex
	Value    string `json:"value"`
}

// Condition is a header or a query parameter that a request must have. Value is
// null when presence is enough, else "***".
type Condition struct {
	Key   string  `json:"key"`
	Value *string `json:"value,omitempty"`
}

// HeaderRule is a header that is set or, with an empty value, deleted.
type HeaderRule struct {
	Name      string `json:"name"`
	Value     string `json:"value"`     // "***", or "" for a deletion
	Direction string `json:"direction"` // request, response, both
}

func newConfig(e *route.Entrypoint) EntrypointConfig {
	m, o := &e.Match, &e.Options
	seconds := int64((o.BackendTimeout + time.Second - 1) / time.Second)
	out := EntrypointConfig{
		Hostnames: make([]string, len(m.Hosts)), Path: newPath(m.Path), Methods: list(m.Methods), Priority: m.Priority,
		MatchHeaders: newConditions(m.Headers), MatchQuery: newConditions(m.Query),
		MatchClientIP: make([]string, len(m.ClientIPs)), MatchClientNobody: m.ClientNobody,
		StripPrefix: o.StripPrefix, AddPrefix: known(o.AddPrefix), Headers: make([]HeaderRule, len(o.Headers)),
		BackendTimeout: &seconds, BackendTimeoutMS: millis(o.BackendTimeout), HealthCheck: newHealthCheck(e.Backends),
		LoadBalancer: string(o.LoadBalancer), StickySession: o.Sticky.On, StickyCookie: newStickyCookie(&o.Sticky),
		Retry: newRetry(o), CircuitBreaker: newCircuitBreaker(&o.Breaker), Passive: newPassiveCheck(&o.Passive),
		Queue: Queue{Size: o.Queue.Size, TimeoutMS: millis(o.Queue.Timeout)}, Panic: string(o.Panic),
		PanicThreshold: o.PanicThreshold, NoBackendStatus: o.NoBackendStatus, OnDown: string(o.OnDown),
		DrainTimeoutMS: millis(o.DrainTimeout), HoldForMS: millis(o.HoldFor), ErrorPages: map[string]string{},
	}
	for i := range m.Hosts {
		out.Hostnames[i] = m.Hosts[i].String()
	}
	for i := range m.ClientIPs {
		out.MatchClientIP[i] = m.ClientIPs[i].String()
	}
	for i := range o.Headers {
		h := &o.Headers[i]
		out.Headers[i] = HeaderRule{Name: h.Name, Direction: string(h.Direction)}
		if h.Value != "" {
			out.Headers[i].Value = route.Redacted
		}
	}
	return out
}

func newPath(p route.PathRule) *Path {
	if p.Value == "" {
		return nil
	}
	return &Path{RuleType: p.Kind.String(), Value: p.Value}
}

func newConditions(in []route.KeyValue) []Condition {
	out := make([]Condition, len(in))
	for i := range in {
		out[i] = Condition{Key: in[i].Key}
		if !in[i].Bare {
			value := route.Redacted
			out[i].Value = &value
		}
	}
	return out
}
