package route

import (
	"slices"
	"sync"
	"testing"
	"time"
)

func TestTrafficCounts(t *testing.T) {
	var traffic Traffic
	for _, n := range []struct {
		status int
		took   time.Duration
	}{{200, 0}, {204, time.Millisecond}, {101, time.Millisecond + 1}, {404, 2 * time.Second}, {503, time.Hour}, {0, 0}, {-7, 0}, {999, 0}} {
		traffic.Note(n.status, n.took)
	}
	traffic.NoteRetry()
	traffic.NoteHeld()
	traffic.NoteCut()
	c := traffic.Counts()
	if want := [StatusClasses]uint64{3, 1, 2, 0, 1, 1}; c.Classes != want {
		t.Errorf("classes %v, want %v", c.Classes, want)
	}
	if c.Buckets[0] != 5 || c.Buckets[1] != 1 || c.Buckets[10] != 1 || c.Buckets[LatencyBuckets-1] != 1 || c.Requests() != 8 {
		t.Errorf("buckets %v of %d requests", c.Buckets, c.Requests())
	}
	if c.Sum != time.Hour+2*time.Second+2*time.Millisecond+1 || c.Retries != 1 || c.Held != 1 || c.Cut != 1 {
		t.Errorf("%+v", c)
	}
	traffic.Note(200, 0)
	later := traffic.Counts()
	if d := later.Since(&c); d.Requests() != 1 || d.Classes[2] != 1 || d.Buckets[0] != 1 || d.Sum != 0 || d.Retries != 0 {
		t.Errorf("since: %+v", d)
	}
}

func TestQuantile(t *testing.T) {
	var none TrafficCounts
	if none.Quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	var traffic Traffic
	for range 90 {
		traffic.Note(200, 7*time.Millisecond) // 5 to 10 ms
	}
	for range 10 {
		traffic.Note(200, 80*time.Millisecond) // 50 to 100 ms
	}
	c := traffic.Counts()
	for q, want := range map[float64]time.Duration{-1: 5 * time.Millisecond, 0: 5 * time.Millisecond, 0.45: 7500 * time.Microsecond, 0.9: 10 * time.Millisecond, 0.95: 75 * time.Millisecond, 1: 100 * time.Millisecond, 2: 100 * time.Millisecond} {
		if got := c.Quantile(q); got != want {
			t.Errorf("q %v: %v, want %v", q, got, want)
		}
	}
	traffic.Note(200, time.Minute)
	c = traffic.Counts()
	if got := c.Quantile(1); got != 10*time.Second {
		t.Errorf("beyond the last bound: %v", got)
	}
	if !slices.IsSorted(LatencyBounds[:]) {
		t.Error("bounds are not ascending")
	}
}

// TestTrafficUnderLoad: run with the race detector; nothing is lost, nothing allocates.
func TestTrafficUnderLoad(t *testing.T) {
	var traffic Traffic
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				traffic.Note(200, time.Millisecond)
			}
		})
	}
	all.Wait()
	if c := traffic.Counts(); c.Requests() != 8000 || c.Sum != 8*time.Second {
		t.Errorf("%+v", c)
	}
	if n := testing.AllocsPerRun(100, func() { traffic.Note(500, time.Second) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkTraffic is what a request pays for being counted: on its entrypoint and on
// its backend, with the times that both need.
func BenchmarkTraffic(b *testing.B) {
	var entrypoint, backend Traffic
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			came, sent := time.Now(), time.Now()
			backend.Note(200, time.Since(sent))
			entrypoint.Note(200, time.Since(came))
		}
	})
}
