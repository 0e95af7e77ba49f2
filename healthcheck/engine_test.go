package healthcheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestRandomWalk lets backends, Docker's words, settings and reloads change at random
// and holds every view to the schema and to the promises.
func TestRandomWalk(t *testing.T) {
	for seed := range uint64(12) {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) { walk(r, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func walk(r *rig, dice *rand.Rand) {
	pick := func(n int) bool { return dice.IntN(n) == 0 }
	words := []route.ProviderState{route.ProviderPresent, route.ProviderPresent, route.ProviderPresent, route.ProviderStarting, route.ProviderUnhealthy, route.ProviderLeaving}
	modes := []route.PanicMode{route.PanicAll, route.PanicLast, route.PanicOff}
	var backends []route.Backend
	for i := range 4 {
		backends = append(backends, backend(fmt.Sprintf("b%d", i), fmt.Sprintf("10.0.0.%d", i+1), checked(func(c *route.Check) {
			c.Interval, c.UnhealthyThreshold = 3*time.Second, 1+i
		})))
	}
	e := &route.Entrypoint{ID: "http_api", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
	r.run()
	before := map[string]route.BackendHealth{}
	for step := range 150 {
		i := dice.IntN(len(backends))
		b := &backends[i]
		behave := []func(context.Context) (net.Conn, error){accept, accept, refuse, blackhole}[dice.IntN(4)]
		r.net.set(b.Address(), behave)
		switch dice.IntN(8) {
		case 0:
			b.Provider = words[dice.IntN(len(words))]
			b.Docker = []route.DockerHealth{route.DockerHealthPrefer, route.DockerHealthRequire}[dice.IntN(2)]
		case 1:
			b.Weight = []int{0, 1, 100}[dice.IntN(3)]
		case 2:
			checked(func(c *route.Check) {
				c.UnhealthyThreshold, c.HealthyThreshold = 1+dice.IntN(3), 1+dice.IntN(3)
				c.Initial = []route.Initial{route.InitialAuto, route.InitialUp, route.InitialDown}[dice.IntN(3)]
				if pick(3) {
					c.Interval = time.Duration(1+dice.IntN(5)) * time.Second
				}
				if pick(3) {
					c.Timeout = time.Duration(1+dice.IntN(5)) * time.Second
				}
			})(b)
		case 3:
			b.Incarnation += "+"
		case 4:
			if full := backend(b.ID, b.Host).Check; b.Check == nil {
				b.Check = full
			} else if pick(2) {
				b.Check = nil
			} else {
				checked(func(c *route.Check) { c.Type, c.Path = route.ProbeHTTP, fmt.Sprint("/", step) })(b)
			}
		}
		next := *e
		next.Options.Panic = modes[dice.IntN(3)]
		r.apply(r.setOf(&next, slices.Clone(backends[:1+dice.IntN(4)])...))
		r.at(time.Since(r.start) + time.Duration(dice.IntN(4000))*time.Millisecond)
		inspect(r, before)
	}
}

// inspect holds one view to the rules, to the rotation and to the view before.
func inspect(r *rig, before map[string]route.BackendHealth) {
	r.t.Helper()
	v := r.engine.View()
	h := v.Entrypoints["http_api"]
	var in []string
	for i := range h.Backends {
		b := &h.Backends[i]
		checkRules(r.t, b)
		if b.InRotation {
			in = append(in, b.Backend.ID)
		}
		old, known := before[b.Backend.Incarnation]
		if known && old.State == b.State && old.Counters.Transitions == b.Counters.Transitions && !old.Since.Equal(b.Since) {
			r.t.Errorf("%s: since moved from %s to %s without a transition", b.Backend.ID, old.Since, b.Since)
		}
	}
	clear(before)
	for _, b := range h.Backends {
		before[b.Backend.Incarnation] = b
	}
	if got := r.serving("http_api"); got != strings.Join(in, " ") {
		r.t.Errorf("the rotation is %q, the view says %q", got, in)
	}
	rot := r.cells["http_api"].Load()
	if rot.Rev > v.Rev || rot.Panic != h.Panic.Active || (len(rot.Members) == 0) != (h.ServesWhenDown == 503) || h.Explain == "" {
		r.t.Errorf("rotation %+v beside %+v", rot, h)
	}
	if h.Total != len(h.Backends) || h.InRotation != len(in) {
		r.t.Errorf("the counts are wrong: %+v", h)
	}
}

// stubborn is a prober that ignores its cancellation.
type stubborn struct {
	release chan struct{}
	result  Result
}

func (s *stubborn) Probe(context.Context, Target, *Spec) Result {
	<-s.release
	return s.result
}

// TestRemovedAndAddedInOneApply: what is named again in the same Apply keeps its state
// and its stream of probes, whatever new pointers say it.
func TestRemovedAndAddedInOneApply(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		for i := range 20 {
			r.at(time.Duration(i+1) * 500 * time.Millisecond)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
			r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		}
		r.at(11 * time.Second)
		if got := r.net.dials("10.0.0.1:80"); !slices.Equal(got, secs(0, 10)) {
			t.Errorf("probed at %v", got)
		}
	})
}

// TestContentChangeInFlight: a probe launched before a change of content does not
// decide for the new one (R8).
func TestContentChangeInFlight(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.1:81", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.at(9 * time.Second)
		r.net.set("10.0.0.1:80", func(context.Context) (net.Conn, error) {
			<-time.After(2 * time.Second) // ignores the cancellation
			return refuse(nil)            //nolint:staticcheck // not looked at
		})
		r.at(11 * time.Second)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(func(c *route.Check) { c.Port = 81 }))))
		r.at(13 * time.Second)
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		if h := r.health("http_api", "b1"); h.Counters.Failures != 0 || h.Counters.LateResults != 1 || h.LastResult.Stale {
			t.Errorf("%+v", h)
		}
	})
}

