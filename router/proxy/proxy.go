// Package proxy is the HTTP data plane: it takes an Exchange from a front, asks
// the table, picks a backend, forwards and relays. Everything but the two adapter
// files (front_nethttp.go, backend_nethttp.go) is independent of net/http.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/middleware"
	"fairlead/router/route"
)

// Tables gives the current table: one atomic load, never nil.
type Tables interface {
	Table() *router.Table
}

// Outcomes takes what real traffic saw of a backend. It never blocks.
type Outcomes interface {
	Report(o route.Outcome)
}

// AccessLog is told of every request when it is over, a tunnel at its end. Log may look
// at the exchange until it returns, and never blocks; target is the raw request target.
type AccessLog interface {
	Log(x *exchange.Exchange, target string)
}

// Config configures a Proxy. Zero values mean the defaults.
type Config struct {
	Tables         Tables
	Outcomes       Outcomes  // may be nil
	Access         AccessLog // nil: off
	TrustedProxies []netip.Prefix
	Limits         Limits
	Timeouts       Timeouts
	CAs            map[string]*x509.CertPool // for backendTLS.ca
	// ClientCerts are the client certificates that backendTLS.clientCert names.
	ClientCerts map[string]*tls.Certificate
	// StickyKey makes the values of sticky sessions' cookies; without one New draws a key
	// that lasts as long as the process.
	StickyKey []byte
	// Dial and Resolve replace the network in tests; nil means the system's.
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// AllowLoopback lets traffic reach loopback addresses that a provider did not derive itself.
	AllowLoopback bool
	Log           zerolog.Logger
}

// Limits bound what a peer may make us hold.
type Limits struct {
	RequestLineBytes    int // default 16 KiB
	HeaderBytes         int // request line and headers, default 64 KiB
	ResponseHeaderBytes int // of a backend, default 256 KiB
	Streams             int // per HTTP/2 connection, default 250
}

// Timeouts of the data plane; zero means the default.
type Timeouts struct {
	Header          time.Duration // to read a request head, 10 s
	BodyIdle        time.Duration // between bytes of a body in either direction, 60 s
	Idle            time.Duration // of a client connection between requests, 75 s
	BackendIdle     time.Duration // of a pooled backend connection, 4 s
	Continue        time.Duration // for a backend's 100 before the body is sent anyway, 1 s
	ShutdownDelay   time.Duration // between the signal and closing the listener, 0
	ShutdownTimeout time.Duration // for requests in flight, 8 s; tunnels get half of it
}

func (c Config) withDefaults() Config {
	orInt := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	or := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	orInt(&c.Limits.RequestLineBytes, 16<<10)
	orInt(&c.Limits.HeaderBytes, 64<<10)
	orInt(&c.Limits.ResponseHeaderBytes, 256<<10)
	orInt(&c.Limits.Streams, 250)
	or(&c.Timeouts.Header, 10*time.Second)
	or(&c.Timeouts.BodyIdle, time.Minute)
	or(&c.Timeouts.Idle, 75*time.Second)
	or(&c.Timeouts.BackendIdle, 4*time.Second)
	or(&c.Timeouts.Continue, time.Second)
	or(&c.Timeouts.ShutdownTimeout, 8*time.Second)
	if len(c.StickyKey) == 0 {
		c.StickyKey = newStickyKey()
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	if c.Resolve == nil {
		c.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return c
}

// Proxy is the data plane. It is safe for concurrent use.
type Proxy struct {
	cfg      Config
	tables   Tables
	outcomes Outcomes
	unrouted route.Traffic
	sole     soleClient
	doubt    doubt
	holds    holds
	buffers  sync.Pool // *[bufferSize]byte
	flushers sync.Pool // *lateFlush
	fronts   sync.Pool // *served, of the front
}

// bufferSize is the piece in which bodies are copied.
const bufferSize = 32 << 10

// New returns a proxy; it starts nothing.
func New(cfg Config) *Proxy {
	p := &Proxy{cfg: cfg.withDefaults(), tables: cfg.Tables, outcomes: cfg.Outcomes}
	p.holds.ended = make(chan struct{})
	p.buffers.New = func() any { return new([bufferSize]byte) }
	p.flushers.New = func() any { return newLateFlush() }
	p.fronts.New = func() any { return newServed(p) }
	return p
}

// prepared is what is made once of an entrypoint's options.
type prepared struct {
	filters middleware.Chain
	sticky  *stickiness // nil without sticky sessions
}

// Prepare makes an entrypoint's filters and what else its options ask for, once per
// change of them. The Controller keeps the result in the table.
func (p *Proxy) Prepare(e *route.Entrypoint) any {
	return &prepared{filters: middleware.For(e), sticky: newStickiness(e)}
}

// SetTables gives the proxy its table when the two need each other: the Controller
// opens upstreams through the proxy and owns the table. Call it before Serve.
func (p *Proxy) SetTables(t Tables) { p.tables = t }

// SetOutcomes does the same for the receiver of outcomes.
func (p *Proxy) SetOutcomes(o Outcomes) { p.outcomes = o }

func (p *Proxy) report(o route.Outcome) {
	if p.outcomes != nil {
		p.outcomes.Report(o)
	}
}
