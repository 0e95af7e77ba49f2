package accesslog

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// Query says what a line shows of a query.
type Query string

// What a line shows of a query.
const (
	QueryRedacted Query = "redact" // names, with *** for values
	QueryKept     Query = "keep"
	QueryDropped  Query = "drop"
)

// Config configures a Log. Zero values mean the defaults.
type Config struct {
	// Path is the file that lines are appended to. Without one they go to Out.
	Path string
	Out  io.Writer
	// MaxBytes is the size at which a file is set aside as PATH.1, the older ones as
	// PATH.2 and so on; 0 is never. Keep is how many of them stay: 5.
	MaxBytes int64
	Keep     int
	Query    Query // QueryRedacted
	// Sample writes one of so many requests; those that fail with a status of 500 or
	// more are all written. 0 and 1 mean every request.
	Sample int
	// Log takes what goes wrong with the access log itself.
	Log zerolog.Logger
}

const (
	maxPending = 4 << 20 // bytes of lines that wait for the writer
	hurryAt    = 256 << 10
	gather     = 100 * time.Millisecond // how long lines are gathered before they are written
	lastWrite  = 2 * time.Second        // that the end of Run waits for a stuck stream
)

// Stats are counters since the start.
type Stats struct {
	Lines   uint64 // written
	Dropped uint64 // not written: the writer did not keep up, or could not write
}

// Log is an access log. It is safe for concurrent use.
type Log struct {
	cfg    Config
	lines  zerolog.Logger
	out    output
	reopen chan struct{}
	// complained is when each kind of fault was told last; it belongs to the writer.
	complained map[complaint]time.Time

	wake, hurry      chan struct{}
	written, dropped atomic.Uint64

	mu      sync.Mutex
	pending []byte // lines that wait
	count   uint64 // their number
	spare   []byte
}

// New returns a log. It opens nothing and starts nothing.
func New(cfg Config) *Log {
	cfg.Keep = cmp.Or(max(cfg.Keep, 0), 5)
	cfg.Query = cmp.Or(cfg.Query, QueryRedacted)
	l := &Log{
		cfg: cfg, reopen: make(chan struct{}, 1), wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		out: output{path: cfg.Path, stream: cfg.Out, limit: cfg.MaxBytes, keep: cfg.Keep},
	}
	l.lines = zerolog.New(lineWriter{l})
	return l
}

// Open opens the file, so that a start can fail where it cannot be written.
func (l *Log) Open() error { return l.out.open() }

// Stats returns the counters.
func (l *Log) Stats() Stats { return Stats{Lines: l.written.Load(), Dropped: l.dropped.Load()} }

// Reopen opens the file anew, for who has moved it away. It does not wait: the log tells
// what came of it.
func (l *Log) Reopen() { signal(l.reopen) }

// Log notes a request that is over. It never blocks and keeps nothing of the exchange.
func (l *Log) Log(x *exchange.Exchange, target string) {
	if l.cfg.Sample > 1 && x.Status < 500 {
		if rand.IntN(l.cfg.Sample) == 0 {
			l.line(x, target, l.cfg.Sample)
		}
		return
	}
	l.line(x, target, 1)
}

// Run writes lines until ctx ends, then those that are left, and returns nil. It must
// be called once, after Open. When a stream takes nothing at the end Run returns after
// two seconds, with an error.
func (l *Log) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.write(ctx)
	}()
	<-ctx.Done()
	limit := time.NewTimer(lastWrite)
	defer limit.Stop()
	select {
	case <-done:
		return nil
	case <-limit.C:
		return errors.New("nobody takes the lines of the access log: the last ones are lost")
	}
}

// write is the only goroutine that touches the output.
func (l *Log) write(ctx context.Context) {
	defer l.out.close()
	tick := time.NewTimer(gather)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.flush()
			return
		case <-l.reopen:
			l.flush()
			l.openAnew()
			continue
		case <-l.wake:
		}
		tick.Reset(gather)
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-l.hurry:
		}
		l.flush()
	}
}

// openAnew answers a wish to open the file anew; who asked hears what came of it, however
// often.
func (l *Log) openAnew() {
	if l.cfg.Path == "" {
		return
	}
	if err := l.out.open(); err != nil {
		l.cfg.Log.Warn().AnErr(route.FieldCause, err).Str("file", l.cfg.Path).
			Msg("the access log cannot be opened anew; it goes on in the old file")
		return
	}
	l.cfg.Log.Info().Str("file", l.cfg.Path).Msg("the access log was opened anew")
}

// revive begins another file where somebody has deleted the one that lines went to.
func (l *Log) revive() {
	if !l.out.deleted() {
		return
	}
	if err := l.out.open(); err != nil {
		l.complain(err, "the access log was deleted and cannot be begun again; its lines are nowhere")
		return
	}
	l.complain(nil, "the access log was deleted; another file was begun")
}

// flush writes the lines that wait.
func (l *Log) flush() {
	l.mu.Lock()
	block, count := l.pending, l.count
	l.pending, l.count = l.spare[:0], 0
	l.mu.Unlock()
	if len(block) > 0 {
		l.revive()
		lost, err := l.out.write(block)
		lost = min(lost, count)
		l.written.Add(count - lost)
		l.dropped.Add(lost)
		switch {
		case lost > 0:
			l.complain(err, "the access log cannot be written; lines are lost")
		case err != nil:
			l.complain(err, "the access log cannot be set aside; no line is lost, but it grows beyond its size")
		}
	}
	if cap(block) > 4*hurryAt && len(block) < cap(block)/4 {
		block = nil // a burst is over
	}
	l.mu.Lock()
	l.spare = block
	l.mu.Unlock()
}

// complaint is a kind of fault.
type complaint struct {
	what  string
	cause syscall.Errno
}

// complain warns of a fault, at most once a minute of each kind: none hides another.
func (l *Log) complain(err error, what string) {
	kind, now := complaint{what: what}, time.Now()
	_ = errors.As(err, &kind.cause)
	if last, before := l.complained[kind]; before && now.Sub(last) < time.Minute {
		return
	}
	if l.complained == nil {
		l.complained = map[complaint]time.Time{}
	}
	l.complained[kind] = now
	l.cfg.Log.Warn().AnErr(route.FieldCause, err).Str("file", l.cfg.Path).Uint64("lost", l.dropped.Load()).Msg(what)
}

// lineWriter takes the lines that zerolog has made.
type lineWriter struct{ log *Log }

// Write implements io.Writer.
func (w lineWriter) Write(line []byte) (int, error) {
	l := w.log
	l.mu.Lock()
	before := len(l.pending)
	full := before+len(line) > maxPending
	if !full {
		l.pending = append(l.pending, line...)
		l.count++
	}
	l.mu.Unlock()
	switch {
	case full:
		l.dropped.Add(1)
	case before == 0:
		signal(l.wake)
	case before < hurryAt && before+len(line) >= hurryAt:
		signal(l.hurry)
	}
	return len(line), nil
}

// signal leaves a word for a goroutine that looks later.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
