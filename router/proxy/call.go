package proxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"fairlead/router/exchange"
)

// Causes with which we end a call ourselves.
var (
	errBackendTimeout = errors.New("no response head within backendTimeout")
	errRetired        = errors.New("the backend left and its drain is over")
	errBodyIdle       = errors.New("no byte of the response body for too long")
)

// call is one request on its way to one backend. Its watch ends it when nothing
// moves: before the response head after backendTimeout without progress of the
// request body, after it when the response body idles.
type call struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration // 0: no limit now
	cause error
	idle  time.Duration
	ended bool
}

func newCall(x *exchange.Exchange, headLimit, bodyIdle time.Duration) *call {
	c := &call{limit: headLimit, cause: errBackendTimeout, idle: bodyIdle}
	c.ctx, c.cancel = context.WithCancelCause(x.Context)
	if headLimit > 0 {
		c.timer = time.AfterFunc(headLimit, c.expire)
	}
	return c
}

func (c *call) expire() {
	c.mu.Lock()
	ended, cause := c.ended || c.limit == 0, c.cause
	c.mu.Unlock()
	if !ended {
		c.cancel(cause)
	}
}

// progress notes that bytes moved.
func (c *call) progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended && c.limit > 0 {
		c.timer.Reset(c.limit)
	}
}

// headReceived turns the watch from the head to the body.
func (c *call) headReceived() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.limit, c.cause = c.idle, errBodyIdle
	if c.timer == nil {
		c.timer = time.AfterFunc(c.limit, c.expire)
		return
	}
	c.timer.Reset(c.limit)
}

// unwatched turns the watch off: a tunnel has no limit.
func (c *call) unwatched() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = 0
	if c.timer != nil {
		c.timer.Stop()
	}
}

// end releases the call's timer and context.
func (c *call) end() {
	c.mu.Lock()
	c.ended = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.cancel(context.Canceled)
}
