package label

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead/router/route"
)

// groupKey identifies an entrypoint: containers that agree on it share one.
type groupKey struct {
	protocol route.Protocol
	service  string
	match    string
}

// owner is who a container's claims belong to: a compose service of a project, or
// the provider for containers without compose.
type owner struct{ project, service string }

func ownerOf(c *Candidate) owner {
	if c.Project == "" {
		return owner{project: "@" + c.Provider}
	}
	return owner{c.Project, c.Service}
}

// born is when a container came into being, as far as that is known.
func (c *Candidate) born() time.Time {
	if c.Created.IsZero() {
		return c.Started
	}
	return c.Created
}

// member is one declaration of one candidate in a group.
type member struct {
	in       *Input
	decl     *Declaration
	endpoint Endpoint
	owner    owner
}

func (m *member) name() string { return nameOf(m.in) }

func nameOf(in *Input) string { return shorten(cmp.Or(in.Candidate.Name, in.Candidate.ID), 100) }

// slot is which of its owner's replicas a container is: its successor has the same.
func (m *member) slot() slot {
	if m.in.Candidate.Project != "" {
		return slot{m.owner, m.in.Candidate.Labels["com.docker.compose.container-number"]}
	}
	return slot{m.owner, m.in.Candidate.Name}
}

type slot struct {
	owner   owner
	replica string
}

// newer orders members by the age of their containers, the newest first.
func newer(a, b *member) int {
	return cmp.Or(b.in.Candidate.born().Compare(a.in.Candidate.born()),
		strings.Compare(b.in.Candidate.ID, a.in.Candidate.ID))
}

// group is an entrypoint in the making.
type group struct {
	key     groupKey
	digest  string    // of the matchers, which may hold secrets
	members []*member // in the order of candidate ids
	// dead are stopped replicas beside a living one of their owner: they are listed
	// and decide nothing.
	dead    []*member
	id      string
	claim   time.Time
	owner   owner   // of the oldest claim: it decides the options
	decider *member // its newest container
	notes   []route.Diagnostic
}

// grouping is the work of one call of Group.
type grouping struct {
	groups map[groupKey]*group
	sorted []*group // by key
	notes  map[string][]route.Diagnostic
	kept   map[*Input]bool // has a place in some group
	out    Grouped
}

// Group makes entrypoints of the declarations of all candidates of one provider, by
// the rules of labels.md, "Conflicts". It is deterministic: neither the order of the
// input nor the time of a call matters. in and claims are not changed; the result
// shares maps and slices with in.
func Group(in []Input, claims Claims) Grouped {
	g := &grouping{
		groups: map[groupKey]*group{},
		notes:  map[string][]route.Diagnostic{},
		kept:   map[*Input]bool{},
		out:    Grouped{Claims: make(Claims, len(claims))},
	}
	ordered := make([]*Input, len(in))
	for i := range in {
		ordered[i] = &in[i]
	}
	slices.SortStableFunc(ordered, func(a, b *Input) int { return strings.Compare(a.Candidate.ID, b.Candidate.ID) })
	for _, input := range ordered {
		g.add(input)
	}
	g.sorted = slices.SortedFunc(maps.Values(g.groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.key.protocol, b.key.protocol), cmp.Compare(a.key.service, b.key.service), cmp.Compare(a.key.match, b.key.match))
	})
	for _, grp := range g.sorted {
		g.decide(grp, claims)
	}
	g.name()
	for _, grp := range g.sorted {
		g.out.Entrypoints = append(g.out.Entrypoints, g.entrypoint(grp))
	}
	slices.SortFunc(g.out.Entrypoints, func(a, b *route.Entrypoint) int { return strings.Compare(a.ID, b.ID) })
	for _, input := range ordered {
		g.diagnostics(input)
	}
	return g.out
}

// add sorts a candidate's declarations into groups.
func (g *grouping) add(in *Input) {
	if !in.Parsed.Enabled {
		return
	}
	for i := range in.Parsed.Declarations {
		d := &in.Parsed.Declarations[i]
		if d.Refused != "" {
			continue
		}
		m := &member{in: in, decl: d, owner: ownerOf(&in.Candidate)}
		if i < len(in.Endpoints) {
			m.endpoint = in.Endpoints[i]
		}
		key := groupKey{d.Protocol, d.Service, d.Match.Key()}
		grp := g.groups[key]
		if grp == nil {
			sum := sha256.Sum256([]byte(key.match))
			grp = &group{key: key, digest: hex.EncodeToString(sum[:])}
			g.groups[key] = grp
		}
		grp.members = append(grp.members, m)
	}
}

