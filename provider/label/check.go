package label

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"fairlead/router/route"
)

// check reads healthCheck.*. Every key is read even when the check is off, so that
// mistakes show before it is switched on.
func (s *scope) check() {
	c := route.DefaultCheck()
	s.pace(&c)
	c.UnhealthyThreshold = read(s, "healthCheck.unhealthyThreshold", asInt)
	c.HealthyThreshold = read(s, "healthCheck.healthyThreshold", asInt)
	c.Initial = route.Initial(read(s, "healthCheck.initial", values.choice))
	c.InitialDelay = read(s, "healthCheck.initialDelay", values.duration)
	c.Port = s.decl.Backend.CheckPort
	s.probe(&c)
	if read(s, "healthCheck", asBool) {
		s.decl.Check = &c
		s.plaintextProbe(&c)
	} else {
		s.checkOff()
	}
}

// checkOff names the labels of a check that is switched off.
func (s *scope) checkOff() {
	var names []string
	for _, e := range s.sortedEntries() {
		if e.key != nil && strings.HasPrefix(e.key.Name, "healthCheck.") {
			names = append(names, strings.TrimPrefix(e.label, s.prefix))
		}
	}
	if e, ok := s.get("healthCheck"); ok && len(names) > 0 {
		s.add("I111", e.label, show(e.key, e.text), "remove "+e.label+" to probe, or remove what has no effect",
			"nothing is probed, so these have no effect: %s", strings.Join(names, ", "))
	}
}

// pace reads when probes are sent.
func (s *scope) pace(c *route.Check) {
	c.Interval = read(s, "healthCheck.interval", values.duration)
	c.Timeout = s.checkTimeout(c.Interval)
	c.Jitter = read(s, "healthCheck.jitter", asInt)
	c.FastInterval = read(s, "healthCheck.fastInterval", values.duration)
	if c.FastInterval > c.Interval {
		e, _ := s.get("healthCheck.fastInterval")
		s.add("W021", e.label, show(e.key, e.text), "set "+e.label+" to "+short(c.Interval)+" or less, or remove the label",
			"longer than the interval of %s: the interval is used", short(c.Interval))
		c.FastInterval = 0
	}
	c.DownInterval = c.Interval
	if e, ok := s.get("healthCheck.downInterval"); ok {
		if d, err := e.key.values.duration(e.text); err != nil {
			s.bad(e, err.Error(), "the interval, "+short(c.Interval)+", is used")
		} else {
			c.DownInterval = d
		}
	}
	s.belowTick("healthCheck.interval", c.Interval)
	s.belowTick("healthCheck.fastInterval", c.FastInterval)
	s.belowTick("healthCheck.downInterval", c.DownInterval)
}

// belowTick says that a pace is rounded up; 0 is off.
func (s *scope) belowTick(name string, pace time.Duration) {
	if e, ok := s.get(name); ok && pace > 0 && pace < s.cfg.tick() && e.key.values.problem(e.text) == nil {
		s.add("I106", e.label, show(e.key, e.text), "set "+e.label+" to "+short(s.cfg.tick())+" or more",
			"shorter than the tick of the scheduler: probes run every %s", short(s.cfg.tick()))
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

// refusedProbeHeaders frame the message or belong to one connection.
var refusedProbeHeaders = strings.Fields(`connection keep-alive proxy-connection proxy-authenticate proxy-authorization
	te trailer transfer-encoding upgrade content-length`)

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
