package healthcheck_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

const errNoFiles = syscall.EMFILE

// TestBehaviourReload walks the rows of the reload matrix: what each change does to
// the state and to the probes of a backend that is up since the start. The change
// comes at 4 s; the backend is dead by then.
func TestBehaviourReload(t *testing.T) {
	tests := []struct {
		name   string
		change func(b *route.Backend, c *route.Check)
		// right after the change
		state route.State
		in    bool
		// launches after the change, until 13 s
		launches []int64
	}{
		{"weight", func(b *route.Backend, _ *route.Check) { b.Weight = 7 }, route.StateUp, true, []int64{10000}},
		{"thresholds", func(_ *route.Backend, c *route.Check) { c.UnhealthyThreshold = 3 }, route.StateUp, true, []int64{10000}},
		{"shorter interval", func(_ *route.Backend, c *route.Check) { c.Interval = 2 * time.Second }, route.StateUp, true, []int64{6000, 16000}},
		{"longer interval", func(_ *route.Backend, c *route.Check) { c.Interval = time.Minute }, route.StateUp, true, []int64{10000}},
		{"timeout", func(_ *route.Backend, c *route.Check) { c.Timeout = time.Second }, route.StateUp, true, []int64{10000}},
		{"port", func(_ *route.Backend, c *route.Check) { c.Port = 81 }, route.StateUp, true, nil},
		{"restarted", func(b *route.Backend, _ *route.Check) { b.Incarnation += "x" }, route.StatePending, true, []int64{4000}},
		{"check off", func(b *route.Backend, _ *route.Check) { b.Check = nil }, route.StateUnchecked, true, nil},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			l.net.set("10.0.0.1:80", script("SF"))
			l.net.set("10.0.0.2:80", accepts)
			// The neighbour keeps the entrypoint out of panic and changes with nothing.
			neighbour := entrypoint("http_n", backend("n", "10.0.0.2", tcpCheck(nil)))
			l.apply(neighbour, entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
			l.run()
			l.at(4 * time.Second)
			c := tcpCheck(nil)
			b := backend("a", "10.0.0.1", c)
			tt.change(&b, c)
			l.apply(neighbour, entrypoint("http_a", b))
			l.want("http_a", "a", tt.state, tt.in)
			l.at(17 * time.Second)
			got := millis(l.net.launches("10.0.0.1:80"))[1:]
			if len(tt.launches) > 0 && tt.launches[0] == 4000 && len(got) > 0 && got[0] <= 5000 {
				got, tt.launches = nil, nil // as soon as it is there; its pace is tested elsewhere
			}
			if !slices.Equal(got, tt.launches) {
				t.Errorf("%s: launches %v, want %v", tt.name, got, tt.launches)
			}
			if got := millis(l.net.launches("10.0.0.2:80")); !slices.Equal(got, []int64{0, 10000}) {
				t.Errorf("%s: the neighbour was probed at %v", tt.name, got)
			}
			l.stop()
		})
	}
}

// TestBehaviourAllUpAfterReload: a reload does not bring a dead backend back, whatever
// else changes (all_up_after_reload).
func TestBehaviourAllUpAfterReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", accepts)
		two := func(path string, weight int) *route.Entrypoint {
			bad := backend("b", "10.0.0.2", httpCheck(path, nil))
			bad.Weight = weight
			return entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil)), bad)
		}
		l.apply(two("/old", 1))
		l.run()
		l.at(2500 * time.Millisecond)
		since := l.want("http_a", "b", route.StateDown, false).Since
		l.apply(two("/old", 5))
		l.want("http_a", "b", route.StateDown, false)
		l.apply(two("/new", 5))
		b := l.want("http_a", "b", route.StateDown, false)
		if !b.Since.Equal(since) || b.Kind != route.KindConnectionRefused {
			t.Errorf("since moved from %v to %v, kind %s", since, b.Since, b.Kind)
		}
		l.net.set("10.0.0.2:80", status(200))
		l.at(4 * time.Second)
		l.want("http_a", "b", route.StateUp, true)
		l.stop()
	})
}

