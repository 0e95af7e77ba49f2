package label

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// closingFamilies are the first parts of keys whose misspelling closes the route.
var closingFamilies = []string{"auth", "forwardauth", "ipallowlist"}

// protectWords are parts of names by which other routers, and people, call
// protections.
var protectWords = []string{"auth", "allowlist", "whitelist", "denylist", "blacklist"}

// unknownKeys reports every key that the catalog does not know (rule 5).
func (s *scope) unknownKeys() {
	for _, e := range s.sortedEntries() {
		if e.key == nil {
			s.unknownKey(e)
		}
	}
}

func (s *scope) unknownKey(e entry) {
	written, raw := e.written[len(s.prefix):], e.raw[len(s.prefix):]
	list := catalog.nearest(s.decl.Protocol, raw)
	protects := meansProtection(list, raw)
	if len(list) == 0 {
		list = catalog.nearest(s.decl.Protocol, written)
	}
	hint, why, and := s.didYouMean(list, written), "unknown key", " that looks like "
	if e.spoilt() {
		why, and = e.whySpoilt(), ", and it looks like "
		if k, _ := catalog.find(s.decl.Protocol, written); k != nil {
			hint = e.mendSpoilt()
		}
	}
	switch {
	case meansClients(list):
		s.add("E112", e.label, e.redacted(), hint, "%s%smatchClientIP: the route applies to nobody", why, and)
		s.decl.Match.ClientIPs, s.decl.Match.ClientNobody = nil, true
	case protects, meansProtection(list, written):
		s.add("E104", e.label, e.redacted(), hint, "%s%sa protection: the route answers 503 instead of standing open", why, and)
		s.decl.fail("E104", e.label)
	default:
		s.add("W013", e.label, e.redacted(), hint, "%s: the label has no effect", why)
	}
}

func (s *scope) didYouMean(list []near, written string) string {
	if k, _ := catalog.find("", written); k != nil {
		return "did you mean " + s.cfg.prefix() + "." + k.Name + "? It belongs to the container, not to a service"
	}
	suggestions := keysOf(list)
	if len(suggestions) == 0 && meansProtection(list, written) {
		suggestions = protectionsFor(written)
	}
	if len(suggestions) == 0 {
		return "remove the label, or see the label reference for the keys there are"
	}
	hint := "did you mean " + strings.Join(names(suggestions), ", ") + "?"
	if meansProtection(list, written) {
		return unenforced(hint, suggestions...)
	}
	return notYetHere(hint, suggestions...)
}

// protectionsFor proposes the protection that a foreign name stands for.
func protectionsFor(written string) (keys []*Key) {
	meant := []string{"auth.basic", "auth.basicFile", "forwardAuth.address"}
	switch squeezed := squeeze(written); {
	case strings.HasPrefix(squeezed, "forward"):
		meant = []string{"forwardAuth.address"}
	case strings.Contains(squeezed, "list"):
		meant = []string{"ipAllowList"}
	}
	for _, name := range meant {
		keys = append(keys, catalog.must(route.HTTP, name))
	}
	return keys
}

// meansClients reports whether the nearest key is matchClientIP.
func meansClients(list []near) bool {
	return len(list) > 0 && list[0].key.Name == "matchClientIP"
}

// meansProtection reports whether an unknown key was most likely meant to protect:
// it begins like a protection, its nearest known key is one, or nothing is near and
// its name speaks of one. When in doubt the answer is yes: the route is closed.
func meansProtection(list []near, written string) bool {
	first, _, _ := strings.Cut(fold(written), ".")
	if slices.Contains(closingFamilies, first) {
		return true
	}
	likely := slices.DeleteFunc(slices.Clone(list), func(n near) bool { return n.strong > list[0].distance })
	if len(likely) > 0 {
		return slices.ContainsFunc(likely, func(n near) bool { return closes(n.key) })
	}
	for _, family := range closingFamilies {
		limit := min(maxDistance, len(family)/4)
		if distance(first, family, limit) <= limit {
			return true
		}
	}
	squeezed := strings.ReplaceAll(squeeze(written), ".", "")
	return slices.ContainsFunc(protectWords, func(w string) bool { return strings.Contains(squeezed, w) })
}

// closes reports whether a mistake in the key closes the route.
func closes(k *Key) bool {
	first, _, _ := strings.Cut(fold(k.Name), ".")
	return slices.Contains(closingFamilies, first)
}

