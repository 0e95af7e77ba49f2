package proxy

import (
	"net/netip"
	"sync/atomic"

	"fairlead/router/route"
)

// soleClient notices when all requests come from one address. It costs one load per
// request once a second one was seen.
type soleClient struct {
	first atomic.Pointer[netip.Addr]
	more  atomic.Bool
	n     atomic.Uint64
}

func (s *soleClient) note(a netip.Addr) {
	if s.more.Load() {
		return
	}
	first := s.first.Load()
	switch {
	case first == nil:
		seen := a
		s.first.CompareAndSwap(nil, &seen)
	case *first != a:
		s.more.Store(true)
	}
	s.n.Add(1)
}

// enoughClients is how many requests must have come from one address before that says
// anything.
const enoughClients = 50

// Notices tells what the traffic so far shows about the installation.
func (p *Proxy) Notices() []route.Diagnostic {
	first := p.sole.first.Load()
	if first == nil || p.sole.more.Load() || p.sole.n.Load() < enoughClients || !likeGateway(*first) {
		return nil
	}
	return []route.Diagnostic{route.Diagnose("I110",
		"publish the ports in host mode or run the router with network_mode: host; or let the proxy in front send the PROXY protocol or X-Forwarded-For and list it in proxy.trustedProxies",
		"every request so far came from %s, which looks like the gateway of a container network: the clients' own addresses do not arrive, so rules, limits and logs see one client", *first)}
}

// likeGateway reports whether an address is one that a container engine gives its
// bridges: private, and the first of its network.
func likeGateway(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsPrivate() {
		return false
	}
	raw := a.AsSlice()
	return raw[len(raw)-1] == 1
}
