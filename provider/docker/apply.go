package docker

import (
	"maps"
	"strings"
	"time"
)

// Actions that matter; everything else is noise and dropped before it is queued.
const (
	actionStart      = "start"
	actionRestart    = "restart"
	actionUnpause    = "unpause"
	actionRename     = "rename"
	actionPause      = "pause"
	actionKill       = "kill"
	actionStop       = "stop"
	actionDie        = "die"
	actionDied       = "died" // Podman
	actionDestroy    = "destroy"
	actionRemove     = "remove" // Podman
	actionHealth     = "health_status"
	actionConnect    = "connect"
	actionDisconnect = "disconnect"
)

// matters reports whether an event can change anything. Each health probe alone makes
// three events that do not (exec_create, exec_start, exec_die).
func matters(e event) bool {
	switch e.Type {
	case "network":
		return e.Action == actionConnect || e.Action == actionDisconnect
	case "container":
	default:
		return false
	}
	switch e.Action {
	case actionStart, actionRestart, actionUnpause, actionRename, actionPause, actionKill, actionStop,
		actionDie, actionDied, actionDestroy, actionRemove:
		return true
	}
	return strings.HasPrefix(e.Action, actionHealth)
}

// apply takes one event. It changes what must not wait for an inspect and marks the
// container for one.
func (s *state) apply(e event, now time.Time) urgency {
	if e.Type == "network" {
		return s.applyNetwork(e)
	}
	r := s.get(e.ID, e.Attrs)
	if r.removed {
		return idle
	}
	if !r.inspected {
		r.relevant = s.relevant(e.Attrs) // it may be known by its id alone
	}
	switch e.Action {
	case actionStart, actionRestart:
		// Also a container that is none of ours: it may have the address of one that
		// is, whose end was lost.
		r.dirty = true
		return s.announced(r, soon)
	case actionDestroy, actionRemove:
		return s.end(r, now)
	}
	if !s.interesting(r) {
		return idle
	}
	switch e.Action {
	case actionKill:
		if !stops(e.Attrs["signal"], r.info.StopSignal) || !r.depart(e.At, now, false) {
			return idle
		}
		return atOnce
	case actionDie, actionDied, actionStop:
		if !r.depart(e.At, now, true) {
			return idle
		}
		r.dirty = true
		return atOnce
	case actionPause:
		if r.info.Status == statusRunning {
			r.info.Status = statusPaused
		}
		r.dirty = true
		return atOnce
	case actionUnpause:
		if r.info.Status == statusPaused {
			r.info.Status = statusRunning
		}
	}
	r.dirty = true
	if strings.HasSuffix(e.Action, "unhealthy") {
		return s.announced(r, atOnce)
	}
	return s.announced(r, soon)
}

// announced is the urgency of an event that only asks for an inspect.
func (s *state) announced(r *record, level urgency) urgency {
	if !s.interesting(r) {
		return idle
	}
	return level
}

// applyNetwork takes a connect or disconnect. A backend leaves at once only when its
// address is on that network; the inspect that follows finds the next one.
func (s *state) applyNetwork(e event) urgency {
	network, id := networkOf(e)
	if e.Action == actionConnect {
		s.suspect(network, id)
	}
	r := s.records[id]
	if r == nil || r.removed || !s.interesting(r) {
		return idle
	}
	r.dirty = true
	if e.Action == actionConnect || r.leaving != nil || !r.inspected {
		return soon
	}
	for name, a := range r.info.Networks {
		if a.NetworkID != network && name != network {
			continue
		}
		s.release(r)
		r.info.Networks = maps.Clone(r.info.Networks)
		delete(r.info.Networks, name)
		r.endpoints = nil
		return atOnce
	}
	if r.hidden() && (r.choice.network == network || r.choice.network == e.Attrs["name"]) {
		r.endpoints = nil // an inspect was faster; now it is known why the address is missing
		return atOnce
	}
	return soon
}
