// Package app wires the router together and starts and stops its parts in order.
package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/api/webhook"
	"fairlead/cmd/internal/config"
	"fairlead/healthcheck"
	"fairlead/provider"
	"fairlead/provider/docker"
	"fairlead/router"
	"fairlead/router/accesslog"
	"fairlead/router/proxy"
	"fairlead/router/route"
)

// Config is what an App needs.
type Config struct {
	Settings config.Config
	Shown    []api.Setting // of Settings, what GET /config shows
	// File is the configuration file that was read, for the log; "" without one.
	File    string
	Version string
	Logs    Logs
	// ContainerID is the router's own container where it cannot find it itself.
	ContainerID string
	// Out is standard output, for an access log that goes there.
	Out io.Writer
	// Hangup tells that log files were moved away; nil never does.
	Hangup <-chan os.Signal
	// Env is the environment, for the sockets that a service manager passes.
	Env []string
	// Listening is called once, when every address is bound; nil is not called.
	Listening func(Addresses)
}

// Addresses are those that the listeners got; "" for a listener that is off.
type Addresses struct {
	HTTP    string
	Admin   string
	Metrics string
}

// App is a wired router. Its parts are started by Run, which may be called once.
type App struct {
	cfg        Config
	log        zerolog.Logger
	providers  []provider.Provider
	engine     *healthcheck.Engine
	state      *stateFile // nil: off
	controller *router.Controller
	proxy      *proxy.Proxy
	events     *api.Events
	traffic    *api.TrafficRecorder
	access     *accesslog.Log  // nil: off
	metrics    http.Handler    // nil: off
	webhook    *webhook.Sender // nil: off
	admin      *api.Server
	stopping   atomic.Bool
	accepting  atomic.Bool
}

// New checks the settings that only the parts can judge, loads certificates and wires
// everything. It binds nothing and starts nothing.
func New(cfg Config) (*App, error) {
	s := &cfg.Settings
	if s.Admin.Listen != "" {
		if err := checkAdmin(s, s.Admin.Listen); err != nil {
			return nil, err
		}
	}
	authorities, err := LoadAuthorities(s.Certificates.Authorities)
	if err != nil {
		return nil, err
	}
	clients, err := LoadClients(s.Certificates.Clients)
	if err != nil {
		return nil, err
	}
	if err := judgeStateFile(s.Admin.StateFile); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: cfg.Logs.For("app")}
	if a.providers, err = Providers(s, cfg.ContainerID, cfg.Logs); err != nil {
		return nil, err
	}
	if a.webhook, err = a.newWebhook(&s.Notify.Webhook); err != nil {
		return nil, err
	}
	a.wire(authorities, clients)
	return a, nil
}

// wire makes the data plane, the health engine, the controller and the API.
func (a *App) wire(authorities map[string]*x509.CertPool, clients map[string]*tls.Certificate) {
	s, logs := &a.cfg.Settings, a.cfg.Logs
	a.events = api.NewEvents()
	a.engine = healthcheck.New(healthcheck.Config{
		OnTransition: a.transition, OnGlobal: a.events.Changed,
		Log: logs.For("healthcheck"), CAs: authorities, ClientCerts: clients, Version: a.cfg.Version,
		Tick: s.HealthCheck.Tick, StartupSpread: s.HealthCheck.StartupSpread,
		Concurrency: s.HealthCheck.Concurrency, PerHost: s.HealthCheck.PerHost,
		AllowLoopback: s.HealthCheck.AllowLoopback, AllowLinkLocal: s.HealthCheck.AllowLinkLocal,
	})
	a.state = newStateFile(s.Admin.StateFile, a.engine, logs.For("app"))
	for _, p := range a.providers {
		if d, ok := p.(*docker.Provider); ok && a.state != nil {
			d.Remember(&a.state.claims)
		}
	}
	a.access = newAccessLog(&s.Log.Access, a.cfg.Out, logs)
	a.proxy = proxy.New(proxy.Config{
		Outcomes: a.engine, Access: a.accessLog(), TrustedProxies: s.Proxy.TrustedProxies, CAs: authorities, ClientCerts: clients, StickyKey: []byte(s.Sticky.Key.Reveal()),
		AllowLoopback: s.HealthCheck.AllowLoopback, Log: logs.For("proxy"),
		Limits: proxy.Limits{
			HeaderBytes: s.Proxy.Limits.HeaderBytes, ResponseHeaderBytes: s.Proxy.Limits.ResponseHeaderBytes,
			RequestLineBytes: s.Proxy.Limits.RequestLineBytes, Streams: s.Proxy.Limits.Streams,
		},
		Timeouts: proxy.Timeouts{
			Header: s.Proxy.Timeouts.Header, BodyIdle: s.Proxy.Timeouts.BodyIdle, Idle: s.Proxy.Timeouts.Idle,
			BackendIdle: s.Proxy.Timeouts.BackendIdle, Continue: s.Proxy.Timeouts.Continue,
			ShutdownDelay: s.ShutdownDelay, ShutdownTimeout: s.ShutdownTimeout,
		},
	})
	a.controller = router.NewController(router.ControllerConfig{
		Changed: a.events.Changed,
		Health:  a.engine, Upstreams: a.proxy, Prepare: a.proxy.Prepare, Sticky: a.proxy.StickyName, Notices: a.proxy.Notices, Doubt: a.proxy.Doubt, Log: logs.For("router"),
		Providers: knownProviders(s),
	})
	a.proxy.SetTables(a.controller)
	a.traffic = api.NewTrafficRecorder(a.controller, a.proxy.Unrouted())
	a.metrics = a.newMetrics()
	a.admin = a.adminServer()
}

