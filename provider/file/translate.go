package file

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// labelPrefix is the prefix of the labels that an entry is judged by. It is in no
// text: wording puts the keys of the file in its place.
const labelPrefix = "file"

// translation is an entry as labels, and where in the file each label came from.
type translation struct {
	prefix string // "file.http.api."
	base   string // "entrypoints[0]"
	labels map[string]string
	places map[string]string // label -> key in the file
}

// put says that a label has the value of a key, relative to the entry.
func (t *translation) put(label, key, value string) {
	t.labels[t.prefix+label] = value
	t.places[t.prefix+label] = t.base + "." + key
}

// maybe is put for a value that may be missing.
func maybe[T int | string | textOrNumber | number](t *translation, label, key string, value *T) {
	if value == nil {
		return
	}
	switch v := any(*value).(type) {
	case int:
		t.put(label, key, strconv.Itoa(v))
	case string:
		t.put(label, key, v)
	case textOrNumber:
		t.put(label, key, string(v))
	case number:
		t.put(label, key, string(v))
	}
}

// flag is put for a boolean that is on; off is the default of all of them.
func (t *translation) flag(label, key string, on bool) {
	if on {
		t.put(label, key, "true")
	}
}

// joined is put for a list that is not empty.
func (t *translation) joined(label, key string, values []string) {
	if len(values) > 0 {
		t.put(label, key, strings.Join(values, ","))
	}
}

// translate puts an entry's settings into labels. Conditions on headers and query
// are not among them: their values may hold what separates entries in a label.
func translate(base, service string, protocol string, s *settings) *translation {
	t := &translation{
		prefix: labelPrefix + "." + protocol + "." + service + ".", base: base,
		labels: map[string]string{labelPrefix + ".enable": "true"}, places: map[string]string{},
	}
	t.known()
	if s == nil {
		s = &settings{}
	}
	if s.Priority == nil {
		s.Priority = new(int) // names the service even when nothing else does
	}
	t.matching(s)
	t.serving(s)
	t.protecting(s)
	if s.HealthCheck != nil {
		t.checking(s.HealthCheck)
	}
	return t
}

func (t *translation) matching(s *settings) {
	t.joined("host", "config.hostnames", s.Hostnames)
	if s.Path != nil {
		t.put(pathLabel(s.Path.RuleType), "config.path", s.Path.Value)
	}
	t.joined("methods", "config.methods", s.Methods)
	t.joined("matchClientIP", "config.match_client_ip", s.MatchClientIP)
	maybe(t, "priority", "config.priority", s.Priority)
	maybe(t, "entrypoint", "config.entrypoint", s.Entrypoint)
}

// pathLabel is the label for a rule type, "" for one that is not known.
func pathLabel(ruleType string) string {
	switch strings.ToLower(ruleType) {
	case "prefix":
		return "path"
	case "exact":
		return "pathExact"
	case "regex":
		return "pathRegex"
	}
	return ""
}

func (t *translation) serving(s *settings) {
	t.flag("tls", "config.tls", s.TLS)
	t.flag("stripPrefix", "config.strip_prefix", s.StripPrefix)
	maybe(t, "addPrefix", "config.add_prefix", s.AddPrefix)
	t.flag("httpsRedirect", "config.https_redirect", s.HTTPSRedirect)
	maybe(t, "httpsRedirectPort", "config.https_redirect_port", s.HTTPSRedirectPort)
	maybe(t, "redirect", "config.redirect", s.Redirect)
	maybe(t, "redirectScheme", "config.redirect_scheme", s.RedirectScheme)
	maybe(t, "redirectTemplate", "config.redirect_template", s.RedirectTemplate)
	for i, h := range s.Headers {
		if label := headerLabel(h); label != "" {
			t.put(label, "config.headers["+strconv.Itoa(i)+"]", h.Value)
		}
	}
	maybe(t, "backendTimeout", "config.backend_timeout", s.BackendTimeout)
	maybe(t, "loadBalancer", "config.load_balancer", s.LoadBalancer)
	t.flag("stickySession", "config.sticky_session", s.StickySession)
	if s.Retry != nil {
		maybe(t, "retry.attempts", "config.retry.attempts", s.Retry.Attempts)
	}
	if b := s.CircuitBreaker; b != nil {
		maybe(t, "circuitBreaker.threshold", "config.circuit_breaker.threshold", b.Threshold)
		maybe(t, "circuitBreaker.minRequests", "config.circuit_breaker.min_requests", b.MinRequests)
		maybe(t, "circuitBreaker.cooldown", "config.circuit_breaker.cooldown_secs", b.CooldownSecs)
	}
	t.flag("compress", "config.compress", s.Compress)
	for _, status := range slices.Sorted(maps.Keys(s.ErrorPages)) {
		t.put("errorPages."+status, "config.error_pages."+shown(status), s.ErrorPages[status])
	}
	maybe(t, "panic", "config.panic", s.Panic)
	maybe(t, "drain.timeout", "config.drain_timeout_ms", s.DrainTimeoutMS)
	maybe(t, "holdFor", "config.hold_for_ms", s.HoldForMS)
}