// TestBehaviourContentChange: the verdict stands until the first result of the new
// content, which decides alone.
func TestBehaviourContentChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", serves(func(head string) string {
			if strings.HasPrefix(head, "GET /good ") {
				return "HTTP/1.1 200 OK\r\n\r\n"
			}
			return "HTTP/1.1 404 Not Found\r\n\r\n"
		}))
		three := func(c *route.Check) { c.UnhealthyThreshold, c.HealthyThreshold = 3, 3 }
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", httpCheck("/good", three))))
		l.run()
		l.at(2 * time.Second)
		l.want("http_a", "a", route.StateUp, true)
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", httpCheck("/bad?token=x", three))))
		l.want("http_a", "a", route.StateUp, true)
		l.at(3500 * time.Millisecond)
		if b := l.want("http_a", "a", route.StateDown, true); b.Kind != route.KindBadStatus || b.LastResult.Status != 404 {
			t.Errorf("after the new path's first result: %+v", b)
		}
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", httpCheck("/good", three))))
		l.at(5500 * time.Millisecond)
		l.want("http_a", "a", route.StateUp, true)
		l.stop()
	})
}

// TestBehaviourRename: a renamed entrypoint inherits the verdict of the same check, and
// the stream of probes goes on.
func TestBehaviourRename(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", accepts)
		l.apply(entrypoint("http_old", backend("a", "10.0.0.1", tcpCheck(nil)), backend("b", "10.0.0.2", tcpCheck(nil))))
		l.run()
		l.at(2500 * time.Millisecond)
		l.apply(entrypoint("http_new", backend("a", "10.0.0.1", tcpCheck(nil)), backend("b", "10.0.0.2", tcpCheck(nil))))
		l.want("http_new", "a", route.StateUp, true)
		l.want("http_new", "b", route.StateDown, false)
		if _, left := l.engine.View().Entrypoints["http_old"]; left {
			t.Error("the old name is still there")
		}
		l.at(12 * time.Second)
		if got := millis(l.net.launches("10.0.0.1:80")); !slices.Equal(got, []int64{0, 10000}) {
			t.Errorf("launches %v", got)
		}
		l.stop()
	})
}

// TestBehaviourIPReuse: another container with the same address starts anew (ip_reuse).
func TestBehaviourIPReuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", script("SF"))
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
		l.run()
		l.at(2 * time.Second)
		l.want("http_a", "a", route.StateUp, true)
		l.apply(entrypoint("http_a", backend("z", "10.0.0.1", tcpCheck(nil))))
		l.want("http_a", "z", route.StatePending, true)
		l.at(4 * time.Second)
		l.want("http_a", "z", route.StateDown, true)
		l.stop()
	})
}

// TestBehaviourSharedChecks: equal checks share one stream of probes, different ones on
// one address have verdicts of their own (same_address_two_checks).
func TestBehaviourSharedChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		var mu sync.Mutex
		seen := map[string]int{}
		l.net.set("10.0.0.1:80", serves(func(head string) string {
			line, _, _ := strings.Cut(head, "\r\n")
			mu.Lock()
			defer mu.Unlock()
			seen[line]++
			if strings.Contains(line, "/bad") {
				return "HTTP/1.1 500 X\r\n\r\n"
			}
			return "HTTP/1.1 204 X\r\n\r\n"
		}))
		strict := func(c *route.Check) { c.UnhealthyThreshold = 2 }
		l.apply(
			entrypoint("http_a", backend("x", "10.0.0.1", httpCheck("/good", nil))),
			entrypoint("http_b", backend("x", "10.0.0.1", httpCheck("/good", strict))),
			entrypoint("http_c", backend("x", "10.0.0.1", httpCheck("/bad", nil))),
		)
		l.run()
		l.at(35 * time.Second)
		l.want("http_a", "x", route.StateUp, true)
		l.want("http_b", "x", route.StateUp, true)
		l.want("http_c", "x", route.StateDown, true)
		if seen["GET /good HTTP/1.1"] != 4 || seen["GET /bad HTTP/1.1"] != 4 {
			t.Errorf("on the wire: %v, want four of each", seen)
		}
		checks := l.engine.View().Checks
		if len(checks) != 2 || !slices.IsSortedFunc(checks, func(a, b route.CheckView) int { return strings.Compare(a.ID, b.ID) }) {
			t.Fatalf("checks: %+v", checks)
		}
		var shared []string
		for _, c := range checks {
			shared = append(shared, c.Target+" "+strings.Join(c.SharedWith, ","))
		}
		slices.Sort(shared)
		if want := []string{"10.0.0.1:80 http_a,http_b", "10.0.0.1:80 http_c"}; !slices.Equal(shared, want) {
			t.Errorf("shared with %v, want %v", shared, want)
		}
		l.stop()
	})
}

