package file

import "strings"

// places are the keys of the file that stand for labels, relative to an entry. Those of
// one backend are relative to it.
var (
	places = map[string]string{ //nolint:gosec // names of keys, no credentials
		"host": "config.hostnames", "path": "config.path", "pathExact": "config.path", "pathRegex": "config.path",
		"methods": "config.methods", "matchHeaders": "config.match_headers", "matchQuery": "config.match_query",
		"matchClientIP": "config.match_client_ip", "priority": "config.priority", "entrypoint": "config.entrypoint",

		"tls": "config.tls", "stripPrefix": "config.strip_prefix", "addPrefix": "config.add_prefix",
		"httpsRedirect": "config.https_redirect", "httpsRedirectPort": "config.https_redirect_port",
		"redirect": "config.redirect", "redirectScheme": "config.redirect_scheme", "redirectTemplate": "config.redirect_template",
		"backendTimeout": "config.backend_timeout", "loadBalancer": "config.load_balancer", "compress": "config.compress",

		"auth.basic": "config.auth.basic", "wwwAuthenticate": "config.www_authenticate",
		"forwardAuth.address":            "config.forward_auth.address",
		"forwardAuth.responseHeaders":    "config.forward_auth.response_headers",
		"forwardAuth.trustForwardHeader": "config.forward_auth.trust_forward_header",
		"ratelimit.average":              "config.rate_limit.average", "ratelimit.burst": "config.rate_limit.burst",
		"inFlightReq": "config.in_flight_req", "ipAllowList": "config.ip_allow_list",

		"stickySession": "config.sticky_session", "stickySession.cookie": "config.sticky_cookie.name",
		"stickySession.secure": "config.sticky_cookie.secure", "stickySession.sameSite": "config.sticky_cookie.same_site",
		"stickySession.maxAge": "config.sticky_cookie.max_age_secs",

		"panic": "config.panic", "panicThreshold": "config.panic_threshold", "noBackendStatus": "config.no_backend_status",
		"drain.timeout": "config.drain_timeout_ms", "onDown": "config.on_down", "holdFor": "config.hold_for_ms",
		"maxConnections.queue": "config.queue.size", "maxConnections.queueTimeout": "config.queue.timeout_ms",

		"retry.attempts": "config.retry.attempts", "retry.on": "config.retry.on", "retry.methods": "config.retry.methods",
		"retry.tryDuration": "config.retry.try_duration_ms", "retry.tryInterval": "config.retry.try_interval_ms",
		"circuitBreaker.threshold":   "config.circuit_breaker.threshold",
		"circuitBreaker.minRequests": "config.circuit_breaker.min_requests",
		"circuitBreaker.cooldown":    "config.circuit_breaker.cooldown_secs",

		"passive.failures": "config.passive.failures", "passive.window": "config.passive.window_ms",
		"passive.panic": "config.passive.panic", "passive.status": "config.passive.status",
		"passive.latency": "config.passive.latency_ms", "passive.ejectionTime": "config.passive.ejection_time_ms",
		"passive.maxEjectionTime":    "config.passive.max_ejection_time_ms",
		"passive.maxEjectionPercent": "config.passive.max_ejection_percent",
		"passive.recovery":           "config.passive.recovery", "passive.trials": "config.passive.trials",
		"passive.feedsActive": "config.passive.feeds_active",

		"healthCheck": "config.health_check.enabled", "healthCheck.type": "config.health_check.type",
		"healthCheck.path": "config.health_check.path", "healthCheck.port": "config.health_check.port",
		"healthCheck.scheme": "config.health_check.scheme", "healthCheck.host": "config.health_check.host",
		"healthCheck.sni": "config.health_check.sni", "healthCheck.method": "config.health_check.method",
		"healthCheck.status":             "config.health_check.status",
		"healthCheck.followRedirects":    "config.health_check.follow_redirects",
		"healthCheck.body.contains":      "config.health_check.body.contains",
		"healthCheck.body.regex":         "config.health_check.body.regex",
		"healthCheck.grpcService":        "config.health_check.grpc_service",
		"healthCheck.insecureSkipVerify": "config.health_check.insecure_skip_verify",
		"healthCheck.interval":           "config.health_check.interval_ms",
		"healthCheck.fastInterval":       "config.health_check.fast_interval_ms",
		"healthCheck.downInterval":       "config.health_check.down_interval_ms",
		"healthCheck.timeout":            "config.health_check.timeout_ms",
		"healthCheck.jitter":             "config.health_check.jitter_percent",
		"healthCheck.unhealthyThreshold": "config.health_check.unhealthy_threshold",
		"healthCheck.healthyThreshold":   "config.health_check.healthy_threshold",
		"healthCheck.initial":            "config.health_check.initial",
		"healthCheck.initialDelay":       "config.health_check.initial_delay_ms",
	}
	backendPlaces = map[string]string{
		"port": "port", "weight": "weight", "scheme": "scheme", "dialTimeout": "dial_timeout_ms",
		"maxConnections": "max_connections", "slowStart": "slow_start_ms", "slowStart.min": "slow_start_min_percent",
		"backendTLS.serverName": "tls.server_name", "backendTLS.insecureSkipVerify": "tls.insecure_skip_verify",
		"backendTLS.ca": "tls.ca", "backendTLS.clientCert": "tls.client_cert",
	}
)

// bareWords are the names of labels that stand in sentences without a prefix and are no
// words of English, each followed by what the file calls it.
func bareWords() []string {
	var pairs []string
	for _, label := range longestFirst(places, backendPlaces) {
		key, ok := places[label]
		if !ok {
			key = backendPlaces[label]
		}
		if strings.ToLower(label) != label || strings.Contains(label, ".") {
			pairs = append(pairs, label, strings.TrimPrefix(key, "config."))
		}
	}
	return pairs
}
