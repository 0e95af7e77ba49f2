package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// response is a backend's answer, independent of the protocol behind it.
type response struct {
	status   int
	header   exchange.Header
	length   int64 // -1 when not known
	body     io.ReadCloser
	announce []string               // trailer names sent with the head
	trailers func() exchange.Header // valid once body was read to its end; may be nil
	tunnel   *tunnelEnd             // set for 101
	cookie   string                 // a Set-Cookie line of ours; "" for none
}

// bind adds the router's own cookie.
func (res *response) bind(add func(name, value string)) {
	if res.cookie != "" {
		add("Set-Cookie", res.cookie)
	}
}

// tunnelEnd is the backend's side of an upgraded connection.
type tunnelEnd struct {
	conn net.Conn
	read io.Reader // what was read ahead, then the connection
}

// relay passes a response on as it comes. It returns what went wrong with the
// backend's side of it, or why we cut it, or nil.
func (p *Proxy) relay(c *call, res *response) error {
	defer func() { _ = res.body.Close() }()
	if c.body != nil && c.up.backend.Scheme == route.SchemeH2C {
		// net/http's HTTP/2 does not see that the call ends while it waits for the client's body.
		defer context.AfterFunc(c.ctx, func() { _ = res.body.Close() })()
	}
	x := c.x
	announce := res.announce
	if len(announce) > 0 {
		keep := x.ResponseTrailer(res.header)
		announce = slices.DeleteFunc(announce, func(name string) bool { return !keep(name, "") })
	}
	x.Response.Head(res.status, announce, func(add func(name, value string)) {
		x.OutgoingResponse(res.header, add)
		res.bind(add)
	})
	if withoutContent(x.Verb, res.status) {
		return nil
	}
	if err := p.copyBody(x.Response, res, c); err != nil {
		p.cfg.Log.Debug().Str(route.FieldEntrypoint, x.Route.Entrypoint.ID).AnErr(route.FieldCause, err).Msg("response cut short")
		x.Response.Abort()
		return cutShort(c, err)
	}
	if res.trailers != nil {
		if h := res.trailers(); h != nil {
			x.Response.Trailers(exchange.Only{All: h, Keep: x.ResponseTrailer(res.header)})
		}
	}
	return nil
}

// withoutContent reports whether a response has no content, whatever its backend sends
// (RFC 9110 section 6.4.1): over HTTP/2 it can send some all the same, which is its fault
// and must not end the client's connection.
func withoutContent(method string, status int) bool {
	return method == "HEAD" || status == 204 || status == 304
}

// cutShort judges a response that ended early: it returns what went wrong with the
// backend's side, or why we cut it, or nil. A client that spoils its request body, or
// leaves the backend waiting for it, ends the response, too.
func cutShort(c *call, err error) error {
	x, cause := c.x, context.Cause(c.ctx)
	waits := c.body.awaited() // asked first: a read that ends in between has noted its error
	client := c.body.failure()
	var short *cutBody
	switch {
	case errors.Is(cause, errStopped): // first: it may end what the client sends, too
		return errStopped
	case client != nil:
		x.Reason = clientReason(client)
	case x.Context.Err() != nil:
		x.Reason = route.ReasonClientGone
	case waits && errors.Is(cause, errBodyIdle):
		x.Reason = route.ReasonClientTimeout
	case errors.As(err, &short) && errors.Is(cause, errRetired):
		return errRetired
	case errors.As(err, &short):
		return short.err
	}
	return nil
}

// cutBody is an error of the backend's side of a response body.
type cutBody struct{ err error }

func (e *cutBody) Error() string { return "reading the response body: " + e.err.Error() }
func (e *cutBody) Unwrap() error { return e.err }

// copyBody copies the body through a pooled buffer: every piece is flushed unless
// it ends a body of known length. The client learns of a body that ends early by a
// cut connection, never by silence.
func (p *Proxy) copyBody(w exchange.Writer, res *response, c *call) error {
	buffer, _ := p.buffers.Get().(*[bufferSize]byte)
	defer p.buffers.Put(buffer)
	read := p.readFirst
	for left := res.length; ; {
		n, err := read(w, res.body, buffer[:])
		read = readOn
		c.progress()
		left -= int64(n)
		ended := errors.Is(err, io.EOF)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			c.x.Sent += int64(n)
			if left != 0 && !ended {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		if ended {
			return nil
		}
		if err != nil {
			return &cutBody{err}
		}
	}
}

func readOn(_ exchange.Writer, body io.Reader, p []byte) (int, error) { return body.Read(p) }

// readFirst reads the first piece of a body. It mostly came with the head, and both
// go out in one write; if it takes longer the head goes ahead of it.
func (p *Proxy) readFirst(w exchange.Writer, body io.Reader, b []byte) (int, error) {
	f, _ := p.flushers.Get().(*lateFlush)
	f.arm(w)
	n, err := body.Read(b)
	f.disarm()
	p.flushers.Put(f)
	return n, err
}

// headDelay is how long a response head waits for the first piece of its body.
const headDelay = 2 * time.Millisecond

// lateFlush flushes a writer while its owner waits for a first read.
type lateFlush struct {
	mu    sync.Mutex
	w     exchange.Writer // nil while not armed
	timer *time.Timer
}

func newLateFlush() *lateFlush {
	f := &lateFlush{}
	f.timer = time.AfterFunc(time.Hour, f.flush)
	f.timer.Stop()
	return f
}

func (f *lateFlush) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w != nil {
		_ = f.w.Flush() // the owner meets the error at its next write
	}
}

func (f *lateFlush) arm(w exchange.Writer) {
	f.mu.Lock()
	f.w = w
	f.mu.Unlock()
	f.timer.Reset(headDelay)
}

func (f *lateFlush) disarm() {
	f.timer.Stop()
	f.mu.Lock()
	f.w = nil
	f.mu.Unlock()
}
