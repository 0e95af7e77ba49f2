package healthcheck

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestDispatchOrder: urgent ones first, then those that are up, then those that are down;
// among equals the one that waits longest, then the oldest check (rule 3).
func TestDispatchOrder(t *testing.T) {
	at := func(generation uint64, second int) *check {
		return &check{generation: generation, nextAt: t0.Add(time.Duration(second) * time.Second)}
	}
	all := []due{
		{check: at(1, 0), class: classDown}, {check: at(2, 5), class: classUp}, {check: at(3, 4), class: classUp},
		{check: at(4, 9), class: classUrgent}, {check: at(6, 9), class: classUrgent}, {check: at(5, 9), class: classUrgent},
	}
	s := newSchedule(10, 10)
	s.queue.fill(func(yield func(due)) {
		for _, d := range all {
			yield(d)
		}
	})
	var got []uint64
	for d, ok := s.queue.next(s.open); ok; d, ok = s.queue.next(s.open) {
		got = append(got, d.check.generation)
	}
	if want := []uint64{4, 5, 6, 3, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

// TestFreeSlotsAreUsedAtOnce: what waits for the budget does not wait for a tick as well
// (rule 1).
func TestFreeSlotsAreUsedAtOnce(t *testing.T) {
	bubble(t, Config{StartupSpread: 1, Concurrency: 4}, func(r *rig) {
		var sets []route.PlacementSet
		slowly := func(ctx context.Context) (net.Conn, error) {
			<-time.After(100 * time.Millisecond)
			return accept(ctx)
		}
		for i := range 20 {
			host := fmt.Sprintf("10.0.0.%d", i+1)
			r.net.set(host+":80", slowly)
			sets = append(sets, r.set(fmt.Sprint("http_", i), backend("b", host)))
			r.apply(sets...) // one by one: a crowd would be spread out
		}
		r.run()
		r.at(10*time.Second + 510*time.Millisecond)
		for i := range 20 {
			if got := r.net.dials(fmt.Sprintf("10.0.0.%d:80", i+1)); len(got) < 2 || got[len(got)-1] < 10*time.Second {
				t.Errorf("no. %d was launched at %v: twenty probes of 100 ms on four slots are a matter of half a second", i, got)
			}
		}
	})
}

// TestStartupSpread: one newcomer is asked within 10 ms, a thousand within a second, and
// not all at once.
func TestStartupSpread(t *testing.T) {
	for _, tt := range []struct {
		n          int
		first, all time.Duration
	}{{1, 10 * time.Millisecond, 10 * time.Millisecond}, {10, 100 * time.Millisecond, 100 * time.Millisecond}, {1000, time.Second, time.Second}} {
		bubble(t, Config{Concurrency: 2000}, func(r *rig) {
			r.run()
			r.at(2500 * time.Millisecond)
			var sets []route.PlacementSet
			for i := range tt.n {
				host := fmt.Sprintf("10.0.%d.%d", i/200, i%200+1)
				r.net.set(host+":80", accept)
				sets = append(sets, r.set(fmt.Sprint("http_", i), backend("b", host)))
			}
			r.apply(sets...)
			r.at(4 * time.Second)
			tenths := map[time.Duration]int{}
			for i := range tt.n {
				at := r.net.dials(fmt.Sprintf("10.0.%d.%d:80", i/200, i%200+1))
				if len(at) == 0 || at[0]-2500*time.Millisecond > tt.all {
					t.Fatalf("%d newcomers: no. %d was asked at %v", tt.n, i, at)
				}
				tenths[at[0].Truncate(100*time.Millisecond)]++
			}
			for at, n := range tenths {
				if tt.n == 1000 && n > 300 {
					t.Errorf("%d of them within the tenth of a second at %s", n, at)
				}
			}
		})
	}
}

// TestCrowdSpreadsOut: thousands that come at once are not asked on the same ticks for
// ever; nobody waits longer for it than an interval.
func TestCrowdSpreadsOut(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		const n = 1000
		var sets []route.PlacementSet
		for i := range n {
			host := fmt.Sprintf("10.0.%d.%d", i/200, i%200+1)
			r.net.set(host+":80", accept)
			sets = append(sets, r.set(fmt.Sprint("http_", i), backend("b", host)))
		}
		r.apply(sets...)
		r.run()
		r.at(41500 * time.Millisecond)
		ticks := map[time.Duration]int{}
		for i := range n {
			at := r.net.dials(fmt.Sprintf("10.0.%d.%d:80", i/200, i%200+1))
			for k := 1; k < len(at); k++ {
				if gap := at[k] - at[k-1]; gap > 10*time.Second || gap <= 0 || k > 1 && gap != 10*time.Second {
					t.Fatalf("no. %d: pause %d was %s", i, k, gap)
				}
			}
			ticks[at[len(at)-1]]++
		}
		if len(ticks) != 10 {
			t.Errorf("they are asked on %d ticks of a cycle of ten", len(ticks))
		}
		for at, k := range ticks {
			if k > n/5 {
				t.Errorf("%d of %d are asked at %s", k, n, at)
			}
		}
	})
}