// judgeStrays reports labels that belong to no declaration. One that was meant to
// protect closes the route it was most likely meant for.
func (f *found) judgeStrays(r *report) {
	for _, st := range f.strays {
		code, text, hint := f.judgeStray(st)
		if st.spoilt() {
			text = st.whySpoilt() + "; " + text
		}
		if targets := f.unprotected(st); len(targets) > 0 {
			hint = unenforced(hint, catalog.protections()...)
			for _, s := range targets {
				s.add("E104", st.label, st.redacted(), hint, "%s, and it looks like a protection: the route answers 503 instead of standing open", text)
				s.decl.fail("E104", st.label)
			}
			continue
		}
		r.add(code, st.label, st.redacted(), hint, "%s: the label has no effect", text)
	}
}

func (f *found) judgeStray(st stray) (code, text, hint string) {
	first := fold(st.segments[0])
	known := slices.Contains([]string{"http", "tcp", "udp"}, first)
	switch {
	case len(st.segments) == 1 && known:
		return "E004", "no service and no key is named", fmt.Sprintf("write %s%s.<service>.<key>", f.prefix, first)
	case len(st.segments) == 1:
		return "W013", "unknown key", containerHint(f.prefix, st.segments[0])
	case known:
		return f.serviceProblem(st, first)
	}
	return "W012", "unknown protocol " + shorten(st.segments[0], 60), f.protocolHint(st)
}

// serviceProblem explains a label with a protocol but without a usable service or key.
func (f *found) serviceProblem(st stray, protocol string) (code, text, hint string) {
	service := st.segments[1]
	rest := strings.Join(st.segments[1:], ".")
	if k, _ := catalog.find(route.Protocol(protocol), strings.Trim(rest, ".")); k != nil {
		return "E004", "no service is named", fmt.Sprintf("write %s%s.<service>.%s", f.prefix, protocol, k.Name)
	}
	if why := badService(service); why != "" {
		return "E004", why, fmt.Sprintf("write %s%s.<service>.<key>", f.prefix, protocol)
	}
	return "W013", "no key is named", fmt.Sprintf("write %s%s.%s.<key>", f.prefix, protocol, service)
}

func containerHint(prefix, written string) string {
	list := catalog.nearest("", written)
	if len(list) == 0 {
		return fmt.Sprintf("write %shttp.<service>.<key>; keys of the container itself are enable and network", prefix)
	}
	return "did you mean " + prefix + list[0].key.Name + "?"
}

func (f *found) protocolHint(st stray) string {
	for _, p := range []string{"http", "tcp", "udp"} {
		if d := distance(fold(st.segments[0]), p, maxDistance); d < len(p) && d <= maxDistance {
			return fmt.Sprintf("did you mean %s%s.%s?", f.prefix, p, shorten(strings.Join(st.segments[1:], "."), 100))
		}
	}
	rest := strings.Join(st.segments[1:], ".")
	if k, _ := catalog.find(route.HTTP, rest); k != nil {
		return fmt.Sprintf("did you mean %shttp.%s?", f.prefix, shorten(strings.Join(st.segments, "."), 100))
	}
	return "protocols are http, tcp and udp"
}

// unprotected returns the declarations that a stray label was meant to protect: the
// service it names, or all of the candidate when it names none. A service of that
// name that is not there cannot be protected, and its neighbours are not to blame.
func (f *found) unprotected(st stray) []*scope {
	service, named, ok := aim(st.segments)
	if !ok && st.spoilt() {
		service, named, ok = aim(strings.SplitN(st.raw[len(f.prefix):], ".", 3))
	}
	if !ok {
		return nil
	}
	var out []*scope
	for _, id := range f.order() {
		if id.protocol == route.HTTP && (!named || strings.EqualFold(id.service, service)) {
			out = append(out, f.services[id])
		}
	}
	return out
}

// aim guesses which service a stray label was meant to protect. named is false when
// it names none; ok when it looks like a protection at all.
func aim(segments []string) (service string, named, ok bool) {
	first := fold(segments[0])
	known := first == "http" || first == "tcp" || first == "udp"
	behind := strings.Join(segments[1:], ".")
	exact, _ := catalog.find(route.HTTP, behind)
	switch {
	case len(segments) == 1:
		return "", false, protects(segments[0])
	case known && len(segments) == 2, known && segments[1] == "":
		return "", false, protects(strings.Trim(behind, "."))
	case exact != nil && exact.Available == Protecting: // sozune.web.auth.basic, without its protocol
		return segments[0], true, true
	case len(segments) == 3 && protects(segments[2]):
		return segments[1], true, true
	}
	return segments[0], true, !known && protects(behind)
}

// protects reports whether a key that may be misspelt belongs to a protection.
func protects(written string) bool {
	if k, _ := catalog.find(route.HTTP, written); k != nil {
		return k.Available == Protecting
	}
	return meansProtection(catalog.nearest(route.HTTP, written), written)
}
