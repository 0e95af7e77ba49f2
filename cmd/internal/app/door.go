package app

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// door is the HTTP listener: open, inherited from a service manager, or only reserved
// while another process listens on the same address. A nil door is one that is off.
type door struct {
	listener  *net.TCPListener // nil while only reserved
	reserved  *reserved
	inherited bool
	shared    bool // other processes may listen on the address
}

// openDoor listens on an address that is this process's alone.
func openDoor(ctx context.Context, address string) (*door, error) {
	l, err := listen(ctx, address, "HTTP", "--http", "proxy.http.listen")
	if l == nil {
		return nil, err
	}
	return &door{listener: l}, nil
}

// share binds an address with SO_REUSEPORT. It listens at once unless another process
// does: that one then goes on serving until this one is ready.
func share(address string) (*door, error) {
	r, err := reserve(address)
	if err != nil {
		return nil, &BindError{What: "HTTP", Address: address, Fix: shareFix(err, address), Err: err}
	}
	d := &door{reserved: r, shared: true}
	if r.occupied() {
		return d, nil
	}
	if d.listener, _, err = r.listen(false); err != nil {
		r.close()
		return nil, &BindError{What: "HTTP", Address: address, Fix: shareFix(err, address), Err: err}
	}
	return d, nil
}

func shareFix(err error, address string) string {
	fix := bindFix(err, address, "--http", "proxy.http.listen")
	if errors.Is(err, syscall.EADDRINUSE) {
		fix += "; a router can take over from one that runs with proxy.http.reusePort, too, and as the same user"
	}
	return fix
}

func (d *door) address() string {
	switch {
	case d == nil:
		return ""
	case d.listener != nil:
		return addressOf(d.listener)
	}
	return d.reserved.bound
}

func (d *door) close() {
	switch {
	case d == nil || d.inherited:
	case d.listener != nil:
		_ = d.listener.Close()
	default:
		d.reserved.close()
	}
}

// Bounds of how long the first connections wait for the first table. Those of an
// inherited socket may be served by another process meanwhile.
const (
	holdFirst     = 3 * time.Second
	holdInherited = 30 * time.Second
	holdTick      = 5 * time.Millisecond
	occupiedEach  = 10 // ticks
)

// serveHTTP lets connections wait in the listener's queue until every provider was
// read once: a restarted router must not answer 404 for routes that it is about to
// learn.
func (a *App) serveHTTP(ctx context.Context, d *door) error {
	if d.listener == nil {
		if err := a.takeOver(ctx, d); d.listener == nil {
			return err
		}
	} else if d.inherited {
		a.hold(ctx, holdInherited, a.initialized)
	} else {
		a.hold(ctx, holdFirst, a.synced)
	}
	a.accepting.Store(true)
	if d.inherited {
		return a.proxy.Serve(ctx, d.listener) // it stays open for others: nothing in its queue is lost
	}
	return a.proxy.Serve(ctx, newDrainable(d.listener, d.shared))
}

// hold waits until ready reports true, ctx ends, or the limit is over; 0 is no limit.
func (a *App) hold(ctx context.Context, limit time.Duration, ready func() bool) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	tick := time.NewTicker(holdTick)
	defer tick.Stop()
	for !ready() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// synced reports whether every enabled provider was read, or could not be.
func (a *App) synced() bool {
	providers := a.controller.View().Providers
	for i := range providers {
		if p := &providers[i]; p.Enabled && (p.Phase == route.PhasePending || p.Phase == "") {
			return false
		}
	}
	return true
}

// initialized reports what /ready waits for where nobody else serves.
func (a *App) initialized() bool { return api.Initialized(a.controller.View()) }

// Time without a new connection after which a queue counts as empty. Where another
// process may take the next ones, handshakes with far clients have time to end.
const (
	quietAlone  = 10 * time.Millisecond
	quietShared = 250 * time.Millisecond
	// longestDrain bounds the drain where new connections cannot be kept away.
	longestDrain = time.Second
)

// drainable is a listener that ends without resetting connections that the kernel
// accepted for it: closing it does that to all in its queue.
type drainable struct {
	*net.TCPListener
	quiet time.Duration
	end   atomic.Pointer[time.Time] // set while it drains: its latest end
}

func newDrainable(l *net.TCPListener, shared bool) *drainable {
	d := &drainable{TCPListener: l, quiet: quietAlone}
	if shared {
		d.quiet = quietShared
	}
	return d
}

// Drain implements proxy.Drainer. No new connection begins here afterwards.
func (d *drainable) Drain() {
	_ = deafen(d.TCPListener) // where that cannot be, the last connections may be reset
	end := time.Now().Add(longestDrain)
	d.end.Store(&end)
	d.wait(end)
}

func (d *drainable) wait(end time.Time) {
	at := time.Now().Add(d.quiet)
	if at.After(end) {
		at = end
	}
	_ = d.SetDeadline(at)
}

// Accept implements net.Listener.
func (d *drainable) Accept() (net.Conn, error) {
	for {
		conn, err := d.AcceptTCP()
		end := d.end.Load()
		switch {
		case err == nil:
			if end != nil {
				d.wait(*end)
			}
			return conn, nil
		case end == nil || !errors.Is(err, os.ErrDeadlineExceeded):
			return nil, err
		case time.Now().After(*end) || queued(d.TCPListener) == 0:
			return nil, net.ErrClosed
		}
		d.wait(*end) // it was this process that was slow
	}
}
