package healthcheck

import (
	"fmt"

	"fairlead/router/route"
)

// logs names where the log of a backend's application is.
func logs(b *route.Backend) string {
	if b.Container == nil {
		return ownLog
	}
	return "its log (docker logs --tail 50 " + b.Container.Name + ")"
}

// hint says what to look at after a request of a client failed. log is where the
// application's log is.
func (f *fault) hint(log string) string {
	switch {
	case f.slow:
		return "the application answers too late (passive.latency): see what it waits for, or raise the limit"
	case f.status >= 500:
		return fmt.Sprintf("the application answers %d to clients: %s says why", f.status, log)
	case f.status != 0:
		return fmt.Sprintf("passive.status counts %d as a failure: correct it if that is an answer that you want", f.status)
	}
	switch f.kind {
	case route.KindConnectionRefused:
		return "nothing listens on the port: is the application up? " + upper(log) + " says more"
	case route.KindTimeout:
		return "the application does not answer in time: is it stuck, or does backendTimeout cut off what takes long?"
	case route.KindTLSFailure:
		return "the TLS handshake with the backend fails: see backendTLS.ca, backendTLS.serverName and its certificate"
	case route.KindConnectionReset, route.KindHTTPError, route.KindProtocolError:
		return "the application ends connections without a whole answer: " + log + " says why"
	default:
		return "look at " + log
	}
}
