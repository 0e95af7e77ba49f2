package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fairlead/router/route"
)

// conn is a connection to a backend, counted with its upstream.
type conn struct {
	net.Conn
	up      *upstream
	written atomic.Int64
	start   atomic.Int64 // written when the call that uses it took it
	broke   atomic.Bool  // it took no more in the middle of a request
	closing sync.Once

	opened time.Time
	doubt  time.Duration        // how long its dial was held back before
	making time.Duration        // how long it took to be made, TLS included
	user   atomic.Pointer[call] // the call that uses it, nil while it is idle
	idleAt atomic.Int64         // nanoseconds from opened to the end of the last call; 0 before
	head   responseHead         // for HTTP/1 alone
	// unheard is set for HTTP/2 alone: nanoseconds from opened to the first request after
	// which nothing came; 0 once something came.
	unheard atomic.Int64
}

// Read implements io.Reader and learns from what an idle connection brings.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.unheard.Load() != 0 {
		c.unheard.Store(0)
	}
	if c.up.tls == nil {
		c.head.feed(p[:max(n, 0)])
	}
	if c.user.Load() == nil {
		c.heard(n, err)
	}
	return n, err
}

// Write implements io.Writer and counts what went out. A backend that has enough of a
// request answers and closes, which resets the connection under what is still sent:
// net/http would end the call with the error of that write, often before it has read the
// answer. So within a request of HTTP/1 it does not learn of it; reading ends by itself,
// after the answer if there is one.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	sent := c.written.Add(int64(n))
	if err != nil && c.user.Load() != nil && sent > c.start.Load() && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) {
		c.broke.Store(true)
		return len(p), nil
	}
	return n, err
}

// CloseWrite passes a half-close on.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Close implements io.Closer.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closing.Do(func() {
		c.up.mu.Lock()
		delete(c.up.conns, c)
		c.up.mu.Unlock()
		c.idleAt.Store(0) // what follows is our doing
		err = c.Conn.Close()
	})
	return err
}

// keep takes a new connection into the upstream; false when it retired meanwhile:
// its address may be another container's by now.
func (u *upstream) keep(c *conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.retired {
		return false
	}
	u.conns[c] = struct{}{}
	return true
}

// left reports whether the upstream takes no new connections any more.
func (u *upstream) left() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.retired
}

// dialError is a contact that failed before anything was sent.
type dialError struct {
	kind route.Kind
	tls  bool
	err  error
}

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// dial connects to the backend: resolves its name, checks the very address it then
// dials, and speaks TLS when the scheme asks for it. It ends with ctx or after
// dialTimeout. Its errors are of type dialError.
func (u *upstream) dial(ctx context.Context) (net.Conn, error) {
	timeout := u.backend.DialTimeout
	if timeout <= 0 {
		timeout = route.DefaultDialTimeout
	}
	var doubt time.Duration
	if asked := time.Now(); u.backend.Container != nil && u.proxy.doubt.certain(ctx) {
		doubt = time.Since(asked)
	}
	if u.left() { // its address may be another container's by now
		return nil, &dialError{kind: route.KindLeaving, err: errRetired}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	raw, err := u.dialAllowed(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, up: u, opened: time.Now(), doubt: doubt}
	defer func() { c.making = time.Since(began) }()
	if !u.keep(c) {
		_ = raw.Close()
		return nil, &dialError{kind: route.KindLeaving, err: errRetired}
	}
	if u.tls == nil {
		return c, nil
	}
	secured := tls.Client(c, u.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, &dialError{kind: kindOf(err, route.KindTLSFailure), tls: true, err: err}
	}
	return &securedConn{Conn: secured, raw: c}, nil
}

// dialAllowed tries the backend's addresses in turn; each gets a fair share of the
// time that is left.
func (u *upstream) dialAllowed(ctx context.Context) (net.Conn, error) {
	addrs, err := u.addresses(ctx)
	if err != nil {
		return nil, &dialError{kind: kindOf(err, route.KindDNSFailure), err: err}
	}
	last := &dialError{kind: route.KindDNSFailure, err: errors.New("the name has no address")}
	for i, addr := range addrs {
		if why := route.BlockedTarget(addr, u.backend.Loopback || u.proxy.cfg.AllowLoopback); why != "" {
			last = &dialError{kind: route.KindProbeBlocked, err: fmt.Errorf("%s is %s: traffic never goes there", addr, why)}
			continue
		}
		raw, err := u.dialOne(ctx, addr, len(addrs)-i)
		if err == nil {
			return raw, nil
		}
		last = &dialError{kind: kindOf(err, route.KindOther), err: err}
	}
	return nil, last
}

func (u *upstream) dialOne(ctx context.Context, addr netip.Addr, left int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok && left > 1 {
		share, cancel := context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
		ctx = share
	}
	return u.proxy.cfg.Dial(ctx, "tcp", route.JoinHostPort(addr.String(), u.backend.Port))
}

func (u *upstream) addresses(ctx context.Context) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(u.backend.Host); err == nil {
		return []netip.Addr{addr}, nil
	}
	return u.proxy.cfg.Resolve(ctx, u.backend.Host)
}
