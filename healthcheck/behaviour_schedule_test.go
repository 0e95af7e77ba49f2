package healthcheck_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/healthcheck"
	"fairlead/router/route"
)

// outage accepts except between 10.5 s and 30.5 s after the start.
func outage(l *lab) answer {
	return func(ctx context.Context, n int) (net.Conn, error) {
		if d := time.Since(l.start); d > 10500*time.Millisecond && d < 30500*time.Millisecond {
			return refuses(ctx, n)
		}
		return accepts(ctx, n)
	}
}

func TestBehaviourScheduleVectors(t *testing.T) {
	tests := []struct {
		name     string
		check    *route.Check
		launches []int64
		told     []string
	}{
		{
			name: "3/2 with a fast interval",
			check: tcpCheck(func(c *route.Check) {
				c.UnhealthyThreshold, c.HealthyThreshold, c.FastInterval = 3, 2, time.Second
			}),
			launches: []int64{0, 10000, 20000, 21000, 22000, 32000, 33000, 43000},
			told:     []string{"0 pending>up", "22000 up>down", "33000 down>up"},
		},
		{
			name:     "defaults 1/1",
			check:    tcpCheck(nil),
			launches: []int64{0, 10000, 20000, 30000, 40000},
			told:     []string{"0 pending>up", "20000 up>down", "40000 down>up"},
		},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			l.net.set("10.0.0.1:80", outage(l))
			l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tt.check)))
			l.run()
			l.at(44 * time.Second)
			l.stop()
			if got := millis(l.net.launches("10.0.0.1:80")); !slices.Equal(got, tt.launches) {
				t.Errorf("%s: launches %v, want %v", tt.name, got, tt.launches)
			}
			if got := l.told("active"); !slices.Equal(got, tt.told) {
				t.Errorf("%s: told %v, want %v", tt.name, got, tt.told)
			}
		})
	}
}

// TestBehaviourCumulativeFailures: failures that are not in a row never add up
// (cumulative_failures, active_counters_not_reset).
func TestBehaviourCumulativeFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", script("S"+strings.Repeat("FFS", 50)+"S"))
		l.net.set("10.0.0.2:80", script("F"+strings.Repeat("SF", 50)+"F"))
		three := tcpCheck(func(c *route.Check) { c.UnhealthyThreshold, c.HealthyThreshold = 3, 2 })
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", three), backend("b", "10.0.0.2", three)))
		l.run()
		for range 90 {
			l.at(time.Since(l.start) + 10*time.Second)
			l.want("http_a", "a", route.StateUp, true)
			l.want("http_a", "b", route.StateDown, false)
		}
		l.stop()
	})
}

// TestBehaviourDetectionBound: for 400 phases of the failure the detection takes at
// most the published bound.
func TestBehaviourDetectionBound(t *testing.T) {
	checks := map[string]*route.Check{
		"1/1": tcpCheck(func(c *route.Check) { c.Jitter = 10 }),
		"3/2": tcpCheck(func(c *route.Check) { c.Jitter, c.UnhealthyThreshold, c.FastInterval = 10, 3, time.Second }),
	}
	for name, check := range checks {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, func(c *healthcheck.Config) { c.PerHost, c.Concurrency = 1000, 4000 })
			const phases = 400
			var all []route.Backend
			dies := func(i int) time.Duration { return 30*time.Second + time.Duration(i)*10*time.Second/phases }
			for i := range phases {
				host := fmt.Sprintf("10.1.%d.%d", i/200, i%200+1)
				l.net.set(host+":80", func(ctx context.Context, n int) (net.Conn, error) {
					if time.Since(l.start) >= dies(i) {
						return blackHole(ctx, n)
					}
					return accepts(ctx, n)
				})
				all = append(all, backend(fmt.Sprintf("b%03d", i), host, check))
			}
			l.apply(entrypoint("http_a", all...))
			l.run()
			l.at(2 * time.Minute)
			l.stop()
			bound := l.engine.View().Entrypoints["http_a"].DetectionBound
			if bound <= 0 || bound > 30*time.Second {
				t.Errorf("%s: the published bound is %v", name, bound)
			}
			seen := 0
			for _, m := range l.moves {
				if m.Layer != "active" || m.To != "down" || m.Debug {
					continue
				}
				var i int
				fmt.Sscanf(m.Backend, "b%d", &i)
				seen++
				if took := m.At.Sub(l.start) - dies(i); took > bound {
					t.Errorf("%s: %s was found down after %v, bound %v", name, m.Backend, took, bound)
				}
			}
			if seen != phases {
				t.Errorf("%s: %d of %d were found down", name, seen, phases)
			}
		})
	}
}

