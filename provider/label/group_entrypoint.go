package label

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead/router/route"
)

// entrypoint completes a group.
func (g *grouping) entrypoint(grp *group) *route.Entrypoint {
	d := grp.decider
	e := &route.Entrypoint{
		ID: grp.id, Identity: grp.identity(d.in.Candidate.Provider), Name: grp.key.service, Protocol: grp.key.protocol,
		Source: d.in.Candidate.Provider, Project: d.in.Candidate.Project, Claim: grp.claim,
		Match: d.decl.Match, Options: d.decl.Options, Labels: d.decl.Labels,
		FailClosed:    grp.failClosed(),
		RetainedUntil: grp.retainedUntil(),
	}
	list := grp.notes
	for _, m := range grp.members {
		list = append(list, m.decl.Diagnostics...)
		list = append(list, m.endpoint.Diagnostics...)
		for _, note := range m.disagreements(grp, e) {
			g.notes[m.in.Candidate.ID] = append(g.notes[m.in.Candidate.ID], note)
			list = append(list, note)
		}
		if why := m.absence(grp, e); why != "" {
			e.Absent = append(e.Absent, m.absent(why))
			continue
		}
		e.Backends = append(e.Backends, m.backend(d.decl))
	}
	list = append(list, grp.strangers(e)...)
	for _, m := range grp.dead {
		e.Absent = append(e.Absent, m.absent(route.AbsentRetained))
	}
	slices.SortStableFunc(e.Absent, func(a, b route.Absence) int { return strings.Compare(a.CandidateID, b.CandidateID) })
	e.Diagnostics = (&report{list: list}).sorted()
	uniqueIDs(e.Backends)
	return e
}

// strangers tells of backends of several compose projects (W134): two stacks that happen to
// use the same names are one route, and clients get now the one app, now the other.
func (grp *group) strangers(e *route.Entrypoint) []route.Diagnostic {
	serving := map[string]bool{}
	for _, m := range grp.members {
		if m.in.Candidate.Project != "" && m.absence(grp, e) == "" {
			serving[shorten(m.in.Candidate.Project, 60)] = true
		}
	}
	if len(serving) < 2 {
		return nil
	}
	names := slices.Sorted(maps.Keys(serving))
	shown := strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		shown += ", ..."
	}
	return []route.Diagnostic{route.Diagnose("W134", "if they are different apps, use another service name or host in the labels of one; if they are one app, nothing",
		"containers of %d compose projects serve entrypoint %s together (%s): each request goes to one of them", len(names), grp.id, shown)}
}

// failClosed is set when any container of the owner asks for it: a newcomer without
// the label must not open what an older one still protects.
func (grp *group) failClosed() *route.FailClosed {
	own := slices.DeleteFunc(slices.Clone(grp.members), func(m *member) bool {
		return m.owner != grp.owner || m.decl.FailClosed == nil
	})
	if len(own) == 0 {
		return nil
	}
	slices.SortFunc(own, newer)
	return own[0].decl.FailClosed
}

// unprotected reports whether joining would open a backend whose own labels close
// it. A container of somebody else cannot close the route, so it stays out.
func (m *member) unprotected(grp *group, e *route.Entrypoint) bool {
	return m.owner != grp.owner && m.decl.FailClosed != nil && e.FailClosed == nil
}

func (grp *group) retainedUntil() time.Time {
	var last time.Time
	for _, m := range grp.members {
		if m.in.Presence != Retained {
			return time.Time{}
		}
		if m.in.Until.After(last) {
			last = m.in.Until
		}
	}
	return last
}

func (m *member) until() time.Time {
	if m.in.Presence == Retained {
		return m.in.Until
	}
	return time.Time{}
}

func (m *member) absent(why route.AbsenceReason) route.Absence {
	return route.Absence{CandidateID: m.in.Candidate.ID, Name: m.in.Candidate.Name, Why: why, Detail: m.in.Detail, Until: m.until()}
}

// absence says why a member is no backend, "" when it is one.
func (m *member) absence(grp *group, e *route.Entrypoint) route.AbsenceReason {
	switch m.in.Presence {
	case Retained:
		return route.AbsentRetained
	case Paused:
		return route.AbsentPaused
	case Restarting:
		return route.AbsentRestarting
	case NoAddress:
		return route.AbsentNoAddress
	case Present, Starting, Unhealthy, Leaving:
	}
	switch {
	case m.unprotected(grp, e):
		return route.AbsentRefused
	case m.endpoint.Host != "" && m.endpoint.Port != 0:
		return ""
	case slices.ContainsFunc(m.endpoint.Diagnostics, func(d route.Diagnostic) bool { return d.Severity == route.SeverityError }):
		return route.AbsentRefused
	}
	return route.AbsentNoAddress
}

