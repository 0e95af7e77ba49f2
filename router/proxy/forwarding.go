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
	p.findClient(x)
	p.sole.note(x.Client)
}

func (p *Proxy) findClient(x *exchange.Exchange) {
	x.Client = x.Peer.Addr().Unmap().WithZone("")
	if !p.trusted(x.Client) {
		return
	}
	chain := strings.Split(x.Header.List("X-Forwarded-For"), ",")
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

// setForwarding sets the forwarding fields. What a client that is no trusted proxy
// says in them is overwritten; a trusted one's is kept and, where it is a list,
// appended to. It runs before the filters, whose edits win over these.
func (p *Proxy) setForwarding(x *exchange.Exchange) {
	peer := x.Peer.Addr().Unmap().WithZone("")
	f := forwarding{x: x, trusted: p.trusted(peer)}
	proto := "http"
	if x.Secure {
		proto = "https"
	}
	f.append("X-Forwarded-For", peer.String())
	host, kept := f.keep("X-Forwarded-Host", x.Authority), f.keep("X-Forwarded-Proto", proto)
	f.keep("X-Forwarded-Port", forwardedPort(host, kept))
	x.SetHeader("X-Real-Ip", x.Client.String())
	f.setForwarded(peer, host, kept, proto)
	if f.trusted {
		x.Prefix = x.Header.Get("X-Forwarded-Prefix")
	} else {
		x.DeleteHeader("X-Forwarded-Prefix")
	}
}

// forwarding sets fields of an exchange with regard to what the peer said.
type forwarding struct {
	x       *exchange.Exchange
	trusted bool
}

// keep returns what the client asked for: our own word, or the first one that a trusted
// proxy says.
func (f forwarding) keep(name, own string) string {
	if said := f.x.Header.Get(name); f.trusted && said != "" {
		first, _, _ := strings.Cut(said, ",")
		return strings.TrimSpace(first)
	}
	f.x.SetHeader(name, own)
	return own
}

func (f forwarding) append(name, own string) {
	if value := f.x.Header.List(name); f.trusted && value != "" {
		own = value + ", " + own
	}
	f.x.SetHeader(name, own)
}

// setForwarded adds our hop to a Forwarded that a trusted proxy sent. One that speaks
// X-Forwarded alone began none, so the element that begins it says the same as those
// fields, as far as its grammar has room for it.
func (f forwarding) setForwarded(peer netip.Addr, host, kept, proto string) {
	node := peer
	if !f.trusted || f.x.Header.List("Forwarded") != "" {
		host = f.x.Authority
	} else {
		node = f.x.Client
		if exchange.IsToken(kept) {
			proto = kept
		}
		if strings.ContainsAny(host, `"\`) {
			host = f.x.Authority
		}
	}
	f.append("Forwarded", "for="+forwardedNode(node)+";host=\""+host+"\";proto="+proto)
}

// forwardedPort is the port that the client asked for.
func forwardedPort(host, proto string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && i > strings.LastIndexByte(host, ']') && i+1 < len(host) {
		return host[i+1:]
	}
	if strings.EqualFold(proto, "https") || strings.EqualFold(proto, "wss") {
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
