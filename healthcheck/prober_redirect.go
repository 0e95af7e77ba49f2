package healthcheck

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fairlead/router/route"
)

// redirects reports whether a status sends elsewhere (RFC 9110, section 15.4).
func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// redirectWithin returns the request target that a Location leads to, or why it is not
// followed. The backend is known by two authorities: the Host that the probe sends, and
// the address that it dials. Nothing of the Location is quoted: it may repeat secrets.
func redirectWithin(c *route.Check, t Target, path, location string) (next, why string) {
	base, err := url.Parse(string(c.Scheme) + "://" + c.Host + path)
	if err != nil {
		return "", "nowhere: the probe's own URL cannot be read"
	}
	u, err := base.Parse(location)
	switch {
	case err != nil || u.Opaque != "":
		return "", "what is no URL"
	case u.Scheme != base.Scheme:
		return "", "another scheme"
	case !strings.EqualFold(u.Hostname(), base.Hostname()) && !strings.EqualFold(u.Hostname(), t.Host):
		return "", "another host"
	case portOf(u, c.Scheme) != portOf(base, c.Scheme) && portOf(u, c.Scheme) != strconv.Itoa(int(t.Port)):
		return "", "another port"
	}
	return u.RequestURI(), ""
}

func portOf(u *url.URL, scheme route.Scheme) string {
	if port := u.Port(); port != "" {
		return port
	}
	return strconv.Itoa(int(scheme.DefaultPort()))
}

// pinned is a target at the very address that was dialled: a redirect is no reason to
// look a name up again. The address is checked again when it is dialled.
func pinned(t Target, remote string) Target {
	if addr, err := netip.ParseAddrPort(remote); err == nil {
		t.Host = addr.Addr().String()
	}
	return t
}

// together adds the phases of one request to those of the ones before it.
func together(a, b route.Phases) route.Phases {
	sum := func(x, y time.Duration) time.Duration {
		if x < 0 || y < 0 {
			return max(x, y)
		}
		return x + y
	}
	return route.Phases{
		DNS: sum(a.DNS, b.DNS), Connect: sum(a.Connect, b.Connect), TLS: sum(a.TLS, b.TLS),
		FirstByte: sum(a.FirstByte, b.FirstByte), Body: sum(a.Body, b.Body),
	}
}
