package route

// Reason says why a request was not served as asked: one vocabulary for
// Proxy-Status, the access log, metrics and /resolve (http.md, "Reasons").
type Reason string

// The reasons.
const (
	ReasonNone            Reason = ""
	ReasonNoRoute         Reason = "no_route"
	ReasonNoBackends      Reason = "no_backends"
	ReasonRetained        Reason = "retained"
	ReasonLeaving         Reason = "leaving"
	ReasonInitializing    Reason = "initializing"
	ReasonAllUnhealthy    Reason = "all_unhealthy"
	ReasonAllDraining     Reason = "all_draining"
	ReasonAllMaintenance  Reason = "all_maintenance"
	ReasonDockerUnhealthy Reason = "docker_unhealthy"
	ReasonCircuitOpen     Reason = "circuit_open"
	ReasonOverloaded      Reason = "overloaded"
	ReasonQueueFull       Reason = "queue_full"
	ReasonMisconfigured   Reason = "misconfigured_protection"
	ReasonConnectRefused  Reason = "connect_refused"
	ReasonConnectFailed   Reason = "connect_failed"
	ReasonConnectTimeout  Reason = "connect_timeout"
	ReasonTLSFailed       Reason = "tls_failed"
	ReasonBackendTimeout  Reason = "backend_timeout"
	ReasonBackendClosed   Reason = "backend_closed"
	ReasonBadResponse     Reason = "bad_response"
	ReasonResponseTooLong Reason = "response_too_large"
	ReasonBadRequest      Reason = "bad_request"
	ReasonHeadersTooLarge Reason = "headers_too_large"
	ReasonBodyTooLarge    Reason = "body_too_large"
	ReasonClientTimeout   Reason = "client_timeout"
	ReasonDenied          Reason = "denied"
	ReasonAuthRequired    Reason = "auth_required"
	ReasonRateLimited     Reason = "rate_limited"
	ReasonTooManyInFlight Reason = "too_many_in_flight"
	ReasonClientGone      Reason = "client_gone"
)

// ReasonInfo is what a reason means on the wire.
type ReasonInfo struct {
	// Error is the RFC 9209 section 2.3 proxy error type, "" for none.
	Error string
	// Status is the HTTP status that the client gets.
	Status int
	// Heals is set when waiting helps: the answer carries Retry-After.
	Heals bool
}

// Info returns what the reason means on the wire; unknown reasons are a 502.
func (r Reason) Info() ReasonInfo {
	switch r {
	case ReasonNone:
		return ReasonInfo{}
	case ReasonNoRoute:
		return ReasonInfo{"destination_not_found", 404, false}
	case ReasonNoBackends, ReasonRetained, ReasonLeaving, ReasonInitializing, ReasonAllUnhealthy,
		ReasonAllDraining, ReasonAllMaintenance, ReasonDockerUnhealthy, ReasonCircuitOpen,
		ReasonOverloaded, ReasonQueueFull:
		return ReasonInfo{"destination_unavailable", 503, true}
	case ReasonMisconfigured:
		return ReasonInfo{"proxy_configuration_error", 503, false}
	case ReasonConnectRefused, ReasonConnectFailed:
		return ReasonInfo{"connection_refused", 502, false}
	case ReasonConnectTimeout:
		return ReasonInfo{"connection_timeout", 504, false}
	case ReasonTLSFailed:
		return ReasonInfo{"tls_protocol_error", 502, false}
	case ReasonBackendTimeout:
		return ReasonInfo{"http_response_timeout", 504, false}
	case ReasonBackendClosed:
		return ReasonInfo{"connection_terminated", 502, false}
	case ReasonBadResponse, ReasonResponseTooLong:
		return ReasonInfo{"http_protocol_error", 502, false}
	default:
		return r.clientInfo()
	}
}

// clientInfo covers the reasons that lie with the client or with our own rules.
func (r Reason) clientInfo() ReasonInfo {
	switch r {
	case ReasonBadRequest:
		return ReasonInfo{"http_request_error", 400, false}
	case ReasonHeadersTooLarge:
		return ReasonInfo{"http_request_error", 431, false}
	case ReasonBodyTooLarge:
		return ReasonInfo{"http_request_error", 413, false}
	case ReasonClientTimeout:
		return ReasonInfo{"http_request_error", 408, false}
	case ReasonDenied:
		return ReasonInfo{"http_request_denied", 403, false}
	case ReasonAuthRequired:
		return ReasonInfo{"http_request_denied", 401, false}
	case ReasonRateLimited:
		return ReasonInfo{"http_request_denied", 429, true}
	case ReasonTooManyInFlight:
		return ReasonInfo{"http_request_denied", 503, true}
	case ReasonClientGone:
		return ReasonInfo{"", 499, false}
	default:
		return ReasonInfo{"proxy_internal_error", 502, false}
	}
}

// Empties reports whether the reason means that no backend may serve: the answer then
// has the status that the entrypoint's noBackendStatus says.
func (r Reason) Empties() bool {
	switch r {
	case ReasonNoBackends, ReasonRetained, ReasonLeaving, ReasonInitializing, ReasonAllUnhealthy,
		ReasonAllDraining, ReasonAllMaintenance, ReasonDockerUnhealthy:
		return true
	default:
		return false
	}
}

// Outage reports whether an entrypoint that is down for the reason is worth waking
// somebody. Those of the ordinary moments of a deploy are not: the old container stops,
// the new one is made and starts, and requests wait meanwhile. Nor is an open circuit,
// which its breaker tells itself.
func (r Reason) Outage() bool {
	switch r {
	case ReasonAllUnhealthy, ReasonAllDraining, ReasonAllMaintenance, ReasonDockerUnhealthy, ReasonMisconfigured:
		return true
	default:
		return false
	}
}

// StatusFor is the HTTP status that clients of the entrypoint get for a reason.
func (o *Options) StatusFor(r Reason) int {
	if r.Empties() && o.NoBackendStatus != 0 {
		return o.NoBackendStatus
	}
	return r.Info().Status
}
