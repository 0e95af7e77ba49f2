package docker

import "sync"

// queue takes events off the stream at once and keeps those that matter, so that the
// engine never has a slow reader: it would lose events without a word. It grows with
// what matters only and is emptied by the watcher, which never blocks.
type queue struct {
	mu     sync.Mutex
	events []event
	// heard counts the events that matter; the others prove nothing about a stream that
	// loses some.
	heard uint64
	// last is the newest event of all.
	last  event
	ready chan struct{}
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// fill moves events from the stream until it ends, and returns its error. The end of
// the subscription's context ends the stream too.
func (q *queue) fill(stream <-chan event, errs <-chan error) error {
	for {
		select {
		case e := <-stream:
			q.put(e)
		case err := <-errs:
			return err
		}
	}
}

func (q *queue) put(e event) {
	q.mu.Lock()
	q.last = e
	wanted := matters(e)
	if wanted {
		q.heard++
		q.events = append(q.events, e)
	}
	q.mu.Unlock()
	if !wanted {
		return
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (q *queue) take() []event {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events
}

// latest returns the newest event of the stream and how many there were that matter.
func (q *queue) latest() (event, uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last, q.heard
}
