package router

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// The longest name and label in DNS (RFC 1035, section 2.3.4).
const (
	maxHostLength  = 253
	maxLabelLength = 63
)

// CanonicalHost brings a Host header field or an authority into the form in which
// hosts are compared: lower case, A-labels, without port and without one trailing
// dot; IPv6 literals keep their brackets. An error means 400. Nothing is allocated
// for a canonical name.
func CanonicalHost(authority string) (string, error) {
	if authority == "" {
		return "", errors.New("the host is empty")
	}
	if n := canonicalLength(authority); n > 0 && n <= maxHostLength {
		if n == len(authority) {
			return authority, nil
		}
		if authority[n] == ':' && checkPort(authority[n+1:]) == nil {
			return authority[:n], nil
		}
	}
	if authority[0] == '[' {
		return canonicalIPv6(authority)
	}
	host, port, found := strings.Cut(authority, ":")
	if found {
		if err := checkPort(port); err != nil {
			return "", err
		}
	}
	return canonicalName(strings.TrimSuffix(host, "."))
}

// canonicalLength is the length of the name with which an authority begins when the
// name is canonical already, else 0.
func canonicalLength(authority string) int {
	start := 0
	for i := 0; ; i++ {
		if i < len(authority) && hostByte(authority[i]) {
			continue
		}
		if i == start || i-start > maxLabelLength {
			return 0
		}
		if i == len(authority) || authority[i] != '.' {
			return i
		}
		start = i + 1
	}
}

func canonicalIPv6(authority string) (string, error) {
	end := strings.IndexByte(authority, ']')
	if end < 0 {
		return "", errors.New("the host has an opening bracket but no closing one")
	}
	if rest := authority[end+1:]; rest != "" {
		if rest[0] != ':' {
			return "", errors.New("text after the bracket of the host that is no port")
		}
		if err := checkPort(rest[1:]); err != nil {
			return "", err
		}
	}
	addr, err := netip.ParseAddr(authority[1:end])
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", errors.New("the host in brackets is not an IPv6 address")
	}
	var buf [64]byte
	text := append(addr.AppendTo(append(buf[:0], '[')), ']')
	if string(text) == authority[:end+1] {
		return authority[:end+1], nil
	}
	return string(text), nil
}

// checkPort accepts 1 to 65535 and, as RFC 3986 does, no digits at all.
func checkPort(port string) error {
	if port == "" {
		return nil
	}
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' {
			return errors.New("the port of the host is not a number")
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("the port of the host is not in 1-65535")
	}
	return nil
}

func canonicalName(host string) (string, error) {
	upper, foreign := false, false
	for i := range len(host) {
		upper = upper || 'A' <= host[i] && host[i] <= 'Z'
		foreign = foreign || host[i] >= 0x80
	}
	if foreign {
		// Underscores are no part of IDNA but of many container names.
		profile := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.StrictDomainName(false))
		ascii, err := profile.ToASCII(host)
		if err != nil {
			return "", errors.New("the host is not a valid internationalized name")
		}
		host = strings.TrimSuffix(ascii, ".")
	} else if upper {
		host = strings.ToLower(host)
	}
	if len(host) > maxHostLength {
		return "", fmt.Errorf("the host is longer than %d characters", maxHostLength)
	}
	if err := checkLabels(host); err != nil {
		return "", err
	}
	return host, nil
}

func checkLabels(host string) error {
	start := 0
	for i := 0; i <= len(host); i++ {
		if i == len(host) || host[i] == '.' {
			if i == start {
				return errors.New("the host has an empty label")
			}
			if i-start > maxLabelLength {
				return fmt.Errorf("a label of the host is longer than %d characters", maxLabelLength)
			}
			start = i + 1
			continue
		}
		if !hostByte(host[i]) {
			return fmt.Errorf("character %q is not allowed in a host", host[i])
		}
	}
	return nil
}

// hostByte reports whether c may stand in a label of a canonical name. Underscores
// are allowed: compose names services with them.
func hostByte(c byte) bool {
	const low, high uint64 = (1<<10-1)<<'0' | 1<<'-', (1<<26-1)<<('a'-64) | 1<<('_'-64)
	return c < 64 && low>>c&1 == 1 || c >= 64 && c < 128 && high>>(c-64)&1 == 1
}