// TestExpedite: traffic, Docker and nothing else bring a probe forward; never two at
// once, never the state (rule 7).
func TestExpedite(t *testing.T) {
	fast := checked(func(c *route.Check) { c.FastInterval = 2 * time.Second })
	for _, tt := range []struct {
		name     string
		edit     func(*route.Backend)
		say      func(r *rig, p *route.Placement)
		launches []time.Duration
	}{
		{"once for many failures", fast, func(r *rig, p *route.Placement) {
			for range 50 {
				r.engine.Report(route.Outcome{Placement: p, Transport: true, Kind: route.KindConnectionReset})
			}
		}, secs(0, 4, 14)},
		{"a bad answer is none", fast, func(r *rig, p *route.Placement) {
			r.engine.Report(route.Outcome{Placement: p, Status: 503})
			r.engine.Report(route.Outcome{Placement: p, Status: 200})
		}, secs(0, 10)},
		{"at most once per fastInterval", fast, func(r *rig, p *route.Placement) {
			for i := range 60 {
				r.at(3500*time.Millisecond + time.Duration(i)*100*time.Millisecond)
				r.engine.Report(route.Outcome{Placement: p, Transport: true, Kind: route.KindConnectionReset})
			}
		}, secs(0, 4, 6, 8, 10)},
		{"Docker says healthy", fast, func(r *rig, _ *route.Placement) {
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", fast, func(b *route.Backend) { b.Provider = route.ProviderUnhealthy })))
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", fast)))
		}, secs(0, 4, 14)},
		{"of a backend that is unknown", fast, func(r *rig, _ *route.Placement) {
			r.engine.Report(route.Outcome{Placement: &route.Placement{Entrypoint: "http_api"}, Transport: true})
			r.engine.Report(route.Outcome{})
		}, secs(0, 10)},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", accept)
			set := r.set("http_api", backend("b1", "10.0.0.1", tt.edit))
			r.apply(set)
			r.run()
			r.at(3500 * time.Millisecond)
			tt.say(r, set.Placements[0])
			r.wantState("http_api", "b1", route.StateUp, route.InVerified)
			r.at(14500 * time.Millisecond)
			if got := r.net.dials("10.0.0.1:80"); !slices.Equal(got, tt.launches) {
				t.Errorf("%s: launches %v, want %v", tt.name, got, tt.launches)
			}
		})
	}
}

// TestExpediteInFlight: one that comes while a probe is on its way is not lost: there is
// one more at the next tick after it, and never two at once (R9).
func TestExpediteInFlight(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		set := r.set("http_api", backend("b1", "10.0.0.1"))
		r.apply(set)
		r.run()
		r.at(9 * time.Second)
		r.net.set("10.0.0.1:80", func(ctx context.Context) (net.Conn, error) {
			<-time.After(2300 * time.Millisecond)
			return accept(ctx)
		})
		r.at(10200 * time.Millisecond)
		for range 5 {
			r.engine.Report(route.Outcome{Placement: set.Placements[0], Transport: true, Kind: route.KindConnectionReset})
		}
		r.at(22500 * time.Millisecond)
		if got := r.net.dials("10.0.0.1:80"); !slices.Equal(got, secs(0, 10, 13)) || r.net.nodes["10.0.0.1:80"].most != 1 {
			t.Errorf("launches %v, %d at once", got, r.net.nodes["10.0.0.1:80"].most)
		}
	})
}

// TestLocalErrors: the router's own lack of resources changes no verdict, is tried again
// at the next tick, and is told as a whole from the third in a row on.
func TestLocalErrors(t *testing.T) {
	var told atomic.Int32
	bubble(t, Config{StartupSpread: 1, OnGlobal: func() { told.Add(1) }}, func(r *rig) {
		lack := func(context.Context) (net.Conn, error) { return nil, errno(24) } // EMFILE
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2")))
		r.run()
		r.at(9500 * time.Millisecond)
		before, down := r.health("http_api", "b1"), r.health("http_api", "b2")
		r.net.set("10.0.0.1:80", lack)
		r.net.set("10.0.0.2:80", lack)
		r.at(10500 * time.Millisecond)
		if got := r.engine.View().Global; len(got) != 0 || told.Load() != 0 {
			t.Errorf("after two local errors: %v, told %d times", got, told.Load())
		}
		r.at(11500 * time.Millisecond)
		got := r.engine.View().Global
		if len(got) != 1 || got[0].Code != localCode || got[0].Hint == "" || told.Load() != 1 {
			t.Errorf("after four local errors: %v, told %d times", got, told.Load())
		}
		for _, want := range []route.BackendHealth{before, down} {
			h := r.health("http_api", want.Backend.ID)
			if h.State != want.State || h.Counters != want.Counters || !h.LastChecked.Equal(want.LastChecked) || !h.Since.Equal(want.Since) {
				t.Errorf("%s: %s %+v, was %s %+v", want.Backend.ID, h.State, h.Counters, want.State, want.Counters)
			}
		}
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", refuse)
		r.at(12500 * time.Millisecond)
		if got := r.engine.View().Global; len(got) != 0 || r.engine.Stats().LocalErrors != 4 || told.Load() != 2 {
			t.Errorf("%v, %+v, told %d times", got, r.engine.Stats(), told.Load())
		}
		if got := r.net.dials("10.0.0.1:80"); !slices.Equal(got, secs(0, 10, 11, 12)) {
			t.Errorf("launches %v", got)
		}
	})
}
