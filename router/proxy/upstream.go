package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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
	// single is set once the backend tied a login to its connection (NTLM,
	// Negotiate): from then on no connection serves a second request.
	single atomic.Bool
	idle   idleLimit

	mu      sync.Mutex
	retired bool
	calls   map[*call]struct{}
	conns   map[*conn]struct{}
	cut     *time.Timer
}

// pool sends requests over pooled connections; the backend adapter is one.
type pool interface {
	// send sends the call's request over a pooled connection, or over a fresh one.
	send(c *call, fresh bool) (*response, error)
	// closeIdle closes the connections that serve no request.
	closeIdle()
}

// Open implements router.Upstreams. It dials nothing. It fails when backendTLS
// names a CA or a client certificate that the configuration lacks.
func (p *Proxy) Open(b route.Backend) (route.Upstream, error) {
	u := &upstream{backend: b, proxy: p, calls: map[*call]struct{}{}, conns: map[*conn]struct{}{}}
	u.idle.most.Store(int64(p.cfg.Timeouts.BackendIdle))
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
			return nil, fmt.Errorf("backendTLS.ca %q of backend %s is not among the certificate authorities of the configuration: add it there or correct the label", b.TLS.CA, b.ID)
		}
		config.RootCAs = roots
	}
	if b.TLS.ClientCert != "" {
		certificate := p.cfg.ClientCerts[b.TLS.ClientCert]
		if certificate == nil {
			return nil, fmt.Errorf("backendTLS.clientCert %q of backend %s is not among the client certificates of the configuration: add it there or correct the label", b.TLS.ClientCert, b.ID)
		}
		// It goes out whatever authorities the backend names: that it wants another one
		// is for the backend to say.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	return config, nil
}

// begin registers a call so that the end of a drain can cut it; nil when the
// upstream is retired and takes no new ones.
func (u *upstream) begin(x *exchange.Exchange, headLimit time.Duration, b *body) *call {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.retired {
		return nil
	}
	c := newCall(u, x, headLimit, b)
	u.calls[c] = struct{}{}
	return c
}

// end forgets a call; a retired upstream pools nothing.
func (u *upstream) end(c *call) {
	u.mu.Lock()
	delete(u.calls, c)
	retired, last := u.retired, len(u.calls) == 0
	if retired && last && u.cut != nil {
		u.cut.Stop()
	}
	u.mu.Unlock()
	if !retired {
		return
	}
	u.pool.closeIdle()
	if last {
		u.closeConns()
	}
}

// send asks the backend. On a pooled connection that turned out to be closed it
// asks once more on a fresh one, where nothing was written or the method may be
// sent twice; that is no retry in the sense of retry.attempts.
func (u *upstream) send(c *call) (*response, *failure) {
	if upgrades(c.x) {
		return u.sendUpgrade(c)
	}
	res, err := u.pool.send(c, false)
	if err != nil && u.mayResend(c, err) {
		res, err = u.pool.send(c, true)
	}
	if err != nil {
		fail := failed(c, err)
		fail.unanswered = c.unanswered(err)
		return nil, fail
	}
	return res, nil
}

// unanswered reports whether the backend, or the end of its drain, ended the connection before its answer began
// and the request may (RFC 9110 section 9.2.2) and can be sent again.
func (c *call) unanswered(err error) bool {
	ended := c.ctx.Err() == nil && closedByBackend(err) || errors.Is(context.Cause(c.ctx), errRetired)
	if !ended || c.conn.answered.Load() || !route.Idempotent(c.x.Verb) {
		return false
	}
	_, whole := c.body.take()
	return whole
}

// mayResend decides on what the backend did not process, and on the idle reuse race: the
// backend closed the connection while the request was on its way.
func (u *upstream) mayResend(c *call, err error) bool {
	if c.ctx.Err() == nil && (c.conn.discarded.Load() || unprocessed(err)) {
		_, whole := c.body.take()
		return whole
	}
	if !c.conn.reused.Load() || c.conn.answered.Load() || c.ctx.Err() != nil || !closedByBackend(err) {
		return false
	}
	if !route.Idempotent(c.x.Verb) && c.conn.wrote() {
		return false
	}
	_, whole := c.body.take()
	return whole
}

// wrote reports whether any byte of the call went out on its connection.
func (c *contact) wrote() bool { return c.conn == nil || c.conn.written.Load() > c.before }

// CloseIdle implements route.Upstream.
func (u *upstream) CloseIdle() { u.pool.closeIdle() }

// CloseTunnels implements route.Upstream.
func (u *upstream) CloseTunnels(entrypoint string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.calls {
		if c.tunnel.Load() && c.x.Route.Entrypoint.Key() == entrypoint {
			c.cancel(errWentDown)
		}
	}
}

// Retire implements route.Upstream.
func (u *upstream) Retire(drain route.Drain) {
	u.mu.Lock()
	first := !u.retired
	u.retired = true
	last := len(u.calls) == 0
	if first && !last {
		u.cut = time.AfterFunc(time.Duration(drain.Timeout), u.cutAll)
	}
	u.mu.Unlock()
	u.pool.closeIdle()
	if last {
		u.closeConns()
	}
}

// Reinstate implements route.Upstream.
func (u *upstream) Reinstate() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.retired = false
	if u.cut != nil {
		u.cut.Stop()
		u.cut = nil
	}
}

// cutAll ends what is still in flight when the drain is over, tunnels included.
func (u *upstream) cutAll() {
	u.mu.Lock()
	if !u.retired { // reinstated as the timer fired
		u.mu.Unlock()
		return
	}
	for c := range u.calls {
		c.cancel(errRetired)
	}
	u.mu.Unlock()
	u.pool.closeIdle()
	u.closeConns()
}

func (u *upstream) closeConns() {
	u.mu.Lock()
	open := make([]*conn, 0, len(u.conns))
	for c := range u.conns {
		open = append(open, c)
	}
	u.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
}
