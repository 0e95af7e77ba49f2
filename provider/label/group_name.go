package label

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"fairlead/router/route"
)

// serviceName is what an id is made of.
type serviceName struct {
	protocol route.Protocol
	service  string
}

// name gives every group its id. The oldest claim on a name gets the plain one;
// the others a suffix that stays the same over recreates.
func (g *grouping) name() {
	byName := map[serviceName][]*group{}
	taken := map[string]bool{}
	for _, grp := range g.sorted {
		n := serviceName{grp.key.protocol, grp.key.service}
		byName[n] = append(byName[n], grp)
		taken[string(n.protocol)+"_"+n.service] = true
	}
	for _, grp := range g.sorted {
		n := serviceName{grp.key.protocol, grp.key.service}
		sharing := byName[n]
		if sharing == nil {
			continue
		}
		delete(byName, n)
		slices.SortStableFunc(sharing, olderGroup)
		sharing[0].id = string(n.protocol) + "_" + n.service
		for _, other := range sharing[1:] {
			other.id = freeID(sharing[0].id, other, taken)
		}
		noteSharing(sharing)
	}
	g.noteCases()
}

func olderGroup(a, b *group) int {
	return cmp.Or(a.claim.Compare(b.claim), strings.Compare(a.owner.project, b.owner.project), strings.Compare(a.key.match, b.key.match))
}

// freeID adds the compose project to a shared name, or what tells the matchers
// apart when there is none or it does not suffice.
func freeID(base string, grp *group, taken map[string]bool) string {
	digest := grp.digest
	project := idPart(grp.owner.project)
	candidates := []string{base + "-" + project, base + "-" + project + "-" + digest[:8], base + "-" + project + "-" + digest}
	if strings.HasPrefix(grp.owner.project, "@") {
		candidates = []string{base + "-" + digest[:8], base + "-" + digest}
	}
	for _, id := range candidates {
		if !taken[id] {
			taken[id] = true
			return id
		}
	}
	return candidates[len(candidates)-1]
}

// identity is what an entrypoint is, whatever its id: protocol, service, matchers and the
// project or provider of the oldest claim.
func (grp *group) identity(provider string) string {
	sum := sha256.New()
	for _, part := range []string{provider, grp.owner.project, string(grp.key.protocol), grp.key.service, grp.digest} {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// idPart keeps what may stand in an id: a project's name is a label as well.
func idPart(s string) string {
	return strings.Map(func(r rune) rune {
		if badService(string(r)) != "" && r != '.' {
			return '-'
		}
		return r
	}, s[:min(len(s), 100)])
}

func noteSharing(sharing []*group) {
	if len(sharing) < 2 {
		return
	}
	ids := make([]string, len(sharing))
	for i, grp := range sharing {
		ids[i] = grp.id
	}
	shown := strings.Join(ids[:min(len(ids), 5)], ", ")
	if len(ids) > 5 {
		shown += ", ..."
	}
	for _, grp := range sharing {
		grp.notes = append(grp.notes, route.Diagnose("I105", "give the services different names in their labels if the ids matter to you",
			"the service name %s is used with different hosts or paths: it became %d entrypoints (%s)", grp.key.service, len(ids), shown))
	}
}

// noteCases reports services of different containers whose names differ only by case.
func (g *grouping) noteCases() {
	byFold := map[serviceName][]string{}
	for _, grp := range g.sorted {
		n := serviceName{grp.key.protocol, strings.ToLower(grp.key.service)}
		if list := byFold[n]; len(list) == 0 || list[len(list)-1] != grp.key.service {
			byFold[n] = append(list, grp.key.service)
		}
	}
	for _, grp := range g.sorted {
		spellings := byFold[serviceName{grp.key.protocol, strings.ToLower(grp.key.service)}]
		if len(spellings) > 1 {
			grp.notes = append(grp.notes, route.Diagnose("W103", "write the service name in one case everywhere",
				"services %s differ only by case: they are separate services", strings.Join(spellings[:min(len(spellings), 5)], ", ")))
		}
	}
}
