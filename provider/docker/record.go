package docker

import (
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead/provider"
	"fairlead/provider/label"
)

// Container states by the engine's word.
const (
	statusCreated    = "created"
	statusRunning    = "running"
	statusPaused     = "paused"
	statusRestarting = "restarting"
	statusRemoving   = "removing"
	statusExited     = "exited"
	statusDead       = "dead"
)

// leaveGrace is added to a container's stop timeout before one that still runs is
// taken back.
const leaveGrace = 5 * time.Second

// record is all that is known about one container. It belongs to the watcher's
// goroutine.
type record struct {
	id   string
	name string
	// relevant is set when it carries labels of ours, or everything is exposed.
	relevant bool
	// inspected is set after the first answer; info is the last one, with what events
	// said since.
	inspected bool
	info      inspected
	candidate label.Candidate
	parsed    label.Parsed
	// endpoints are the last ones found while it was running, in the run that began at
	// endpointsOf; a leaving container keeps them.
	endpoints   []label.Endpoint
	endpointsOf time.Time
	// hiddenSince is when the engine stopped to show an address that nobody took away.
	hiddenSince time.Time
	// choice is the address taken last.
	choice choice
	// served is set once it has run under our eyes: its end is then retained in full.
	served  bool
	removed bool
	leaving *departure
	// retained is the end of the retention of a stopped container, or zero.
	retained time.Time
	// failure is the text of the last inspect that failed, "" after a good one; failures
	// is how many there were since.
	failure  string
	failures int

	// dirty asks for an inspect; inFlight is set while one runs.
	dirty    bool
	inFlight bool
	launched time.Time
	// again is when it is inspected next without an event, or zero.
	again   time.Time
	backoff provider.Backoff
}

// departure is a container on its way out.
type departure struct {
	// at is the event's time on the engine's clock: a start after it ends the departure.
	at time.Time
	// until is when a container that still runs is taken back.
	until time.Time
	// died is set when the process is known to be gone.
	died bool
	// ousted is the address that another container has taken, or zero.
	ousted addressKey
}

// depart marks the container as leaving. It returns false when the event is about an
// earlier life of it.
func (r *record) depart(at, now time.Time, died bool) bool {
	if r.inspected && !at.IsZero() && r.info.Started.After(at) {
		return false
	}
	if at.IsZero() {
		at = r.info.Started
	}
	timeout := defaultStopTimeout
	if r.inspected {
		timeout = r.info.StopTimeout
	}
	if timeout < 0 {
		timeout = 24 * time.Hour // waits for its process for ever, and so do we
	}
	if r.leaving == nil {
		r.leaving = &departure{at: at, until: now.Add(timeout + leaveGrace)}
	}
	r.leaving.died = r.leaving.died || died
	return true
}

// live reports whether the container holds its addresses, as far as is known.
func (r *record) live() bool {
	running := r.info.Status == statusRunning || r.info.Status == statusPaused
	return running && !r.removed && (r.leaving == nil || !r.leaving.died)
}

func (r *record) holds(key addressKey) bool {
	for _, a := range r.info.Networks {
		if slices.Contains(keysOf(a), key) {
			return true
		}
	}
	return false
}

// oust makes a container leave whose address belongs to another one now.
func (r *record) oust(key addressKey, now time.Time) {
	r.depart(time.Time{}, now, true)
	r.leaving.ousted, r.dirty = key, true
}

// hiddenTime is how long an address is believed in that the engine does not show any
// more although the container runs on and no event took it away: engines have answered
// without for a moment.
const hiddenTime = time.Second

// hidden reports whether the network of the address in use is without one, or not there.
func (r *record) hidden() bool {
	if strings.HasPrefix(r.info.NetworkMode, "container:") || r.choice.host == "" {
		return false // another container's address: its end counts at once
	}
	return reach(r.info.Networks[r.choice.network]).waiting
}

// trusted reports whether the endpoints that are known may still be used though the
// engine does not show them.
func (r *record) trusted(now time.Time) bool {
	if r.endpoints == nil || !r.endpointsOf.Equal(r.info.Started) {
		return false
	}
	if r.hiddenSince.IsZero() {
		r.hiddenSince = now
	}
	return now.Before(r.hiddenSince.Add(hiddenTime))
}

