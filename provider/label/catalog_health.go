package label

import "time"

const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

func healthKeys() []Key {
	ms := time.Millisecond
	return []Key{
		key("healthCheck", boolean(), "true", "W021", "probe the backends"),
		key("healthCheck.path", text(maxPath).accepting("a path such as /health"), "", "W021", "probe by HTTP GET of this path; by TCP connect without it").hideQuery(),
		key("healthCheck.port", integer(1, 65535), "", "W021", "port that is probed; the backend's by default").of(LevelBackend),
		key("healthCheck.host", text(255).accepting("a name or IP address, with a port if need be"), "", "W021", "Host header of the probe; the backend's address by default"),
		key("healthCheck.headers.<Name>", text(maxHeaderValue), "", "W021", "header of the probe").secret(),
		key("healthCheck.status", statusList(), "2xx,3xx", "W021", "statuses that pass"),
		key("healthCheck.interval", span(ms, minInterval, maxInterval), "10s", "W021", "time between probes"),
		key("healthCheck.timeout", span(ms, 10*ms, 5*time.Minute), "5s", "W021", "whole probe; never above the interval unless set"),
		key("healthCheck.unhealthyThreshold", integer(1, 100), "1", "W021", "failed probes in a row that take a backend down"),
		key("healthCheck.healthyThreshold", integer(1, 100), "1", "W021", "passed probes in a row that bring it back"),
		key("healthCheck.initial", choice("auto", "up", "down"), "auto", "W021", "what a backend counts as before its first verdict"),
		key("healthCheck.initialDelay", span(ms, 0, 10*time.Minute), "10s", "W021", "time after the container's start in which failures do not count"),
		key("healthCheck.type", choice("tcp", "http", "tls", "grpc", "websocket"), "", "W021", "kind of probe").later(),
		key("healthCheck.scheme", choice("http", "https"), "", "W021", "scheme of the probe; the backend's by default").later(),
		key("healthCheck.sni", text(253).accepting("a DNS name"), "", "W021", "name in the probe's TLS handshake").later(),
		key("healthCheck.method", choice("GET", "HEAD", "OPTIONS"), "GET", "W021", "method of the probe").later(),
		key("healthCheck.followRedirects", boolean(), "false", "W021", "follow redirects to the same host").later(),
		key("healthCheck.body.contains", text(maxText), "", "W021", "text that the answer must hold").later(),
		key("healthCheck.body.regex", regex(), "", "W021", "expression that the answer must match").later(),
		key("healthCheck.grpcService", text(255), "", "W021", "service that a gRPC probe asks for").later(),
		key("healthCheck.fastInterval", span(ms, 0, maxInterval), "", "W021", "time between probes while a change is being confirmed").later(),
		key("healthCheck.downInterval", span(ms, minInterval, maxInterval), "", "W021", "time between probes while down").later(),
		key("healthCheck.jitter", integer(0, 50), "10", "W021", "percent that is added to the interval at random").later(),
		key("healthCheck.insecureSkipVerify", boolean(), "false", "W021", "accept any certificate in the probe").later(),
	}
}

func resilienceKeys() []Key {
	ms := time.Millisecond
	return []Key{
		key("panic", choice("all", "last", "off"), "all", "W129", "what serves when no backend is verified"),
		key("panicThreshold", integer(0, 100), "0", "W129", "percent of verified backends below which panic begins").later(),
		key("noBackendStatus", integer(400, 599), "503", "W129", "status when nothing may serve").later(),
		key("drain.timeout", span(ms, 0, time.Hour), "30s", "W129", "time that requests and tunnels of a leaving backend may still take"),
		key("onDown", choice("idle", "close", "keep"), "idle", "W129", "what happens to connections of a backend that went down").later(),
		key("holdFor", span(ms, 0, 10*time.Minute), "10s", "W129", "how long a request waits for a backend that is being replaced; 0 does not wait"),
		key("retry.attempts", integer(1, 20), "2", "W023", "tries in all"),
		key("retry.on", oneOrMore("connect", "timeout", "502", "503", "504"), "connect", "W023", "what is tried again").later(),
		key("retry.methods", list("HTTP methods, comma separated"), "idempotent", "W023", "methods that are tried again").later(),
		key("retry.tryDuration", span(ms, 0, time.Hour), "", "W023", "time for all tries").later(),
		key("retry.tryInterval", span(ms, 0, time.Minute), "250ms", "W023", "time between tries").later(),
		key("circuitBreaker.threshold", ratio(), "off", "W024", "share of failures that opens the breaker").later(),
		key("circuitBreaker.minRequests", integer(1, 1<<20), "20", "W024", "requests before it may open").later(),
		key("circuitBreaker.cooldown", span(time.Second, time.Second, time.Hour), "10s", "W024", "how long it stays open").later(),
		key("passive.failures", integer(1, 1000), "off", "W128", "failed requests in a row that eject a backend").later(),
		key("passive.window", span(ms, ms, time.Hour), "", "W128", "time in which they count instead").later(),
		key("passive.panic", boolean(), "true", "W128", "serve all when ejection took all").later(),
		key("passive.status", passiveStatus(), "502,503,504", "W128", "statuses that count as failures").later(),
		key("passive.latency", span(ms, ms, time.Hour), "off", "W128", "time to the first byte that counts as a failure").later(),
		key("passive.ejectionTime", span(ms, time.Second, time.Hour), "30s", "W128", "length of the first ejection").later(),
		key("passive.maxEjectionTime", span(ms, time.Second, time.Hour), "5m", "W128", "longest ejection").later(),
		key("passive.maxEjectionPercent", integer(1, 100), "50", "W128", "share of the backends that may be ejected").later(),
		key("passive.recovery", choice("auto", "time", "probe", "trial"), "auto", "W128", "how an ejected backend comes back").later(),
		key("passive.trials", integer(1, 10), "1", "W128", "trials that must pass").later(),
		key("passive.feedsActive", boolean(), "false", "W128", "failures count as failed probes too").later(),
	}
}
