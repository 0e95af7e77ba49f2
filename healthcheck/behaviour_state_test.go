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

	"github.com/rs/zerolog"

	"fairlead/healthcheck"
	"fairlead/router/route"
)

func members(c *route.RotationCell) string {
	r := c.Load()
	var ids []string
	for _, m := range r.Members {
		ids = append(ids, m.Placement.Backend.ID)
	}
	return fmt.Sprintf("%s panic=%v %s", strings.Join(ids, ","), r.Panic, r.Reason)
}

// TestBehaviourFirstResult: what serves before the first verdict, and that one result
// decides, for every value of initial.
func TestBehaviourFirstResult(t *testing.T) {
	tests := []struct {
		initial      route.Initial
		before       string
		good, failed string
	}{
		{route.InitialAuto, "a panic=false ", "a panic=false ", "a panic=true "},
		{route.InitialUp, "a panic=false ", "a panic=false ", "a panic=true "},
		{route.InitialDown, " panic=false initializing", "a panic=false ", " panic=false all_unhealthy"},
	}
	for _, tt := range tests {
		for _, good := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, nil)
				if good {
					l.net.set("10.0.0.1:80", accepts)
				}
				check := tcpCheck(func(c *route.Check) { c.Initial, c.UnhealthyThreshold, c.HealthyThreshold = tt.initial, 3, 3 })
				l.apply(entrypoint("http_a", backend("a", "10.0.0.1", check)))
				if got := members(l.cells["http_a"]); got != tt.before {
					t.Errorf("%s: before the first result %q, want %q", tt.initial, got, tt.before)
				}
				l.run()
				l.at(1500 * time.Millisecond)
				want, state := tt.good, route.StateUp
				if !good {
					want, state = tt.failed, route.StateDown
				}
				if got := members(l.cells["http_a"]); got != want {
					t.Errorf("%s, %v: after the first result %q, want %q", tt.initial, good, got, want)
				}
				l.want("http_a", "a", state, strings.HasPrefix(want, "a"))
				l.stop()
			})
		}
	}
}

// TestBehaviourInitialDelay: failures of a young container leave it pending, probed
// each second; a success makes it up at once.
func TestBehaviourInitialDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", script("FFFFS"))
		check := tcpCheck(func(c *route.Check) { c.InitialDelay = 10 * time.Second })
		slow, fast := backend("slow", "10.0.0.2", check), backend("fast", "10.0.0.1", check)
		slow.StartedAt, fast.StartedAt = l.start, l.start.Add(time.Hour) // a clock that is ahead
		l.apply(entrypoint("http_a", slow, fast))
		l.run()
		l.at(3500 * time.Millisecond)
		l.want("http_a", "fast", route.StatePending, true)
		b := l.want("http_a", "slow", route.StatePending, true)
		if b.Counters.Failures != 4 || b.Kind != route.KindNone || b.Healthy != nil || b.LastResult == nil {
			t.Errorf("a young backend that fails: %+v", b)
		}
		l.at(4500 * time.Millisecond)
		l.want("http_a", "fast", route.StateUp, true)
		l.at(9500 * time.Millisecond)
		l.want("http_a", "slow", route.StatePending, false)
		l.at(11500 * time.Millisecond)
		l.want("http_a", "slow", route.StateDown, false)
		if got, want := millis(l.net.launches("10.0.0.1:80")), []int64{0, 1000, 2000, 3000, 4000}; !slices.Equal(got, want) {
			t.Errorf("launches while pending %v, want %v", got, want)
		}
		l.stop()
	})
}

