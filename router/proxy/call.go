package proxy

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"fairlead/router/exchange"
)

// Causes with which we end a call ourselves.
var (
	errBackendTimeout = errors.New("no response head within backendTimeout")
	errWentDown       = errors.New("the backend went down and onDown=close ends its tunnels")
	errRetired        = errors.New("the backend left and its drain is over")
	errBodyIdle       = errors.New("no byte of the response body for too long")
	errStopped        = errors.New("the router stops and shutdownTimeout is over")
)

// call is one request on its way to one backend. Its watch ends it when nothing
// moves: between a connection and the response head after backendTimeout without
// progress of the request body, after the head when the response body idles. It outlives the exchange in
// goroutines of the backend's adapter, so these look at the exchange only through
// inform.
type call struct {
	up     *upstream
	x      *exchange.Exchange
	body   *body
	ctx    context.Context
	cancel context.CancelCauseFunc

	// informing is held while an interim response is sent; over ends that.
	informing sync.Mutex
	over      bool

	conn contact
	// tunnel is set once the connection was switched to another protocol.
	tunnel atomic.Bool
	// streams is set for requests whose body need not end before the response begins.
	streams bool
	// headLimit is how long the response head may take once there is a connection.
	headLimit time.Duration

	mu    sync.Mutex // guards the watch
	timer *time.Timer
	limit time.Duration // 0: no limit now
	cause error
	ended bool
}

// contact is what is known of the connection that a call uses.
type contact struct {
	got      bool // there is one, and it is used
	conn     *conn
	before   int64         // bytes written on it for earlier requests
	doubt    time.Duration // 0 when it was there already
	making   time.Duration // 0 when it was there already
	reused   atomic.Bool
	answered atomic.Bool // a byte of the response arrived
	// discarded is set when a pooled connection was closed instead of used: nothing
	// of the request was sent, and its body must not be touched.
	discarded atomic.Bool
}

func newCall(u *upstream, x *exchange.Exchange, headLimit time.Duration, b *body) *call {
	c := &call{up: u, x: x, body: b, headLimit: headLimit, streams: isGRPC(x)}
	c.ctx, c.cancel = context.WithCancelCause(x.Context)
	return c
}

// expire ends the call whose time is over. While the client's body is awaited the backend
// waits as we do, and the time that the client has for it is the front's to measure. A
// gRPC client may keep its side open for as long as it likes; there the backend's head is
// what is awaited.
func (c *call) expire() {
	c.mu.Lock()
	ended, cause := c.ended || c.limit == 0, c.cause
	if !ended && errors.Is(cause, errBackendTimeout) && !c.streams && c.body.awaited() {
		c.timer.Reset(c.limit)
		ended = true
	}
	c.mu.Unlock()
	if !ended {
		c.cancel(cause)
	}
}

// doubted is the part of a contact's time in which we held it back: the backend's time
// begins later.
func (c *call) doubted(took time.Duration) time.Duration {
	held := min(c.conn.doubt, took)
	c.x.Held += held
	return held
}

// timed splits the time that a contact took until its response head or its failure;
// unsent is set when there was no connection to send anything on.
func (c *call) timed(took time.Duration, unsent bool) {
	connect := took
	if !unsent {
		connect = min(c.conn.making, took)
	}
	c.x.Connect += connect
	c.x.Answer += took - connect
}

// progress notes that bytes moved.
func (c *call) progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended && c.limit > 0 {
		c.timer.Reset(c.limit)
	}
}

// dialling turns the watch off until there is a connection: nothing is sent yet, and the
// time for that is dialTimeout.
func (c *call) dialling() {
	c.conn.got = false
	c.watch(0, nil)
}

// sending begins the watch for the response head.
func (c *call) sending() {
	c.conn.got = true
	c.watch(c.headLimit, errBackendTimeout)
}

// headReceived turns the watch from the head to the body.
func (c *call) headReceived() { c.watch(c.up.proxy.cfg.Timeouts.BodyIdle, errBodyIdle) }

// unwatched turns the watch off: a tunnel has no limit.
func (c *call) unwatched() { c.watch(0, nil) }

func (c *call) watch(limit time.Duration, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.limit, c.cause = limit, cause
	switch {
	case limit == 0 && c.timer != nil:
		c.timer.Stop()
	case limit > 0 && c.timer == nil:
		c.timer = time.AfterFunc(limit, c.expire)
	case limit > 0:
		c.timer.Reset(limit)
	}
}

// inform passes an interim response on while the call waits for the final one.
func (c *call) inform(status int, h exchange.Header) {
	c.informing.Lock()
	defer c.informing.Unlock()
	if !c.over {
		c.x.Response.Inform(status, c.x.Interim(h))
	}
}

// end releases the call. From here on nothing of it touches the exchange.
func (c *call) end() {
	c.mu.Lock()
	c.ended = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.cancel(context.Canceled)
	if used := c.conn.conn; used != nil {
		used.gave(c)
	}
	c.informing.Lock()
	c.over = true
	c.informing.Unlock()
	c.up.end(c)
}
