package docker

import (
	"errors"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
	"fairlead/provider/label"
	"fairlead/router/route"
)

// urgency is what an event or an answer asks of the watcher.
type urgency uint8

const (
	// idle: nothing that anybody would see has changed.
	idle urgency = iota
	// soon: something was announced; it may be collected with what follows.
	soon
	// atOnce: a backend must not be used any more; it may wait a moment for what follows.
	atOnce
	// immediately: its address is another container's.
	immediately
)

// maxInspectBackoff bounds the wait between questions about a container that has no
// address yet, or that the engine would not describe.
const maxInspectBackoff = 5 * time.Second

// tellFailures is how many inspects of one container must fail in a row before the status
// says so.
const tellFailures = 3

// addressKey is an address on one network; two running containers never share one.
type addressKey struct {
	network string
	address string
}

// state is all that is known about one engine. It does no I/O, takes the time as an
// argument and belongs to one goroutine.
type state struct {
	cfg     Config
	log     zerolog.Logger
	records map[string]*record
	// holders says which container holds an address, so that a new owner is noticed
	// even when the old one's end was not announced.
	holders map[addressKey]string
	// followed are the containers whose network another one uses.
	followed map[string]bool
	// suspects are the networks whose occupants are to be asked for; noOccupants is set
	// where the engine hides them.
	suspects    map[string]bool
	noOccupants bool

	site   site
	notes  []string
	global []route.Diagnostic

	claims label.Claims
	// restored are claims from before the start whose owners have not been seen yet; they
	// are forgotten at restoredUntil, which the first complete read sets.
	restored      label.Claims
	restoredUntil time.Time
	status        route.ProviderStatus
}

func newState(cfg Config) *state {
	s := &state{
		cfg: cfg, log: cfg.Log,
		records: map[string]*record{}, holders: map[addressKey]string{}, followed: map[string]bool{},
		suspects: map[string]bool{},
		status:   route.ProviderStatus{Name: ProviderName, Enabled: true, Configured: true, Phase: route.PhasePending},
	}
	s.site = site{defaultNetwork: cfg.DefaultNetwork, prefix: cfg.Label.Prefix, lookup: s.lookup}
	return s
}

// connected notes a connection whose first read is still to come.
func (s *state) connected(v versions, now time.Time) {
	if !s.status.Connected {
		s.status.Connected, s.status.Since = true, now
	}
	s.status.EngineVersion, s.status.APIVersion = v.Engine, v.API
}

// synced notes a complete read. degraded is what is missing all the same, or nil.
func (s *state) synced(now time.Time, degraded error) {
	s.status.Phase, s.status.LastSync, s.status.Returning = route.PhaseReady, now, false
	s.status.LastError, s.status.Hint = "", ""
	if degraded != nil {
		s.status.LastError, s.status.Hint = describe(degraded)
	}
}

// disconnected notes that the engine is away: everything stays as it was.
func (s *state) disconnected(err error, now time.Time) {
	if s.status.Connected || s.status.Since.IsZero() {
		s.status.Connected, s.status.Since = false, now
	}
	s.status.Phase = route.PhaseStale
	s.status.LastError, s.status.Hint = describe(err)
	if s.status.LastSync.IsZero() {
		s.status.Phase = route.PhaseFailed
		s.status.Hint = s.cfg.neverRead(s.status.Hint)
	}
}

// extend moves the ends of retentions: their clock stands still while the engine is
// away, because nobody could have started the successor.
func (s *state) extend(outage time.Duration) {
	for _, r := range s.records {
		if !r.retained.IsZero() {
			r.retained = r.retained.Add(outage)
		}
	}
}

// get returns the record of a container, made on first sight.
func (s *state) get(id string, labels map[string]string) *record {
	r := s.records[id]
	if r == nil {
		r = &record{id: id, name: labels["name"], backoff: provider.Backoff{Max: maxInspectBackoff}}
		s.records[id] = r
		r.relevant = s.relevant(labels)
	}
	return r
}

// relevant reports whether a container with these labels is one of ours.
func (s *state) relevant(labels map[string]string) bool {
	return s.cfg.Label.ExposeByDefault || hasLabels(labels, s.cfg.Label.Prefix)
}

// interesting reports whether a change of the container can change a snapshot.
func (s *state) interesting(r *record) bool {
	return r.relevant || s.followed[r.id] || s.followed[r.name] || r.id == s.site.self.id
}

// listed takes a complete list: every container of interest is inspected, and one
// that is missing is asked for too, because lists have been wrong.
func (s *state) listed(list []summary) {
	s.followAnew()
	there := make(map[string]bool, len(list))
	for _, c := range list {
		there[c.ID] = true
		r := s.get(c.ID, c.Labels)
		r.removed = false // an engine that said so was wrong, or this list is older; the inspect tells
		r.name = c.Name
		r.relevant = s.relevant(c.Labels)
		r.dirty = r.dirty || s.interesting(r)
	}
	for id, r := range s.records {
		switch {
		case there[id] || r.removed:
		case s.interesting(r):
			r.dirty = true
		default:
			s.forget(r)
		}
	}
}