// disagreements names the options of a container that have no effect because
// another one decides (W111).
func (m *member) disagreements(grp *group, e *route.Entrypoint) []route.Diagnostic {
	if m == grp.decider {
		return nil
	}
	var out []route.Diagnostic
	if ignored := ignoredKeys(m.decl, grp.decider.decl); len(ignored) > 0 {
		why, hint := "it is older", "recreate the older containers so that all have the same labels"
		if m.owner != grp.owner {
			why, hint = "it belongs to another project or service", "set these labels on the containers of the owner, or use another service name"
		}
		out = append(out, route.Diagnose("W111", hint, "%s of container %s of entrypoint %s have no effect: %s, and container %s decides",
			strings.Join(ignored, ", "), m.name(), grp.id, why, grp.decider.name()))
	}
	if m.unprotected(grp, e) {
		out = append(out, route.Diagnose("W111", "use a service name of its own for a route that is to be protected",
			"container %s asks for a protection (%s) that entrypoint %s of another project or service does not have: it gets no traffic",
			m.name(), m.decl.FailClosed.Label, grp.id))
	}
	return out
}

// ignoredKeys lists the entrypoint's keys that differ from the decider's, sorted.
func ignoredKeys(of, decider *Declaration) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(of.Set)) {
		if of.Set[name] == decider.Set[name] {
			if _, set := decider.Set[name]; set {
				continue
			}
		}
		k, param := catalog.find(of.Protocol, name)
		if k == nil || k.Level != LevelEntrypoint {
			continue
		}
		label, _, family := strings.Cut(k.Name, "<")
		if family {
			label += shorten(param, 60)
		}
		if out = append(out, label); len(out) == 20 {
			break
		}
	}
	return out
}

// backend makes the backend of a member; the check is that of the container that decides.
func (m *member) backend(decider *Declaration) route.Backend {
	c, o := &m.in.Candidate, &m.decl.Backend
	b := route.Backend{
		ID: c.ID[:min(len(c.ID), 12)], Name: c.Name,
		Container: &route.Container{
			ID: c.ID, Name: c.Name, Image: c.Image,
			CreatedAt: c.Created, StartedAt: c.Started, Health: m.in.Health,
		},
		Host: m.endpoint.Host, Port: m.endpoint.Port, Loopback: m.endpoint.Loopback,
		Scheme: o.Scheme, TLS: o.TLS, DialTimeout: o.DialTimeout, Weight: o.Weight,
		MaxConnections: o.MaxConnections, SlowStart: o.SlowStart, SlowStartMin: o.SlowStartMin,
		Docker: o.Docker, Provider: m.providerState(), StartedAt: c.Started,
	}
	if o.Docker == route.DockerHealthIgnore {
		b.Container.Health = "none"
	}
	b.Incarnation = strings.Join([]string{c.Provider, c.ID, strconv.FormatInt(c.Started.UnixNano(), 10), b.Address()}, "/")
	if decider.Check != nil {
		b.Check = checkOf(&b, *decider.Check, o.CheckPort, decider.CheckSkipVerify)
	}
	return b
}

// checkOf completes the entrypoint's check with what belongs to one backend. A probe
// that speaks TLS has the trust and the names of the traffic.
func checkOf(b *route.Backend, c route.Check, port uint16, skipVerify *bool) *route.Check {
	c.Port = cmp.Or(port, b.Port)
	switch c.Type {
	case route.ProbeTCP:
		return &c
	case route.ProbeHTTP, route.ProbeGRPC, route.ProbeWebSocket:
		c.Scheme = probeScheme(c.Scheme, b.Scheme)
		if c.Host == "" {
			c.Host = hostOf(b.Host, c.Port, c.Scheme)
		}
	case route.ProbeTLS:
	}
	if c.Type == route.ProbeTLS || c.Scheme == route.SchemeHTTPS {
		c.TLS = b.TLS
		if skipVerify != nil {
			c.TLS.InsecureSkipVerify = *skipVerify
		}
	}
	return &c
}

// hostOf is the Host header for an address (RFC 9110, section 7.2).
func hostOf(host string, port uint16, scheme route.Scheme) string {
	joined := route.JoinHostPort(host, port)
	if port == scheme.DefaultPort() {
		return joined[:strings.LastIndexByte(joined, ':')]
	}
	return joined
}

// providerState applies the dockerHealth mode to the engine's word. The gate of
// `require` is the health engine's: it reads Backend.Docker.
func (m *member) providerState() route.ProviderState {
	gates := m.decl.Backend.Docker != route.DockerHealthReport && m.decl.Backend.Docker != route.DockerHealthIgnore
	switch {
	case m.in.Presence == Leaving:
		return route.ProviderLeaving
	case m.in.Presence == Starting && gates:
		return route.ProviderStarting
	case m.in.Presence == Unhealthy && gates:
		return route.ProviderUnhealthy
	}
	return route.ProviderPresent
}

// uniqueIDs gives backends whose short ids are equal their full ones.
func uniqueIDs(list []route.Backend) {
	for i := 1; i < len(list); i++ {
		if strings.HasPrefix(list[i].ID, list[i-1].ID[:min(12, len(list[i-1].ID))]) {
			list[i-1].ID, list[i].ID = list[i-1].Container.ID, list[i].Container.ID
		}
	}
	slices.SortFunc(list, func(a, b route.Backend) int { return strings.Compare(a.ID, b.ID) })
}