// TestStaleVerdict: between a change of content and its first result the old verdict
// stands, and says that it is stale.
func TestStaleVerdict(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.1:81", blackhole)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2")))
		r.run()
		r.at(5 * time.Second)
		port := func(n uint16) func(*route.Backend) { return checked(func(c *route.Check) { c.Port = n }) }
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", port(81)), backend("b2", "10.0.0.2", port(81))))
		for _, id := range []string{"b1", "b2"} {
			if h := r.health("http_api", id); h.LastResult == nil || id == "b1" && !h.LastResult.Stale {
				t.Errorf("%s: %+v", id, h.LastResult)
			}
		}
		r.wantServing("http_api", "b1")
		if h := r.health("http_api", "b1"); !strings.Contains(h.Explain, "The check has changed since") || h.State != route.StateUp {
			t.Errorf("%s %s", h.State, h.Explain)
		}
		r.at(11 * time.Second)
		r.wantState("http_api", "b1", route.StateDown, route.InPanicAll)
	})
}

// TestDockerHealthy: Docker's "healthy" brings the next probe forward.
func TestDockerHealthy(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		gated := backend("b1", "10.0.0.1", func(b *route.Backend) { b.Provider = route.ProviderUnhealthy })
		r.apply(r.set("http_api", gated))
		r.run()
		r.at(3500 * time.Millisecond)
		r.wantState("http_api", "b1", route.StateGated, route.OutDockerUnhealthy)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.wantState("http_api", "b1", route.StateUp, route.InVerified) // probing went on while gated
		r.at(4500 * time.Millisecond)
		if got := r.net.dials("10.0.0.1:80"); !slices.Equal(got, secs(0, 4)) {
			t.Errorf("probed at %v", got)
		}
		want := []string{"0s http_api/b1 pending>gated", "0s http_api/ pending>down", "3.5s http_api/b1 gated>up", "3.5s http_api/ down>ok"}
		if got := r.seen.loud(r.start); !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
	})
}

// TestLeavingAndBack: a backend that leaves is not judged, and returns with the verdict
// that it had.
func TestLeavingAndBack(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.at(9 * time.Second)
		r.net.set("10.0.0.1:80", blackhole)
		r.at(11 * time.Second) // a probe is in flight
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", func(b *route.Backend) { b.Provider = route.ProviderLeaving })))
		r.at(30 * time.Second)
		r.wantState("http_api", "b1", route.StateLeaving, route.OutLeaving)
		if h := r.health("http_api", "b1"); !h.NextCheckAt.IsZero() || h.InFlightProbe || h.Kind != route.KindLeaving {
			t.Errorf("%+v", h)
		}
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		r.at(36 * time.Second)
		r.wantState("http_api", "b1", route.StateDown, route.InPanicAll)
	})
}

// TestSecondProviderStarts: the wait for first verdicts of a provider that comes later
// ends as well.
func TestSecondProviderStarts(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		first := r.set("http_api", backend("b1", "10.0.0.1"))
		r.apply(first)
		r.run()
		r.at(20 * time.Second)
		r.wantSettled(true)
		r.net.set("10.0.0.2:80", accept)
		r.net.set("10.0.0.3:80", blackhole)
		slow := checked(func(c *route.Check) { c.InitialDelay, c.Timeout = time.Minute, 2*time.Second })
		second := r.setOf(&route.Entrypoint{ID: "http_file", Protocol: route.HTTP, Source: "file", Options: route.DefaultOptions()},
			backend("b2", "10.0.0.2"), backend("b3", "10.0.0.3", slow))
		r.apply(first, second)
		r.at(22 * time.Second)
		r.wantServing("http_file", "b2 b3")
		r.wantSettled(false)
		r.at(31 * time.Second)
		r.wantServing("http_file", "b2")
		r.wantState("http_file", "b3", route.StatePending, route.OutPendingVerifiedExists)
		r.wantSettled(true)
		r.apply(first, second, r.set("http_more", backend("b4", "10.0.0.3", slow))) // no first snapshot
		r.wantSettled(true)
	})
}

