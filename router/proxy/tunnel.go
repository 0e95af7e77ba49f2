package proxy

import (
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
		exchange.HasToken(joined(x.Header, "Connection"), "Upgrade") &&
		exchange.HasToken(joined(x.Header, "Upgrade"), "websocket")
}

// tunnels are the upgraded connections of a proxy; shutdown closes what is left.
type tunnels struct {
	mu   sync.Mutex
	open map[io.Closer]struct{}
	wg   sync.WaitGroup
}

func (t *tunnels) add(c io.Closer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[io.Closer]struct{}{}
	}
	t.open[c] = struct{}{}
	t.wg.Add(1)
}

func (t *tunnels) remove(c io.Closer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
	t.wg.Done()
}

func (t *tunnels) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.open {
		_ = c.Close()
	}
}

// pair closes both sides of a tunnel.
type pair struct{ a, b net.Conn }

func (p pair) Close() error {
	_ = p.a.Close()
	return p.b.Close()
}

// tunnel switches protocols: the 101 goes to the client, then bytes go both ways
// until both sides have ended.
func (p *Proxy) tunnel(x *exchange.Exchange, up *upstream, res *response) {
	end := res.tunnel
	x.Response.Head(res.status, 0, nil, func(add func(name, value string)) {
		x.OutgoingResponse(res.header, add)
		add("Connection", "Upgrade")
		add("Upgrade", "websocket")
	})
	client, read, err := x.Response.Hijack()
	if err != nil {
		_ = end.conn.Close()
		x.Response.Abort()
		return
	}
	both := pair{client, end.conn}
	p.tunnels.add(both)
	defer p.tunnels.remove(both)
	up.mu.Lock()
	up.tunnels[both] = struct{}{}
	up.mu.Unlock()
	defer func() {
		up.mu.Lock()
		delete(up.tunnels, both)
		up.mu.Unlock()
		_ = both.Close()
	}()
	var wg sync.WaitGroup
	wg.Go(func() { pipe(end.conn, read) })
	wg.Go(func() { pipe(client, end.read) })
	wg.Wait()
}

// pipe copies one direction and passes on its end as a half-close.
func pipe(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

// upgradeHead writes the request head of an upgrade.
func upgradeHead(x *exchange.Exchange) []byte {
	var b strings.Builder
	b.WriteString(x.Verb + " " + x.Path.Forward)
	if x.RawQuery != "" {
		b.WriteString("?" + x.RawQuery)
	}
	b.WriteString(" HTTP/1.1\r\nHost: " + x.Authority + "\r\n")
	x.Outgoing(func(name, value string) { b.WriteString(name + ": " + value + "\r\n") })
	b.WriteString("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	return []byte(b.String())
}

// sendUpgrade asks a backend on a connection of its own.
func (u *upstream) sendUpgrade(c *call, x *exchange.Exchange) (*response, *failure) {
	conn, err := u.dial(c.ctx)
	if err != nil {
		return nil, failed(c, x.Context, nil, err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-c.ctx.Done():
			_ = conn.Close()
		case <-stop:
		}
	})
	_, err = conn.Write(upgradeHead(x))
	var res *response
	if err == nil {
		res, err = readUpgrade(conn, x)
	}
	close(stop)
	wg.Wait()
	if err != nil {
		_ = conn.Close()
		return nil, failed(c, x.Context, nil, err)
	}
	if res.tunnel != nil {
		c.unwatched()
	}
	return res, nil
}