// headerLabel is the label of a header rule. It is "" when there is none: an unknown
// direction, no name, or a name that would be taken for a direction.
func headerLabel(h header) string {
	name, direction := strings.TrimSpace(h.Name), "request"
	if h.Direction != nil {
		direction = strings.ToLower(*h.Direction)
	}
	if name == "" || strings.Contains(name, ".") {
		return ""
	}
	switch direction {
	case "request":
		return "headers." + name
	case "response", "both":
		return "headers." + direction + "." + name
	}
	return ""
}

// protecting translates what restricts access. A key that is there but empty is a
// label with an empty value, which closes the route.
func (t *translation) protecting(s *settings) {
	if s.Auth != nil {
		users := make([]string, len(s.Auth.Basic))
		for i, u := range s.Auth.Basic {
			users[i] = u.Username + ":" + u.PasswordHash
		}
		t.put("auth.basic", "config.auth.basic", strings.Join(users, ","))
	}
	maybe(t, "wwwAuthenticate", "config.www_authenticate", s.WWWAuthenticate)
	if f := s.ForwardAuth; f != nil {
		t.put("forwardAuth.address", "config.forward_auth.address", f.Address)
		t.joined("forwardAuth.responseHeaders", "config.forward_auth.response_headers", f.ResponseHeaders)
		t.flag("forwardAuth.trustForwardHeader", "config.forward_auth.trust_forward_header", f.TrustForwardHeader)
	}
	if r := s.RateLimit; r != nil {
		maybe(t, "ratelimit.average", "config.rate_limit.average", r.Average)
		maybe(t, "ratelimit.burst", "config.rate_limit.burst", r.Burst)
	}
	maybe(t, "inFlightReq", "config.in_flight_req", s.InFlightReq)
	t.joined("ipAllowList", "config.ip_allow_list", s.IPAllowList)
}

func (t *translation) checking(h *healthCheck) {
	if h.Enabled != nil {
		t.put("healthCheck", "config.health_check.enabled", strconv.FormatBool(*h.Enabled))
	}
	maybe(t, "healthCheck.path", "config.health_check.path", h.Path)
	maybe(t, "healthCheck.status", "config.health_check.status", h.Status)
	maybe(t, "healthCheck.timeout", "config.health_check.timeout_ms", h.TimeoutMS)
	maybe(t, "healthCheck.interval", "config.health_check.interval_ms", h.IntervalMS)
	maybe(t, "healthCheck.port", "config.health_check.port", h.Port)
	maybe(t, "healthCheck.unhealthyThreshold", "config.health_check.unhealthy_threshold", h.UnhealthyThreshold)
	maybe(t, "healthCheck.healthyThreshold", "config.health_check.healthy_threshold", h.HealthyThreshold)
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		t.put("healthCheck.headers."+name, "config.health_check.headers."+shown(name), h.Headers[name])
	}
	maybe(t, "healthCheck.host", "config.health_check.host", h.Host)
	maybe(t, "healthCheck.initial", "config.health_check.initial", h.Initial)
	maybe(t, "healthCheck.initialDelay", "config.health_check.initial_delay_ms", h.InitialDelayMS)
}

// withBackend returns the labels of the entry together with those of one backend.
func (t *translation) withBackend(index int, b *backend) *translation {
	out := &translation{prefix: t.prefix, base: t.base, labels: maps.Clone(t.labels), places: maps.Clone(t.places)}
	key := "backends[" + strconv.Itoa(index) + "]."
	maybe(out, "weight", key+"weight", b.Weight)
	maybe(out, "scheme", key+"scheme", b.Scheme)
	maybe(out, "dialTimeout", key+"dial_timeout_ms", b.DialTimeoutMS)
	if b.TLS != nil {
		maybe(out, "backendTLS.serverName", key+"tls.server_name", b.TLS.ServerName)
		out.flag("backendTLS.insecureSkipVerify", key+"tls.insecure_skip_verify", b.TLS.InsecureSkipVerify)
		maybe(out, "backendTLS.ca", key+"tls.ca", b.TLS.CA)
	}
	return out
}

// known notes the keys that diagnostics may name though the entry does not have them.
func (t *translation) known() {
	for label, key := range map[string]string{
		"host": "config.hostnames", "path": "config.path", "matchQuery": "config.match_query", "tls": "config.tls",
		"healthCheck.path": "config.health_check.path", "healthCheck.interval": "config.health_check.interval_ms",
		"ratelimit.average": "config.rate_limit.average", "forwardAuth.address": "config.forward_auth.address",
		"entrypoint": "config.entrypoint", "scheme": "backends[].scheme", "port": "backends[].port",
		"backendTLS.ca": "backends[].tls.ca", "addPrefix": "config.add_prefix",
	} {
		t.places[t.prefix+label] = t.base + "." + key
	}
}

// shown is a key that the user chose, safe to be printed.
func shown(key string) string {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || len(key) > 60 {
		return quoted(key)
	}
	return key
}