// gone marks the container as removed.
func (r *record) gone(now time.Time, retain time.Duration) {
	r.removed, r.dirty, r.again, r.leaving, r.failure = true, false, time.Time{}, nil, ""
	r.retainFrom(now, retain)
}

// retainFrom begins the retention of a container that has just ended.
func (r *record) retainFrom(now time.Time, retain time.Duration) {
	if r.served && r.retained.IsZero() && retain > 0 {
		r.retained = now.Add(retain)
	}
	r.served = false
}

// update takes an inspect's answer. It returns true when a container that was
// leaving is taken back because it went on running.
func (r *record) update(in inspected, now time.Time, retain time.Duration) (takenBack bool) {
	r.inspected, r.info, r.name, r.failure, r.failures = true, in, in.Name, "", 0
	r.again = time.Time{}
	if d := r.leaving; d != nil && (in.Started.After(d.at) || d.ousted != (addressKey{}) && !r.holds(d.ousted)) {
		r.leaving = nil
	}
	switch in.Status {
	case statusRunning, statusPaused:
		r.served, r.retained = true, time.Time{}
		if r.leaving != nil && !now.Before(r.leaving.until) {
			r.leaving, takenBack = nil, true
		}
	case statusRestarting:
		r.served, r.retained, r.leaving = true, time.Time{}, nil
	case statusExited, statusDead, statusRemoving:
		r.ended(now, retain)
	default:
		r.leaving = nil
	}
	if r.leaving != nil && r.leaving.died {
		r.again = now.Add(r.backoff.Next()) // its engine has not yet caught up with its own event
	}
	return takenBack
}

// ended notes a stopped container; one that stopped before we looked is retained for
// what is left of the time.
func (r *record) ended(now time.Time, retain time.Duration) {
	r.leaving = nil
	if !r.served && r.retained.IsZero() && !r.info.Finished.IsZero() {
		if until := r.info.Finished.Add(retain); until.After(now) && !until.After(now.Add(retain)) {
			r.retained = until
		}
		return
	}
	r.retainFrom(now, retain)
}

// presence is the container's state as the grouping sees it; false when it is not to
// be seen at all.
func (r *record) presence(now time.Time) (label.Presence, bool) {
	switch {
	case !r.inspected:
		return "", false
	case !r.retained.IsZero():
		return label.Retained, now.Before(r.retained)
	case r.removed:
		return "", false
	case r.leaving != nil && stays(r.info.Status):
		return label.Leaving, true
	}
	switch r.info.Status {
	case statusPaused:
		return label.Paused, true
	case statusRestarting:
		return label.Restarting, true
	case statusRunning:
	default:
		return "", false
	}
	switch r.info.Health {
	case "starting":
		return label.Starting, true
	case "unhealthy":
		return label.Unhealthy, true
	}
	return label.Present, true
}

// parse judges the labels again, if anything that the parser reads has changed.
func (r *record) parse(cfg label.Config) {
	in := r.info
	next := label.Candidate{
		ID: r.id, Name: in.Name, Provider: ProviderName,
		Project: in.Labels["com.docker.compose.project"], Service: in.Labels["com.docker.compose.service"],
		OneOff: strings.EqualFold(in.Labels["com.docker.compose.oneoff"], "true"),
		Labels: in.Labels, Image: in.Image, Created: in.Created, Started: in.Started,
	}
	old := r.candidate
	r.candidate = next
	if old.ID == next.ID && old.Name == next.Name && old.Image == next.Image && maps.Equal(old.Labels, next.Labels) {
		return
	}
	r.parsed = label.Parse(cfg, next)
}

// hasLabels reports whether any label belongs to the prefix, in any case.
func hasLabels(labels map[string]string, prefix string) bool {
	for key := range labels {
		if len(key) > len(prefix) && key[len(prefix)] == '.' && strings.EqualFold(key[:len(prefix)], prefix) {
			return true
		}
	}
	return false
}
