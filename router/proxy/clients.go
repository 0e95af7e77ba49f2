package proxy

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// clients are the client connections of a front, with the time since which each of
// them waits for a request. The zero value is empty. It is safe for concurrent use and
// takes no lock for a request.
type clients struct {
	conns sync.Map // net.Conn -> *waiting
}

// waiting is one connection's part in clients.
type waiting struct {
	since atomic.Int64 // Unix nanoseconds; 0 while a request is served
	used  atomic.Bool  // it had a request
	// crossed: its request came before the end was known, so that its answer may have
	// promised that the connection stays.
	crossed atomic.Bool
}

func (w *waiting) begin() { w.since.Store(time.Now().UnixNano()) }

// arrived notes a new connection.
func (c *clients) arrived(conn net.Conn) {
	w := &waiting{}
	w.begin()
	c.conns.Store(conn, w)
}

// busy notes that a request came.
func (c *clients) busy(conn net.Conn) {
	if w := c.find(conn); w != nil {
		w.used.Store(true)
		w.crossed.Store(false)
		w.since.Store(0)
	}
}

// idle notes that all requests of a connection were answered.
func (c *clients) idle(conn net.Conn) {
	if w := c.find(conn); w != nil {
		w.begin()
	}
}

// gone notes the end of a connection, or that it is none of the front's any more.
func (c *clients) gone(conn net.Conn) { c.conns.Delete(conn) }

func (c *clients) find(conn net.Conn) *waiting {
	v, _ := c.conns.Load(conn)
	w, _ := v.(*waiting)
	return w
}

// settle waits, for grace at most, until no connection has waited for less than grace.
// A client that used its connection a moment ago is about to use it again: closing it
// under that request would lose the request, answering it ends the connection well. So
// is a client whose answer is under way as settle begins.
func (c *clients) settle(ctx context.Context, grace time.Duration) {
	const steps = 100
	ending, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	tick := time.NewTicker(max(grace/steps, time.Millisecond))
	defer tick.Stop()
	c.cross()
	for c.recent(grace) {
		select {
		case <-ending.Done():
			return
		case <-tick.C:
		}
	}
}

// cross marks the connections that have a request now.
func (c *clients) cross() {
	c.conns.Range(func(_, v any) bool {
		if w, ok := v.(*waiting); ok && w.since.Load() == 0 {
			w.crossed.Store(true)
		}
		return true
	})
}

// recent reports whether a connection waits for less than grace, or is about to.
func (c *clients) recent(grace time.Duration) (found bool) {
	c.conns.Range(func(_, v any) bool {
		if w, ok := v.(*waiting); ok {
			since := w.since.Load()
			found = since == 0 && w.crossed.Load() || since != 0 && time.Since(time.Unix(0, since)) < grace
		}
		return !found
	})
	return found
}

// closeUnused closes the connections that never sent a request: nothing is lost with
// them, and net/http would wait for them.
func (c *clients) closeUnused() {
	c.conns.Range(func(k, v any) bool {
		conn, isConn := k.(net.Conn)
		if w, ok := v.(*waiting); ok && isConn && !w.used.Load() {
			_ = conn.Close()
		}
		return true
	})
}