// Run binds the listeners, starts every part and serves until ctx ends or a part
// fails. It then stops in order and returns after all parts: nil when everything
// ended by itself in time.
func (a *App) Run(ctx context.Context) error {
	scraped, err := a.openObservers(ctx)
	if err != nil {
		return err
	}
	front, admin, err := a.bind(ctx)
	if err != nil {
		_ = scraped.Close() // nil is refused, and that is all
		return err
	}
	a.announce(front, admin, scraped)
	alive := context.WithoutCancel(ctx)
	probing, stopProbing := context.WithCancel(alive)
	core, stopCore := context.WithCancel(alive)
	serving, stopServing := context.WithCancel(alive)
	asking, stopAsking := context.WithCancel(alive)
	defer stopProbing()
	defer stopCore()
	defer stopServing()
	defer stopAsking()
	// outer is what answers until the others have ended: the admin listener.
	fronts, inner, outer := newCrew(a.log), newCrew(a.log), newCrew(a.log)
	a.startObservers(asking, outer, scraped)
	if admin != nil {
		outer.start(asking, "events", func(ctx context.Context) error { return a.events.Run(ctx, a.controller) })
		outer.start(asking, "admin listener", func(ctx context.Context) error { return a.admin.Serve(ctx, admin) })
	}
	inner.start(probing, "health engine", a.engine.Run)
	a.startCore(core, inner)
	a.accepting.Store(front == nil) // nothing to wait for
	if front != nil {
		fronts.start(serving, "http listener", func(ctx context.Context) error { return a.serveHTTP(ctx, front) })
	}
	select {
	case <-ctx.Done():
	case <-fronts.broken:
	case <-inner.broken:
	case <-outer.broken:
	}
	a.leave()
	stopServing() // the data plane waits for shutdownDelay, too
	a.delay()
	stopProbing()
	err = fronts.wait() // held requests wait for what providers have to say
	stopCore()
	err = errors.Join(err, inner.wait())
	stopAsking()
	return a.goodbye(errors.Join(err, outer.wait()))
}

// startCore starts what works behind the listeners beside the health engine:
// controller, providers.
func (a *App) startCore(ctx context.Context, c *crew) {
	if a.state != nil {
		a.state.restore() // before any backend appears
		c.start(ctx, "state file", a.state.run)
	}
	snapshots := make(chan route.Snapshot)
	c.start(ctx, "traffic recorder", a.traffic.Run)
	c.start(ctx, "controller", func(ctx context.Context) error { return a.controller.Run(ctx, snapshots) })
	for _, p := range a.providers {
		box := provider.NewMailbox()
		c.start(ctx, p.Name()+" snapshots", func(ctx context.Context) error {
			return pump(ctx, box, snapshots, newTeller(a.log, a.cfg.Settings.Sticky.Key != ""))
		})
		c.start(ctx, p.Name()+" provider", func(ctx context.Context) error {
			if err := p.Run(ctx, box); err != nil && ctx.Err() == nil {
				// The others go on, and so does what this one gave.
				a.log.Error().Err(err).Str(route.FieldProvider, p.Name()).Msg("the provider ended; its entrypoints stay as they are")
			}
			<-ctx.Done()
			return nil
		})
	}
}

// pump carries a provider's newest snapshot to the controller and logs what it refuses.
func pump(ctx context.Context, box *provider.Mailbox, out chan<- route.Snapshot, t *teller) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-box.Ready():
		}
		s, ok := box.Take()
		if !ok {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case out <- s:
		}
		t.tell(s)
	}
}

// leave answers /ready with 503 from now on.
func (a *App) leave() {
	a.stopping.Store(true)
	s := &a.cfg.Settings
	a.log.Info().Stringer("shutdown_delay", s.ShutdownDelay).Stringer("shutdown_timeout", s.ShutdownTimeout).Msg("stopping")
}

// delay waits for those who watch /ready.
func (a *App) delay() {
	timer := time.NewTimer(a.cfg.Settings.ShutdownDelay)
	defer timer.Stop()
	<-timer.C
}

// StoppedError is the end of a router that ran, and did not end by itself in time.
type StoppedError struct {
	Err    error
	Logged bool // the log says it
}

// Error implements error with the cause's own words.
func (e *StoppedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Err }

func (a *App) goodbye(err error) error {
	if err != nil {
		line := a.log.Error()
		stopped := &StoppedError{Err: err, Logged: line.Enabled()}
		line.Err(err).Msg("stopped")
		return stopped
	}
	a.log.Info().Msg("stopped")
	return nil
}
