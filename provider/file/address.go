package file

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"fairlead/router/route"
)

// target is where a backend is reached.
type target struct {
	host     string // IP address without brackets, or a name
	port     uint16
	loopback bool // the file names this machine on purpose
}

// parseTarget reads an address with its port beside it or behind it. The error is a
// sentence for people, the hint what to do.
func parseTarget(b *backend) (t target, hint string, err error) {
	host, port := strings.TrimSpace(b.Address), b.Port
	if host == "" {
		return t, "set address to an IP address or a name", fmt.Errorf("the address is missing")
	}
	if strings.Contains(host, "://") || strings.Contains(host, "/") {
		return t, "write address and port alone; https is scheme: https", fmt.Errorf("the address is a URL or holds a path")
	}
	if port == nil {
		if bare, text, ok := cutPort(host); ok {
			n, convErr := strconv.Atoi(text)
			if convErr == nil {
				host, port = bare, &n
			}
		}
	}
	if port == nil || *port < 1 || *port > 65535 {
		return t, "set port to a number from 1 to 65535", fmt.Errorf("the port is missing or not in 1-65535")
	}
	t.port = uint16(*port)
	if err := t.setHost(host); err != nil {
		return t, "write an IP address such as 192.0.2.10, or a name such as app.internal", err
	}
	return t, "", nil
}

// cutPort splits host:port, the host in brackets when it is IPv6.
func cutPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.Contains(s[:i], ":") && !strings.HasSuffix(s[:i], "]") {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func (t *target) setHost(host string) error {
	bare := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		bare = host[1 : len(host)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil {
		addr = addr.Unmap()
		if why := route.BlockedTarget(addr, true); why != "" {
			return fmt.Errorf("%s is never contacted", why)
		}
		if addr.Zone() != "" {
			return fmt.Errorf("an address with a zone cannot be used")
		}
		t.host, t.loopback = addr.String(), addr.IsLoopback()
		return nil
	}
	name, err := route.ParseHostPattern(host)
	if err != nil || name.Kind != route.HostExact {
		return fmt.Errorf("the address is neither an IP address nor a name")
	}
	if last := name.Text[strings.LastIndexByte(name.Text, '.')+1:]; strings.Trim(last, "0123456789") == "" {
		return fmt.Errorf("the address is not an IP address, though it looks like one")
	}
	t.host = name.Text
	t.loopback = name.Text == "localhost" || strings.HasSuffix(name.Text, ".localhost")
	return nil
}

// address is host:port, IPv6 in brackets.
func (t *target) address() string { return route.JoinHostPort(t.host, t.port) }
