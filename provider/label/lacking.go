package label

import (
	"strings"

	"fairlead/router/route"
)

// unenforced adds to a hint that corrects a protection what the correction comes to: one
// that this version cannot enforce closes the route as well (E113).
func unenforced(hint string, keys ...*Key) string {
	var weak []*Key
	for _, k := range keys {
		if k.Available == Protecting {
			weak = append(weak, k)
		}
	}
	which := "it"
	switch {
	case len(weak) == 0:
		return hint
	case len(weak) < len(keys):
		which = strings.Join(names(weak), ", ")
	}
	return caveat(hint, "this version cannot enforce "+which+" (E113): remove the label if the route may be open")
}

// closing adds to a hint that corrects a limit, or a part of a protection, that the route is
// closed when it is correct.
func (s *scope) closing(hint string, k *Key) string {
	if k.Available != Protecting || s.decl.Protocol != route.HTTP {
		return hint
	}
	return caveat(hint, "this version cannot enforce it, and a correct one closes the route (E113)")
}

// notYetHere adds to the suggestion of keys which of them this version does not have.
func notYetHere(hint string, keys ...*Key) string {
	var list []string
	for _, k := range keys {
		switch k.Available {
		case Later:
			list = append(list, k.Name+" (I104)")
		case Protecting:
			list = append(list, k.Name+" (E113)")
		case Working:
		}
	}
	if len(list) == 0 {
		return hint
	}
	return caveat(hint, "not in this version: "+strings.Join(list, ", "))
}

// caveat adds a clause to a hint that may end as a question.
func caveat(hint, clause string) string {
	if strings.HasSuffix(hint, "?") {
		return hint + " " + strings.ToUpper(clause[:1]) + clause[1:]
	}
	return hint + "; " + clause
}

// protections are the keys of which a mistake closes the route.
func (ix index) protections() (keys []*Key) {
	for i := range ix.keys {
		if closes(&ix.keys[i]) {
			keys = append(keys, &ix.keys[i])
		}
	}
	return keys
}
