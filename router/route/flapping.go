package route

import (
	"fmt"
	"time"
)

// A state flaps that has changed between serving and failing FlapChanges times within
// FlapWindow. It does so until the oldest of the last FlapChanges is older than that.
const (
	FlapChanges = 4
	FlapWindow  = 10 * time.Minute
)

// maxHistory is how many transitions a history holds.
const maxHistory = 20

// Flapping is a state that has changed back and forth.
type Flapping struct {
	// Changes are those within FlapWindow up to the last one, AtLeast that the history
	// does not reach back far enough to have them all.
	Changes int
	AtLeast bool
	Since   time.Time // the first of them
	// Until is when it is over, unless there is another change.
	Until time.Time
}

// FlappingOf reads a history of one backend or of one entrypoint, oldest first; nil when
// it never flapped in it. It knows no clock: the flapping may be over, as At says. What
// operators, providers and deploys do is no change that counts, nor is a first verdict.
func FlappingOf(history []Transition) *Flapping {
	if len(history) < FlapChanges {
		return nil
	}
	var times [FlapChanges]time.Time // of the last changes, newest first
	f := Flapping{AtLeast: len(history) >= maxHistory}
	for i := len(history) - 1; i >= 0; i-- {
		t := &history[i]
		if f.Changes > 0 && times[0].Sub(t.At) >= FlapWindow {
			f.AtLeast = false
			break
		}
		if !t.turns() {
			continue
		}
		if f.Changes < FlapChanges {
			times[f.Changes] = t.At
		}
		f.Changes++
		f.Since = t.At
	}
	if f.Changes < FlapChanges {
		return nil
	}
	f.Until = times[FlapChanges-1].Add(FlapWindow)
	return &f
}

// turns reports whether a transition leads from serving to failing or back.
func (t *Transition) turns() bool {
	before, after := sideOf(t.From), sideOf(t.To)
	return before != 0 && after != 0 && before != after
}

// sideOf is 1 for a state that is well, -1 for one that fails, and 0 for one that says
// neither.
func sideOf(state string) int {
	switch state {
	case string(StateUp), string(EntrypointOK):
		return 1
	case string(StateDown), string(StateEjected), string(StateTrial), string(StateGated), string(EntrypointPanic), string(EntrypointPartial):
		return -1
	}
	return 0
}

// At reports whether it flaps at a time. It works on nil.
func (f *Flapping) At(now time.Time) bool { return f != nil && now.Before(f.Until) }

// Words say how often it changed.
func (f *Flapping) Words() string {
	more := ""
	if f.AtLeast {
		more = " or more"
	}
	return fmt.Sprintf("changed %d times%s in %d min", f.Changes, more, int(FlapWindow.Minutes()))
}

// Flapping is how the entrypoint or one of its backends flaps, whichever goes on longest;
// nil when none does.
func (h *EntrypointHealth) Flapping() *Flapping {
	longest := FlappingOf(h.History)
	for i := range h.Backends {
		if f := FlappingOf(h.Backends[i].History); f != nil && (longest == nil || f.Until.After(longest.Until)) {
			longest = f
		}
	}
	return longest
}
