package proxy

import (
	"errors"
	"io"
	"sync"
	"time"
)

// readDeadline bounds reads of a request body.
type readDeadline interface {
	SetReadDeadline(at time.Time) error
}

// incoming bounds the idle time of a request body until the response begins; its total
// time is free. From then on one side may be silent while the other streams, and the watch
// of the call bounds both. The backend's adapter may still read the body when the exchange
// is over: then it ends, and leaves the connection's deadline alone.
type incoming struct {
	deadline readDeadline
	source   io.Reader
	length   int64
	idle     time.Duration
	timer    bool // the deadline ends the body also while nobody reads (HTTP/2)

	mu    sync.Mutex // held also while an interim head is written
	asks  *writer    // of a client that waits for 100 (Continue); nil once it need not
	set   time.Time  // when the deadline was; zero for none
	read  int64
	ended bool // all of the body was read, or cannot be
	begun bool // the final head of the response went out
	over  bool
	// reading is set while the source is read; left is told when that ends.
	reading bool
	left    sync.Cond
}

// newIncoming bounds the reads of a request's body.
func newIncoming(deadline readDeadline, source io.ReadCloser, length int64, idle time.Duration, timer bool) *incoming {
	b := &incoming{deadline: deadline, source: source, length: length, idle: idle, timer: timer}
	b.left.L = &b.mu
	return b
}

// unwantedBody bounds the time that a client may go on sending a body to nobody.
const unwantedBody = 2 * time.Second

// Read implements io.Reader.
func (b *incoming) Read(p []byte) (int, error) {
	if !b.ready() {
		return 0, errTaken
	}
	n, err := b.source.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	b.left.Broadcast()
	b.read += int64(n)
	b.ended = b.ended || errors.Is(err, io.EOF) || b.length >= 0 && b.read >= b.length
	if (b.ended || b.timer) && !b.over {
		b.free() // what net/http reads in the background from here on has no deadline
	}
	return n, err
}

func (b *incoming) ready() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return false
	}
	if b.asks != nil {
		b.asks.proceed()
		b.asks = nil
	}
	if at := time.Now(); !b.begun && at.Sub(b.set) > b.idle/16 {
		b.set = at
		_ = b.deadline.SetReadDeadline(at.Add(b.idle))
	}
	b.reading = true
	return true
}

// free takes the deadline back. The caller holds mu.
func (b *incoming) free() {
	if !b.set.IsZero() {
		b.set = time.Time{}
		_ = b.deadline.SetReadDeadline(time.Time{})
	}
}

// finish ends the exchange's part in the body. Who still reads it is woken first: net/http
// would do so, too, but takes the deadline back with that, and then reads the rest of the
// body away, for as long as the client sends none. The connection ends after the response:
// its head said so, or it is cut.
func (b *incoming) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.over = true
	if b.reading && !b.timer {
		_ = b.deadline.SetReadDeadline(time.Unix(1, 0))
		for b.reading {
			b.left.Wait()
		}
	}
	b.limitRest()
}

// answer notes that the final head goes out, which ends the interim ones.
func (b *incoming) answer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks, b.begun = nil, true
	b.free()
}

// unwanted bounds the time in which net/http reads the rest of a body away.
func (b *incoming) unwanted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limitRest()
}

// limitRest does it. The caller holds mu.
func (b *incoming) limitRest() {
	if !b.ended {
		_ = b.deadline.SetReadDeadline(time.Now().Add(unwantedBody))
	}
}

// unfinished reports whether some of the body is still to come.
func (b *incoming) unfinished() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.ended
}