// TestSecondProviderAtTheStart: that the verdicts of one provider are all there does not
// settle the engine for another one that is read a moment later.
func TestSecondProviderAtTheStart(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", blackhole)
		file := r.setOf(&route.Entrypoint{ID: "http_file", Protocol: route.HTTP, Source: "file", Options: route.DefaultOptions()}, backend("b1", "10.0.0.1"))
		r.apply(file)
		r.run()
		r.at(500 * time.Millisecond)
		r.wantSettled(true)
		r.apply(file, r.set("http_api", backend("b2", "10.0.0.2")))
		r.wantSettled(false)
		r.at(4 * time.Second)
		r.wantSettled(false)
		r.at(7 * time.Second)
		r.wantState("http_api", "b2", route.StateDown, route.InPanicAll)
		r.wantSettled(true)
	})
}

func (r *rig) wantSettled(want bool) {
	r.t.Helper()
	if got := r.engine.View().Settled; got != want {
		r.t.Errorf("at %s: settled %v, want %v", time.Since(r.start), got, want)
	}
}

// TestProofEnds: successes are counted only while a backend serves unverified.
func TestProofEnds(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		s := r.set("http_api", backend("b1", "10.0.0.1"))
		r.apply(s)
		r.run()
		if got := r.engine.reports.few.Load(); got != 1 {
			t.Errorf("%d suspects while in panic", got)
		}
		again := r.set("http_api", backend("b1", "10.0.0.1")) // with a Load of its own
		r.apply(again)
		if _, old := r.engine.reports.suspects.Load(s.Placements[0].Load); old || r.engine.reports.few.Load() != 1 {
			t.Error("the old load is still watched")
		}
		r.net.set("10.0.0.1:80", accept)
		r.at(11 * time.Second)
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		if got := r.engine.reports.few.Load(); got != 0 {
			t.Errorf("%d suspects after the panic", got)
		}
		r.net.set("10.0.0.1:80", refuse)
		r.at(21 * time.Second)
		r.apply()
		if got := r.engine.reports.few.Load(); got != 0 {
			t.Errorf("%d suspects after the removal", got)
		}
	})
}

// TestUDPIsNotProbed: whatever a check says.
func TestUDPIsNotProbed(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		e := &route.Entrypoint{ID: "udp_dns", Protocol: route.UDP, Source: "docker", Options: route.DefaultOptions()}
		r.apply(r.setOf(e, backend("b1", "10.0.0.1")))
		r.run()
		r.at(30 * time.Second)
		r.wantState("udp_dns", "b1", route.StateUnchecked, route.InUnchecked)
		if got := r.net.dials("10.0.0.1:80"); len(got) != 0 {
			t.Errorf("probed at %v", got)
		}
	})
}

// TestExpediteLimit: traffic brings a probe forward at most once per fast interval.
func TestExpediteLimit(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		set := r.set("http_api", backend("b1", "10.0.0.1"))
		r.apply(set)
		r.run()
		for i := range 90 {
			r.at(time.Duration(i)*100*time.Millisecond + 50*time.Millisecond)
			r.engine.Report(route.Outcome{Placement: set.Placements[0], Transport: true, Kind: route.KindConnectionReset})
		}
		r.engine.Report(route.Outcome{Placement: &route.Placement{Entrypoint: "gone"}, Transport: true})
		r.engine.Report(route.Outcome{Placement: &route.Placement{Entrypoint: "http_api"}, Transport: true})
		r.at(9900 * time.Millisecond)
		if got := r.net.dials("10.0.0.1:80"); !slices.Equal(got, secs(0, 1)) {
			t.Errorf("probed at %v", got)
		}
	})
}

// bomb is a prober with a bug.
type bomb struct{}

func (bomb) Probe(context.Context, Target, *Spec) Result { panic("canary") }

// TestProberPanics: a bug in a prober is a failed probe and a stack in the log.
func TestProberPanics(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.engine.probers[route.ProbeTCP] = bomb{}
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		if h := r.health("http_api", "b1"); h.Kind != route.KindConfigError || h.State != route.StateDown {
			t.Errorf("%+v", h)
		}
		if log := strings.Join(r.logs.lines(), "\n"); !strings.Contains(log, "a prober panicked") || strings.Contains(log, "canary") {
			t.Error(log)
		}
	})
}