// TestBehaviourRotation: one of two fails and gets nothing; both fail and both serve;
// recovery ends the panic.
func TestBehaviourRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", script("SSFFS"))
		l.net.set("10.0.0.2:80", script("SFFFF"))
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil)), backend("b", "10.0.0.2", tcpCheck(nil))))
		l.run()
		l.at(5 * time.Second)
		if h := l.engine.View().Entrypoints["http_a"]; h.State != route.EntrypointOK || h.Healthy != 2 {
			t.Errorf("both up: %+v", h)
		}
		l.at(15 * time.Second)
		l.want("http_a", "a", route.StateUp, true)
		if b := l.want("http_a", "b", route.StateDown, false); b.RotationReason != route.OutProbeFailed || b.Kind != route.KindConnectionRefused {
			t.Errorf("b is out because of %s %s", b.RotationReason, b.Kind)
		}
		if h := l.engine.View().Entrypoints["http_a"]; h.State != route.EntrypointPartial || h.ServesWhenDown != 0 {
			t.Errorf("one down: %s, %d", h.State, h.ServesWhenDown)
		}
		l.at(25 * time.Second)
		l.want("http_a", "a", route.StateDown, true)
		if b := l.want("http_a", "b", route.StateDown, true); b.RotationReason != route.InPanicAll {
			t.Errorf("b is in because of %s", b.RotationReason)
		}
		h := l.engine.View().Entrypoints["http_a"]
		if h.State != route.EntrypointPanic || !h.Panic.Active || h.Panic.Since.Sub(l.start) != 20*time.Second || h.Explain == "" {
			t.Errorf("panic: %+v", h)
		}
		l.at(45 * time.Second)
		l.want("http_a", "a", route.StateUp, true)
		l.want("http_a", "b", route.StateDown, false)
		if got, want := l.told("route"), []string{"20000 partial>panic", "40000 panic>partial"}; !slices.Equal(got, want) {
			t.Errorf("told of the route: %v, want %v", got, want)
		}
		l.stop()
	})
}

// TestBehaviourPanicModes: off serves nothing with a Retry-After, last only the one
// that failed last.
func TestBehaviourPanicModes(t *testing.T) {
	for mode, want := range map[route.PanicMode]string{
		route.PanicOff:  " panic=false all_unhealthy",
		route.PanicLast: "b panic=true ",
		route.PanicAll:  "a,b panic=true ",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, nil)
			l.net.set("10.0.0.1:80", script("SF"))
			l.net.set("10.0.0.2:80", script("SSF"))
			e := entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil)), backend("b", "10.0.0.2", tcpCheck(nil)))
			e.Options.Panic = mode
			l.apply(e)
			l.run()
			l.at(26 * time.Second)
			if got := members(l.cells["http_a"]); got != want {
				t.Errorf("panic=%s: %q, want %q", mode, got, want)
			}
			if wait := l.cells["http_a"].RetryAfter(time.Now()); mode == route.PanicOff && wait != 4 {
				t.Errorf("Retry-After %d, want 4: the next probes are at 30 s", wait)
			}
			if h := l.engine.View().Entrypoints["http_a"]; mode == route.PanicOff && (h.State != route.EntrypointDown || h.ServesWhenDown != 503) {
				t.Errorf("panic=off: %s, %d", h.State, h.ServesWhenDown)
			}
			l.stop()
		})
	}
}

