package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// upstream holds the connections of one backend incarnation. A new container on an
// old address is another upstream: it never gets an old connection.
type upstream struct {
	backend route.Backend
	proxy   *Proxy
	tls     *tls.Config // nil for plain schemes
	pool    pool
	retired atomic.Bool

	mu      sync.Mutex
	calls   map[*call]struct{}
	tunnels map[io.Closer]struct{}
	cut     *time.Timer
}

// pool sends requests over pooled connections; the backend adapter is one.
type pool interface {
	send(c *call, x *exchange.Exchange) (*response, *failure)
	closeIdle()
}

// Open implements router.Upstreams. It fails when backendTLS names a CA that the
// configuration lacks.
func (p *Proxy) Open(b route.Backend) (route.Upstream, error) {
	u := &upstream{backend: b, proxy: p, calls: map[*call]struct{}{}, tunnels: map[io.Closer]struct{}{}}
	if b.Scheme == route.SchemeHTTPS {
		config, err := p.tlsConfig(&b)
		if err != nil {
			return nil, err
		}
		u.tls = config
	}
	u.pool = newTransport(u)
	return u, nil
}

func (p *Proxy) tlsConfig(b *route.Backend) (*tls.Config, error) {
	config := &tls.Config{
		ServerName:         b.TLS.ServerName,
		InsecureSkipVerify: b.TLS.InsecureSkipVerify,
		NextProtos:         []string{"http/1.1"},
		MinVersion:         tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(8),
	}
	if config.ServerName == "" {
		config.ServerName = b.Host
	}
	if b.TLS.CA != "" {
		roots := p.cfg.CAs[b.TLS.CA]
		if roots == nil {
			return nil, fmt.Errorf("backendTLS.ca %q is not among the certificate authorities of the configuration", b.TLS.CA)
		}
		config.RootCAs = roots
	}
	return config, nil
}

// begin registers a call so that the end of a drain can cut it.
func (u *upstream) begin(x *exchange.Exchange, headLimit time.Duration) *call {
	c := newCall(x, headLimit, u.proxy.cfg.Timeouts.BodyIdle)
	u.mu.Lock()
	u.calls[c] = struct{}{}
	u.mu.Unlock()
	return c
}

// end forgets a call; a retired upstream pools nothing.
func (u *upstream) end(c *call) {
	c.end()
	u.mu.Lock()
	delete(u.calls, c)
	idle := len(u.calls) == 0 && u.cut != nil
	if idle {
		u.cut.Stop()
	}
	u.mu.Unlock()
	if u.retired.Load() {
		u.pool.closeIdle()
	}
}

func (u *upstream) send(c *call, x *exchange.Exchange) (*response, *failure) {
	if upgrades(x) {
		return u.sendUpgrade(c, x)
	}
	return u.pool.send(c, x)
}

// CloseIdle implements route.Upstream.
func (u *upstream) CloseIdle() { u.pool.closeIdle() }

// Retire implements route.Upstream.
func (u *upstream) Retire(drain route.Drain) {
	u.retired.Store(true)
	u.pool.closeIdle()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.calls) == 0 || u.cut != nil {
		return
	}
	u.cut = time.AfterFunc(time.Duration(drain.Timeout), u.cutAll)
}

// cutAll ends what is still in flight when the drain is over.
func (u *upstream) cutAll() {
	u.mu.Lock()
	calls := make([]*call, 0, len(u.calls))
	for c := range u.calls {
		calls = append(calls, c)
	}
	closers := make([]io.Closer, 0, len(u.tunnels))
	for t := range u.tunnels {
		closers = append(closers, t)
	}
	u.mu.Unlock()
	for _, c := range calls {
		c.cancel(errRetired)
	}
	for _, t := range closers {
		_ = t.Close()
	}
	u.pool.closeIdle()
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
// dials, and speaks TLS when the scheme asks for it. It ends with the call or after
// dialTimeout.
func (u *upstream) dial(ctx context.Context) (net.Conn, error) {
	timeout := u.backend.DialTimeout
	if timeout <= 0 {
		timeout = route.DefaultDialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := u.dialAllowed(ctx)
	if err != nil {
		return nil, err
	}
	if u.tls == nil {
		return conn, nil
	}
	secured := tls.Client(conn, u.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &dialError{kind: kindOf(err, route.KindTLSFailure), tls: true, err: err}
	}
	return secured, nil
}

func (u *upstream) dialAllowed(ctx context.Context) (net.Conn, error) {
	addrs, err := u.addresses(ctx)
	if err != nil {
		return nil, &dialError{kind: kindOf(err, route.KindDNSFailure), err: err}
	}
	var last error = errors.New("the name has no address")
	for _, addr := range addrs {
		if why := route.BlockedTarget(addr, u.backend.Loopback || u.proxy.cfg.AllowLoopback); why != "" {
			last = &dialError{kind: route.KindProbeBlocked, err: fmt.Errorf("%s is %s: traffic never goes there", addr, why)}
			continue
		}
		conn, err := u.proxy.cfg.Dial(ctx, "tcp", route.JoinHostPort(addr.String(), u.backend.Port))
		if err == nil {
			return conn, nil
		}
		last = &dialError{kind: kindOf(err, route.KindOther), err: err}
	}
	return nil, last
}

func (u *upstream) addresses(ctx context.Context) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(u.backend.Host); err == nil {
		return []netip.Addr{addr}, nil
	}
	return u.proxy.cfg.Resolve(ctx, u.backend.Host)
}
