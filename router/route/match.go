package route

import (
	"net/netip"
	"strings"
)

// PathKind orders path rules: a lower kind is more specific.
type PathKind uint8

// Kinds of path rules, most specific first.
const (
	PathExact PathKind = iota
	PathRegex
	PathPrefix
)

// String returns the kind's name in answers ("Exact", "Regex", "Prefix").
func (k PathKind) String() string {
	switch k {
	case PathExact:
		return "Exact"
	case PathRegex:
		return "Regex"
	case PathPrefix:
	}
	return "Prefix"
}

// PathRule says which paths a route takes. The zero value is no rule; the default
// is the prefix "/". Prefixes end at segment borders; regular expressions are
// RE2, anchored at both ends. Value is as the user wrote it; the table builder
// brings it into the form in which match paths are compared.
type PathRule struct {
	Kind  PathKind
	Value string
}

// KeyValue is a header or query condition. Bare means that presence is enough.
type KeyValue struct {
	Key   string
	Value string
	Bare  bool
}

// Match is what a request must fulfil for an entrypoint. All lists are sorted and
// free of duplicates, so equal matchers compare equal.
type Match struct {
	Hosts   []HostPattern
	Path    PathRule
	Methods []string // upper case
	Headers []KeyValue
	Query   []KeyValue
	// ClientIPs restricts who the route applies to. ClientNobody is set when the
	// label held nothing valid: the route then applies to nobody (E112).
	ClientIPs    []netip.Prefix
	ClientNobody bool
	Priority     int
}

// Conditions counts the extra conditions beyond host and path.
func (m Match) Conditions() int {
	n := 0
	for _, set := range []bool{
		len(m.Methods) > 0, len(m.Headers) > 0, len(m.Query) > 0, len(m.ClientIPs) > 0 || m.ClientNobody,
	} {
		if set {
			n++
		}
	}
	return n
}

// Key is equal exactly for equal matchers. It may hold query and header values:
// use it as a map key or hash it, never show it.
func (m Match) Key() string {
	var b strings.Builder
	for _, h := range m.Hosts {
		b.WriteString(h.Text + ",")
	}
	b.WriteString("|" + m.Path.Kind.String() + ":" + m.Path.Value + "|" + strings.Join(m.Methods, ","))
	for _, set := range [][]KeyValue{m.Headers, m.Query} {
		b.WriteByte('|')
		for _, kv := range set {
			b.WriteString(kv.Key)
			if !kv.Bare {
				b.WriteString(":" + kv.Value)
			}
			b.WriteByte(0)
		}
	}
	b.WriteByte('|')
	for _, p := range m.ClientIPs {
		b.WriteString(p.String() + ",")
	}
	if m.ClientNobody {
		b.WriteString("nobody")
	}
	return b.String()
}
