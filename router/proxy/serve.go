package proxy

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// Drainer is a listener that can end without resetting what the kernel accepted for
// it already. After Drain, Accept returns the connections that are queued and then,
// within a second, an error.
type Drainer interface {
	net.Listener
	Drain()
}

// Serve accepts connections until ctx ends, then shuts down. From then on each answer
// ends its connection. After ShutdownDelay the listener closes (a Drainer first gives
// what it holds); requests in flight get ShutdownTimeout, tunnels half of it. A kept
// connection that had a request within the last eighth of it gets that time to send
// the next one, others close at once. What is left at the end is cut. It returns nil
// when all ended in time; only requests that ignore the cut for a quarter of
// ShutdownTimeout outlive it, with an error. When the listener fails it shuts down in
// the same way and returns why. It may be called for several listeners.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	requests, end := context.WithCancelCause(context.WithoutCancel(ctx))
	cut := func() { end(errStopped) }
	defer cut()
	server := p.newServer(requests)
	served := make(chan error, 1)
	var accepting sync.WaitGroup
	accepting.Go(func() { served <- server.Serve(l) })

	broken := p.serveUntil(ctx, server, served)
	ending, cancel := context.WithTimeout(requests, p.cfg.Timeouts.ShutdownTimeout)
	defer cancel()
	if broken == nil {
		stopAccepting(l)
		accepting.Wait() // all that was accepted is known now
	}
	err := p.shutDown(ending, server, cut)
	cut() // the calls to all upstreams end with it
	accepting.Wait()
	if left := p.lastWait(ctx, server); err == nil {
		err = left
	}
	if broken != nil {
		return fmt.Errorf("serving %s: %w", l.Addr(), broken)
	}
	return err
}

// serveUntil waits for the end of ctx and the shutdown delay, during which requests
// are still taken so that whoever watches /ready can stop sending first. It returns
// early, with the error, when the listener fails.
func (p *Proxy) serveUntil(ctx context.Context, server *server, served <-chan error) error {
	defer server.leaving.Store(true)
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	server.leaving.Store(true)
	delay := time.NewTimer(p.cfg.Timeouts.ShutdownDelay)
	defer delay.Stop()
	select {
	case err := <-served:
		return err
	case <-delay.C:
		return nil
	}
}

func stopAccepting(l net.Listener) {
	if d, ok := l.(Drainer); ok {
		d.Drain()
		return
	}
	_ = l.Close()
}

// shutDown ends a front within ctx: connections without a request first, then
// requests in flight, tunnels within half of the time. Then it cuts: who has no answer
// yet gets one in the moment before its connection is closed.
func (p *Proxy) shutDown(ctx context.Context, server *server, cut func()) error {
	limit := p.cfg.Timeouts.ShutdownTimeout
	tunnels := time.AfterFunc(limit/2, server.tunnels.closeAll)
	defer tunnels.Stop()
	held := time.AfterFunc(limit*3/4, p.holds.end)
	defer held.Stop()
	server.clients.settle(ctx, limit/8)
	server.clients.closeUnused()
	err := server.Shutdown(ctx)
	if err == nil && !server.active.waitFor(ctx) { // tunnels are no requests for net/http
		err = ctx.Err()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	cut()
	moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit/32)
	defer cancel()
	_ = server.Shutdown(moment)
	_ = server.Close()
	server.tunnels.closeAll()
	return fmt.Errorf("requests were still in flight after shutdownTimeout (%v) and were cut; to give them longer raise it together with the container's stop_grace_period", limit)
}

// lastWait waits for the handlers that were cut. That takes no time unless
// something ignores the cut, and then it must not keep the process.
func (p *Proxy) lastWait(ctx context.Context, server *server) error {
	limit := p.cfg.Timeouts.ShutdownTimeout / 4
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if server.active.waitFor(ending) {
		return nil
	}
	p.cfg.Log.Error().Msg("requests did not end although they were cut; the shutdown goes on without them")
	return fmt.Errorf("requests did not end within %v after they were cut", limit)
}

// active counts the requests and tunnels of a front.
type active struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when n becomes 0; nil while nobody waits
}

func (a *active) add() {
	a.mu.Lock()
	a.n++
	a.mu.Unlock()
}

func (a *active) done() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n--; a.n == 0 && a.empty != nil {
		close(a.empty)
		a.empty = nil
	}
}

func (a *active) waiting() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.empty == nil {
		a.empty = make(chan struct{})
		if a.n == 0 {
			closed := a.empty
			close(closed)
			a.empty = nil
			return closed
		}
	}
	return a.empty
}

// waitFor reports whether all ended before ctx did.
func (a *active) waitFor(ctx context.Context) bool {
	select {
	case <-a.waiting():
		return true
	case <-ctx.Done():
		return false
	}
}

// panicked logs a panic of a request: where it happened, never what was in it.
func (p *Proxy) panicked(x *exchange.Exchange, v any) {
	event := p.cfg.Log.Error().Str("panic", fmt.Sprintf("%T", v)).Bytes("stack", debug.Stack())
	if err, ok := v.(runtime.Error); ok {
		event = event.AnErr(route.FieldCause, err)
	}
	if x.Route != nil {
		event = event.Str(route.FieldEntrypoint, x.Route.Entrypoint.ID)
	}
	event.Msg("a request panicked; it alone was ended")
}

// quietLog takes what net/http says about broken clients: it is worth a debug
// line, without the text, which may quote the client.
func quietLog(p *Proxy) *log.Logger { return log.New(debugWriter{p}, "", 0) }

type debugWriter struct{ p *Proxy }

// Write implements io.Writer.
func (d debugWriter) Write(b []byte) (int, error) {
	d.p.cfg.Log.Debug().Int("bytes", len(b)).Msg("client connection ended with an error")
	return len(b), nil
}
