package api

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"fairlead/router"
	"fairlead/router/route"
)

// tableEvery is the least time between two frames about tables and providers: what
// changes in between is told in one.
const tableEvery = 250 * time.Millisecond

// Events is the stream of what changes: transitions of health, new tables, providers
// that come and go. The health engine and the Controller feed it, it keeps the last
// frames for watchers that come back, and it waits for nobody. It is safe for
// concurrent use.
type Events struct {
	hint chan struct{} // capacity 1: a view shows something new

	mu   sync.Mutex
	ring ring
	more chan struct{} // closed and replaced with every frame
}

// NewEvents returns a stream without frames. It starts nothing.
func NewEvents() *Events {
	e := &Events{
		hint: make(chan struct{}, 1),
		// Revisions begin at the clock, so that those of an earlier run of the router
		// are not taken for this one's. Microseconds stay below what a JavaScript number
		// holds exactly, and no run makes more than one frame in each.
		ring: newRing(uint64(max(time.Now().UnixMicro(), 1))),
		more: make(chan struct{}),
	}
	e.hint <- struct{}{} // what is there at the start is news to whoever watched before
	return e
}

// Transition tells a change of health; it never blocks. It is what the health engine
// calls as OnTransition.
func (e *Events) Transition(t route.Transition) {
	e.tell("", func(rev uint64) any { return newEventTransition(rev, &t) })
}

// Changed says that a view shows another table, provider or diagnostic; it never
// blocks. It is what the Controller calls as Changed.
func (e *Events) Changed() {
	select {
	case e.hint <- struct{}{}:
	default: // it will be looked at anyway
	}
}

// Run compares the view with the one before whenever Changed was called, until ctx
// ends, and returns nil. It must be called once.
func (e *Events) Run(ctx context.Context, viewer router.Viewer) error {
	last := &router.View{}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-e.hint:
		}
		next := viewer.View()
		told := e.compare(last, next)
		last = next
		if told {
			pause.Reset(tableEvery)
		} else {
			pause.Reset(0)
		}
	}
}

// compare tells what differs between two views, health aside, and whether anything does.
func (e *Events) compare(last, next *router.View) (told bool) {
	if table, differs := compareTables(last, next); differs {
		told = true
		e.tell(FrameTable, func(rev uint64) any {
			table.Rev = rev
			return &table
		})
	}
	for _, p := range changedProviders(last, next) {
		told = true
		e.tell(FrameProvider+p.Name, func(rev uint64) any {
			now := time.Now()
			return &EventProvider{Type: FrameProvider, Rev: rev, At: now.Unix(), AtMS: now.UnixMilli(), Provider: p}
		})
	}
	return told
}

// tell adds a frame to the stream. Of frames with one key only the newest matters.
func (e *Events) tell(key string, what func(rev uint64) any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	value := what(e.ring.next)
	f, err := newFrame(key, e.ring.next, value)
	if err != nil {
		return // plain data: it cannot fail
	}
	e.ring.add(f)
	close(e.more)
	e.more = make(chan struct{})
}

// newFrame encodes once for all watchers.
func newFrame(key string, rev uint64, value any) (*frame, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	wire, err := websocket.NewPreparedMessage(websocket.TextMessage, text)
	if err != nil {
		return nil, err
	}
	table, _ := value.(*EventTable)
	return &frame{key: key, rev: rev, size: len(text), wire: wire, table: table}, nil
}

// after returns the frames behind a revision, at most limit of them, how many were
// lost before them, and what is closed when there are more than those in the stream now.
func (e *Events) after(rev uint64, limit int) (batch []*frame, lost uint64, more <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	batch, lost = e.ring.after(rev, limit)
	return batch, lost, e.more
}

// position is where a watcher begins.
type position struct {
	rev     uint64 // frames behind it follow
	resumed bool   // what the watcher saw before belongs to this stream
	unknown bool   // it saw something of which nothing is known here
}

// start returns the position for since: nil is now, 0 everything that is kept.
func (e *Events) start(since *uint64) position {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &e.ring
	switch {
	case since == nil:
		return position{rev: r.next - 1}
	case *since == 0:
		return position{rev: r.oldest - 1}
	case *since < r.first-1 || *since >= r.next:
		return position{rev: r.oldest - 1, unknown: true}
	}
	return position{rev: *since, resumed: true}
}