// TestBehaviourLateResults: a prober that ignores its cancellation changes nothing any
// more: after a removal, after a re-add, after new settings.
func TestBehaviourLateResults(t *testing.T) {
	b := backend("a", "10.0.0.1", tcpCheck(nil))
	other := tcpCheck(func(c *route.Check) { c.Timeout = 3 * time.Second })
	for name, next := range map[string][]*route.Entrypoint{
		"removed":       {},
		"new container": {entrypoint("http_a", backend("z", "10.0.0.1", tcpCheck(nil)))},
		"new settings":  {entrypoint("http_a", backend("a", "10.0.0.1", other))},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			release := make(chan struct{})
			l.net.set("10.0.0.1:80", func(ctx context.Context, n int) (net.Conn, error) {
				if n == 1 {
					<-release
					return refuses(ctx, n)
				}
				return accepts(ctx, n)
			})
			l.apply(entrypoint("http_a", b))
			l.run()
			l.at(10500 * time.Millisecond) // the second probe is stuck
			l.apply(next...)
			l.at(12 * time.Second)
			close(release)
			l.at(13 * time.Second)
			for _, e := range next {
				got := l.want("http_a", e.Backends[0].ID, route.StateUp, true)
				if got.Counters.Failures != 0 {
					t.Errorf("%s: the late result was counted: %+v", name, got.Counters)
				}
				if name == "new settings" && got.Counters.LateResults != 1 {
					t.Errorf("%s: late results %d, want 1", name, got.Counters.LateResults)
				}
			}
			for _, m := range l.told("active") {
				if strings.Contains(m, ">down") {
					t.Errorf("%s: told %s", name, m)
				}
			}
			l.stop()
		})
	}
}

// TestBehaviourMalformedMasksTimeout: half a status line and then silence is a timeout
// (malformed_masks_timeout), and so is a success after the deadline.
func TestBehaviourMalformedMasksTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", func(ctx context.Context, _ int) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				buf := make([]byte, 4096)
				_, _ = server.Read(buf)
				_, _ = server.Write([]byte("HTTP/1.1 2"))
				_, _ = server.Read(buf) // until the prober closes
			}()
			return client, nil
		})
		l.net.set("10.0.0.2:80", func(ctx context.Context, n int) (net.Conn, error) {
			<-time.After(6 * time.Second)
			return accepts(ctx, n)
		})
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", httpCheck("/", nil)), backend("b", "10.0.0.2", tcpCheck(nil))))
		l.run()
		l.at(8 * time.Second)
		for _, id := range []string{"a", "b"} {
			if b := l.want("http_a", id, route.StateDown, true); b.Kind != route.KindTimeout {
				t.Errorf("%s: kind %s", id, b.Kind)
			}
		}
		l.stop()
	})
}

// TestBehaviourRouterStart: until every first verdict is there, verified and pending
// backends serve together; twice the timeout ends it.
func TestBehaviourRouterStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", accepts)
		l.net.set("10.0.0.2:80", blackHole)
		young := backend("b", "10.0.0.2", tcpCheck(func(c *route.Check) { c.Timeout, c.InitialDelay = 2*time.Second, time.Minute }))
		young.StartedAt = l.start
		quick := tcpCheck(func(c *route.Check) { c.Timeout = 2 * time.Second })
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", quick), young))
		l.run()
		l.at(2500 * time.Millisecond)
		if got := members(l.cells["http_a"]); got != "a,b panic=false " || l.engine.View().Settled {
			t.Errorf("at the start: %q, settled %v", got, l.engine.View().Settled)
		}
		l.at(5500 * time.Millisecond)
		if got := members(l.cells["http_a"]); got != "a panic=false " || !l.engine.View().Settled {
			t.Errorf("after twice the timeout: %q, settled %v", got, l.engine.View().Settled)
		}
		l.stop()
	})
}

// TestBehaviourNewcomer: a newcomer does not serve beside verified backends.
func TestBehaviourNewcomer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", accepts)
		l.net.set("10.0.0.2:80", accepts)
		a := backend("a", "10.0.0.1", tcpCheck(nil))
		l.apply(entrypoint("http_a", a))
		l.run()
		l.at(20 * time.Second)
		l.apply(entrypoint("http_a", a, backend("b", "10.0.0.2", tcpCheck(nil))))
		if b := l.want("http_a", "b", route.StatePending, false); b.RotationReason != route.OutPendingVerifiedExists {
			t.Errorf("the newcomer is out because of %s", b.RotationReason)
		}
		l.at(21500 * time.Millisecond)
		l.want("http_a", "b", route.StateUp, true)
		l.stop()
	})
}
