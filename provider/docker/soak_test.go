package docker

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
)

// footprint is what the process holds after a collection.
func footprint() (goroutines int, heap uint64) {
	runtime.GC()
	runtime.GC() // the second one frees what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}

// Ten thousand containers come and go: with and without labels, ended in every way, with
// their ends announced or lost, through cut streams. Nothing of them stays.
func TestTenThousandCyclesLeaveNothingBehind(t *testing.T) {
	const cycles = 10000
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		w.light, w.log.off = true, true
		w.cycles(0, 500) // fills what is kept for good: buffers, pools, the engine's ring
		w.after(30 * time.Second)
		goroutines, heap := footprint()
		w.cycles(500, cycles)
		w.after(30 * time.Second)
		g, h := footprint()
		t.Logf("after %d cycles: %d goroutines (%d before), heap %d (%d before)", cycles, g, goroutines, h, heap)
		if g > goroutines+5 {
			t.Errorf("%d goroutines, %d before", g, goroutines)
		}
		if h > heap+heap/10 {
			t.Errorf("heap %d, %d before", h, heap)
		}
		for _, name := range []string{"a", "b", "c"} {
			w.is("http_"+name, w.up(name))
		}
		w.after(resyncInterval) // it forgets who is followed no more
		w.halt()
		s := w.state
		if len(s.records) != 3 || len(s.holders) != 3 || len(s.claims) != 3 || len(s.followed) != 0 || len(s.suspects) != 0 {
			t.Errorf("left over: %d records, %d addresses, %d claims, %d followed, %d suspects",
				len(s.records), len(s.holders), len(s.claims), len(s.followed), len(s.suspects))
		}
	}, func(c *Config) { c.Retain = 10 * time.Second }) // over before the half minute is
}

// cycles runs and ends containers, the n-th one in the n-th way.
func (w *wire) cycles(from, to int) {
	for i := from; i < to; i++ {
		c := own(fmt.Sprintf("n%d", i))
		c.ID = enginetest.HexID(fmt.Sprintf("cycle %d", i))
		switch i % 5 {
		case 1:
			c.Labels = nil
		case 2:
			c.NetworkMode = "container:" + enginetest.HexID("container a")
		}
		lost := i%11 == 0
		id := w.e.Run(c)
		if i%3 == 0 {
			w.after(quietTime + 10*time.Millisecond)
		}
		w.e.Suppress("die", lost)
		w.e.Suppress("destroy", lost)
		switch i % 4 {
		case 0:
			w.e.Stop(id)
		case 1:
			w.e.Kill(id)
		case 2:
			w.e.Die(id, 1)
		}
		w.e.Remove(id)
		w.e.Suppress("die", false)
		w.e.Suppress("destroy", false)
		if i%50 == 0 {
			w.e.Cut(i%100 == 0)
		}
		w.after(500 * time.Millisecond)
	}
}
