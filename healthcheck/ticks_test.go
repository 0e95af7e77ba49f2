package healthcheck

import (
	"slices"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestProbeTicks: the last results are listed oldest first, a list that was given out
// never changes, and what is kept stays small.
func TestProbeTicks(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	var list ticks
	var given, copies [][]route.ProbeTick
	for i := range 200 {
		list.add(&route.ProbeResult{At: begin.Add(time.Duration(i) * time.Second), OK: i%3 > 0, Duration: time.Duration(i)})
		now := list.list()
		given, copies = append(given, now), append(copies, slices.Clone(now))
		if want := min(i+1, route.MaxProbeTicks); len(now) != want || now[want-1].Duration != time.Duration(i) || now[0].Duration != time.Duration(i+1-want) {
			t.Fatalf("after %d results: %d ticks from %v to %v", i+1, len(now), now[0].Duration, now[len(now)-1].Duration)
		}
		if cap(list.kept) > route.MaxProbeTicks+spareTicks {
			t.Fatalf("room for %d ticks", cap(list.kept))
		}
	}
	for i := range given {
		if !slices.Equal(given[i], copies[i]) {
			t.Fatalf("the list given out after %d results has changed", i+1)
		}
	}
	twin := list.fork()
	twin.add(&route.ProbeResult{Duration: 1000})
	list.add(&route.ProbeResult{Duration: 2000})
	if a, b := twin.list(), list.list(); a[29].Duration != 1000 || b[29].Duration != 2000 {
		t.Errorf("a fork writes into its origin: %v, %v", a[29].Duration, b[29].Duration)
	}
}

// TestProbeTicksOfABackend: each applied result is one tick, with its kind; another
// incarnation and a check that is turned off begin anew.
func TestProbeTicksOfABackend(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_a", backend("a", "10.0.0.1")))
		r.run()
		r.at(15 * time.Second)
		r.net.set("10.0.0.1:80", refuse)
		r.at(25 * time.Second)
		ticks := r.health("http_a", "a").Probes
		if len(ticks) != 3 || !ticks[0].OK || !ticks[1].OK || ticks[2].OK || ticks[2].Kind != route.KindConnectionRefused || ticks[0].Kind != "" {
			t.Fatalf("ticks %+v", ticks)
		}
		if at := ticks[2].At.Sub(r.start).Round(time.Second); at != 20*time.Second {
			t.Errorf("the third result is of %s", at)
		}
		// An entrypoint that shares the check shows what the same probes have shown.
		r.apply(r.set("http_a", backend("a", "10.0.0.1")), r.set("http_b", backend("a", "10.0.0.1")))
		r.at(35 * time.Second)
		if a, b := r.health("http_a", "a").Probes, r.health("http_b", "a").Probes; len(a) != 4 || !slices.Equal(a, b) {
			t.Errorf("shared: %+v and %+v", a, b)
		}
		r.apply(r.set("http_a", backend("a", "10.0.0.1", func(b *route.Backend) { b.Check = nil })))
		if ticks := r.health("http_a", "a").Probes; len(ticks) != 0 {
			t.Errorf("not probed, but %+v", ticks)
		}
		r.apply(r.set("http_a", backend("a", "10.0.0.1", func(b *route.Backend) { b.Incarnation = "docker/a/2/10.0.0.1" })))
		r.at(37 * time.Second)
		if ticks := r.health("http_a", "a").Probes; len(ticks) == 0 || ticks[0].At.Sub(r.start) < 35*time.Second {
			t.Errorf("a new incarnation has %+v", ticks)
		}
	})
}

// BenchmarkTicks is what a probe pays for its tick.
func BenchmarkTicks(b *testing.B) {
	lists := make([]ticks, 5000)
	r := &route.ProbeResult{At: time.Now(), OK: true, Duration: time.Millisecond}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		lists[i%len(lists)].add(r)
		i++
	}
}
