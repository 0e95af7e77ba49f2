package proxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// A client that takes its requests back as fast as it makes them costs the router and the
// backends work, and itself nothing: the limit of streams does not bound it (CVE-2023-44487).
// Number and haste are the defaults of Envoy; the window is ours.
const (
	resetsWindow = 5 * time.Second
	resetsHaste  = time.Second // a request that is taken back later may be a client's timeout
	resetsMost   = 500
)

// clientConn is a client's connection as the requests on it know it.
type clientConn struct {
	net.Conn
	mu    sync.Mutex
	since time.Time // when the window began
	ended int       // requests of HTTP/2 since
	hasty int       // those of them that their client took back at once
}

// clientConnKey is where the context of a request has its connection.
type clientConnKey struct{}

func withClientConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, clientConnKey{}, &clientConn{Conn: c})
}

// clientConnOf may be nil.
func clientConnOf(ctx context.Context) *clientConn {
	c, _ := ctx.Value(clientConnKey{}).(*clientConn)
	return c
}

// endWriting tells the client of an HTTP/1 request that its response is cut. net/http
// closes the connection only after it has waited for the rest of the request's body.
func (c *clientConn) endWriting() {
	if c == nil {
		return
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// ran notes the end of a request of HTTP/2 that began at a time. It reports whether the
// connection is abused: the greater part of many requests was taken back at once.
func (c *clientConn) ran(began time.Time, takenBack bool) (abused bool) {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.since) > resetsWindow {
		c.since, c.ended, c.hasty = now, 0, 0
	}
	c.ended++
	if takenBack && now.Sub(began) < resetsHaste {
		c.hasty++
	}
	return c.hasty > resetsMost && 2*c.hasty > c.ended
}
