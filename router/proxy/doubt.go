package proxy

import (
	"context"
	"sync"
	"time"
)

// doubtLimit bounds how long new connections to containers wait for an engine that has
// come back and does not answer.
const doubtLimit = 10 * time.Second

// doubt holds back new connections to containers while nobody knows whose addresses
// they are: an engine that comes back starts its containers again, with addresses that
// others had, before it answers a question. Connections that stand are beyond doubt.
type doubt struct {
	mu    sync.Mutex
	over  chan struct{} // nil while there is no doubt
	timer *time.Timer
}

// Doubt begins or ends the holding back. It ends by itself after a while. Beginning it
// anew does not prolong it.
func (p *Proxy) Doubt(on bool) {
	d := &p.doubt
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case on && d.over == nil:
		d.over = make(chan struct{})
		mine := d.over
		d.timer = time.AfterFunc(doubtLimit, func() { d.end(mine) })
	case !on && d.over != nil:
		d.timer.Stop()
		d.finish()
		d.over = nil
	}
}

// end is the end of one doubt by time; its channel stays, closed, so that the next word
// of the same doubt does not begin another.
func (d *doubt) end(mine chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == mine {
		d.finish()
	}
}

// finish lets go of who waits. The caller holds the lock.
func (d *doubt) finish() {
	select {
	case <-d.over:
	default:
		close(d.over)
	}
}

// certain waits until there is no doubt, or ctx ends. It reports whether it waited.
func (d *doubt) certain(ctx context.Context) bool {
	d.mu.Lock()
	over := d.over
	d.mu.Unlock()
	if over == nil {
		return false
	}
	select { // of a doubt that ended by time
	case <-over:
		return false
	default:
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	return true
}