// followAnew forgets whom nobody follows any more.
func (s *state) followAnew() {
	clear(s.followed)
	for _, r := range s.records {
		if target, ok := strings.CutPrefix(r.info.NetworkMode, "container:"); ok && !r.removed {
			s.followed[target] = true
		}
	}
}

// answered takes the result of an inspect.
func (s *state) answered(id string, in inspected, err error, now time.Time) urgency {
	r := s.records[id]
	if r == nil {
		return idle
	}
	r.inFlight = false
	if r.removed {
		return idle
	}
	switch {
	case errors.Is(err, errNotFound):
		s.log.Debug().Str(route.FieldContainer, shortID(id)).Msg("container is gone")
		return s.end(r, now)
	case err != nil:
		return s.failed(r, err, now)
	}
	before := r.info
	s.release(r)
	takenBack := r.update(in, now, s.cfg.Retain)
	r.relevant = s.relevant(in.Labels)
	if takenBack {
		s.log.Info().Str(route.FieldContainer, r.name).Msg("container got a stop signal and went on running: it serves again")
	}
	if r.relevant {
		r.parse(s.cfg.Label)
	}
	if target, ok := strings.CutPrefix(in.NetworkMode, "container:"); ok {
		s.follow(target)
	}
	level := s.hold(r, now)
	s.doubt(r)
	if !s.interesting(r) {
		return level
	}
	if before.Status == statusRunning && (in.Status != statusRunning || moved(before, in)) {
		return max(level, atOnce)
	}
	return max(level, soon)
}

// moved reports whether a container has another address than before on any network, which
// makes the old one somebody else's.
func moved(before, now inspected) bool {
	for name, a := range before.Networks {
		if b := now.Networks[name]; a.IPv4 != b.IPv4 && b.IPv4 != "" || a.IPv6 != b.IPv6 && b.IPv6 != "" {
			return true
		}
	}
	return false
}

func (s *state) failed(r *record, err error, now time.Time) urgency {
	if !s.interesting(r) && r.leaving == nil {
		return idle // nobody waits for the answer
	}
	r.again = now.Add(r.backoff.Next())
	if !s.interesting(r) {
		return idle
	}
	text, _ := describe(err)
	s.log.Debug().Str(route.FieldContainer, r.name).Str(zerolog.ErrorFieldName, text).Msg("inspect failed")
	r.failures++
	if r.failure == text && r.failures != tellFailures {
		return idle
	}
	r.failure = text
	return soon
}

// end notes that a container was removed.
func (s *state) end(r *record, now time.Time) urgency {
	r.gone(now, s.cfg.Retain)
	level := idle
	if s.interesting(r) {
		level = atOnce
	}
	if r.retained.IsZero() {
		s.forget(r)
	}
	return level
}

// forget drops a record and what it holds.
func (s *state) forget(r *record) {
	s.release(r)
	delete(s.records, r.id)
	delete(s.followed, r.id)
}

func (s *state) release(r *record) {
	for _, a := range r.info.Networks {
		for _, key := range keysOf(a) {
			if s.holders[key] == r.id {
				delete(s.holders, key)
			}
		}
	}
}

func keysOf(a attachment) []addressKey {
	var keys []addressKey
	for _, address := range []string{a.IPv4, a.IPv6} {
		if address != "" && a.NetworkID != "" {
			keys = append(keys, addressKey{a.NetworkID, address})
		}
	}
	return keys
}

// hold notes the container's addresses. When another running container had one of
// them, the one that was asked about earlier cannot be there any more: it leaves at
// once, whatever the engine announced, so that nobody gets the other's content.
func (s *state) hold(r *record, now time.Time) urgency {
	if !r.live() {
		return idle
	}
	level := idle
	for _, a := range r.info.Networks {
		for _, key := range keysOf(a) {
			other := s.records[s.holders[key]]
			if other == nil || other == r || !other.live() || !other.holds(key) {
				s.holders[key] = r.id
				continue
			}
			loser := r
			if !other.launched.After(r.launched) {
				loser = other
				s.holders[key] = r.id
			}
			loser.oust(key, now)
			if s.interesting(loser) {
				level = immediately
			}
		}
	}
	return level
}

// follow notes a container whose network another one uses, and asks about it.
func (s *state) follow(ref string) {
	if s.followed[ref] {
		return
	}
	s.followed[ref] = true
	for id, r := range s.records {
		if id == ref || r.name == ref {
			r.dirty = r.dirty || !r.inspected
			return
		}
	}
	if containerID.MatchString(ref) {
		s.get(ref, nil).dirty = true
	}
}

// lookup finds a followed container by its id, or by the name of one that exists.
func (s *state) lookup(ref string) (inspected, bool) {
	if r := s.records[ref]; r != nil {
		return r.info, r.inspected && !r.removed
	}
	for _, r := range s.records {
		if r.name == ref && r.inspected && !r.removed {
			return r.info, true
		}
	}
	return inspected{}, false
}
