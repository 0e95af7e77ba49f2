package proxy

import (
	"errors"
	"io"
	"sync"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
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
	// always is set when another attempt may need the body after this one got it.
	always bool

	mu      sync.Mutex
	turn    int
	reading bool
	read    int64
	ended   bool      // the source gave io.EOF or all of its length
	err     error     // of the source, but io.EOF
	at      time.Time // when the source last gave something
	kept    []byte
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
	whole = !b.reading && b.err == nil && int64(len(b.kept)) == b.read
	return b.turn, whole
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

// ahead reads a short body of an HTTP/1 request to its end before the request waits. Only
// then does net/http watch the connection, so that a client that leaves gives its place
// back; and a request that nobody waits for any more is not sent. It does nothing for a
// body that was begun, is long, or is sent only when it is asked for. A reason other than
// none is the answer to the client.
func (b *body) ahead(x *exchange.Exchange) route.Reason {
	if b == nil || x.Major != 1 || b.length == 0 || b.length > maxReplay || x.Header.Get("Expect") != "" {
		return route.ReasonNone
	}
	b.mu.Lock()
	fresh := b.read == 0 && !b.reading && !b.ended && b.err == nil
	b.mu.Unlock()
	if !fresh {
		return route.ReasonNone
	}
	turn, _ := b.take()
	limit := b.length
	if limit < 0 {
		limit = maxReplay // more could not be kept
	}
	piece := make([]byte, min(limit, 4<<10))
	for at := int64(0); ; {
		n, err := b.next(turn, at, piece[:min(limit-at, int64(len(piece)))], true)
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF), err == nil && at >= limit:
			return route.ReasonNone
		case err != nil:
			return clientReason(err)
		}
	}
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
	if turn != b.turn {
		b.mu.Unlock()
		return 0, errTaken
	}
	if at < b.read { // an earlier turn read it; all of it is kept
		n := copy(p, b.kept[at:])
		b.mu.Unlock()
		return n, nil
	}
	if b.ended {
		b.mu.Unlock()
		return 0, io.EOF
	}
	b.reading = true
	b.mu.Unlock()

	n, err := b.source.Read(p)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	b.keeping = b.keeping && (keep || b.always)
	b.note(p[:n], err)
	if turn != b.turn {
		return 0, errTaken
	}
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
