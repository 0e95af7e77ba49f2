package healthcheck

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"hash/maphash"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// Config configures an Engine. The zero value of a field means its default.
type Config struct {
	Log zerolog.Logger
	// Dial opens connections to backends; the address is an IP and a port.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Resolve looks up the names of static backends.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Tick is the grid on which probes are launched: 1 s.
	Tick time.Duration
	// StartupSpread bounds how far apart the first probes of many new checks start: 1 s.
	StartupSpread time.Duration
	// Concurrency is the number of probes at once: 256. Those of backends that are
	// down get at most half of it.
	Concurrency int
	// PerHost is the number of probes at once towards one host: 8.
	PerHost int
	// AllowLoopback permits loopback targets for every backend; AllowLinkLocal
	// link-local ones other than the metadata service.
	AllowLoopback  bool
	AllowLinkLocal bool
	// CAs are the authorities that backendTLS.ca names.
	CAs map[string]*x509.CertPool
	// ClientCerts are the client certificates that backendTLS.clientCert names.
	ClientCerts map[string]*tls.Certificate
	// Version goes into the User-Agent of probes: "dev".
	Version string
	// OnTransition is called for every transition, in order, never concurrently and
	// without any lock held. It must not block.
	OnTransition func(route.Transition)
	// OnGlobal is called when a finding about the machine begins or ends, under a lock:
	// it must not block and not call back.
	OnGlobal func()
}

// Defaults of the static configuration (health.md, "Keys").
const (
	DefaultTick          = time.Second
	DefaultStartupSpread = time.Second
	DefaultConcurrency   = 256
	DefaultPerHost       = 8
)

func (c Config) withDefaults() Config {
	c.Tick = cmp.Or(max(c.Tick, 0), DefaultTick)
	c.StartupSpread = cmp.Or(max(c.StartupSpread, 0), DefaultStartupSpread)
	c.Concurrency = cmp.Or(max(c.Concurrency, 0), DefaultConcurrency)
	c.PerHost = cmp.Or(max(c.PerHost, 0), DefaultPerHost)
	c.Version = cmp.Or(c.Version, "dev")
	if c.Dial == nil {
		c.Dial = (&net.Dialer{KeepAlive: -1}).DialContext
	}
	if c.Resolve == nil {
		c.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return c
}

// Engine probes backends, keeps the layers of every placement and publishes the
// rotations. All methods are safe for concurrent use; none blocks on a probe.
type Engine struct {
	cfg     Config
	seed    maphash.Seed
	probers map[route.ProbeType]Prober
	probes  sync.WaitGroup
	reports reports
	outbox  outbox

	mu          sync.Mutex
	rev         uint64
	sets        uint64 // the Controller's generation
	generations uint64 // of checks, never reused
	batch       uint64 // counts calls of Apply
	entries     map[string]*entry
	checks      map[checkKey]*check
	ids         map[string]*check
	startups    map[string]*startup // by provider
	settled     bool
	schedule    schedule
	fresh       fresh
	stats       Stats
	measures    measures
	local       localFaults
	views       viewCache
	archive     archive
	alarms      map[string]alarm // by entrypoint id
	book        orderBook
	deferred    []notice // of entrypoints, announced at the end of a step

	// start runs a probe under Run's context; nil until Run runs. stopped is set when
	// Run ends.
	start   func(probe func(context.Context)) context.CancelCauseFunc
	stopped bool
	begun   time.Time // when Run began; zero before
}

// Stats are counters of the engine for metrics.
type Stats struct {
	Probes      uint64 // finished
	Failures    uint64 // applied results that were failures
	LateResults uint64 // dropped: removed, changed or stopped meanwhile
	LocalErrors uint64 // not counted: the router's own resources
	Running     int    // probes at this moment
	Waiting     int    // due, without a slot
}

// New returns an engine that knows nothing yet. It starts nothing.
func New(cfg Config) *Engine {
	cfg = cfg.withDefaults()
	return &Engine{
		cfg:      cfg,
		seed:     maphash.MakeSeed(),
		probers:  newProbers(&cfg),
		entries:  map[string]*entry{},
		checks:   map[checkKey]*check{},
		ids:      map[string]*check{},
		archive:  newArchive(),
		alarms:   map[string]alarm{},
		startups: map[string]*startup{},
		schedule: newSchedule(cfg.Concurrency, cfg.PerHost),
		fresh:    fresh{wake: make(chan struct{}, 1)},
		reports:  newReports(),
		book:     newOrderBook(),
		measures: newMeasures(),
	}
}

// Causes with which a probe's context ends (race rule R2).
var (
	errProbeDeadline = errors.New("the probe's time is over")
	errProbeObsolete = errors.New("the check is gone or has changed")
	errStopping      = errors.New("the health engine stops")
)

// Run launches probes until ctx ends, then cancels those in flight, drops their
// results and returns nil after the last one has ended. It must be called once.
func (e *Engine) Run(ctx context.Context) error {
	probing, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(errStopping)
	// The grid begins before the ticker, so that no tick falls short of its mark.
	begin := time.Now()
	ticker := time.NewTicker(e.cfg.Tick)
	defer ticker.Stop()
	first := time.NewTimer(0)
	defer first.Stop()

	e.mu.Lock()
	e.start = func(probe func(context.Context)) context.CancelCauseFunc {
		ctx, cancel := context.WithCancelCause(probing)
		e.probes.Go(func() {
			defer cancel(nil)
			probe(ctx)
		})
		return cancel
	}
	e.schedule.start(begin, e.cfg.Tick)
	e.begun = begin
	e.mu.Unlock()
	e.tick()
	for {
		select {
		case <-ctx.Done():
			e.mu.Lock()
			e.stopped = true
			e.mu.Unlock()
			cancel(errStopping)
			e.probes.Wait()
			return nil
		case <-ticker.C:
			e.tick()
			continue
		case <-e.fresh.wake:
		case <-first.C:
		}
		if wait := e.launchFresh(); wait > 0 {
			first.Reset(wait)
		}
	}
}

// tick runs the dispatcher.
func (e *Engine) tick() {
	reported := e.reports.take()
	e.mu.Lock()
	now := time.Now()
	e.schedule.advance(now, e.cfg.Tick)
	e.expediteReported(reported.failed, now)
	e.showProof(reported.proved)
	e.endStartups(now)
	e.tickLayers(now)
	e.archive.forget(now)
	e.collectDue(now)
	e.launchWaiting(now)
	e.mu.Unlock()
	e.flush()
}

// Stats returns the engine's counters.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Running, s.Waiting = e.schedule.running, e.schedule.queue.len()
	return s
}
