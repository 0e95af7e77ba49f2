package label

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"fairlead/router/route"
)

// check reads healthCheck.*. Every key is read even when the check is off, so that
// mistakes show before it is switched on.
func (s *scope) check() {
	c := route.DefaultCheck()
	c.Interval = read(s, "healthCheck.interval", values.duration)
	c.DownInterval = c.Interval
	c.Timeout = s.checkTimeout(c.Interval)
	c.UnhealthyThreshold = read(s, "healthCheck.unhealthyThreshold", asInt)
	c.HealthyThreshold = read(s, "healthCheck.healthyThreshold", asInt)
	c.Initial = route.Initial(read(s, "healthCheck.initial", values.choice))
	c.InitialDelay = read(s, "healthCheck.initialDelay", values.duration)
	c.Port = s.decl.Backend.CheckPort
	c.Path = s.checkPath()
	c.Status = s.checkStatus(c.Path)
	c.Headers, c.Host = s.checkHeaders(c.Path)
	if c.Path != "" {
		c.Type = route.ProbeHTTP
	}
	if e, ok := s.get("healthCheck.interval"); ok && c.Interval < s.cfg.tick() {
		s.add("I106", e.label, show(e.key, e.text), "set "+e.label+" to "+short(s.cfg.tick())+" or more",
			"shorter than the tick of the scheduler: probes run every %s", short(s.cfg.tick()))
	}
	if read(s, "healthCheck", asBool) {
		s.decl.Check = &c
		s.plaintextProbe(c)
	}
}

// checkTimeout is never above the interval unless a label says so.
func (s *scope) checkTimeout(interval time.Duration) time.Duration {
	t := read(s, "healthCheck.timeout", values.duration)
	e, ok := s.get("healthCheck.timeout")
	if !ok || e.key.values.problem(e.text) != nil {
		return min(t, interval)
	}
	if pace := max(interval, s.cfg.tick()); t > pace {
		s.add("I107", e.label, show(e.key, e.text), "set "+e.label+" to "+short(pace)+" or less",
			"longer than the interval of %s: probes never overlap, so the next one waits", short(pace))
	}
	return t
}

func (s *scope) checkPath() string {
	e, ok := s.get("healthCheck.path")
	if !ok {
		return ""
	}
	p, err := requestPath(e.text)
	if err != nil {
		s.bad(e, err.Error(), "backends are probed by TCP connect")
	}
	return p
}

// requestPath brings a path into the form of a request target (RFC 9112, section
// 3.2.1) that cannot reach another host or end the request line.
func requestPath(text string) (string, error) {
	before, _, absolute := strings.Cut(text, "://")
	folded := fold(text)
	switch {
	case text == "":
		return "", errors.New("the path is empty")
	case len(text) > maxPath:
		return "", fmt.Errorf("longer than %d bytes", maxPath)
	case absolute && !strings.ContainsAny(before, "/?"):
		return "", errors.New("an absolute URL: give the path alone, the host is always the backend")
	case strings.HasPrefix(text, "//"):
		return "", errors.New("`//` would name a host, which is always the backend")
	case strings.Contains(text, "#"):
		return "", errors.New("a fragment (#) is never sent")
	case strings.Contains(folded, "%0d"), strings.Contains(folded, "%0a"), strings.Contains(folded, "%00"):
		return "", errors.New("encoded CR, LF and NUL are not allowed")
	}
	var b strings.Builder
	if text[0] != '/' {
		b.WriteByte('/')
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' || c == 0x7f:
			return "", errors.New("spaces and control characters are not allowed; write a space as %20")
		case c >= 0x80:
			fmt.Fprintf(&b, "%%%02X", c)
		case c == '%' && (i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2])):
			return "", errors.New("`%` must be followed by two hexadecimal digits")
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *scope) checkStatus(path string) route.StatusSet {
	e, ok := s.get("healthCheck.status")
	if !ok {
		return route.DefaultStatusSet()
	}
	if path == "" {
		s.withoutPath(e)
		return route.DefaultStatusSet()
	}
	set, err := route.ParseStatusSet(e.text)
	if err != nil {
		s.badDefault(e, errors.New(shorten(err.Error(), shownValue)))
		return route.DefaultStatusSet()
	}
	return set
}

func (s *scope) withoutPath(e entry) {
	s.add("W021", e.label, show(e.key, e.text), "add "+s.label("healthCheck.path")+"=/health to probe by HTTP, or remove the label",
		"there is no usable healthCheck.path, and a TCP probe sends and reads nothing: the label is ignored")
}

// refusedProbeHeaders frame the message or belong to one connection.
var refusedProbeHeaders = strings.Fields(`connection keep-alive proxy-connection proxy-authenticate proxy-authorization
	te trailer transfer-encoding upgrade content-length`)

// checkHeaders returns the probe's headers and its Host. A header named Host is
// another way to write healthCheck.host, which wins over it.
func (s *scope) checkHeaders(path string) (out []route.CheckHeader, host string) {
	for _, e := range s.sortedEntries() {
		if e.key == nil || e.key.Name != "healthCheck.headers.<Name>" {
			continue
		}
		if path == "" {
			s.withoutPath(e)
			continue
		}
		if !s.goodHeader(e, "the header is not sent") {
			continue
		}
		switch name := fold(e.param); {
		case name == "host":
			host = s.checkHost(e)
		case slices.Contains(refusedProbeHeaders, name):
			s.add("W021", e.label, show(e.key, e.text), "remove the label", "%s belongs to the connection: the header is not sent", e.param)
		default:
			out = append(out, route.CheckHeader{Name: textproto.CanonicalMIMEHeaderKey(e.param), Value: route.Secret(e.text)})
		}
	}
	slices.SortFunc(out, func(a, b route.CheckHeader) int { return strings.Compare(a.Name, b.Name) })
	if e, ok := s.get("healthCheck.host"); ok {
		host = cmp.Or(s.checkHost(e), host)
	}
	return out, host
}

func (s *scope) checkHost(e entry) string {
	host, err := hostHeader(e.text)
	if err != nil {
		s.bad(e, err.Error(), "the backend's address is sent as Host")
	}
	return host
}

// hostHeader validates a name or IP address with an optional port; an IPv6 address
// gets its brackets.
func hostHeader(text string) (string, error) {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil && a.Zone() == "" {
		if a.Is6() {
			return "[" + a.String() + "]", nil
		}
		return a.String(), nil
	}
	if a, err := netip.ParseAddrPort(text); err == nil && a.Addr().Zone() == "" {
		return a.String(), nil
	}
	name, port, hasPort := strings.Cut(text, ":")
	h, err := parseHost(name)
	if err != nil || h.Kind != route.HostExact {
		return "", errors.New("not a name or an IP address")
	}
	if !hasPort {
		return h.Text, nil
	}
	n, err := integer(1, 65535).integer(port)
	if err != nil {
		return "", errors.New("the port behind the name is not a port")
	}
	return fmt.Sprintf("%s:%d", h.Text, n), nil
}

// plaintextProbe says that a probe does not speak TLS though the backend does.
func (s *scope) plaintextProbe(c route.Check) {
	if s.decl.Backend.Scheme != route.SchemeHTTPS || c.Type == route.ProbeHTTP {
		return
	}
	e, _ := s.get("scheme")
	s.add("I109", e.label, show(e.key, e.text), "add "+s.label("healthCheck.path")+"=/health to probe by HTTPS",
		"the backend speaks TLS but its probe is a plain TCP connect: it proves less, and some servers log each one as a failed handshake")
}
