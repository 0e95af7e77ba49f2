package enginetest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// ringSize is how many events real engines keep for late subscribers.
const ringSize = 256

// streamBuffer is how many events real engines keep for a slow reader.
const streamBuffer = 1024

// slowReaderWait is how long real engines wait for a slow reader.
const slowReaderWait = 100 * time.Millisecond

// stream is one subscriber.
type stream struct {
	events chan Event
	cut    chan bool // true: break the connection, false: end it properly
	types  []string
	only   []string // actions, none means all
}

// passes applies a stream's filters.
func (s *stream) passes(ev Event, style Style) bool {
	if len(s.types) > 0 && !slices.Contains(s.types, ev.Type) {
		return false
	}
	if len(s.only) == 0 {
		return true
	}
	if style == Podman && ev.Action == "die" {
		return false // it knows the event by another name inside, so that a filter lets none through
	}
	return slices.ContainsFunc(s.only, func(action string) bool { return strings.HasPrefix(ev.Action, action) })
}

func (e *Engine) emitContainer(c *Container, action string, extra map[string]string) {
	attrs := maps.Clone(c.Labels)
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs["image"], attrs["name"] = c.Image, c.Name
	maps.Copy(attrs, extra)
	if e.style == Podman {
		action = podmanAction(action)
		attrs["podId"] = ""
		if code, ok := attrs["exitCode"]; ok {
			attrs["containerExitCode"] = code
		}
		delete(attrs, "oldName")
	}
	e.emit(Event{Type: "container", Action: action, ID: c.ID, Attrs: attrs})
}

// podmanAction is Podman's word for what Docker calls action.
func podmanAction(action string) string {
	switch {
	case action == "destroy":
		return "remove"
	case strings.HasPrefix(action, "health_status"):
		return "health_status"
	}
	return action
}

func (e *Engine) emitNetwork(c *Container, name, action string) {
	n := e.networks[name]
	if n == nil {
		return
	}
	if e.style == Podman { // it names the container where others name the network
		e.emit(Event{Type: "network", Action: action, ID: c.ID, Attrs: map[string]string{
			"image": c.Image, "name": c.Name, "network": name, "podId": "",
		}})
		return
	}
	e.emit(Event{Type: "network", Action: action, ID: n.ID, Attrs: map[string]string{
		"container": c.ID, "name": name, "type": n.Driver,
	}})
}

// Emit sends any event to the subscribers, as it is; a zero time becomes now.
func (e *Engine) Emit(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.emit(ev)
}

func (e *Engine) emit(ev Event) {
	if e.faults.suppressed[ev.Action] {
		return
	}
	if ev.At.IsZero() {
		ev.At = e.now()
	}
	e.ring = append(e.ring, ev)
	e.ring = e.ring[max(0, len(e.ring)-ringSize):]
	if e.faults.stalled {
		return
	}
	for s := range e.streams {
		e.offer(s, ev)
	}
}

func (e *Engine) offer(s *stream, ev Event) {
	if !s.passes(ev, e.style) {
		return
	}
	select {
	case s.events <- ev:
		return
	default:
	}
	// As real engines do: everything waits a moment for the slow reader, then it loses.
	select {
	case s.events <- ev:
	case <-time.After(slowReaderWait):
		e.dropped++
	}
}

// Dropped is how many events were lost because a reader was slow.
func (e *Engine) Dropped() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropped
}

// Subscribers is how many streams are open.
func (e *Engine) Subscribers() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.streams)
}

// subscribe opens a stream; kept events not older than since go first.
func (e *Engine) subscribe(types, only []string, since time.Time) *stream {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &stream{events: make(chan Event, streamBuffer), cut: make(chan bool, 1), types: types, only: only}
	for _, ev := range e.ring {
		if !since.IsZero() && !ev.At.Before(since) {
			e.offer(s, ev)
		}
	}
	e.streams[s] = true
	return s
}

func (e *Engine) unsubscribe(s *stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.streams, s)
}

// encode renders an event as the engine's generation does.
func (e *Engine) encode(ev Event) []byte {
	if ev.raw != nil {
		return append(slices.Clone(ev.raw), '\n')
	}
	m := map[string]any{
		"Type": ev.Type, "Action": ev.Action, "scope": "local",
		"Actor": map[string]any{"ID": ev.ID, "Attributes": ev.Attrs},
		"time":  ev.At.Unix(), "timeNano": ev.At.UnixNano(),
	}
	if e.style != Docker29 && ev.Type == "container" {
		m["status"], m["id"], m["from"] = ev.Action, ev.ID, ev.Attrs["image"]
	}
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(line, '\n')
}
