package route

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Line is where requests wait, first come first served, while every backend of an
// entrypoint is full. Only the first in line is told that it may look again, so that
// nobody overtakes. It is safe for concurrent use; the zero value is empty.
type Line struct {
	waiting atomic.Int64
	waits   atomic.Uint64 // requests that ever joined
	turned  atomic.Uint64 // requests that were turned away

	mu     sync.Mutex
	places []*Place
}

// Place is one request's place in a Line.
type Place struct{ turn chan struct{} }

// Turn gives a value whenever the request is the first in line and something may have
// become free.
func (p *Place) Turn() <-chan struct{} { return p.turn }

// Waiting is how many requests are in line: one atomic load.
func (l *Line) Waiting() int { return int(l.waiting.Load()) }

// Join takes the last place; false when size places are taken. Who is first has the
// turn at once, as something may have become free in between. Leave it on every path.
func (l *Line) Join(size int) (*Place, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.places) >= size {
		l.turned.Add(1)
		return nil, false
	}
	l.waits.Add(1)
	p := &Place{turn: make(chan struct{}, 1)}
	l.places = append(l.places, p)
	l.waiting.Store(int64(len(l.places)))
	l.wake()
	return p, true
}

// Tire counts a request whose time in line was over.
func (l *Line) Tire() { l.turned.Add(1) }

// Counts are how many requests ever waited in line, and how many were turned away: it
// was full, or their time in it was over.
func (l *Line) Counts() (waits, turned uint64) { return l.waits.Load(), l.turned.Load() }

// Leave gives a place up and passes the turn on: what one request took, or did not
// want, need not have been all that was free.
func (l *Line) Leave(p *Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places = slices.DeleteFunc(l.places, func(q *Place) bool { return q == p })
	l.waiting.Store(int64(len(l.places)))
	l.wake()
}

// Wake tells the first in line that something may have become free. It is one atomic
// load while nobody waits.
func (l *Line) Wake() {
	if l.waiting.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake()
}

// wake gives the first place its turn. The caller holds the lock.
func (l *Line) wake() {
	if len(l.places) == 0 {
		return
	}
	select {
	case l.places[0].turn <- struct{}{}:
	default: // it has it already
	}
}
