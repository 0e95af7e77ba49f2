// Package exchange is one request in flight, independent of the protocol in front
// of it and behind it. Matching, filters, picking and forwarding know only this.
package exchange

import (
	"context"
	"io"
	"net"
	"net/netip"

	"fairlead/router"
	"fairlead/router/route"
)

// Exchange is one request and its response. A front fills the request part, the
// data plane the rest. It belongs to one goroutine at a time and is valid until the
// front's handler returns.
type Exchange struct {
	Context context.Context

	// Verb is the method as sent. Authority is the Host as sent, HostName its
	// canonical form.
	Verb      string
	Authority string
	HostName  string
	Path      router.Path
	RawQuery  string
	Major     int // protocol version in front: 1 or 2
	Minor     int
	Secure    bool

	// Peer is the other end of the connection. Client is the peer, or what trusted
	// proxies say about it.
	Peer   netip.AddrPort
	Client netip.Addr
	Local  netip.AddrPort

	Header Header
	// Body is nil without one. Length is -1 when it is not known beforehand.
	Body   io.Reader
	Length int64
	// Trailer gives the request's trailer fields once Body was read to its end.
	Trailer Header
	// Expects is set for "Expect: 100-continue".
	Expects bool

	// Edits change the header that goes to the backend, ResponseEdits the one that
	// goes to the client, in order.
	Edits         []Edit
	ResponseEdits []Edit

	Response Writer

	Route     *router.Route
	Attempts  int
	Reason    route.Reason
	Status    int
	BodyBegun bool   // a byte of the request body was read
	Prefix    string // what stripping took off, for X-Forwarded-Prefix
}

// Header reads a set of header fields.
type Header interface {
	// Get returns the first value of a field, or "". Names compare without case.
	Get(name string) string
	// Each calls yield for every field line until it returns false.
	Each(yield func(name, value string) bool)
}

// Writer is the response's way to the client.
type Writer interface {
	// Inform sends an interim response (1xx).
	Inform(status int, h Header)
	// Head sends the final head. length is -1 when it is not known; trailers are the
	// names to announce. fields writes every field line.
	Head(status int, length int64, trailers []string, fields func(add func(name, value string)))
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
	// CloseAfter closes the connection after this response (HTTP/1).
	CloseAfter()
	// Hijack takes the connection over. read gives what was read ahead and then the
	// connection's bytes. Only HTTP/1 can do it.
	Hijack() (conn net.Conn, read io.Reader, err error)
}

// Method implements router.Request.
func (x *Exchange) Method() string { return x.Verb }

// Host implements router.Request.
func (x *Exchange) Host() string { return x.HostName }

// MatchPath implements router.Request.
func (x *Exchange) MatchPath() string { return x.Path.Match }

// ClientAddr implements router.Request.
func (x *Exchange) ClientAddr() netip.Addr { return x.Client }