// TestBehaviourBudget: a thousand black holes do not change the pace of a good one.
func TestBehaviourBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(c *healthcheck.Config) { c.Concurrency = 64 })
		all := []*route.Entrypoint{entrypoint("http_good", backend("good", "10.0.0.1", tcpCheck(nil)))}
		l.net.set("10.0.0.1:80", accepts)
		l.apply(all...)
		l.run()
		l.at(100 * time.Millisecond)
		for i := range 1000 {
			host := fmt.Sprintf("10.2.%d.%d", i/200, i%200+1)
			l.net.set(host+":80", blackHole)
			all = append(all, entrypoint(fmt.Sprintf("http_%d", i), backend("x", host, tcpCheck(nil))))
		}
		l.apply(all...)
		l.at(20 * time.Minute)
		l.stop()
		good := l.net.launches("10.0.0.1:80")
		for i, at := range good[1:] {
			if gap := at - good[i]; gap != 10*time.Second {
				t.Fatalf("the good backend's pause no. %d was %v", i, gap)
			}
		}
		// 1,000 checks share 32 slots for 5 s each: a turn takes 157 s.
		for i := range 1000 {
			host := fmt.Sprintf("10.2.%d.%d:80", i/200, i%200+1)
			at := l.net.launches(host)
			for n := 2; n < len(at); n++ {
				if gap := at[n] - at[n-1]; gap > 320*time.Second {
					t.Fatalf("%s waited %v for its turn", host, gap)
				}
			}
			if len(at) < 4 {
				t.Fatalf("%s was probed %d times in 20 minutes", host, len(at))
			}
		}
	})
}

// TestBehaviourSerialSweep: slow backends do not delay each other (serial_sweep).
func TestBehaviourSerialSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		var all []route.Backend
		for i := range 50 {
			host := fmt.Sprintf("10.3.0.%d", i+1)
			l.net.set(host+":80", blackHole)
			all = append(all, backend(fmt.Sprintf("b%02d", i), host, tcpCheck(nil)))
		}
		l.apply(entrypoint("http_a", all...))
		l.run()
		l.at(8 * time.Second)
		for _, b := range l.engine.View().Entrypoints["http_a"].Backends {
			if b.State != route.StateDown || b.Kind != route.KindTimeout {
				t.Errorf("%s is %s %s after 8 s", b.Backend.ID, b.State, b.Kind)
			}
		}
		l.stop()
	})
}

// TestBehaviourPerHost: at most eight probes of one host at a time, all get a turn.
func TestBehaviourPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		busy, most := 0, 0
		var all []route.Backend
		for i := range 30 {
			port := uint16(1000 + i)
			l.net.set(fmt.Sprintf("10.0.0.1:%d", port), func(ctx context.Context, n int) (net.Conn, error) {
				l.net.mu.Lock()
				busy++
				most = max(most, busy)
				l.net.mu.Unlock()
				<-time.After(100 * time.Millisecond)
				l.net.mu.Lock()
				busy--
				l.net.mu.Unlock()
				return accepts(ctx, n)
			})
			b := backend(fmt.Sprintf("b%02d", i), "10.0.0.1", tcpCheck(func(c *route.Check) { c.Port = port }))
			all = append(all, b)
		}
		l.apply(entrypoint("http_a", all...))
		l.run()
		l.at(3 * time.Second)
		if got := l.engine.View().Entrypoints["http_a"]; got.Healthy != 30 || most != 8 {
			t.Errorf("%d of 30 healthy, %d at a time", got.Healthy, most)
		}
		l.stop()
	})
}

