package proxy

import (
	"net/netip"
	"slices"
	"strings"

	"fairlead/router/exchange"
)

// trusted reports whether a peer's forwarding headers are believed.
func (p *Proxy) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(p.cfg.TrustedProxies, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// setClient finds the client: the peer, or the rightmost address of
// X-Forwarded-For that is no trusted proxy when the peer is one. The same address
// serves matching, headers and logs.
func (p *Proxy) setClient(x *exchange.Exchange) {
	x.Client = x.Peer.Addr().Unmap().WithZone("")
	if !p.trusted(x.Client) {
		return
	}
	chain := strings.Split(joined(x.Header, "X-Forwarded-For"), ",")
	for _, hop := range slices.Backward(chain) {
		addr, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			return // what is left of a hop that nobody can read is not believed
		}
		x.Client = addr
		if !p.trusted(addr) {
			return
		}
	}
}

// parseHop reads an address of X-Forwarded-For, with or without a port.
func parseHop(hop string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil {
		return addr.Unmap().WithZone(""), true
	}
	if ap, err := netip.ParseAddrPort(hop); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}

// joined returns all lines of a field as one list.
func joined(h exchange.Header, name string) string {
	var lines []string
	h.Each(func(n, v string) bool {
		if strings.EqualFold(n, name) {
			lines = append(lines, v)
		}
		return true
	})
	return strings.Join(lines, ",")
}

// setForwarding sets the forwarding fields. What a client that is no trusted proxy
// says in them is overwritten; hop-by-hop fields are removed before, so that a
// client cannot remove ours by naming them in Connection.
func (p *Proxy) setForwarding(x *exchange.Exchange) {
	peer := x.Peer.Addr().Unmap().WithZone("")
	trusted := p.trusted(peer)
	proto := "http"
	if x.Secure {
		proto = "https"
	}
	keep := func(name, own string) {
		if value := x.Header.Get(name); trusted && value != "" {
			own = value
		}
		x.SetHeader(name, own)
	}
	appendTo := func(name, own string) {
		if value := joined(x.Header, name); trusted && value != "" {
			own = value + ", " + own
		}
		x.SetHeader(name, own)
	}
	appendTo("X-Forwarded-For", peer.String())
	keep("X-Forwarded-Host", x.Authority)
	keep("X-Forwarded-Proto", proto)
	keep("X-Forwarded-Port", forwardedPort(x.Authority, x.Secure))
	x.SetHeader("X-Real-Ip", x.Client.String())
	appendTo("Forwarded", "for="+forwardedNode(peer)+";host=\""+x.Authority+"\";proto="+proto)
	switch {
	case x.Prefix != "":
		keep("X-Forwarded-Prefix", x.Prefix)
	case !trusted:
		x.DeleteHeader("X-Forwarded-Prefix")
	}
}

// forwardedPort is the port that the client asked for.
func forwardedPort(authority string, secure bool) string {
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && i > strings.LastIndexByte(authority, ']') && i+1 < len(authority) {
		return authority[i+1:]
	}
	if secure {
		return "443"
	}
	return "80"
}

// forwardedNode is an address as RFC 7239 section 6 writes it.
func forwardedNode(addr netip.Addr) string {
	if addr.Is6() {
		return `"[` + addr.String() + `]"`
	}
	return addr.String()
}
