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
	if want := [StatusClasses]uint64{2, 1, 2, 0, 1, 2}; c.Classes != want {
		t.Errorf("classes %v, want %v", c.Classes, want)
	}
	if h := c.Histogram(); h != [len(LatencyBounds) + 1]uint64{0: 5, 1: 1, 10: 1, 13: 1} || c.Requests() != 8 {
		t.Errorf("buckets %v of %d requests", h, c.Requests())
	}
	if c.Sum != time.Hour+2*time.Second+2*time.Millisecond+1 || c.Retries != 1 || c.Held != 1 || c.Cut != 1 {
		t.Errorf("%+v", c)
	}
	traffic.NoteAbandoned(time.Second)
	gone := traffic.Counts()
	if d := gone.Since(&c); d.Classes != [StatusClasses]uint64{1} || d.Abandoned != 1 || d.Sum != time.Second || d.Requests() != 1 || c.Abandoned != 0 {
		t.Errorf("abandoned: %+v", d)
	}
	c = gone
	traffic.Note(200, 0)
	later := traffic.Counts()
	if d := later.Since(&c); d.Requests() != 1 || d.Classes[2] != 1 || d.Buckets[0] != 1 || d.Sum != 0 || d.Retries != 0 {
		t.Errorf("since: %+v", d)
	}
}

func TestQuantile(t *testing.T) {
	var none TrafficCounts
	if none.Quantile(0.5, 0) != 0 {
		t.Error("a quantile of nothing")
	}
	var traffic Traffic
	for range 90 {
		traffic.Note(200, 7*time.Millisecond) // 6.5 to 8 ms
	}
	for range 10 {
		traffic.Note(200, 70*time.Millisecond) // 65 to 80 ms
	}
	c := traffic.Counts()
	for _, tt := range []struct {
		q             float64
		slowest, want time.Duration
	}{
		{-1, 0, 6500 * time.Microsecond}, {0, 0, 6500 * time.Microsecond}, {0.45, 0, 7250 * time.Microsecond}, {0.9, 0, 8 * time.Millisecond},
		{0.95, 0, 72500 * time.Microsecond}, {1, 0, 80 * time.Millisecond}, {2, 0, 80 * time.Millisecond},
		{0.95, 70 * time.Millisecond, 67500 * time.Microsecond}, {1, 70 * time.Millisecond, 70 * time.Millisecond}, {0.9, 70 * time.Millisecond, 8 * time.Millisecond},
		{1, time.Hour, 80 * time.Millisecond}, {1, time.Millisecond, 65 * time.Millisecond}, // what cannot be does no harm
	} {
		if got := c.Quantile(tt.q, tt.slowest); got != tt.want {
			t.Errorf("q %v, slowest %v: %v, want %v", tt.q, tt.slowest, got, tt.want)
		}
	}
	if slowest := traffic.TakeSlowest(); slowest != 70*time.Millisecond || traffic.TakeSlowest() != 0 {
		t.Errorf("slowest %v, want 70 ms, and that only once", slowest)
	}
	traffic.Note(200, time.Minute)
	c = traffic.Counts()
	if got, known := c.Quantile(1, 0), c.Quantile(1, time.Minute); got != 10*time.Second || known != time.Minute {
		t.Errorf("beyond the last bound: %v, and %v where the slowest is known", got, known)
	}
}

// TestLatencyBounds: requests are counted by the bounds of metrics and by finer ones, so
// that metrics are exact.
func TestLatencyBounds(t *testing.T) {
	if !slices.IsSorted(LatencyBounds[:]) || !slices.IsSorted(countedBounds[:]) {
		t.Error("bounds are not ascending")
	}
	for i, bound := range LatencyBounds {
		if !slices.Contains(countedBounds[:], bound) {
			t.Errorf("nothing is counted by the bound %v", bound)
		}
		for _, took := range []time.Duration{bound - 1, bound, bound + 1} {
			var traffic Traffic
			traffic.Note(200, took)
			c, want := traffic.Counts(), i
			if took > bound {
				want++
			}
			if c.Histogram()[want] != 1 {
				t.Errorf("%v is counted in %v, want bucket %d", took, c.Histogram(), want)
			}
		}
	}
	for i, bound := range countedBounds {
		if bucketOf(bound) != i || bucketOf(bound+1) != i+1 {
			t.Errorf("%v is in bucket %d", bound, bucketOf(bound))
		}
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
