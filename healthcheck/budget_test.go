package healthcheck

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestBudget: a thousand black holes and one good backend share a budget of 64. The good
// one keeps its exact pace, every dead one has its turn within twice its fair share, and
// neither goroutines nor connections grow (health.md, test 22).
func TestBudget(t *testing.T) {
	const budget, dead = 64, 1000
	before := runtime.NumGoroutine()
	bubble(t, Config{Concurrency: budget}, func(r *rig) {
		var open, most atomic.Int64
		hole := func(ctx context.Context) (net.Conn, error) {
			n := open.Add(1)
			defer open.Add(-1)
			most.Store(max(most.Load(), n))
			return blackhole(ctx)
		}
		r.net.set("10.0.0.1:80", accept)
		sets := []route.PlacementSet{r.set("http_good", backend("good", "10.0.0.1"))}
		for i := range dead {
			host := fmt.Sprintf("10.2.%d.%d", i/200, i%200+1)
			r.net.set(host+":80", hole)
			sets = append(sets, r.set(fmt.Sprintf("http_%d", i), backend(fmt.Sprint("b", i), host)))
		}
		r.apply(sets...)
		r.run()
		goroutines, downs := 0, 0
		for at := 5 * time.Second; at < 30*time.Minute; at += 5300 * time.Millisecond {
			r.at(at)
			goroutines = max(goroutines, runtime.NumGoroutine())
			r.engine.mu.Lock()
			downs = max(downs, r.engine.schedule.down)
			r.engine.mu.Unlock()
		}
		if extra := goroutines - before; extra > 2*budget+20 || most.Load() > budget || downs > budget/2 {
			t.Errorf("%d more goroutines, %d dials at once, %d of them to dead backends; the budget is %d", extra, most.Load(), downs, budget)
		}
		holdPace(t, r.net.dials("10.0.0.1:80"))
		// Half of the budget is for those that are down: 1,000 times 5 s on 32 slots.
		const share = dead * 5 * time.Second / (budget / 2)
		for i := range dead {
			host := fmt.Sprintf("10.2.%d.%d:80", i/200, i%200+1)
			holdShare(t, host, append(r.net.dials(host), 30*time.Minute), 2*share)
		}
	})
}

func holdPace(t *testing.T, at []time.Duration) {
	t.Helper()
	if len(at) < 160 {
		t.Errorf("the good backend was probed %d times in half an hour", len(at))
	}
	for i := 2; i < len(at); i++ {
		if gap := at[i] - at[i-1]; gap != 10*time.Second {
			t.Fatalf("the good backend's pause no. %d, at %s, was %s", i, at[i], gap)
		}
	}
}

func holdShare(t *testing.T, host string, at []time.Duration, most time.Duration) {
	t.Helper()
	last := time.Duration(0)
	for _, launch := range at {
		if gap := launch - last; gap > most {
			t.Fatalf("%s waited %s for its turn, more than %s", host, gap, most)
		}
		last = launch
	}
}
