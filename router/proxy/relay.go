package proxy

import (
	"errors"
	"io"
	"net"

	"fairlead/router/exchange"
)

// response is a backend's answer, independent of the protocol behind it.
type response struct {
	status   int
	header   exchange.Header
	length   int64 // -1 when not known
	body     io.ReadCloser
	announce []string               // trailer names sent with the head
	trailers func() exchange.Header // valid once body was read to its end
	tunnel   *tunnelEnd             // set for 101
}

// tunnelEnd is the backend's side of an upgraded connection.
type tunnelEnd struct {
	conn net.Conn
	read io.Reader // what was read ahead, then the connection
}

// relay passes a response on as it comes: every piece is flushed unless the next
// one ends a body of known length.
func (p *Proxy) relay(x *exchange.Exchange, c *call, res *response) {
	defer func() { _ = res.body.Close() }()
	w := x.Response
	w.Head(res.status, res.length, res.announce, func(add func(name, value string)) {
		x.OutgoingResponse(res.header, add)
	})
	if err := p.copyBody(w, res, c); err != nil {
		p.cfg.Log.Debug().Str("route", x.Route.Entrypoint.ID).AnErr("cause", err).Msg("response cut short")
		w.Abort()
		return
	}
	if res.trailers != nil {
		if h := res.trailers(); h != nil {
			w.Trailers(h)
		}
	}
}

// copyBody copies the body through a pooled buffer. The client learns of a body
// that ends early by a cut connection, never by silence.
func (p *Proxy) copyBody(w exchange.Writer, res *response, c *call) error {
	buffer, _ := p.buffers.Get().(*[32 << 10]byte)
	defer p.buffers.Put(buffer)
	left := res.length
	for {
		n, err := res.body.Read(buffer[:])
		c.progress()
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			left -= int64(n)
			if left != 0 && err == nil {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
