package docker

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// snapshot computes everything that the records amount to now. It also plans the next
// inspect of containers that wait for an address, and forgets those whose retention
// is over.
func (s *state) snapshot(now time.Time) route.Snapshot {
	s.expire(now)
	var inputs []label.Input
	var rejected []route.Rejected
	var idle []*record
	s.status.Candidates, s.status.Ignored = 0, 0
	for _, r := range s.records {
		if !r.removed {
			s.status.Candidates++
		}
		switch {
		case !r.relevant:
			if !r.removed {
				s.status.Ignored++
			}
		case !r.inspected:
			if r.failure != "" {
				rejected = append(rejected, notInspected(r))
			}
		case r.idle():
			idle = append(idle, r)
		default:
			inputs = s.input(inputs, r, now)
		}
	}
	grouped := label.Group(inputs, s.claims)
	if !s.status.LastSync.IsZero() { // before that nobody is known to be gone
		s.claims = s.remembered(grouped.Claims, now)
	}
	rejected = append(rejected, grouped.Rejected...)
	status := s.status
	status.Notes = s.statusNotes()
	out := route.Snapshot{
		Provider:    ProviderName,
		Entrypoints: grouped.Entrypoints,
		Candidates:  grouped.Candidates,
		Rejected:    rejected,
		Unrouted:    grouped.Unrouted,
		Global:      slices.Clone(s.global),
		Status:      status,
	}
	rejectStopped(&out, idle)
	return out
}

// statusNotes says what the provider has to do without.
func (s *state) statusNotes() []string {
	notes := slices.Clone(s.notes)
	if s.noOccupants {
		notes = append(notes, "GET /networks/{id} is denied: a container that takes over the address of a lost one is noticed"+
			" only when it has started (allow it in the socket proxy with NETWORKS=1)")
	}
	// One of the texts, always the same one, stands for all.
	var first *record
	for _, r := range s.records {
		if r.failures >= tellFailures && r.inspected && !r.removed && r.relevant && (first == nil || r.id < first.id) {
			first = r
		}
	}
	if first != nil {
		notes = append(notes, "what is known of some containers may be out of date, the engine would not describe them: "+first.failure)
	}
	return notes
}

// expire forgets removed containers whose retention is over.
func (s *state) expire(now time.Time) {
	for _, r := range s.records {
		if r.retained.IsZero() || now.Before(r.retained) {
			continue
		}
		if r.removed {
			s.forget(r)
			continue
		}
		r.retained = time.Time{} // still listed, but nobody waits for it any more
	}
}

func notInspected(r *record) route.Rejected {
	return route.Rejected{
		CandidateID: r.id, Name: r.name, Reason: "the engine would not describe it: " + r.failure,
		Code: "E003", Hint: "see the engine's log; it is asked again",
	}
}

// input appends what the grouping sees of one container.
func (s *state) input(inputs []label.Input, r *record, now time.Time) []label.Input {
	presence, visible := r.presence(now)
	if !r.parsed.Enabled {
		if r.parsed.Rejected == nil {
			if !r.removed {
				s.status.Ignored++
			}
			return inputs
		}
		if r.removed || !stays(r.info.Status) {
			return inputs // only what runs is worth a word
		}
		return append(inputs, label.Input{Candidate: r.candidate, Parsed: r.parsed, Presence: label.Present})
	}
	if !visible {
		return inputs
	}
	in := label.Input{
		Candidate: r.candidate, Parsed: r.parsed, Presence: presence,
		Health: cmp.Or(r.info.Health, "none"), Detail: ending(r.info),
	}
	switch presence {
	case label.Retained:
		in.Until = r.retained
	case label.Paused, label.Restarting, label.NoAddress:
	case label.Leaving:
		if r.endpoints == nil {
			r.endpoints, _ = s.endpoints(r)
		}
		in.Endpoints = r.endpoints
	case label.Present, label.Starting, label.Unhealthy:
		s.addressed(r, &in, now)
	}
	return append(inputs, in)
}

// stays reports whether a container in that state is there for a while.
func stays(status string) bool {
	return status == statusRunning || status == statusPaused || status == statusRestarting
}

// addressed fills in the endpoints of a running container.
func (s *state) addressed(r *record, in *label.Input, now time.Time) {
	if r.hidden() && r.trusted(now) {
		in.Endpoints = r.endpoints
		s.askAgain(r, now)
		return
	}
	endpoints, waiting := s.endpoints(r)
	in.Endpoints, r.endpoints, r.endpointsOf = endpoints, endpoints, r.info.Started
	if !waiting {
		r.hiddenSince = time.Time{}
		if r.failure == "" {
			r.backoff.Reset()
		}
		return
	}
	in.Presence, r.endpoints = label.NoAddress, nil
	s.askAgain(r, now)
}

// askAgain plans an inspect of a container whose address is missing.
func (s *state) askAgain(r *record, now time.Time) {
	if r.again.IsZero() && !r.dirty && !r.inFlight {
		r.again = now.Add(r.backoff.Next())
	}
}

// endpoints finds the address of a container and a port for each declaration.
func (s *state) endpoints(r *record) (endpoints []label.Endpoint, waiting bool) {
	place := s.site.place(r.info, r.candidate.Project, r.parsed.Network, r.choice)
	r.choice = place.choice
	endpoints = make([]label.Endpoint, len(r.parsed.Declarations))
	for i, d := range r.parsed.Declarations {
		e := label.Endpoint{Host: place.host, Loopback: place.loopback, Diagnostics: slices.Clone(place.diagnostics)}
		if place.host != "" {
			name := s.cfg.Label.Prefix + "." + string(d.Protocol) + "." + d.Service + ".port"
			port, diagnostic := ChoosePort(d.Protocol, name, d.Backend.Port, place.hostMode, r.info.Exposed)
			if e.Port = port; port == 0 {
				e.Host = ""
			}
			if diagnostic == nil && !place.hostMode {
				diagnostic = HostPort(d.Protocol, name, d.Backend.Port, slices.Concat(r.info.Exposed, place.exposed), place.published)
			}
			if diagnostic != nil {
				e.Diagnostics = append(e.Diagnostics, *diagnostic)
			}
		}
		endpoints[i] = e
	}
	return endpoints, place.waiting
}

// share lets a snapshot use the entrypoints of the last one where they are the same, so
// that whoever compares the two sees it at a glance. Both are sorted by id.
func share(old route.Snapshot, next *route.Snapshot) {
	for i, j := 0, 0; i < len(old.Entrypoints) && j < len(next.Entrypoints); {
		was, is := old.Entrypoints[i], next.Entrypoints[j]
		switch order := cmp.Compare(was.ID, is.ID); {
		case order < 0:
			i++
		case order > 0:
			j++
		default:
			if reflect.DeepEqual(was, is) {
				next.Entrypoints[j] = was
			}
			i, j = i+1, j+1
		}
	}
}

// equal reports whether two snapshots say the same to everybody. Times of reads do
// not count; numbers of containers only count after a complete read (full), so that
// other people's containers cause no swaps.
func equal(a, b route.Snapshot, full bool) bool {
	a.Status.LastSync, b.Status.LastSync = time.Time{}, time.Time{}
	if !full {
		a.Status.Candidates, b.Status.Candidates = 0, 0
		a.Status.Ignored, b.Status.Ignored = 0, 0
	}
	return reflect.DeepEqual(a, b)
}

// equalEntrypoints reports whether two snapshots route the same; the second one shares
// with the first.
func equalEntrypoints(a, b route.Snapshot) bool { return slices.Equal(a.Entrypoints, b.Entrypoints) }