// TestBehaviourDockerUnhealthy: Docker's word empties the rotation, but the entrypoint
// stays and says why (docker_unhealthy_404); its way back is its own.
func TestBehaviourDockerUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", accepts)
		word := func(s route.ProviderState, d route.DockerHealth) {
			b := backend("a", "10.0.0.1", tcpCheck(nil))
			b.Provider, b.Docker = s, d
			l.apply(entrypoint("http_a", b))
			l.at(time.Since(l.start) + 1500*time.Millisecond)
		}
		l.run()
		word(route.ProviderStarting, route.DockerHealthPrefer)
		if b := l.backend("http_a", "a"); !b.InRotation || b.Healthy != nil && b.State != route.StateUp {
			t.Errorf("starting: %+v", b)
		}
		word(route.ProviderStarting, route.DockerHealthRequire)
		if got := members(l.cells["http_a"]); got != " panic=false initializing" {
			t.Errorf("starting, required: %q", got)
		}
		l.want("http_a", "a", route.StateGated, false)
		word(route.ProviderPresent, route.DockerHealthPrefer)
		l.want("http_a", "a", route.StateUp, true)
		word(route.ProviderUnhealthy, route.DockerHealthPrefer)
		if got := members(l.cells["http_a"]); got != " panic=false docker_unhealthy" {
			t.Errorf("unhealthy: %q", got)
		}
		b := l.want("http_a", "a", route.StateGated, false)
		if b.Kind != route.KindDockerUnhealthy || b.Source != "provider" || b.Healthy == nil || *b.Healthy || b.RotationReason != route.OutDockerUnhealthy {
			t.Errorf("unhealthy: %+v", b)
		}
		if h := l.engine.View().Entrypoints["http_a"]; h.State != route.EntrypointDown || h.Reason != route.ReasonDockerUnhealthy || h.ServesWhenDown != 503 {
			t.Errorf("unhealthy: %+v", h)
		}
		word(route.ProviderPresent, route.DockerHealthPrefer)
		l.want("http_a", "a", route.StateUp, true)
		launches := len(l.net.launches("10.0.0.1:80"))
		word(route.ProviderLeaving, route.DockerHealthPrefer)
		l.at(time.Since(l.start) + time.Minute)
		if b := l.want("http_a", "a", route.StateLeaving, false); b.RotationReason != route.OutLeaving {
			t.Errorf("leaving: %s", b.RotationReason)
		}
		if got := len(l.net.launches("10.0.0.1:80")); got != launches {
			t.Errorf("a leaving backend was probed %d times", got-launches)
		}
		l.stop()
	})
}

// TestBehaviourEmptyEntrypoints: entrypoints that cannot serve say why.
func TestBehaviourEmptyEntrypoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", accepts)
		retained := entrypoint("http_retained")
		retained.RetainedUntil = l.start.Add(time.Hour)
		retained.Absent = []route.Absence{{CandidateID: "x", Why: route.AbsentRetained, Until: l.start.Add(time.Hour)}}
		closed := entrypoint("http_closed", backend("a", "10.0.0.1", tcpCheck(nil)))
		closed.FailClosed = &route.FailClosed{Code: "E113", Label: "auth.basic"}
		unchecked := backend("u", "10.0.0.9", nil)
		l.apply(entrypoint("http_none"), retained, closed, entrypoint("http_unchecked", unchecked))
		l.run()
		l.at(2 * time.Second)
		for id, want := range map[string]route.Reason{
			"http_none": route.ReasonNoBackends, "http_retained": route.ReasonRetained, "http_closed": route.ReasonMisconfigured,
		} {
			h := l.engine.View().Entrypoints[id]
			if h.State != route.EntrypointDown || h.Reason != want || h.ServesWhenDown != 503 || h.Explain == "" {
				t.Errorf("%s: %s %s %d %q", id, h.State, h.Reason, h.ServesWhenDown, h.Explain)
			}
			if got := l.cells[id].Load(); got.Reason != want || len(got.Members) > 0 {
				t.Errorf("%s: the rotation says %q with %d members", id, got.Reason, len(got.Members))
			}
		}
		if h := l.engine.View().Entrypoints["http_closed"]; h.Code != "E113" {
			t.Errorf("the closed one names code %q", h.Code)
		}
		if h := l.engine.View().Entrypoints["http_unchecked"]; h.State != route.EntrypointUnchecked {
			t.Errorf("unchecked: %s", h.State)
		}
		l.want("http_unchecked", "u", route.StateUnchecked, true)
		l.stop()
	})
}

// TestBehaviourBackup: a backup serves only while no primary is verified.
func TestBehaviourBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", script("SFS"))
		l.net.set("10.0.0.2:80", accepts)
		spare := backend("spare", "10.0.0.2", tcpCheck(nil))
		spare.Weight = 0
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil)), spare))
		l.run()
		l.at(5 * time.Second)
		if b := l.want("http_a", "spare", route.StateUp, false); b.RotationReason != route.OutBackupStandby {
			t.Errorf("spare: %s", b.RotationReason)
		}
		l.at(15 * time.Second)
		if b := l.want("http_a", "spare", route.StateUp, true); b.RotationReason != route.InBackupActive {
			t.Errorf("spare: %s", b.RotationReason)
		}
		if h := l.engine.View().Entrypoints["http_a"]; !h.BackupsServing {
			t.Error("backups serve and it does not say so")
		}
		l.at(25 * time.Second)
		l.want("http_a", "spare", route.StateUp, false)
		l.stop()
	})
}

