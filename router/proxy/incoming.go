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

// incoming bounds the idle time of a request body; its total time is free. The
// backend's adapter may still read it when the exchange is over: then it ends, and
// leaves the connection's deadline alone.
type incoming struct {
	deadline readDeadline
	source   io.Reader
	length   int64
	idle     time.Duration

	mu    sync.Mutex // held also while an interim head is written
	asks  *writer    // of a client that waits for 100 (Continue); nil once it need not
	set   time.Time
	read  int64
	ended bool // all of the body was read, or cannot be
	over  bool
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
	b.read += int64(n)
	b.ended = b.ended || errors.Is(err, io.EOF) || b.length >= 0 && b.read >= b.length
	if b.ended && !b.over {
		// What net/http reads in the background from here on has no deadline.
		_ = b.deadline.SetReadDeadline(time.Time{})
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
	if at := time.Now(); at.Sub(b.set) > b.idle/16 {
		b.set = at
		_ = b.deadline.SetReadDeadline(at.Add(b.idle))
	}
	return true
}

func (b *incoming) finish() {
	b.unwanted()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// answer notes that the final head goes out, which ends the interim ones.
func (b *incoming) answer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks = nil
}

// unwanted bounds the time in which net/http reads the rest of a body away.
func (b *incoming) unwanted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended && !b.over {
		_ = b.deadline.SetReadDeadline(time.Now().Add(unwantedBody))
	}
}

// unfinished reports whether some of the body is still to come.
func (b *incoming) unfinished() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.ended
}
