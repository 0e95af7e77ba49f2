package docker

import (
	"context"
	"maps"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
	"fairlead/router/route"
)

const (
	// steadyAfter is how long a session must last before the next attempt is immediate
	// again: a stream that is cut every moment must not cost a full read each time.
	steadyAfter = 3 * time.Second
	// tellInterval is the shortest time between two warnings about a lost engine, one
	// that comes and goes included. The status always says what is the case.
	tellInterval = time.Minute
)

// Run implements provider.Provider. It keeps a session with the engine, makes a new
// one for ever when it ends, and returns nil after ctx and all its goroutines.
func (p *Provider) Run(ctx context.Context, out *provider.Mailbox) error {
	p.newWatcher(out).run(ctx)
	return nil
}

func (p *Provider) newWatcher(out *provider.Mailbox) *watcher {
	log := p.cfg.Log.With().Str(route.FieldProvider, ProviderName).Logger()
	w := &watcher{provider: p, state: newState(p.cfg), out: out, log: log}
	w.state.log = log
	if p.memory != nil {
		w.state.restore(p.memory.Claims())
	}
	return w
}

func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.session(ctx)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// watcher is the life of one Run: the state survives sessions.
type watcher struct {
	provider *Provider
	state    *state
	out      *provider.Mailbox
	log      zerolog.Logger
	backoff  provider.Backoff

	// sent is the last snapshot that was put, nil before the first.
	sent *route.Snapshot
	// since is the engine's time up to which events are known; zero before any.
	since time.Time
	// failures counts attempts without a complete read since the last one.
	failures int
	// lostAt is when the last session ended, zero while one runs.
	lostAt time.Time
	// doubted is set once others were told that the lost engine can be reached again.
	doubted bool
	// warnedAt is when the log was last told of a loss; warned is set until it is told of
	// the return.
	warnedAt time.Time
	warned   bool
}

// session has one session and waits before the next one.
func (w *watcher) session(ctx context.Context) {
	w.noteReturn(ctx)
	began := time.Now()
	synced, err := w.connect(ctx)
	if ctx.Err() != nil {
		return
	}
	w.state.status.Returning = false
	w.ended(synced, err, time.Now())
	if synced && time.Since(began) >= steadyAfter {
		w.backoff.Reset()
	}
	w.pause(ctx, w.backoff.Next())
}

// connect makes a connection and keeps a session on it until either ends. synced
// reports whether everything was read at least once.
func (w *watcher) connect(ctx context.Context) (synced bool, err error) {
	eng, err := w.provider.connect(ctx)
	if err != nil {
		return false, err
	}
	defer eng.Close()
	s := newSession(w, eng)
	err = s.run(ctx)
	return s.synced, err
}

// ended decides what the end of a session means to others. One that was complete is
// tried again before anybody hears of it: socket proxies cut idle streams every few
// minutes, and one failed answer is no outage.
func (w *watcher) ended(synced bool, err error, now time.Time) {
	text, _ := describe(err)
	if w.lostAt.IsZero() || synced {
		w.lostAt = now
	}
	if synced {
		w.failures = 0
		w.log.Debug().Str(zerolog.ErrorFieldName, text).Msg("event stream ended, reconnecting")
		return
	}
	w.failures++
	if w.failures < 2 && w.sent != nil {
		w.log.Debug().Str(zerolog.ErrorFieldName, text).Msg("reading the engine failed, trying again")
		return
	}
	announced := w.sent != nil && !w.sent.Status.Connected && w.sent.Status.LastError == text
	w.state.disconnected(err, w.frozen(now))
	if !announced {
		w.warn(text, w.state.status.Hint, now)
	}
	w.put(w.frozen(now), true)
}

// warn tells the log of a loss, or only those who debug when it was told a moment ago.
func (w *watcher) warn(text, hint string, now time.Time) {
	level := zerolog.DebugLevel
	if w.warnedAt.IsZero() || now.Sub(w.warnedAt) >= tellInterval {
		level, w.warnedAt, w.warned = zerolog.WarnLevel, now, true
	}
	w.log.WithLevel(level).Str(zerolog.ErrorFieldName, text).Str(route.FieldHint, hint).
		Msg("engine is not reachable: the last entrypoints stay, trying again for ever")
}

// frozen is the moment at which the state is looked at while the engine is away: the
// clock of retentions stands still.
func (w *watcher) frozen(now time.Time) time.Time {
	if w.lostAt.IsZero() {
		return now
	}
	return w.lostAt
}

// away reports whether others have been told that the engine is lost.
func (w *watcher) away() bool {
	return w.sent != nil && !w.sent.Status.Connected && !w.lostAt.IsZero()
}

// resumed notes the first complete read of a session.
func (w *watcher) resumed(now time.Time) {
	w.failures, w.doubted = 0, false
	if w.away() && w.warned {
		w.warned = false
		w.log.Info().Dur("away", now.Sub(w.sent.Status.Since)).Msg("engine is back, everything was read again")
	}
	w.lostAt = time.Time{}
}

// put hands over a snapshot unless it says the same as the last one. It reports
// whether the entrypoints changed.
func (w *watcher) put(now time.Time, full bool) (changed bool) {
	held := w.state.claims
	next := w.state.snapshot(now)
	if memory := w.provider.memory; memory != nil && !maps.Equal(held, w.state.claims) {
		memory.KeepClaims(w.state.claims)
	}
	if w.sent != nil {
		share(*w.sent, &next)
	}
	if w.sent != nil && equal(*w.sent, next, full) {
		if next.Status.LastSync.Sub(w.sent.Status.LastSync) >= resyncInterval/2 {
			// Nothing new but the time of the read: whoever asks must see that it is current.
			w.sent = &next
			w.out.Put(next)
		}
		return false
	}
	changed = w.sent == nil || !equalEntrypoints(*w.sent, next)
	w.sent = &next
	w.out.Put(next)
	return changed
}