// TestBehaviourLog: one line per transition, none in steady state.
func TestBehaviourLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, func(c *healthcheck.Config) { c.Log = c.Log.Level(zerolog.InfoLevel) })
		l.net.set("10.0.0.1:80", outage(l))
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
		l.run()
		l.at(5 * time.Minute)
		l.stop()
		var got []string
		for line := range strings.Lines(l.logs.String()) {
			for _, field := range []string{"route", "from", "to", "cause", "rev", "in_rotation"} {
				if !strings.Contains(line, `"`+field+`":`) {
					t.Errorf("a line lacks %s: %s", field, line)
				}
			}
			level, rest, _ := strings.Cut(strings.TrimPrefix(line, `{"level":"`), `"`)
			_, msg, _ := strings.Cut(rest, `"message":"`)
			for strings.Contains(msg, `"message":"`) {
				_, msg, _ = strings.Cut(msg, `"message":"`)
			}
			msg, _, _ = strings.Cut(msg, `"`)
			got = append(got, level+" "+msg)
		}
		want := []string{"info backend up", "warn backend down", "warn route panic started", "info backend up", "info route panic ended"}
		if !slices.Equal(got, want) {
			t.Errorf("lines %q, want %q\n%s", got, want, l.logs)
		}
	})
}

// idleCounter counts the calls of an upstream.
type idleCounter struct{ closed int }

func (u *idleCounter) CloseIdle()          { u.closed++ }
func (u *idleCounter) Retire(route.Drain)  {}
func (u *idleCounter) CloseTunnels(string) {}
func (u *idleCounter) Reinstate()          {}

// TestBehaviourCloseIdle: pooled connections of a backend that went down are closed.
func TestBehaviourCloseIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", script("SSFFFF"))
		upstream := &idleCounter{}
		e := entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil)))
		cell := &route.RotationCell{}
		l.engine.Apply(1, []route.PlacementSet{{Entrypoint: e, Cell: cell, Placements: []*route.Placement{
			{Entrypoint: "http_a", Backend: e.Backends[0], Load: &route.Load{}, Upstream: upstream},
		}}})
		l.run()
		l.at(time.Minute)
		l.stop()
		if upstream.closed != 1 {
			t.Errorf("CloseIdle was called %d times, want once", upstream.closed)
		}
	})
}

// TestBehaviourLocalError: a lack of our own resources is no failure of the backend's.
func TestBehaviourLocalError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, nil)
		l.net.set("10.0.0.1:80", func(ctx context.Context, n int) (net.Conn, error) {
			if n >= 1 && n <= 4 {
				return nil, &net.OpError{Op: "dial", Err: errNoFiles}
			}
			return accepts(ctx, n)
		})
		l.apply(entrypoint("http_a", backend("a", "10.0.0.1", tcpCheck(nil))))
		l.run()
		l.at(13500 * time.Millisecond)
		l.want("http_a", "a", route.StateUp, true)
		if got := l.engine.View().Global; len(got) != 1 || got[0].Hint == "" {
			t.Errorf("after four local errors in a row the view says %v", got)
		}
		l.at(14500 * time.Millisecond)
		if got := l.engine.View().Global; len(got) != 0 {
			t.Errorf("after a good probe the view still says %v", got)
		}
		if got, want := millis(l.net.launches("10.0.0.1:80")), []int64{0, 10000, 11000, 12000, 13000, 14000}; !slices.Equal(got, want) {
			t.Errorf("launches %v, want %v", got, want)
		}
		l.stop()
	})
}
