package route

import (
	"sync"
	"testing"
)

// TestChangedIsClosedByTheNextStore: whoever asks before Load misses no rotation, and
// all who wait are woken by one Store.
func TestChangedIsClosedByTheNextStore(t *testing.T) {
	var c RotationCell
	if got := c.Load(); got.Reason != ReasonInitializing || len(got.Members) != 0 {
		t.Errorf("before the first: %+v", got)
	}
	first := c.Changed()
	if c.Changed() != first {
		t.Error("two waits between two stores have two channels")
	}
	c.Store(NewRotation(1, TierNone, nil))
	<-first
	second := c.Changed()
	if second == first {
		t.Error("a channel is used twice")
	}
	select {
	case <-second:
		t.Error("closed without a store")
	default:
	}
}

// TestChangedUnderLoad: run with the race detector; every waiter sees the last rotation.
func TestChangedUnderLoad(t *testing.T) {
	const last = 1000
	var c RotationCell
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				changed := c.Changed()
				if c.Load().Rev == last {
					return
				}
				<-changed
			}
		})
	}
	for rev := range uint64(last + 1) {
		c.Store(NewRotation(rev, TierNone, nil))
	}
	all.Wait()
}
