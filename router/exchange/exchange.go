// Package exchange is one request in flight, independent of the protocol in front
// of it and behind it. Matching, filters, picking and forwarding know only this.
package exchange

import (
	"context"
	"io"
	"net"
	"net/netip"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// Exchange is one request and its response. A front fills the request part, the
// data plane the rest. It belongs to one goroutine at a time and is valid until the
// front's handler returns: whatever outlives that must copy what it needs.
type Exchange struct {
	// Context ends when the client is gone.
	Context context.Context
	// Began is when the request's head was complete.
	Began time.Time

	// Verb is the method as sent. Authority is the Host as sent, HostName its
	// canonical form.
	Verb      string
	Authority string
	HostName  string
	Path      router.Path
	RawQuery  string
	// QueryMark is set when the target had a "?", even with nothing after it.
	QueryMark bool
	Major     int // protocol version in front: 1 or 2
	Minor     int
	Secure    bool // the client came over TLS

	// Peer is the other end of the connection. Client is the peer, or what trusted
	// proxies say about it.
	Peer   netip.AddrPort
	Client netip.Addr

	Header Header
	// Body is nil without one. Length is -1 when it is not known beforehand.
	Body   io.Reader
	Length int64
	// Trailer gives the request's trailer fields once Body was read to its end; before
	// that it lists the announced ones without values. It is nil without a body.
	Trailer Header

	// Edits change the header that goes to the backend, ResponseEdits the one that
	// goes to the client, in order.
	Edits         []Edit
	ResponseEdits []Edit

	Response Writer

	// Route is nil until one matched.
	Route *router.Route
	// Attempts counts the backends that were contacted; Backend is the last one, nil
	// before.
	Attempts int
	Backend  *route.Placement
	// Held is how long the request waited for a backend, Connect how long its contacts
	// took to get a connection, and Answer how long they waited for a response head after
	// that.
	Held, Connect, Answer time.Duration
	// Received and Sent are the bytes of the bodies that the client sent and got, those
	// of a tunnel included.
	Received, Sent int64
	// Reason says why the request was not served as asked. Status is what the client
	// got, 499 when it left.
	Reason route.Reason
	Status int
	// Prefix is what was stripped, by trusted proxies before us and by us, for
	// X-Forwarded-Prefix.
	Prefix string
}

// Header reads a set of header fields. Names compare without case; no method
// changes anything.
type Header interface {
	// Get returns the first value of a field, or "".
	Get(name string) string
	// List returns all lines of a field as one list (RFC 9110 section 5.3).
	List(name string) string
	// Has reports whether any line of the field equals value; bare asks for presence only.
	Has(name, value string, bare bool) bool
	// Each calls yield for every field line until it returns false.
	Each(yield func(name, value string) bool)
}

// Writer is the response's way to the client.
type Writer interface {
	// Duplex lets the response begin while the request body still comes; before any
	// other method, where the body is passed on. A response that begins before the
	// body ended then costs an HTTP/1 client its connection.
	Duplex()
	// Inform sends an interim response (1xx); it does nothing once the final head was
	// sent or where the client's protocol has none.
	Inform(status int, h Header)
	// Head sends the final head. trailers are the names to announce. fields writes
	// every field line.
	Head(status int, trailers []string, fields func(add func(name, value string)))
	// Write sends body bytes; they may be buffered until Flush.
	Write(p []byte) (int, error)
	// Flush sends what is buffered.
	Flush() error
	// Trailers sends trailer fields; after the last Write.
	Trailers(h Header)
	// Begun reports whether the final head was sent.
	Begun() bool
	// Abort cuts the exchange so that the client sees that the body is not whole.
	Abort()
	// CloseAfter closes the connection after this response; call it before Head.
	CloseAfter()
	// Hijack takes the connection over after a 101 head. read gives what was read
	// ahead and then the connection's bytes. Only HTTP/1 can do it.
	Hijack() (conn net.Conn, read io.Reader, err error)
}

// Reset makes the exchange ready for another request and keeps its memory.
func (x *Exchange) Reset() {
	clear(x.Edits) // edits may hold secrets
	clear(x.ResponseEdits)
	*x = Exchange{Edits: x.Edits[:0], ResponseEdits: x.ResponseEdits[:0]}
}

// Method implements router.Request.
func (x *Exchange) Method() string { return x.Verb }

// Host implements router.Request.
func (x *Exchange) Host() string { return x.HostName }

// MatchPath implements router.Request.
func (x *Exchange) MatchPath() string { return x.Path.Match }

// ClientAddr implements router.Request.
func (x *Exchange) ClientAddr() netip.Addr { return x.Client }

// HasHeader implements router.Request.
func (x *Exchange) HasHeader(name, value string, bare bool) bool {
	return x.Header.Has(name, value, bare)
}
