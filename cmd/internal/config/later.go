package config

import "strings"

// later names what the design knows and this version does not have yet, by path, with
// what to do instead.
func later() map[string]string {
	const front = "end TLS in front of the router and list the proxy in proxy.trustedProxies"
	return map[string]string{
		"acme":              front,
		"admin.corsOrigins": "remove it",
		"hosts":             "remove it",
		"providers.http":    "use providers.file",
		"providers.podman":  "point providers.docker.endpoint at Podman's socket",
		"providers.swarm":   "remove it",
		"proxy.https":       front,
		"proxy.tcp":         "remove it",
		"proxy.udp":         "remove it",
		"tracing":           "remove it",
	}
}

// notYet returns what to do about a path that only a later version has.
func notYet(path string) (fix string, known bool) {
	for p, fix := range later() {
		if path == p || strings.HasPrefix(path, p+".") {
			return fix, true
		}
	}
	return "", false
}