// decide settles the claims of a group: who holds the oldest one, and which of its
// containers decides the options. A stopped container whose owner has a living one
// has no part in that; it is dropped when it has a successor, living or not.
func (g *grouping) decide(grp *group, claims Claims) {
	since := map[owner]time.Time{}
	alive, latest := map[owner]bool{}, map[slot]*member{}
	for _, m := range grp.members {
		first, known := since[m.owner]
		if !known {
			first = claims[g.claimKey(grp, m.owner)]
		}
		if born := m.in.Candidate.born(); first.IsZero() || born.Before(first) {
			first = born
		}
		since[m.owner] = first
		if m.in.Presence != Retained {
			alive[m.owner] = true
		}
		if last := latest[m.slot()]; last == nil || succeeds(m, last) {
			latest[m.slot()] = m
		}
	}
	oldest := true
	for o, t := range since {
		g.out.Claims[g.claimKey(grp, o)] = t
		if oldest || olderClaim(t, o, grp.claim, grp.owner) {
			grp.claim, grp.owner, oldest = t, o, false
		}
	}
	grp.bury(alive, latest)
	g.elect(grp)
}

// bury takes the stopped containers out of a group that somebody replaces, and lists those
// beside a living one.
func (grp *group) bury(alive map[owner]bool, latest map[slot]*member) {
	grp.members = slices.DeleteFunc(grp.members, func(m *member) bool {
		if m.in.Presence != Retained {
			return false
		}
		last := latest[m.slot()]
		replaced := last != m && (last.in.Presence != Retained || m.slot().replica != "")
		if alive[m.owner] && !replaced {
			grp.dead = append(grp.dead, m)
		}
		return alive[m.owner] || replaced
	})
}

// succeeds reports whether a replica takes the place of another one: a living one does,
// else the newer one.
func succeeds(m, of *member) bool {
	if a, b := m.in.Presence != Retained, of.in.Presence != Retained; a != b {
		return a
	}
	return newer(m, of) < 0
}

// elect finds the container that decides the options.
func (g *grouping) elect(grp *group) {
	for _, m := range grp.members {
		g.kept[m.in] = true
		if m.owner == grp.owner && (grp.decider == nil || newer(m, grp.decider) < 0) {
			grp.decider = m
		}
	}
}

func olderClaim(t time.Time, o owner, than time.Time, other owner) bool {
	return cmp.Or(t.Compare(than), strings.Compare(o.project, other.project), strings.Compare(o.service, other.service)) < 0
}

func (g *grouping) claimKey(grp *group, o owner) ClaimKey {
	return ClaimKey{
		Protocol: grp.key.protocol, Service: grp.key.service,
		Owner: o.project, ComposeService: o.service, Match: grp.digest,
	}
}

// diagnostics gathers all findings about a candidate, and whether it is rejected; those of
// a stopped one end with its last place in a group.
func (g *grouping) diagnostics(in *Input) {
	if in.Presence == Retained && !g.kept[in] {
		return
	}
	id := in.Candidate.ID
	list := slices.Concat(in.Parsed.Diagnostics, g.notes[id])
	for i := range in.Endpoints {
		list = append(list, in.Endpoints[i].Diagnostics...)
	}
	if list = sortDiagnostics(list); len(list) > 0 {
		g.out.Candidates = append(g.out.Candidates, route.CandidateDiagnostics{CandidateID: id, Diagnostics: list})
	}
	for _, u := range in.Parsed.Unrouted {
		u.What = strings.TrimPrefix(u.What+" of container "+nameOf(in), " of ")
		g.out.Unrouted = append(g.out.Unrouted, u)
	}
	switch {
	case in.Parsed.Rejected != nil:
		g.out.Rejected = append(g.out.Rejected, *in.Parsed.Rejected)
	case in.Parsed.Enabled && !g.kept[in]:
		g.out.Rejected = append(g.out.Rejected, *unrouted(in, list))
	}
}

// unrouted rejects a candidate of which no declaration is routed, with what refuses the
// first one.
func unrouted(in *Input, findings []route.Diagnostic) *route.Rejected {
	code := "E004"
	if len(in.Parsed.Declarations) > 0 {
		code = in.Parsed.Declarations[0].Refused
	}
	for _, d := range findings {
		if d.Code == code {
			return reject(in.Candidate, d.Message, code, d.Hint)
		}
	}
	return reject(in.Candidate, "none of its labels makes a route", code, "") // it did not fit among the findings
}
