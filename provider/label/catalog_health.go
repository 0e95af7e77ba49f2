package label

import (
	"slices"
	"time"
)

const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

func healthKeys() []Key {
	return slices.Concat(probeKeys(), paceKeys())
}

// probeKeys say what is asked, and which answers pass.
func probeKeys() []Key {
	return []Key{
		key("healthCheck", boolean(), "true", "W021", "probe the backends"),
		key("healthCheck.type", choice("tcp", "http", "tls", "grpc", "websocket"), "", "W021", "kind of probe; http with a path, else tcp"),
		key("healthCheck.path", text(maxPath).accepting("a path such as /health"), "", "W021", "probe by HTTP GET of this path; by TCP connect without it (type http and websocket: / without it)").hideQuery(),
		key("healthCheck.port", integer(1, 65535), "", "W021", "port that is probed; the backend's by default").of(LevelBackend),
		key("healthCheck.scheme", choice("http", "https"), "", "W021", "scheme of the probe; the backend's by default; with type grpc http is h2c"),
		key("healthCheck.host", text(255).accepting("a name or IP address, with a port if need be"), "", "W021", "Host header of the probe; the backend's address by default"),
		key("healthCheck.sni", nameOrAddress(), "", "W021", "name in the probe's TLS handshake, which the certificate must hold; derived from host, backendTLS.serverName or the backend's address by default"),
		key("healthCheck.method", choice("GET", "HEAD", "OPTIONS"), "GET", "W021", "method of the probe"),
		key("healthCheck.headers.<Name>", text(maxHeaderValue), "", "W021", "header of the probe").secret(),
		key("healthCheck.status", statusList(), "2xx,3xx", "W021", "statuses that pass"),
		key("healthCheck.followRedirects", boolean(), "false", "W021", "follow up to 3 redirects to the same host and port"),
		key("healthCheck.body.contains", nonEmpty(text(maxText)), "", "W021", "text that the first 64 KiB of the answer must hold"),
		key("healthCheck.body.regex", regex(), "", "W021", "RE2 expression that must match somewhere in the first 64 KiB of the answer"),
		key("healthCheck.grpcService", grpcService(), "", "W021", "service that a gRPC probe asks for; the server as a whole by default"),
		key("healthCheck.insecureSkipVerify", boolean(), "false", "W021", "accept any certificate in the probe; as traffic does by default"),
	}
}

// paceKeys say when probes are sent, and how answers count.
func paceKeys() []Key {
	ms := time.Millisecond
	return []Key{
		key("healthCheck.interval", span(ms, minInterval, maxInterval), "10s", "W021", "time between probes").likelyFrom(200 * ms),
		key("healthCheck.fastInterval", span(ms, 0, maxInterval), "off", "W021", "time between probes while a change is being confirmed; at most the interval").likelyFrom(100 * ms),
		key("healthCheck.downInterval", span(ms, minInterval, maxInterval), "", "W021", "time between probes while down; the interval by default").likelyFrom(200 * ms),
		key("healthCheck.timeout", span(ms, 10*ms, 5*time.Minute), "5s", "W021", "whole probe; never above the interval unless set").likelyFrom(100 * ms),
		key("healthCheck.jitter", integer(0, 50), "10", "W021", "percent that is added to the interval at random"),
		key("healthCheck.unhealthyThreshold", integer(1, 100), "1", "W021", "failed probes in a row that take a backend down"),
		key("healthCheck.healthyThreshold", integer(1, 100), "1", "W021", "passed probes in a row that bring it back"),
		key("healthCheck.initial", choice("auto", "up", "down"), "auto", "W021", "what a backend counts as before its first verdict"),
		key("healthCheck.initialDelay", span(ms, 0, 10*time.Minute), "10s", "W021", "time after the container's start in which failures do not count").likelyFrom(time.Second),
	}
}

func resilienceKeys() []Key {
	return slices.Concat(emptinessKeys(), retryKeys(), passiveKeys())
}

// emptinessKeys say what becomes of requests that no backend can take, and of
// connections.
func emptinessKeys() []Key {
	ms := time.Millisecond
	return []Key{
		key("panic", choice("all", "last", "off"), "all", "W129", "what serves when no backend is verified"),
		key("panicThreshold", integer(0, 100), "0", "W129", "percent of verified backends below which panic begins"),
		key("noBackendStatus", integer(400, 599), "503", "W129", "status when nothing may serve"),
		key("drain.timeout", span(ms, 0, time.Hour), "30s", "W129", "time that requests and tunnels of a leaving backend may still take").likelyFrom(time.Second),
		key("onDown", choice("idle", "close", "keep"), "idle", "W129", "connections of a backend that went down that are closed: idle ones, tunnels too, or none"),
		key("holdFor", span(ms, 0, 10*time.Minute), "10s", "W129", "how long a request waits for a backend that is being replaced; 0 does not wait").likelyFrom(250 * ms),
		key("maxConnections.queue", integer(0, 1<<20), "100", "W129", "requests that wait while every backend is full"),
		key("maxConnections.queueTimeout", span(ms, 0, time.Hour), "1s", "W129", "how long they wait").likelyFrom(50 * ms),
	}
}

func retryKeys() []Key {
	ms := time.Millisecond
	return []Key{
		key("retry.attempts", integer(1, 20), "2", "W023", "tries in all"),
		key("retry.on", retryFailures(), "connect", "W023", "what is tried again; connect: nothing was sent"),
		key("retry.methods", retryMethods(), "idempotent", "W023", "methods that are tried again after something was sent"),
		key("retry.tryDuration", span(ms, 0, time.Hour), "off", "W023", "time for all tries, in which there may be more than attempts").likelyFrom(100 * ms),
		key("retry.tryInterval", span(ms, 0, time.Minute), "250ms", "W023", "pause before a backend is tried again").likelyFrom(10 * ms),
		key("circuitBreaker.threshold", ratio(), "off", "W024", "share of failures that opens the breaker"),
		key("circuitBreaker.minRequests", integer(1, 1<<20), "20", "W024", "requests that the share is taken over"),
		key("circuitBreaker.cooldown", span(time.Second, time.Second, time.Hour), "10s", "W024", "how long it stays open").likelyTo(15 * time.Minute),
	}
}

func passiveKeys() []Key {
	ms := time.Millisecond
	return []Key{
		key("passive.failures", integer(1, 1000), "off", "W128", "failed requests in a row that eject a backend"),
		key("passive.window", span(ms, ms, time.Hour), "off", "W128", "time in which they count instead of in a row").likelyFrom(time.Second),
		key("passive.panic", boolean(), "true", "W128", "serve all when ejection took all; false answers 503"),
		key("passive.status", passiveStatus(), "502,503,504", "W128", "statuses that count as failures; transport failures always do"),
		key("passive.latency", span(ms, ms, time.Hour), "off", "W128", "time to the first byte that counts as a failure").likelyFrom(10 * ms),
		key("passive.ejectionTime", span(ms, time.Second, time.Hour), "30s", "W128", "length of the first ejection; grows by as much with each further one"),
		key("passive.maxEjectionTime", span(ms, time.Second, time.Hour), "5m", "W128", "longest ejection"),
		key("passive.maxEjectionPercent", integer(1, 100), "50", "W128", "share of the backends that may be ejected"),
		key("passive.recovery", choice("auto", "time", "probe", "trial"), "auto", "W128", "how an ejected backend comes back"),
		key("passive.trials", integer(1, 10), "1", "W128", "trials that must pass"),
		key("passive.feedsActive", boolean(), "false", "W128", "failures count as failed probes too"),
	}
}
