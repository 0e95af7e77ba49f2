package api

import (
	"strconv"
	"strings"
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
	Retry             *Retry            `json:"retry"`
	Panic             string            `json:"panic"`
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

// Retry says how often a request is tried in all.
type Retry struct {
	Attempts int `json:"attempts"`
}

// HealthCheck is the check under Sōzune's names.
type HealthCheck struct {
	Path               *string           `json:"path"`
	Status             any               `json:"status"` // a number, or a list such as "2xx,3xx"; null for tcp
	TimeoutMS          int64             `json:"timeout_ms"`
	IntervalMS         int64             `json:"interval_ms"`
	Port               *uint16           `json:"port"` // null: the backend's
	UnhealthyThreshold int               `json:"unhealthy_threshold"`
	HealthyThreshold   int               `json:"healthy_threshold"`
	Headers            map[string]string `json:"headers"`
	Host               *string           `json:"host"` // null: each backend's address
	Initial            string            `json:"initial"`
	InitialDelayMS     int64             `json:"initial_delay_ms"`
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
		LoadBalancer: string(o.LoadBalancer), Retry: &Retry{Attempts: o.RetryAttempts}, Panic: string(o.Panic),
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

// newHealthCheck shows the check that the backends share; ports that differ from
// the backends' stand in backend_health too.
func newHealthCheck(backends []route.Backend) *HealthCheck {
	for i := range backends {
		c := backends[i].Check
		if c == nil {
			continue
		}
		out := &HealthCheck{
			TimeoutMS: millis(c.Timeout), IntervalMS: millis(c.Interval),
			UnhealthyThreshold: c.UnhealthyThreshold, HealthyThreshold: c.HealthyThreshold,
			Headers: map[string]string{}, Initial: string(c.Initial), InitialDelayMS: millis(c.InitialDelay),
		}
		if c.Port != backends[i].Port {
			out.Port = &c.Port
		}
		if c.Type != route.ProbeHTTP {
			return out
		}
		out.Path, out.Status = known(redactQuery(c.Path)), newStatus(c.Status)
		if !derivedHost(&backends[i], c) {
			out.Host = known(c.Host)
		}
		for _, h := range c.Headers {
			out.Headers[h.Name] = route.Redacted
		}
		return out
	}
	return nil
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
