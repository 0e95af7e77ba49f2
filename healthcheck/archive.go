package healthcheck

import (
	"slices"
	"time"

	"fairlead/router/route"
)

// Bounds of what is remembered of removed backends.
const (
	archiveTime = 10 * time.Minute
	archiveSize = 1000
)

// archive keeps the transitions of removed backends for a while, so that it can still be
// asked why one went (health.md, "Down/up side effects").
type archive struct {
	kept  map[archiveKey]archived
	order []archiveKey // by the time of the removal
}

// archiveKey names a backend as people do: its incarnations have one history.
type archiveKey struct{ entrypoint, backend string }

type archived struct {
	history []route.Transition // oldest first
	until   time.Time
}

func newArchive() archive { return archive{kept: map[archiveKey]archived{}} }

// add remembers a placement that is removed.
func (a *archive) add(p *placement, now time.Time) {
	key := archiveKey{p.entry.id, p.backend().ID}
	history := a.before(key, p.history)
	if len(history) == 0 {
		return
	}
	a.drop(key)
	if len(a.order) == archiveSize {
		a.drop(a.order[0])
	}
	a.kept[key] = archived{history: history, until: now.Add(archiveTime)}
	a.order = append(a.order, key)
}

// before is a backend's history with what is remembered of its incarnations before.
func (a *archive) before(key archiveKey, history []route.Transition) []route.Transition {
	old := a.kept[key].history
	if len(old) == 0 {
		return history
	}
	all := slices.Concat(old, history)
	return all[max(0, len(all)-mostHistory):]
}

// drop forgets one backend.
func (a *archive) drop(key archiveKey) {
	if _, known := a.kept[key]; !known {
		return
	}
	delete(a.kept, key)
	a.order = slices.DeleteFunc(a.order, func(k archiveKey) bool { return k == key })
}

// forget drops those whose time is over.
func (a *archive) forget(now time.Time) {
	for len(a.order) > 0 && !now.Before(a.kept[a.order[0]].until) {
		a.drop(a.order[0])
	}
}

// History returns the last transitions of a backend, oldest first, at most 20: also
// those of its incarnations before, and of a backend that was removed less than ten
// minutes ago. ok is false when nothing is known of it. The list must not be changed.
func (e *Engine) History(entrypoint, backend string) (list []route.Transition, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.archive.forget(time.Now())
	key := archiveKey{entrypoint, backend}
	if en := e.entries[entrypoint]; en != nil {
		for _, p := range en.placements {
			if p.backend().ID == backend {
				return e.archive.before(key, p.history), true
			}
		}
	}
	gone, ok := e.archive.kept[key]
	return gone.history, ok
}
