package healthcheck

import "fairlead/router/route"

// KindText says what a kind of failure means, for documents and for `explain`.
type KindText struct {
	Kind    route.Kind
	Title   string // a few words, as part of a sentence
	Meaning string // a full sentence
}

// Kinds lists every kind that this version produces, in the order of a probe's
// phases.
func Kinds() []KindText {
	return []KindText{
		{route.KindConfigError, "configuration error", "The probe cannot be made as configured; it is never sent."},
		{route.KindProbeBlocked, "target blocked", "The address is one that is never dialled: link-local, metadata, unspecified, multicast, or loopback."},
		{route.KindDNSFailure, "name not resolved", "The backend's name has no address."},
		{route.KindConnectionRefused, "connection refused", "The host answers, but nothing listens on the port."},
		{route.KindNoRouteToHost, "no route to host", "The address does not answer on its network: the container is probably gone."},
		{route.KindHostUnreachable, "host unreachable", "The system says that the host is down."},
		{route.KindNetworkUnreachable, "network unreachable", "The router has no route to the backend's network."},
		{route.KindTimeout, "timeout", "The probe had no result within healthCheck.timeout."},
		{route.KindTLSFailure, "TLS failure", "The TLS handshake failed, or the certificate was not accepted."},
		{route.KindConnectionReset, "connection reset", "The backend ended the connection abruptly."},
		{route.KindProtocolError, "not HTTP", "What came back is not an HTTP/1.x response."},
		{route.KindBadStatus, "bad status", "The response's status is not among the accepted ones."},
		{route.KindHTTPError, "HTTP failure", "The HTTP exchange failed in a way that fits no finer kind."},
		{route.KindOther, "failure", "The probe failed in a way that fits no finer kind."},
		{route.KindLocalError, "local failure", "The router lacked a resource of its own; the verdict is left as it was."},
		{route.KindDockerUnhealthy, "Docker unhealthy", "Docker's HEALTHCHECK of the container fails."},
		{route.KindDockerStarting, "Docker starting", "Docker's HEALTHCHECK of the container has no verdict yet."},
		{route.KindLeaving, "leaving", "The container is stopping."},
	}
}

// title is a kind in a few words.
func title(kind route.Kind) string {
	for _, k := range Kinds() {
		if k.Kind == kind {
			return k.Title
		}
	}
	return string(kind)
}
