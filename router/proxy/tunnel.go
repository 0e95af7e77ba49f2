package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"

	"fairlead/router/exchange"
)

// upgrades reports whether an exchange asks for a WebSocket: the only protocol
// that we let a connection switch to. Any other token is ignored, and the request
// is served as plain HTTP/1.1 (RFC 9110 section 7.8).
func upgrades(x *exchange.Exchange) bool {
	return x.Major == 1 && x.Minor == 1 && x.Body == nil && x.Verb == "GET" &&
		exchange.HasToken(x.Header.List("Upgrade"), "websocket") &&
		exchange.HasToken(x.Header.List("Connection"), "Upgrade")
}

// tunnels are the client connections of one front that were taken over; shutdown
// closes what is left of them.
type tunnels struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
	over bool
}

// add reports false when shutdown is past the time of tunnels.
func (t *tunnels) add(c net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	if t.open == nil {
		t.open = map[net.Conn]struct{}{}
	}
	t.open[c] = struct{}{}
	return true
}

func (t *tunnels) remove(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

func (t *tunnels) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for c := range t.open {
		_ = c.Close()
	}
}

// pair closes both sides of a tunnel.
type pair struct{ a, b net.Conn }

// Close implements io.Closer.
func (p pair) Close() error {
	_ = p.a.Close()
	return p.b.Close()
}

// tunnel switches protocols: the 101 goes to the client, then bytes go both ways
// until both sides have ended, the backend's drain is over or the proxy ends.
func (p *Proxy) tunnel(c *call, res *response) {
	end := res.tunnel
	defer func() { _ = end.conn.Close() }()
	x := c.x
	x.Response.Head(res.status, nil, func(add func(name, value string)) {
		x.OutgoingResponse(res.header, add)
		res.bind(add)
		add("Connection", "Upgrade")
		add("Upgrade", "websocket")
	})
	c.unwatched()
	client, read, err := x.Response.Hijack()
	if err != nil {
		x.Response.Abort()
		return
	}
	both := pair{client, end.conn}
	defer func() { _ = both.Close() }()
	c.tunnel.Store(true)
	defer context.AfterFunc(c.ctx, func() { _ = both.Close() })()
	var wg sync.WaitGroup
	wg.Go(func() { x.Received += p.pipe(end.conn, read, both) })
	wg.Go(func() { x.Sent += p.pipe(client, end.read, both) })
	wg.Wait()
}

// pipe copies one direction and passes on its end as a half-close. An error, or an
// end that cannot be passed on alone, ends both directions. It returns what passed.
func (p *Proxy) pipe(to net.Conn, from io.Reader, both io.Closer) int64 {
	n, err := p.copyTunnel(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && errors.Is(err, io.EOF) && half.CloseWrite() == nil {
		return n
	}
	_ = both.Close()
	return n
}

// idleBuffer is what each direction of a quiet tunnel costs; there may be very many.
const idleBuffer = 2 << 10

// copyTunnel copies through a small buffer, and through a pooled one while it is
// filled. It ends with io.EOF or another error.
func (p *Proxy) copyTunnel(to io.Writer, from io.Reader) (passed int64, err error) {
	small := make([]byte, idleBuffer)
	buffer := small
	var large *[bufferSize]byte
	defer func() {
		if large != nil {
			p.buffers.Put(large)
		}
	}()
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return passed, err
			}
			passed += int64(n)
		}
		if err != nil {
			return passed, err
		}
		switch {
		case large == nil && n == len(small):
			large, _ = p.buffers.Get().(*[bufferSize]byte)
			buffer = large[:]
		case large != nil && n <= len(small):
			p.buffers.Put(large)
			large, buffer = nil, small
		}
	}
}

// upgradeHead writes the request head of an upgrade.
func upgradeHead(x *exchange.Exchange) []byte {
	var b strings.Builder
	b.WriteString(x.Verb + " " + x.Path.Forward)
	if x.QueryMark {
		b.WriteString("?" + x.RawQuery)
	}
	b.WriteString(" HTTP/1.1\r\nHost: " + x.Authority + "\r\n")
	x.Outgoing(func(name, value string) { b.WriteString(name + ": " + value + "\r\n") })
	b.WriteString("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	return []byte(b.String())
}

// sendUpgrade asks a backend on a connection of its own.
func (u *upstream) sendUpgrade(c *call) (*response, *failure) {
	nc, err := u.dial(c.ctx)
	if err != nil {
		return nil, failed(c, err)
	}
	c.sending()
	if c.conn.conn = connOf(nc); c.conn.conn != nil {
		c.conn.doubt, c.conn.making = c.conn.conn.doubt, c.conn.conn.making
		c.conn.conn.head.expect()
	}
	// The call ends by itself when its response body is relayed or cut, so this
	// bounds a body that stalls, too.
	stop := context.AfterFunc(c.ctx, func() { _ = nc.Close() })
	_, err = nc.Write(upgradeHead(c.x))
	var res *response
	if err == nil {
		res, err = readUpgrade(c, nc)
	}
	switch {
	case err != nil:
		stop()
		_ = nc.Close()
		fail := failed(c, err)
		fail.unanswered = c.unanswered(err)
		return nil, fail
	case res.tunnel != nil: // it ends with its two sides
		stop()
	}
	return res, nil
}

// bufferedFirst reads what was read ahead, then the connection itself.
func bufferedFirst(r *bufio.Reader, conn net.Conn) io.Reader {
	n := r.Buffered()
	if n == 0 {
		return conn
	}
	ahead, err := r.Peek(n)
	if err != nil {
		return conn
	}
	return io.MultiReader(strings.NewReader(string(ahead)), conn)
}
