package provider

import (
	"math/rand/v2"
	"time"
)

// Defaults of a Backoff: quick enough that a restarted source is noticed within
// seconds, slow enough that a dead one costs nothing.
const (
	DefaultBackoffMin = 100 * time.Millisecond
	DefaultBackoffMax = 3 * time.Second
)

// Backoff gives the waits between attempts: exponential from Min to Max, each with
// up to a quarter of jitter taken off, for ever. The zero value uses the defaults.
// It is not safe for concurrent use.
type Backoff struct {
	Min, Max time.Duration

	next time.Duration
}

// Next returns the wait before the next attempt and doubles the one after it. It is
// never longer than Max and never shorter than three quarters of Min.
func (b *Backoff) Next() time.Duration {
	low, high := b.Min, b.Max
	if low <= 0 {
		low = DefaultBackoffMin
	}
	if high <= 0 {
		high = DefaultBackoffMax
	}
	high = max(high, low)
	wait := max(b.next, low)
	b.next = min(2*wait, high)
	return wait - rand.N(wait/4+1)
}

// Reset makes the next wait the shortest one again.
func (b *Backoff) Reset() { b.next = 0 }
