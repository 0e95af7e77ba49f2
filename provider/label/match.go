package label

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"fairlead/router/route"
)

const (
	maxMethods  = 32
	maxNetworks = 1024
)

// knownMethods are the registered methods that a route can be asked with; CONNECT
// is never served.
var knownMethods = strings.Fields(`GET HEAD POST PUT DELETE OPTIONS PATCH TRACE QUERY
	ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL
	MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH PROPFIND PROPPATCH REBIND REPORT SEARCH UNBIND UNCHECKOUT
	UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL PURGE BAN NOTIFY SUBSCRIBE UNSUBSCRIBE M-SEARCH`)

func (s *scope) match() {
	m := &s.decl.Match
	m.Hosts = s.hosts()
	m.Path = s.path()
	m.Methods = s.methods()
	m.Headers = s.conditions("matchHeaders", textproto.CanonicalMIMEHeaderKey)
	m.Query = s.conditions("matchQuery", func(k string) string { return k })
	m.ClientIPs, m.ClientNobody = s.clients()
	m.Priority = read(s, "priority", asInt)
}

// path returns the path rule: of several keys the first counts.
func (s *scope) path() route.PathRule {
	kinds := []struct {
		name string
		kind route.PathKind
	}{{"path", route.PathPrefix}, {"prefix", route.PathPrefix}, {"pathExact", route.PathExact}, {"pathRegex", route.PathRegex}}
	var rule route.PathRule
	used := ""
	for _, k := range kinds {
		e, ok := s.get(k.name)
		if !ok {
			continue
		}
		if used != "" {
			s.add("W110", e.label, show(e.key, e.text), "keep one of path, prefix, pathExact and pathRegex",
				"several path keys exclude each other: %s is used", s.label(used))
			continue
		}
		used = k.name
		rule = route.PathRule{Kind: k.kind, Value: s.pathValue(e, k.kind)}
	}
	if used == "" {
		s.add("I001", s.label("path"), "", "set "+s.label("path")+" to take a part of the host only",
			"no path is set: the route takes the whole host (/)")
		rule = route.PathRule{Kind: route.PathPrefix, Value: "/"}
	}
	return rule
}

// pathValue validates a path or an expression. A rule that cannot be used takes its
// own route out and is never widened to the whole host.
func (s *scope) pathValue(e entry, kind route.PathKind) string {
	if kind == route.PathRegex {
		if err := compiles(e.text); err != nil {
			s.bad(e, err.Error(), "the route is not served")
			s.decl.refuse("E109")
		}
		return e.text
	}
	p := e.text
	if i := strings.IndexAny(p, "?#"); i >= 0 {
		p = p[:i]
		s.add("I001", e.label, show(e.key, e.text), "remove `?`, `#` and what follows; query parameters are matched with "+s.label("matchQuery"),
			"no request path holds `?` or `#`: the path is cut before it")
	}
	if e.text == "" {
		s.add("I001", e.label, "", "write the path, or remove the label if the whole host is meant", "the path is empty: the route takes the whole host (/)")
	}
	if p == "" || p[0] != '/' {
		p = "/" + p
	}
	if err := pathProblem(p); err != nil {
		s.bad(e, err.Error(), "the route is not served")
		s.decl.refuse("E109")
	}
	return p
}

func pathProblem(p string) error {
	if len(p) > maxPath {
		return fmt.Errorf("longer than %d bytes", maxPath)
	}
	for i := range len(p) {
		if p[i] < ' ' || p[i] == 0x7f {
			return errors.New("a path holds no control characters")
		}
	}
	return nil
}

func (s *scope) methods() []string {
	e, ok := s.get("methods")
	if !ok {
		return nil
	}
	var out []string
	entries := splitList(e.text)
	for i, m := range entries {
		upper := strings.ToUpper(m)
		switch {
		case i >= maxMethods:
			s.add("W014", e.label, "", "shorten the list", "more than %d methods: the rest is left out", maxMethods)
		case !slices.Contains(knownMethods, upper):
			s.add("W014", e.label, shorten(m, shownValue), "write a method such as GET or POST", "not a method that can be routed: the entry is left out")
			continue
		default:
			out = append(out, upper)
			continue
		}
		break
	}
	if len(out) == 0 {
		s.add("W014", e.label, shorten(e.text, shownValue), "name a method such as GET or POST", "no method is left: every method is routed")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// conditions reads a list of `k:v` or bare `k`. canonical brings a key into the
// form in which it is compared. All of them must hold, so that one without a name takes
// its own route out: leaving it out would open the route wider than it was meant.
func (s *scope) conditions(name string, canonical func(string) string) []route.KeyValue {
	e, ok := s.get(name)
	if !ok {
		return nil
	}
	var out []route.KeyValue
	for _, text := range splitList(e.text) {
		k, v, hasValue := strings.Cut(text, ":")
		kv := route.KeyValue{Key: canonical(strings.TrimSpace(k)), Value: strings.TrimSpace(v), Bare: !hasValue}
		if kv.Key == "" {
			s.bad(e, "a condition has no name", "the route is not served")
			s.decl.refuse("E109")
			return nil
		}
		out = append(out, kv)
	}
	if len(out) == 0 {
		s.bad(e, "it holds no condition", "the route is not served")
		s.decl.refuse("E109")
	}
	slices.SortFunc(out, func(a, b route.KeyValue) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value), rankOf(a.Bare)-rankOf(b.Bare))
	})
	return slices.Compact(out)
}

// clients reads matchClientIP. With nothing valid left the route applies to nobody:
// a mistake in a restriction must not lift it, nor take a public route down.
func (s *scope) clients() (list []netip.Prefix, nobody bool) {
	e, ok := s.get("matchClientIP")
	if !ok {
		return nil, false
	}
	if list = s.networks(e); len(list) == 0 {
		s.bad(e, "no address or range is left", "the route applies to nobody")
		return nil, true
	}
	return list, false
}

// networks reads a list of addresses and ranges; a bad entry is left out (W102).
func (s *scope) networks(e entry) []netip.Prefix {
	var out []netip.Prefix
	for i, text := range splitList(e.text) {
		if i == maxNetworks {
			s.add("W102", e.label, "", "join addresses to ranges", "more than %d entries: the rest is left out", maxNetworks)
			break
		}
		p, err := parseNetwork(text)
		if err != nil {
			s.add("W102", e.label, shorten(text, shownValue), "write an address such as 203.0.113.7 or a range such as 10.0.0.0/8",
				"%s: the entry is left out", err)
			continue
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// parseNetwork reads an address or a CIDR range; IPv4-mapped IPv6 becomes IPv4.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		if addr.Zone() != "" {
			return netip.Prefix{}, errors.New("an address with a zone matches nothing")
		}
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errors.New("not an IP address or range")
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, errors.New("the range mixes IPv4 and IPv6")
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}
