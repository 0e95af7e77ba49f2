package proxy

import (
	"bytes"
	"crypto/tls"
	"slices"
	"sync/atomic"
)

// responseHead takes the Connection fields of a response of HTTP/1 as they come over the
// wire: net/http leaves out all of them where one says "close", and with that what the
// others name (RFC 9110 section 7.6.1). It allocates nothing for a head that arrives
// in one piece and names nothing.
type responseHead struct {
	awaited atomic.Bool // between a request and the end of the final head
	// named are the lists that name more than what all connections know, also those of interim
	// heads; nil for none. They are looked at in goroutines that outlive a try.
	named   atomic.Pointer[[]string]
	within  bool // the status line came
	interim bool
	ours    bool   // the last line was a Connection field, which the next one may continue
	skip    bool   // the rest of a line is of no interest
	part    []byte // of a line
}

// expect begins with the next response. Nobody reads the last one any more.
func (h *responseHead) expect() {
	h.named.Store(nil)
	h.part = nil
	h.within, h.interim, h.ours, h.skip = false, false, false, false
	h.awaited.Store(true)
}

// feed takes what was read.
func (h *responseHead) feed(p []byte) {
	for len(p) > 0 && h.awaited.Load() {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		p = rest
		switch {
		case h.skip:
			h.skip = !whole
		case !whole && len(h.part) == 0 && h.boring(line):
			h.skip, h.ours = true, false
		case !whole:
			h.part = append(h.part, line...)
		case len(h.part) > 0:
			h.line(append(h.part, line...))
			h.part = nil
		default:
			h.line(line)
		}
	}
}

// boring reports whether the beginning of a line cannot be that of one to look at.
func (h *responseHead) boring(line []byte) bool {
	n := min(len(line), len("connection"))
	return h.within && line[0] != '\r' && (!h.ours || !blank(line[0])) && !bytes.EqualFold(line[:n], []byte("connection")[:n])
}

func blank(b byte) bool { return b == ' ' || b == '\t' }

// line takes a whole one.
func (h *responseHead) line(line []byte) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	name, value, _ := bytes.Cut(line, []byte{':'})
	switch {
	case !h.within:
		h.within = true
		h.interim = len(line) >= 12 && line[9] == '1' && string(line[9:12]) != "101"
	case len(line) == 0:
		h.within, h.ours = false, false
		h.awaited.Store(h.interim)
	case h.ours && blank(line[0]):
		h.note(line)
	default:
		if h.ours = bytes.EqualFold(name, []byte("connection")); h.ours {
			h.note(value)
		}
	}
}

func (h *responseHead) note(list []byte) {
	list = bytes.TrimSpace(list)
	if !bytes.EqualFold(list, []byte("close")) && !bytes.EqualFold(list, []byte("keep-alive")) {
		all := append(h.lists(), string(list))
		h.named.Store(&all)
	}
}

// lists are what was noted.
func (h *responseHead) lists() []string {
	if all := h.named.Load(); all != nil {
		return slices.Clip(*all)
	}
	return nil
}

// securedConn is a connection with TLS, whose plain text has the heads.
type securedConn struct {
	*tls.Conn
	raw *conn
}

// Read implements io.Reader.
func (s *securedConn) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.raw.head.feed(p[:max(n, 0)])
	return n, err
}
