// Package whoami is the demo and test workload: a small backend that says who
// answered and misbehaves on request. It is the hidden command `fairlead whoami`.
package whoami

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Config says what the workload does.
type Config struct {
	Port        int
	Name        string
	StartDelay  time.Duration // before it listens
	IgnoreTerm  bool
	Drain       time.Duration // how long accepted requests may take after TERM
	Stay        bool          // event streams and WebSockets last until Drain is over
	Unhealthy   bool          // /health begins with 503
	RequireAuth string        // the Authorization that /require-auth wants
	Delay       time.Duration // before each answer of /
	Status      int           // of / when the request does not ask for one; 0 is 200
	Certificate string        // "": plain; valid or expired: TLS
	Health      *Switch       // what /health says; nil is one of its own
}

// Switch turns a backend's health on and off while it runs. It is safe for concurrent
// use; the zero value is well.
type Switch struct{ ill atomic.Bool }

// SetIll decides what /health answers from now on: 503 or 200.
func (s *Switch) SetIll(ill bool) { s.ill.Store(ill) }

// Ill reports whether /health answers 503.
func (s *Switch) Ill() bool { return s.ill.Load() }

// Main runs the workload until TERM and returns the exit code: 0 after TERM, 1 when
// it could not serve, 3 for wrong arguments. With the first argument healthcheck it asks
// a running one instead: 0 when its /health answers 200, else 1.
func Main(args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	checking := len(args) > 0 && args[0] == "healthcheck"
	if checking {
		args = args[1:]
	}
	cfg, err := parse(args, stderr, getenv)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 3
	}
	if checking {
		return check(context.Background(), cfg.Port, stdout, stderr)
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if cfg.IgnoreTerm {
		signal.Ignore(syscall.SIGTERM)
		signals = signals[:1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	if !wait(ctx, cfg.StartDelay) {
		return 0
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(cfg.Port))
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "whoami: %v\n", err)
		return 1
	}
	_, _ = fmt.Fprintf(stdout, "whoami %s listens on %s\n", cfg.Name, l.Addr())
	if err := Run(ctx, cfg, l); err != nil {
		_, _ = fmt.Fprintf(stderr, "whoami: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer, getenv func(string) string) (Config, error) {
	cfg := Config{Port: 80}
	cfg.Name, _ = os.Hostname()
	if v := getenv("NAME"); v != "" {
		cfg.Name = v
	}
	var err error
	if v := getenv("PORT"); v != "" {
		if cfg.Port, err = strconv.Atoi(v); err != nil {
			return cfg, complain(stderr, "PORT must be a number, not %q", v)
		}
	}
	if v := getenv("START_DELAY"); v != "" {
		if cfg.StartDelay, err = time.ParseDuration(v); err != nil {
			return cfg, complain(stderr, "START_DELAY must be a duration such as 2s, not %q", v)
		}
	}
	f := flag.NewFlagSet("whoami", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&cfg.Port, "port", cfg.Port, "port to listen on (or PORT)")
	f.StringVar(&cfg.Name, "name", cfg.Name, "name in answers (or NAME)")
	f.DurationVar(&cfg.StartDelay, "start-delay", cfg.StartDelay, "wait before listening (or START_DELAY)")
	f.BoolVar(&cfg.IgnoreTerm, "ignore-term", false, "ignore SIGTERM")
	f.DurationVar(&cfg.Drain, "drain", 5*time.Second, "time for accepted requests after SIGTERM")
	f.BoolVar(&cfg.Stay, "stay", false, "event streams and WebSockets go on after SIGTERM until the drain is over")
	f.BoolVar(&cfg.Unhealthy, "unhealthy", getenv("UNHEALTHY") == "1", "/health begins with 503 (or UNHEALTHY=1)")
	f.IntVar(&cfg.Status, "status", 200, "status of /, whatever /health says; POST /status with status=N changes it")
	f.StringVar(&cfg.Certificate, "tls", "", "serve by TLS with a self-signed certificate: valid or expired")
	f.StringVar(&cfg.RequireAuth, "require-auth", "", "value of Authorization that /require-auth wants")
	if err := f.Parse(args); err != nil {
		return cfg, err
	}
	if cfg.Port < 0 || cfg.Port > 65535 {
		return cfg, complain(stderr, "-port must be 0 to 65535, not %d", cfg.Port)
	}
	switch {
	case cfg.Certificate != certNone && cfg.Certificate != certValid && cfg.Certificate != certExpired:
		return cfg, complain(stderr, "-tls must be %s or %s, not %q", certValid, certExpired, cfg.Certificate)
	case cfg.Status < 200 || cfg.Status > 599:
		return cfg, complain(stderr, "-status must be 200 to 599, not %d", cfg.Status)
	}
	return cfg, nil
}

func complain(stderr io.Writer, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	_, _ = fmt.Fprintf(stderr, "whoami: %v\n", err)
	return err
}

// streamGrace is how long streams get to end well once the drain is over.
const streamGrace = 250 * time.Millisecond

// Run serves until ctx ends and finishes the requests it accepted, for as long as
// Drain allows; then it cuts them. Event streams and WebSockets are told to end when
// ctx ends, or with Stay when the drain is over. It closes the listener.
func Run(ctx context.Context, cfg Config, l net.Listener) error {
	s := newServer(cfg)
	web := &http.Server{Handler: s.counted(s.routes()), ReadHeaderTimeout: 10 * time.Second, Protocols: new(http.Protocols)}
	web.Protocols.SetHTTP1(true)
	web.Protocols.SetHTTP2(true)
	web.Protocols.SetUnencryptedHTTP2(true) // gRPC
	secure, err := serverTLS(cfg.Certificate, cfg.Name, time.Now())
	if err != nil {
		_ = l.Close()
		return err
	}
	served := make(chan error, 1)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		if web.TLSConfig = secure; secure != nil {
			served <- web.ServeTLS(l, "", "")
			return
		}
		served <- web.Serve(l)
	})
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	if cfg.Stay {
		time.AfterFunc(cfg.Drain, s.endStreams)
	} else {
		s.endStreams()
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Drain+streamGrace)
	defer cancel()
	if err := web.Shutdown(ending); err != nil {
		_ = web.Close()
	} else {
		s.awaitSockets(ending)
	}
	accepting.Wait()
	return nil
}

// wait reports whether the time passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

type server struct {
	cfg      Config
	host     string
	illness  *Switch
	status   atomic.Int64 // of /
	requests atomic.Int64
	probes   atomic.Int64

	ending   sync.Once
	stopping chan struct{} // closed when streams have to end
	sockets  sync.WaitGroup

	mu       sync.Mutex
	inFlight map[string]int // by ?id=
}

func newServer(cfg Config) *server {
	s := &server{cfg: cfg, stopping: make(chan struct{}), inFlight: map[string]int{}}
	s.host, _ = os.Hostname()
	if s.illness = cfg.Health; s.illness == nil {
		s.illness = &Switch{}
	}
	s.status.Store(int64(cmp.Or(cfg.Status, http.StatusOK)))
	if cfg.Unhealthy {
		s.illness.SetIll(true)
	}
	return s
}

func (s *server) endStreams() { s.ending.Do(func() { close(s.stopping) }) }

// awaitSockets waits for the WebSockets, which net/http does not count.
func (s *server) awaitSockets(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		s.sockets.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}
