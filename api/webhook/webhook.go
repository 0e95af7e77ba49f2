package webhook

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// Config configures a Sender. URL is required; the zero value of another field means
// its default.
type Config struct {
	// URL is where notices go, http or https; it is never shown, since chat services put
	// their token into it.
	URL route.Secret
	// Secret signs; "" does not.
	Secret route.Secret
	// Level is the least that is sent: Info.
	Level Level
	// Timeout bounds one attempt, from the dial to the response's head: 5 s.
	Timeout time.Duration
	// Queue is how many notices wait at most; the oldest are dropped for newer ones: 1000.
	Queue int
	// Version goes into the User-Agent.
	Version string
	Log     zerolog.Logger
	// Explain says why a backend ("" for the entrypoint itself) is in a state, or "" when
	// it is not in it any more. Run calls it; nil explains nothing.
	Explain func(entrypoint, backend, state string) string
	// Transport sends; nil is one of its own.
	Transport http.RoundTripper
}

// Defaults.
const (
	DefaultTimeout = 5 * time.Second
	DefaultQueue   = 1000
)

// Sender queues notices and sends them one after the other. It is safe for concurrent
// use.
type Sender struct {
	cfg    Config
	target *url.URL
	client *http.Client
	wake   chan struct{} // capacity 1: the queue is not empty

	sent, failed, dropped, retries atomic.Uint64

	mu    sync.Mutex
	queue []waiting
	// bad are the places that the receiver knows to be bad: their way back is news, that
	// of others is a mere start.
	bad      map[string]bool
	overflow bool // told, and the queue was not empty since
	stopped  bool

	silent bool // the receiver does not answer, and the log says so; of Run alone
}

// waiting is a notice before it is written.
type waiting struct {
	transition route.Transition
	event      string
	level      Level
}

// maxBad bounds what is remembered of places that are bad.
const maxBad = 10_000

// errURL does not show the address, which may hold a token.
var errURL = errors.New("the address of the webhook is not an http or https URL: write it in full, such as https://hooks.example.com/fairlead")

// New returns a Sender. It starts nothing.
func New(cfg Config) (*Sender, error) {
	u, err := url.Parse(cfg.URL.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errURL
	}
	cfg.Level = cmp.Or(cfg.Level, Info)
	cfg.Timeout = cmp.Or(max(cfg.Timeout, 0), DefaultTimeout)
	cfg.Queue = cmp.Or(max(cfg.Queue, 0), DefaultQueue)
	cfg.Version = cmp.Or(cfg.Version, "dev")
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		}
	}
	return &Sender{
		cfg: cfg, target: u, wake: make(chan struct{}, 1), bad: map[string]bool{},
		// A redirect would carry the notice, and its signature, to whom nobody named.
		client: &http.Client{Transport: cfg.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Transition takes a transition of health; it never blocks. It may be the OnTransition
// of the health engine.
func (s *Sender) Transition(t route.Transition) {
	event, level := classify(&t)
	if event == "" {
		return
	}
	if s.add(waiting{t, event, level}) {
		s.cfg.Log.Warn().Str("receiver", s.target.Host).Int("queue", s.cfg.Queue).
			Str(route.FieldHint, "see why the receiver is slow, or raise notify.webhook.queue").
			Msg("webhook: the queue is full; the oldest notices are dropped")
	}
}

// add queues a notice and reports whether it is the first for which another one was
// dropped since the queue was empty.
func (s *Sender) add(w waiting) (overflows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || !s.news(w.event, &w.transition) || w.level == Info && s.cfg.Level == Warn {
		return false
	}
	if len(s.queue) >= s.cfg.Queue {
		s.queue = s.queue[1:]
		s.dropped.Add(1)
		overflows, s.overflow = !s.overflow, true
	}
	s.queue = append(s.queue, w)
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
	return overflows
}

// news reports whether an event says something: that a backend is up is none at its
// start. It remembers what is bad. The caller holds the lock.
func (s *Sender) news(event string, t *route.Transition) bool {
	where := place(t)
	switch {
	case t.Renamed != "":
		delete(s.bad, where)
	case hiddenOrder(t): // what it is known to be it still is
	case event == EventDown, event == EventEjected, readyButOut(t):
		if len(s.bad) < maxBad {
			s.bad[where] = true
		}
	case event == EventUp:
		if starts(t.From) && !s.bad[where] {
			return false
		}
		delete(s.bad, where)
	case event == EventReadmitted, event == EventReady && well(t.To):
		delete(s.bad, where)
	}
	return true
}

// starts reports whether a backend that comes up from a state may be at its start. One with
// dockerHealth=require is gated then.
func starts(from string) bool {
	switch route.State(from) {
	case route.StatePending, route.StateUnchecked, route.StateGated:
		return true
	default:
		return false
	}
}

// take hands out the oldest notice.
func (s *Sender) take() (waiting, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.overflow, s.queue = false, nil
		return waiting{}, false
	}
	w := s.queue[0]
	s.queue[0] = waiting{} // for the collector
	s.queue = s.queue[1:]
	return w, true
}

// Run sends until ctx ends, gives up what is under way and what waits, and returns nil.
// It must be called once.
func (s *Sender) Run(ctx context.Context) error {
	defer s.client.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			s.stop()
			return nil
		case <-s.wake:
		}
		for ctx.Err() == nil {
			w, ok := s.take()
			if !ok {
				break
			}
			s.deliver(ctx, &w)
		}
	}
}

// stop drops what waits. Nothing is taken any more.
func (s *Sender) stop() {
	s.mu.Lock()
	n := len(s.queue)
	s.queue, s.stopped = nil, true
	s.mu.Unlock()
	s.dropped.Add(uint64(n))
	if n > 0 {
		s.cfg.Log.Info().Str("receiver", s.target.Host).Int("notices", n).Msg("webhook: the router stops; notices that waited are dropped")
	}
}

// Stats are counters for metrics.
type Stats struct {
	Sent, Failed, Dropped, Retries uint64
	Waiting                        int
}

// Stats returns the counters.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Sent: s.sent.Load(), Failed: s.failed.Load(), Dropped: s.dropped.Load(), Retries: s.retries.Load(), Waiting: len(s.queue)}
}
