package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead/router/route"
)

// survey is what is read about the surroundings: the engine's networks and the
// router's own place among them.
type survey struct {
	networks map[string]network // nil when not known
	// failed is set when the networks could not be read this time: the old ones stay.
	failed bool
	notes  []string
	self   location
	global []route.Diagnostic
}

// look reads the surroundings. What a socket proxy denies is done without, and said in
// the notes.
func look(ctx context.Context, eng engine, finder selfFinder) (survey, error) {
	var v survey
	networks, err := eng.Networks(ctx)
	switch {
	case errors.Is(err, errDenied):
		v.notes = append(v.notes, "GET /networks is denied: whether the router can reach a network is judged by its name,"+
			" and a container that takes over the address of a lost one is noticed only when it has started"+
			" (allow it in the socket proxy with NETWORKS=1)")
	case err != nil:
		if ctx.Err() != nil {
			return v, ctx.Err()
		}
		v.failed = true
	default:
		v.networks = make(map[string]network, len(networks))
		for _, n := range networks {
			v.networks[n.ID] = n
		}
	}
	if v.self, err = finder.find(ctx, eng.Inspect); err != nil {
		return v, fmt.Errorf("looking for the router's own container: %w", err)
	}
	if v.self.where == unlocated {
		v.global = append(v.global, route.Diagnose("I108",
			"set FAIRLEAD_CONTAINER_ID to the router's container id, or allow GET /containers/{id}/json in the socket proxy",
			"the router runs in a container that this engine does not show: all networks of a backend are taken as reachable"))
	}
	return v, nil
}

func (s *state) surveyedAs(v survey) {
	if !v.failed {
		s.site.networks = v.networks
	}
	s.site.self = v.self
	s.notes, s.global = v.notes, v.global
	if v.self.id != "" {
		s.get(v.self.id, nil)
	}
}

// unknownNetwork returns a network of the container that the last survey did not
// show, or "".
func (s *state) unknownNetwork(in inspected) string {
	if s.site.networks == nil {
		return ""
	}
	for _, a := range in.Networks {
		if _, known := s.site.networks[a.NetworkID]; a.NetworkID != "" && !known {
			return a.NetworkID
		}
	}
	return ""
}

// moved reports whether the container is the router's own and its networks are not
// the ones that the last survey showed.
func (s *state) moved(in inspected) bool {
	own := s.site.self
	return in.ID == own.id && own.where == inContainer && !maps.Equal(in.Networks, own.networks)
}

// due returns the containers to inspect now, at most limit of them, those first that
// were asked about longest ago.
func (s *state) due(now time.Time, limit int) []*record {
	var due []*record
	for _, r := range s.records {
		if at, wanted := r.wantedAt(); wanted && !at.After(now) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *record) int { return a.launched.Compare(b.launched) })
	return due[:min(limit, len(due))]
}

// inspectGap is the shortest time between two questions about one container.
const inspectGap = 100 * time.Millisecond

// wantedAt is when the container is to be inspected, if at all.
func (r *record) wantedAt() (time.Time, bool) {
	switch {
	case r.inFlight || r.removed:
		return time.Time{}, false
	case r.dirty:
		return r.launched.Add(inspectGap), true
	case !r.again.IsZero():
		return r.again, true
	case r.leaving != nil:
		return r.leaving.until, true
	}
	return time.Time{}, false
}

// pending reports whether an announced container of interest has not been inspected yet.
func (s *state) pending() bool {
	for _, r := range s.records {
		if (r.dirty || r.inFlight) && !r.removed && s.interesting(r) {
			return true
		}
	}
	return false
}

// nextInspect returns the earliest moment at which a container is to be inspected,
// zero when there is none.
func (s *state) nextInspect() time.Time {
	var first time.Time
	for _, r := range s.records {
		if at, wanted := r.wantedAt(); wanted && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// nextExpiry returns the earliest end of a retention, zero when there is none.
func (s *state) nextExpiry() time.Time {
	var first time.Time
	for _, r := range s.records {
		if !r.retained.IsZero() && (first.IsZero() || r.retained.Before(first)) {
			first = r.retained
		}
	}
	return first
}

// launch marks a container as asked about.
func (r *record) launch(now time.Time) {
	r.inFlight, r.dirty, r.launched, r.again = true, false, now, time.Time{}
}
