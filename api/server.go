package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"html/template"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
)

// Config wires a Server. Viewer is required.
type Config struct {
	Viewer router.Viewer
	Log    zerolog.Logger
	// Hosts are the names, besides localhost, that a Host header may carry
	// (admin.hosts).
	Hosts []string
	// Anonymous lets everybody read who reaches the listener (admin.anonymous:
	// read-only); otherwise only peers on loopback may.
	Anonymous bool
	// Users may log in; one that CheckUser refuses is ignored and logged. Without any,
	// nobody can administer.
	Users []User
	// LoginPage shows the login form; nil is a plain one.
	LoginPage func(http.ResponseWriter, *http.Request, LoginView)
	// Verbose adds the names of entrypoints to /ready (admin.verbose); without it users
	// alone see them.
	Verbose bool
	// Readiness says what makes a started router unready (admin.readiness); "" is
	// ReadinessProcess.
	Readiness Readiness
	// File and Settings are what GET /config shows.
	File     string
	Settings []Setting
	// Version of the router, shown by the index.
	Version string
	// Phase reports whether the router is shutting down; nil means never.
	Phase func() (shuttingDown bool)
	// Accepting reports whether the data plane takes connections; until then /ready
	// says initializing. nil means always.
	Accepting func() bool
	// Dashboard serves /dashboard/ behind the guards, with that prefix stripped; nil
	// means that there is none.
	Dashboard http.Handler
	// Metrics answers GET /metrics behind the guards; nil means that there is none here.
	Metrics http.Handler
	// Traffic records the requests over time; without it rates are null.
	Traffic *TrafficRecorder
	// History remembers what backends went through, also removed ones; nil is what the
	// view shows.
	History Historian
	// Operator carries out orders; nil refuses them all.
	Operator Operator
	// Events is the stream of GET /events; nil is one that tells nothing.
	Events *Events
}

// Server answers the requests of the admin listener. It is safe for concurrent use.
type Server struct {
	cfg        Config
	guard      *guard
	routes     []endpoint
	users      *users
	sessions   *sessions
	glance     glances // for /ready
	plainLogin *template.Template
	// watchers are those of GET /events, which net/http knows nothing of.
	watchers watchers
	// boot tells this process apart from others in entity tags: generations begin
	// anew with every start.
	boot string
	seed maphash.Seed // of the part of entity tags that is about load
	// closing bounds the end of running answers.
	closing time.Duration
}

// New returns a Server and starts nothing. An entry of Hosts that is not a host is
// ignored and logged.
func New(cfg Config) *Server {
	if cfg.Events == nil {
		cfg.Events = NewEvents()
	}
	s := &Server{cfg: cfg, boot: bootID(), seed: maphash.MakeSeed(), closing: closeTimeout, guard: newGuard(cfg.Hosts, cfg.Anonymous, cfg.Log), glance: newGlances()}
	s.users, s.sessions, s.plainLogin = newUsers(cfg.Users, cfg.Log), newSessions(), newPlainLogin()
	s.routes = append(s.endpoints(), s.metricsEndpoints()...)
	return s
}

func bootID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// Limits of the listener. Answers are made in memory, so the write timeout bounds a
// slow reader only.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 60 * time.Second
	idleTimeout    = 75 * time.Second
	maxHeaderBytes = 32 << 10
	closeTimeout   = 2 * time.Second
)

// Serve answers on l until ctx ends, then lets running answers finish for a moment
// and returns nil. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          quietLog(s.cfg.Log),
		BaseContext:       func(net.Listener) context.Context { return withStop(context.WithoutCancel(ctx), ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("admin listener %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.closing)
	defer cancel()
	if err := srv.Shutdown(limit); err != nil {
		_ = srv.Close() // cut what did not end in time
	}
	s.watchers.wait(limit)
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin listener %s: %w", l.Addr(), err)
	}
	return nil
}
