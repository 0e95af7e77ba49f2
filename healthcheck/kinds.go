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
		{route.KindProtocolError, "wrong protocol", "What came back is not what the probe speaks: HTTP/1.x, or HTTP/2 for gRPC."},
		{route.KindBadStatus, "bad status", "The response's status is not among the accepted ones."},
		{route.KindRedirectBlocked, "redirect blocked", "The backend redirects to another host, port or scheme, or too often; such a redirect is not followed."},
		{route.KindBadBody, "bad body", "The first 64 KiB of the body do not hold what healthCheck.body.contains or .regex asks for."},
		{route.KindGRPCNotServing, "gRPC not serving", "The gRPC health service says that the service does not serve: NOT_SERVING, UNKNOWN or SERVICE_UNKNOWN."},
		{route.KindGRPCUnimplemented, "no gRPC health service", "The server speaks gRPC and has no service grpc.health.v1.Health."},
		{route.KindGRPCError, "gRPC error", "The gRPC call failed: another grpc-status than 0, or an end without one."},
		{route.KindWebSocketRefused, "WebSocket refused", "The backend did not open the WebSocket: another status than 101, or an answer to another request."},
		{route.KindHTTPError, "HTTP failure", "The HTTP exchange failed in a way that fits no finer kind."},
		{route.KindOther, "failure", "The probe failed in a way that fits no finer kind."},
		{route.KindLocalError, "local failure", "The router lacked a resource of its own; the verdict is left as it was."},
		{route.KindEjectedFailures, "ejected for failures", "Requests of clients failed as often as passive.failures allows, or a trial did."},
		{route.KindEjectedLatency, "ejected for latency", "Responses took passive.latency or longer as often as passive.failures allows."},
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
