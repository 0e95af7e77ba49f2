package api

import (
	"reflect"
	"strings"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// Types of the frames of GET /events.
const (
	FrameHello      = "hello"
	FrameTransition = "transition"
	FrameTable      = "table"
	FrameProvider   = "provider"
	FrameGap        = "gap"
)

// EventHello is the first frame of GET /events. Whoever reads everything once after it
// and then follows the frames has missed nothing.
type EventHello struct {
	Type string `json:"type"` // hello
	At   int64  `json:"at"`
	// Rev is where the stream begins: all frames behind it follow.
	Rev uint64 `json:"rev"`
	// Generation of the view now, as in the ETag of GET /entrypoints.
	Generation uint64 `json:"generation"`
	// Boot tells this run of the router apart from others.
	Boot    string `json:"boot"`
	Version string `json:"version"`
	// Resumed is set when the frames behind since follow without a hole before them.
	Resumed bool `json:"resumed"`
}

// EventTransition is one change of health. Backend, address and container are null when
// it is of the entrypoint itself.
type EventTransition struct {
	Type       string     `json:"type"` // transition
	Rev        uint64     `json:"rev"`
	Entrypoint string     `json:"entrypoint"`
	Backend    *string    `json:"backend"`
	Address    *string    `json:"address"`
	Container  *string    `json:"container"`
	InRotation bool       `json:"in_rotation"`
	Transition Transition `json:"transition"` // as in histories, whose rev it has
}

// EventTable says that GET /entrypoints or GET /diagnostics answers something new. What
// only health changed is told by transitions.
type EventTable struct {
	Type       string `json:"type"` // table
	Rev        uint64 `json:"rev"`
	At         int64  `json:"at"`
	AtMS       int64  `json:"at_ms"` // epoch milliseconds, as in transitions
	Generation uint64 `json:"generation"`
	// Changed are the ids of new and changed entrypoints, Removed those that are gone.
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
	// All is set, and no id is given, when too many changed: the list is read anew.
	All bool `json:"all"`
	// Diagnostics is set when findings or refused candidates differ.
	Diagnostics bool `json:"diagnostics"`
}

// maxNamed bounds the ids of one frame.
const maxNamed = 200

func (t *EventTable) bound() {
	if t.All || len(t.Changed)+len(t.Removed) > maxNamed {
		t.All, t.Changed, t.Removed = true, []string{}, []string{}
	}
}

// EventProvider says that a provider was connected, lost, or fails otherwise than before.
type EventProvider struct {
	Type     string   `json:"type"` // provider
	Rev      uint64   `json:"rev"`
	At       int64    `json:"at"`
	AtMS     int64    `json:"at_ms"`
	Provider Provider `json:"provider"` // as in GET /providers
}

// EventGap says that frames are missing here: what is shown must be read anew.
type EventGap struct {
	Type string `json:"type"` // gap
	Rev  uint64 `json:"rev"`  // of the last that is missing
	// Lost counts the frames, null when it is not known: since is of another run of
	// the router.
	Lost *uint64 `json:"lost"`
}

func newEventTransition(rev uint64, t *route.Transition) *EventTransition {
	return &EventTransition{
		Type: FrameTransition, Rev: rev, Entrypoint: t.Entrypoint, Backend: known(t.Backend), Address: known(t.Address),
		Container: known(t.Container), InRotation: t.InRotation, Transition: newTransition(t),
	}
}

// compareTables reports what is new in GET /entrypoints and GET /diagnostics.
func compareTables(last, next *router.View) (EventTable, bool) {
	now := time.Now()
	out := EventTable{Type: FrameTable, At: now.Unix(), AtMS: now.UnixMilli(), Generation: next.Generation, Changed: []string{}, Removed: []string{}}
	out.Diagnostics = !reflect.DeepEqual(last.Candidates, next.Candidates) ||
		!reflect.DeepEqual(last.Rejected, next.Rejected) || !reflect.DeepEqual(last.Global, next.Global)
	was, is := last.Entrypoints, next.Entrypoints
	for len(was) > 0 || len(is) > 0 {
		var order int
		switch {
		case len(was) == 0:
			order = 1
		case len(is) == 0:
			order = -1
		default:
			order = strings.Compare(was[0].Entrypoint.ID, is[0].Entrypoint.ID)
		}
		switch {
		case order < 0:
			out.Removed = append(out.Removed, was[0].Entrypoint.ID)
			was = was[1:]
			continue
		case order == 0:
			if !sameEntrypoint(&was[0], &is[0]) {
				out.Changed = append(out.Changed, is[0].Entrypoint.ID)
			}
			was = was[1:]
		default:
			out.Changed = append(out.Changed, is[0].Entrypoint.ID)
		}
		is = is[1:]
	}
	differs := out.Diagnostics || len(out.Changed)+len(out.Removed) > 0
	out.bound()
	return out, differs
}

// sameEntrypoint compares all but health. An entrypoint that did not change keeps its
// pointer.
func sameEntrypoint(a, b *router.EntrypointView) bool {
	return a.Entrypoint == b.Entrypoint && a.ShadowedBy == b.ShadowedBy && reflect.DeepEqual(a.Diagnostics, b.Diagnostics)
}

// changedProviders returns those whose state differs. How much they read, and when, is
// no news.
func changedProviders(last, next *router.View) []Provider {
	before := map[string]*route.ProviderStatus{}
	for i := range last.Providers {
		before[last.Providers[i].Name] = &last.Providers[i]
	}
	var names []string
	for i := range next.Providers {
		p := &next.Providers[i]
		was := before[p.Name]
		if !p.Enabled && (was == nil || !was.Enabled) {
			continue
		}
		if was == nil || was.Phase != p.Phase || was.Connected != p.Connected || was.Enabled != p.Enabled ||
			was.LastError != p.LastError || was.Hint != p.Hint || was.EngineVersion != p.EngineVersion {
			names = append(names, p.Name)
		}
	}
	if names == nil {
		return nil
	}
	var out []Provider
	for _, p := range newProviders(next, time.Now()).Providers {
		if len(names) > 0 && names[0] == p.Name {
			out, names = append(out, p), names[1:]
		}
	}
	return out
}