// TestBehaviourExpedite: a transport failure of real traffic brings the next probe
// forward, without a change of state by itself.
func TestBehaviourExpedite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		up := true
		l.net.set("10.0.0.1:80", func(ctx context.Context, n int) (net.Conn, error) {
			if up {
				return accepts(ctx, n)
			}
			return refuses(ctx, n)
		})
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
		l.run()
		l.at(2500 * time.Millisecond)
		placement := l.cells["http_a"].Load().Members[0].Placement
		l.engine.Report(route.Outcome{Placement: placement, Kind: route.KindBadStatus, Status: 503})
		l.at(4500 * time.Millisecond)
		if n := len(l.net.launches("10.0.0.1:80")); n != 1 {
			t.Errorf("a bad status brought a probe forward: %d launches", n)
		}
		up = false
		l.engine.Report(route.Outcome{Placement: placement, Kind: route.KindConnectionRefused, Transport: true})
		synctest.Wait()
		l.want("http_a", "a", route.StateUp, true)
		l.at(5500 * time.Millisecond)
		l.want("http_a", "a", route.StateDown, true) // panic: the only one
		l.engine.Report(route.Outcome{})
		l.stop()
	})
}

// TestBehaviourExpediteLostInFlight: a report while a probe is in flight causes one
// more probe, never two at once (R9).
func TestBehaviourExpediteLostInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		busy := 0
		l.net.set("10.0.0.1:80", func(ctx context.Context, n int) (net.Conn, error) {
			if busy++; busy > 1 {
				t.Error("two probes at once")
			}
			if n == 1 {
				<-time.After(2500 * time.Millisecond)
			}
			busy--
			return accepts(ctx, n)
		})
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
		l.run()
		l.at(10200 * time.Millisecond) // the second probe runs until 12.5 s
		placement := l.cells["http_a"].Load().Members[0].Placement
		for range 5 {
			l.engine.Report(route.Outcome{Placement: placement, Kind: route.KindConnectionReset, Transport: true})
		}
		l.at(15 * time.Second)
		if got := millis(l.net.launches("10.0.0.1:80")); len(got) != 3 || got[2] < 12500 || got[2] > 13500 {
			t.Errorf("launches %v, want one more right after 12.5 s", got)
		}
		l.stop()
	})
}

// TestBehaviourStartIsNoHerd: first probes of many backends are spread.
func TestBehaviourStartIsNoHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(c *healthcheck.Config) { c.StartupSpread = time.Second })
		var all []*route.Entrypoint
		for i := range 400 {
			host := fmt.Sprintf("10.4.%d.%d", i/200, i%200+1)
			l.net.set(host+":80", accepts)
			all = append(all, entrypoint(fmt.Sprintf("http_%d", i), backend("a", host, tcpCheck(nil))))
		}
		l.run()
		l.apply(all...)
		l.at(2 * time.Second)
		moments := map[int64]int{}
		for i := range 400 {
			at := l.net.launches(fmt.Sprintf("10.4.%d.%d:80", i/200, i%200+1))
			if len(at) == 0 {
				t.Fatalf("no. %d was not probed within 2 s", i)
			}
			moments[at[0].Milliseconds()/100]++
		}
		for at, n := range moments {
			if n > 200 {
				t.Errorf("%d first probes in the tenth of a second no. %d", n, at)
			}
		}
		if !l.engine.View().Settled {
			t.Error("not settled after every first verdict")
		}
		l.stop()
	})
}

// TestBehaviourShutdown: cancelled probes are no failures, nothing is told after the end.
func TestBehaviourShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", func(ctx context.Context, n int) (net.Conn, error) {
			if n == 0 {
				return accepts(ctx, n)
			}
			return blackHole(ctx, n)
		})
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
		l.run()
		l.at(11 * time.Second)
		before := len(l.told("active"))
		l.stop()
		if took := time.Since(l.start); took > 11*time.Second {
			t.Errorf("the end waited for a probe: %v", took)
		}
		l.want("http_a", "a", route.StateUp, true)
		if got := len(l.told("active")); got != before {
			t.Error("a transition was told after the end")
		}
	})
}
