package label

import (
	"slices"
	"strings"

	"fairlead/router/route"
)

// maxDeclared bounds the hosts that are remembered of one candidate's labels that make no
// route.
const maxDeclared = 32

// DeclaredHosts are the hosts of a list as in the label host, as far as they can be read;
// of a list that is longer than all that are remembered can be, those at its beginning.
func DeclaredHosts(text string) (hosts []route.HostPattern) {
	if len(text) > maxDeclared*maxHostBytes {
		text = text[:maxDeclared*maxHostBytes]
		text = text[:strings.LastIndexByte(text, ',')+1] // the last one may be cut
	}
	for _, entry := range splitHosts(text) {
		if len(hosts) == maxDeclared {
			break
		}
		if h, err := parseHost(entry); err == nil {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// allHosts are the hosts of every label of a candidate that is rejected as a whole.
func (f *found) allHosts(why *route.Rejected) []route.Unrouted {
	var hosts []route.HostPattern
	for _, id := range f.order() {
		hosts = append(hosts, f.services[id].namedHosts()...)
	}
	for _, st := range f.strays {
		hosts = append(hosts, st.hosts()...)
	}
	return unroutedAt("", hosts, route.Diagnostic{Code: why.Code, Message: why.Reason, Hint: why.Hint})
}

// lostHosts are the hosts of the services that are not routed, and of labels that belong
// to no service.
func (f *found) lostHosts() (out []route.Unrouted) {
	for _, id := range f.order() {
		s := f.services[id]
		if s.decl.Refused == "" {
			continue
		}
		why := route.Diagnostic{Code: s.decl.Refused}
		for _, d := range s.decl.Diagnostics {
			if d.Code == why.Code {
				why = d
				break
			}
		}
		out = append(out, unroutedAt("service "+id.service, s.namedHosts(), why)...)
	}
	for _, st := range f.strays {
		if hosts := st.hosts(); hosts != nil {
			code, text, hint := f.judgeStray(st)
			out = append(out, unroutedAt("label "+shorten(st.label, shownLabel), hosts, route.Diagnostic{Code: code, Message: text, Hint: hint})...)
		}
	}
	return out
}

// unroutedAt is nothing without hosts.
func unroutedAt(what string, hosts []route.HostPattern, why route.Diagnostic) []route.Unrouted {
	if len(hosts) == 0 {
		return nil
	}
	hosts = hosts[:min(len(hosts), maxDeclared)]
	return []route.Unrouted{{What: what, Hosts: slices.Clip(hosts), Code: why.Code, Reason: why.Message, Hint: why.Hint}}
}

// namedHosts are the hosts that the labels of a service name, the key misspelt or not.
func (s *scope) namedHosts() (hosts []route.HostPattern) {
	for _, e := range s.sortedEntries() {
		if e.key != nil && e.key.Name == "host" || e.key == nil && meansHost(s.decl.Protocol, e.label[len(s.prefix):]) {
			hosts = append(hosts, DeclaredHosts(e.text)...)
		}
	}
	return hosts
}

// hosts are those of a label whose last part is the key.
func (st *stray) hosts() []route.HostPattern {
	last := st.segments[len(st.segments)-1]
	if len(st.segments) > 1 && (fold(last) == "host" || meansHost(route.HTTP, last)) {
		return DeclaredHosts(st.text)
	}
	return nil
}

// meansHost reports whether an unknown key is most likely host.
func meansHost(protocol route.Protocol, written string) bool {
	list := catalog.nearest(protocol, strings.TrimSpace(written))
	return len(list) > 0 && list[0].key.Name == "host"
}
