package proxy

import (
	"errors"
	"io"
	"sync"
	"time"

	"fairlead/router/exchange"
)

// errTaken ends the reading of a body that went on to another attempt.
var errTaken = errors.New("the request body belongs to another attempt")

// maxReplay is how much of a request body that goes out on a reused connection is kept
// for a second try on a fresh one.
const maxReplay = 64 << 10

// body is the client's request body on its way to backends. A backend's adapter may
// read it from a goroutine that outlives the attempt, so every reader has a turn
// and loses it when the next attempt begins or the exchange ends.
type body struct {
	source  io.Reader
	length  int64
	keeping bool

	mu sync.Mutex
	// always is set when another attempt may need the body after this one got it.
	always  bool
	turn    int
	reading bool
	read    int64
	ended   bool      // the source gave io.EOF or all of its length
	err     error     // of the source, but io.EOF
	at      time.Time // when the source last gave something
	kept    []byte
	early   *early // nil before the request waits
}

// newBody returns nil for an exchange without a body; nil is usable.
func newBody(x *exchange.Exchange) *body {
	if x.Body == nil {
		return nil
	}
	return &body{source: x.Body, length: x.Length, keeping: x.Length <= maxReplay}
}

// take begins another turn. It reports whether the whole body can still be read:
// nothing was read, or all that was read is kept.
func (b *body) take() (turn int, whole bool) {
	if b == nil {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	whole = (!b.reading || b.early.runs()) && b.err == nil && int64(len(b.kept)) == b.read
	return b.turn, whole
}

// keep keeps the body even from an attempt that got it: another one may need it.
func (b *body) keep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.always = true
}

// replayable reports whether all of the body was read and is kept: nobody reads it any
// more, and it can be sent again.
func (b *body) replayable() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended && !b.reading && int64(len(b.kept)) == b.read
}

// unfinished reports whether the client has not sent all of the body, or all of it was not
// read yet.
func (b *body) unfinished() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.ended
}

// since is how long a response took that came after took from began, less the time in
// which the client still sent the body: a slow client is no slow backend.
func (b *body) since(began time.Time, took time.Duration) time.Duration {
	if b == nil {
		return took
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(took, max(began.Add(took).Sub(b.at), 0))
}

// awaited reports whether the client's next piece is being waited for.
func (b *body) awaited() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reading
}

// failure is the error with which the client's side ended the body, or nil.
func (b *body) failure() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// release ends the last turn and returns how much was read.
func (b *body) release() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	return b.read
}

// next reads a piece for a turn; at is how much this turn read before. keep is set
// when another turn may need it again.
func (b *body) next(turn int, at int64, p []byte, keep bool) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for turn == b.turn && at >= b.read && b.early.runs() {
		b.early.moved.Wait() // for the piece that it reads
	}
	switch {
	case turn != b.turn:
		return 0, errTaken
	case at < b.read: // an earlier turn read it; all of it is kept
		return copy(p, b.kept[at:]), nil
	case b.ended:
		return 0, io.EOF
	case b.err != nil:
		return 0, b.err
	}
	n, err := b.pull(p, keep)
	if turn != b.turn {
		return 0, errTaken
	}
	return n, err
}

// pull reads a piece from the source. The caller holds the lock, which is free meanwhile.
func (b *body) pull(p []byte, keep bool) (int, error) {
	b.reading = true
	b.mu.Unlock()
	n, err := b.source.Read(p)
	b.mu.Lock()
	b.reading = false
	b.keeping = b.keeping && (keep || b.always)
	b.note(p[:n], err)
	return n, err
}

// note records what the source gave.
func (b *body) note(p []byte, err error) {
	b.read += int64(len(p))
	b.at = time.Now()
	if b.keeping = b.keeping && b.read <= maxReplay; b.keeping {
		b.kept = append(b.kept, p...)
	}
	switch {
	case errors.Is(err, io.EOF):
		b.ended = true
	case err != nil:
		b.err = err
	case b.length >= 0 && b.read >= b.length:
		b.ended = true
	}
}

// turnReader reads a body in one turn.
type turnReader struct {
	body *body
	turn int
	at   int64
	call *call
	// atEnd is called when the whole body was read.
	atEnd func()
}

// Read implements io.Reader.
func (r *turnReader) Read(p []byte) (int, error) {
	if r.call.conn.discarded.Load() {
		return 0, errTaken
	}
	n, err := r.body.next(r.turn, r.at, p, r.call.conn.reused.Load())
	r.at += int64(n)
	r.call.progress()
	if errors.Is(err, io.EOF) && r.atEnd != nil {
		r.atEnd()
	}
	return n, err
}

// Close implements io.Closer. The front closes the client's body itself.
func (r *turnReader) Close() error { return nil }
