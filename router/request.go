package router

import "net/netip"

// Request is what matching reads of a request. The data plane's Exchange
// implements it without allocating; resolve uses a plain value.
type Request interface {
	// Method is the request method as sent.
	Method() string
	// Host is the canonical host: lower case, A-labels, no port, no trailing dot.
	Host() string
	// MatchPath is the canonical path of http.md, steps 1 to 4.
	MatchPath() string
	// HasHeader reports whether any field line of that name equals value; bare asks
	// for presence only. Names compare without case.
	HasHeader(name, value string, bare bool) bool
	// HasQuery is the same for query parameters, decoded once.
	HasQuery(name, value string, bare bool) bool
	// ClientAddr is the client after trusted proxies, unmapped.
	ClientAddr() netip.Addr
}
