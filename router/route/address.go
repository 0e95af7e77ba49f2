package route

import (
	"net"
	"net/netip"
	"strconv"
)

// JoinHostPort joins a host (a name or an IP literal without brackets) and a port;
// IPv6 literals get brackets.
func JoinHostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// BlockedTarget says why an address must never be dialled, for probes and traffic
// alike, or "" when it may. Link-local (metadata services included), unspecified
// and multicast addresses are always refused, IPv4-mapped forms too; loopback
// unless loopbackOK. The address must be the resolved one that is then dialled.
func BlockedTarget(addr netip.Addr, loopbackOK bool) string {
	addr = addr.Unmap().WithZone("")
	switch {
	case !addr.IsValid():
		return "not an IP address"
	case addr.IsUnspecified():
		return "the unspecified address"
	case addr.IsMulticast():
		return "a multicast address"
	case addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "the broadcast address"
	case addr == netip.AddrFrom4([4]byte{169, 254, 169, 254}):
		return "a link-local address of cloud metadata services"
	case addr.IsLinkLocalUnicast():
		return "a link-local address"
	case addr == netip.MustParseAddr("fd00:ec2::254"):
		return "a cloud metadata address"
	case addr.IsLoopback() && !loopbackOK:
		return "a loopback address of the router's own machine"
	}
	return ""
}
