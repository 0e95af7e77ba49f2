package healthcheck

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"net"
	"net/netip"
	"strings"
	"time"

	"fairlead/router/route"
)

// checkKey is the identity of a check: placements with an equal one share a probe
// stream. Thresholds and initial are no part of it.
type checkKey struct {
	incarnation string
	content     content
	timing      timing
}

// content is what a probe asks. A change of it makes earlier verdicts stale.
type content struct {
	kind         route.ProbeType
	scheme       route.Scheme
	host         string // dialled
	port         uint16
	loopback     bool
	hostHeader   string
	sni          string
	method, path string
	headers      uint64 // keyed hash: values stay out of the key
	status       route.StatusSet
	follow       bool
	body         [2]string // what it must contain, and match
	grpcService  string
	tls          route.BackendTLS
	tlsName      string
	alpn         string // that a tls probe offers
}

// timing is when a probe runs and how long it may take.
type timing struct {
	interval, fast, down, timeout, delay time.Duration
	jitter                               int
}

// normalized fills in what a hand-made check may lack, so that the engine never
// divides by nothing or waits for ever.
func normalized(c route.Check, b *route.Backend) route.Check {
	d := route.DefaultCheck()
	c.Type = cmp.Or(c.Type, d.Type)
	c.Port = cmp.Or(c.Port, b.Port)
	c.Method = cmp.Or(c.Method, d.Method)
	c.Interval = cmp.Or(max(c.Interval, 0), d.Interval)
	c.DownInterval = cmp.Or(max(c.DownInterval, 0), c.Interval)
	c.Timeout = cmp.Or(max(c.Timeout, 0), min(d.Timeout, c.Interval))
	c.UnhealthyThreshold = max(c.UnhealthyThreshold, 1)
	c.HealthyThreshold = max(c.HealthyThreshold, 1)
	c.Initial = cmp.Or(c.Initial, d.Initial)
	if c.Status == (route.StatusSet{}) {
		c.Status = d.Status
	}
	switch c.Type {
	case route.ProbeHTTP, route.ProbeGRPC, route.ProbeWebSocket:
	default:
		return c
	}
	c.Scheme = probeScheme(cmp.Or(c.Scheme, b.Scheme))
	if c.Type != route.ProbeGRPC {
		c.Path = cmp.Or(c.Path, "/")
	}
	if c.Host == "" {
		c.Host = defaultHost(b.Host, c.Port, c.Scheme)
	}
	return c
}

// probeScheme is the scheme of a probe for that of the traffic: in the clear or by TLS.
// Backends of h2c are asked by HTTP/1.1, unless the probe is gRPC.
func probeScheme(s route.Scheme) route.Scheme {
	if s == route.SchemeHTTPS {
		return route.SchemeHTTPS
	}
	return route.SchemeHTTP
}

// defaultHost is the Host header of an address (RFC 9110, section 7.2).
func defaultHost(host string, port uint16, scheme route.Scheme) string {
	joined := route.JoinHostPort(host, port)
	if port == scheme.DefaultPort() {
		return joined[:strings.LastIndexByte(joined, ':')]
	}
	return joined
}

// keyOf returns the identity of a normalized check on a backend: of a probe's settings
// those that it uses.
func keyOf(seed maphash.Seed, c *route.Check, b *route.Backend) checkKey {
	return checkKey{
		incarnation: b.Incarnation,
		content:     contentOf(seed, c, b),
		timing: timing{
			interval: c.Interval, fast: c.FastInterval, down: c.DownInterval, timeout: c.Timeout,
			delay: c.InitialDelay, jitter: c.Jitter,
		},
	}
}

func contentOf(seed maphash.Seed, c *route.Check, b *route.Backend) content {
	k := content{kind: c.Type, host: b.Host, port: c.Port, loopback: b.Loopback}
	if c.Type == route.ProbeTCP {
		return k
	}
	if c.Type == route.ProbeTLS || c.Scheme == route.SchemeHTTPS {
		k.sni, k.tls, k.tlsName = c.SNI, c.TLS, serverName(c, b)
	}
	if c.Type == route.ProbeTLS {
		k.alpn = strings.Join(trafficALPN(b), ",")
		return k
	}
	k.scheme, k.hostHeader, k.headers = c.Scheme, c.Host, headerHash(seed, c.Headers)
	switch c.Type {
	case route.ProbeGRPC:
		k.grpcService = c.GRPCService
	case route.ProbeWebSocket:
		k.path = c.Path
	default:
		k.path, k.method, k.status = c.Path, c.Method, c.Status
		k.follow, k.body = c.FollowRedirects, [2]string{c.BodyContains, c.BodyRegex}
	}
	return k
}

// headerHash is equal for equal headers, within one process.
func headerHash(seed maphash.Seed, headers []route.CheckHeader) uint64 {
	if len(headers) == 0 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for _, header := range headers {
		for _, part := range [...]string{header.Name, header.Value.Reveal()} {
			// The length keeps parts apart; a hash never fails to take bytes.
			_, _ = fmt.Fprintf(&h, "%d:", len(part))
			_, _ = h.WriteString(part)
		}
	}
	return h.Sum64()
}

// serverName is the name on TLS: sni, a DNS name given as Host, the transport's
// server name, the backend's host.
func serverName(c *route.Check, b *route.Backend) string {
	if c.SNI != "" {
		return c.SNI
	}
	host := c.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	// A Host that only repeats the backend was derived, not given.
	if _, err := netip.ParseAddr(host); err != nil && host != "" && host != b.Host {
		return host
	}
	return cmp.Or(c.TLS.ServerName, b.Host)
}

// publicID names a check in answers: stable over restarts of the router, and
// without anything secret in what it is made of.
func publicID(k *checkKey) string {
	open := k.content
	open.headers, open.path = 0, redactQuery(open.path)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %+v %+v", k.incarnation, open, k.timing))
	return hex.EncodeToString(sum[:6])
}

// redactQuery hides the values of a request target's query.
func redactQuery(path string) string {
	before, query, found := strings.Cut(path, "?")
	if !found {
		return path
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); ok {
			pairs[i] = name + "=" + route.Redacted
		} else if pair != "" {
			pairs[i] = route.Redacted
		}
	}
	return before + "?" + strings.Join(pairs, "&")
}
