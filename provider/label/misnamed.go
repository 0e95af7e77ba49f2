package label

import (
	"strings"

	"fairlead/router/route"
)

// misnamed closes the route that a protection of a service without a host was most
// likely meant for: one with nearly the same name, which would else be open to all
// because of a misspelt name. Other neighbours are not to blame.
func (f *found) misnamed() {
	for _, id := range f.order() {
		lone := f.services[id]
		if id.protocol != route.HTTP || lone.decl.Refused != "E002" {
			continue
		}
		label := lone.guard()
		if label == "" {
			continue
		}
		for _, s := range f.meant(id) {
			hint := unenforced("write the name of the service that the label protects, or give service "+id.service+" a host", catalog.protections()...)
			s.add("E104", label, route.Redacted, hint,
				"this protects service %s, which has no host, and most likely means service %s: the route answers 503 instead of standing open", id.service, s.decl.Service)
			s.decl.fail("E104", label)
		}
	}
}

// guard returns the first label of the service that restricts who may come in.
func (s *scope) guard() string {
	if s.decl.FailClosed != nil {
		return s.decl.FailClosed.Label
	}
	for _, e := range s.sortedEntries() {
		if e.key != nil && closes(e.key) {
			return shorten(e.label, shownLabel)
		}
	}
	return ""
}

// meant returns the services that may be meant by the name of one without a host.
func (f *found) meant(lone serviceKey) (near []*scope) {
	for _, id := range f.order() {
		s := f.services[id]
		if id.protocol != route.HTTP || id == lone || s.decl.Refused != "" {
			continue
		}
		limit := max(1, min(2, len(lone.service)/3)) // letters of a name that may be wrong
		if distance(strings.ToLower(id.service), strings.ToLower(lone.service), limit) <= limit {
			near = append(near, s)
		}
	}
	return near
}
