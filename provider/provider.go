// Package provider says what a provider is: a source of entrypoints that runs
// until told to stop and hands over complete snapshots.
package provider

import (
	"context"
	"sync"

	"fairlead/router/route"
)

// Provider watches one source of entrypoints.
//
// Run blocks until ctx ends and returns after all its goroutines. It puts a
// snapshot whenever something changed, the status included; an equal snapshot is
// not put again. A source that is lost is never an empty snapshot: the last
// entrypoints are put again with a status that says so.
type Provider interface {
	Name() string
	Run(ctx context.Context, out *Mailbox) error
}

// Mailbox is a one-slot queue between a provider and the controller: the newest
// snapshot replaces one that was not taken yet. It is safe for concurrent use.
type Mailbox struct {
	mu    sync.Mutex
	next  *route.Snapshot
	ready chan struct{}
}

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox { return &Mailbox{ready: make(chan struct{}, 1)} }

// Put stores s, replacing what was not taken yet. It never blocks.
func (m *Mailbox) Put(s route.Snapshot) {
	m.mu.Lock()
	m.next = &s
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// Ready is signalled when a snapshot may be there to take.
func (m *Mailbox) Ready() <-chan struct{} { return m.ready }

// Take returns the newest snapshot and empties the slot.
func (m *Mailbox) Take() (route.Snapshot, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == nil {
		return route.Snapshot{}, false
	}
	s := *m.next
	m.next = nil
	return s, true
}
