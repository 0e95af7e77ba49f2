package router

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairlead/router/route"
)

// merged is one entrypoint of all providers together. The entrypoint is the
// provider's own value unless its id had to change.
type merged struct {
	entrypoint  *route.Entrypoint
	provider    string
	diagnostics []route.Diagnostic
}

// mergeEntrypoints puts the providers' entrypoints together, sorted by id. Of
// several with one id the one with the oldest claim keeps it, then the one whose
// provider's name comes first; the others become "<id>@<provider>", and I105 says
// so on all of them.
func mergeEntrypoints(snapshots map[string]route.Snapshot) []merged {
	var all []merged
	for _, name := range slices.Sorted(maps.Keys(snapshots)) {
		for _, e := range snapshots[name].Entrypoints {
			all = append(all, merged{entrypoint: e, provider: name})
		}
	}
	byID := func(a, b merged) int { return strings.Compare(a.entrypoint.ID, b.entrypoint.ID) }
	slices.SortStableFunc(all, func(a, b merged) int {
		return cmp.Or(byID(a, b), a.entrypoint.Claim.Compare(b.entrypoint.Claim),
			strings.Compare(a.provider, b.provider))
	})
	if separate(all) {
		slices.SortStableFunc(all, byID)
	}
	return all
}

// separate gives every entrypoint its own id; it reports whether any changed.
func separate(all []merged) bool {
	changed := false
	taken := map[string]bool{}
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && all[end].entrypoint.ID == all[start].entrypoint.ID {
			end++
		}
		if end > start+1 {
			if !changed {
				for i := range all {
					taken[all[i].entrypoint.ID] = true
				}
			}
			changed = true
			renameLosers(all[start:end], taken)
		}
		start = end
	}
	return changed
}

// renameLosers takes the entrypoints of one id, the one that keeps it first.
func renameLosers(same []merged, taken map[string]bool) {
	keeper := &same[0]
	var others []string
	for i := range same[1:] {
		m := &same[i+1]
		renamed := *m.entrypoint
		renamed.ID += "@" + m.provider
		for taken[renamed.ID] {
			renamed.ID += "'"
		}
		taken[renamed.ID] = true
		m.diagnostics = []route.Diagnostic{route.Diagnose("I105", "give one of them another service name",
			"the name %s is shared with %s of provider %s, whose claim is older: this one is %s",
			m.entrypoint.Name, keeper.entrypoint.ID, keeper.provider, renamed.ID)}
		m.entrypoint = &renamed
		others = append(others, renamed.ID)
	}
	same[0].diagnostics = []route.Diagnostic{route.Diagnose("I105", "give one of them another service name",
		"the name is shared with %s of another provider", enumerate(others))}
}
