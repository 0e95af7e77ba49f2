package healthcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// TestLateResultAfterShutdown: what a probe says after the stop changes nothing (R1,
// R16), and Run waits for it.
func TestLateResultAfterShutdown(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		s := &stubborn{release: make(chan struct{}), result: Result{Kind: route.KindConnectionRefused, Phases: noPhases()}}
		r.engine.probers[route.ProbeTCP] = s
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		go r.stop()
		synctest.Wait()
		close(s.release)
		synctest.Wait()
		r.wantState("http_api", "b1", route.StatePending, "")
		if got := r.engine.Stats(); got.LateResults != 1 || got.Running != 0 {
			t.Errorf("%+v", got)
		}
		if h := r.health("http_api", "b1"); h.Counters.LateResults != 1 || h.Counters.Failures != 0 {
			t.Errorf("%+v", h.Counters)
		}
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", func(b *route.Backend) { b.Provider = route.ProviderUnhealthy })))
		if len(r.seen.loud(r.start)) != 0 || len(r.seen.all) != 1 {
			t.Errorf("told after the stop: %v", r.seen.all)
		}
		r.wantServing("http_api", "")
	})
}

// TestLateResultOfReadded: a stubborn probe of a removed backend holds its slot but
// says nothing about the one that was added again (R3, R4).
func TestLateResultOfReadded(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		s := &stubborn{release: make(chan struct{}), result: Result{Kind: route.KindConnectionRefused, Phases: noPhases()}}
		good := r.engine.probers[route.ProbeTCP]
		r.engine.probers[route.ProbeTCP] = s
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.apply()
		if got := r.engine.Stats(); got.Running != 1 {
			t.Errorf("the removed probe gave its slot back before it ended: %+v", got)
		}
		r.engine.probers[route.ProbeTCP] = good
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.at(2 * time.Second)
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		close(s.release)
		synctest.Wait()
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		if got := r.engine.Stats(); got.LateResults != 1 || got.Running != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestLateSuccessIsATimeout: a success after the deadline is none.
func TestLateSuccessIsATimeout(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		s := &stubborn{release: make(chan struct{}), result: Result{OK: true, Phases: noPhases()}}
		r.engine.probers[route.ProbeTCP] = s
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.at(6 * time.Second)
		close(s.release)
		synctest.Wait()
		if h := r.health("http_api", "b1"); h.State != route.StateDown || h.Kind != route.KindTimeout {
			t.Errorf("%s %s", h.State, h.Kind)
		}
	})
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
		want := []string{"3.5s http_api/b1 gated>up"}
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
		if !r.engine.View().Settled {
			t.Error("not settled")
		}
		r.net.set("10.0.0.2:80", accept)
		r.net.set("10.0.0.3:80", blackhole)
		slow := checked(func(c *route.Check) { c.InitialDelay, c.Timeout = time.Minute, 2*time.Second })
		second := r.setOf(&route.Entrypoint{ID: "http_file", Protocol: route.HTTP, Source: "file", Options: route.DefaultOptions()},
			backend("b2", "10.0.0.2"), backend("b3", "10.0.0.3", slow))
		r.apply(first, second)
		r.at(22 * time.Second)
		r.wantServing("http_file", "b2 b3")
		r.at(31 * time.Second)
		r.wantServing("http_file", "b2")
		r.wantState("http_file", "b3", route.StatePending, route.OutPendingVerifiedExists)
	})
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

// TestReservation: pending and dead backends never take the whole budget.
func TestReservation(t *testing.T) {
	s := newSchedule(8, 100)
	down, dead, up := share{host: "a", down: true, unproven: true}, share{host: "a", unproven: true}, share{host: "a"}
	fill := func(h share) (n int) {
		for s.room(h) {
			s.book(h, 1)
			n++
		}
		return n
	}
	if got := [3]int{fill(down), fill(dead), fill(up)}; got != [3]int{4, 2, 2} {
		t.Errorf("down, pending and up get %v of 8", got)
	}
	for _, h := range []share{down, down, down, down, dead, dead, up, up} {
		s.book(h, -1)
	}
	if s.running != 0 || s.down != 0 || s.unproven != 0 || len(s.hosts) != 0 {
		t.Errorf("after the end: %+v", s)
	}
}

// TestOutboxOrder: notices are sent in order, by one sender at a time, and nobody
// waits for a slow one.
func TestOutboxOrder(t *testing.T) {
	var o outbox
	o.add(notice{local: "1"})
	first := o.next(false)
	o.add(notice{local: "2"})
	if got := o.next(false); got != nil {
		t.Error("two senders at once")
	}
	if second := o.next(true); len(first) != 1 || len(second) != 1 || second[0].local != "2" {
		t.Errorf("%v %v", first, second)
	}
	if o.next(true) != nil || o.sending {
		t.Error("the sender does not end")
	}
}

// TestLogContract: the line of a transition, field by field.
func TestLogContract(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		three := checked(func(c *route.Check) { c.UnhealthyThreshold, c.FastInterval = 3, time.Second })
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", three), backend("b2", "10.0.0.2", three)))
		r.run()
		r.at(5 * time.Second)
		r.net.set("10.0.0.1:80", refuse)
		r.at(15 * time.Second)
		r.net.set("10.0.0.1:80", blackhole)
		r.at(40 * time.Second)
		var down []map[string]any
		for _, line := range r.logs.lines() {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			if m["level"] != "debug" && m["backend"] == "b1" {
				down = append(down, m)
			}
		}
		// zerolog's own message field and ours have one name: the last one, the text, wins.
		want := []string{
			"info backend up pending up probe  0 1 true", "warn backend down up down probe connection_refused 3 3 false",
			"info backend reason changed down down probe timeout 3 3 false",
		}
		var got []string
		for _, m := range down {
			got = append(got, fmt.Sprintf("%v %v %v %v %v %v %v %v %v", m["level"], m["message"], m["from"], m["to"], m["cause"], m["kind"], m["consecutive_fail"], m["threshold"], m["in_rotation"]))
			if m["address"] != "10.0.0.1:80" || m["container"] != "b1-name" || m["route"] != "http_api" || m["rev"] == nil {
				t.Errorf("%v", m)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("lines\n%q, want\n%q", got, want)
		}
	})
}

// TestSecrets: values of headers and queries are in nothing that leaves the engine,
// whatever the backend does with them.
func TestSecrets(t *testing.T) {
	const canary = "CANARY7f3a"
	echo := func(context.Context) (net.Conn, error) {
		client, end := net.Pipe()
		go func() {
			defer end.Close()
			buf := make([]byte, 4096)
			n, _ := end.Read(buf)
			_, _ = end.Write(buf[:n]) // sends the request back
		}()
		return client, nil
	}
	reflect := func(context.Context) (net.Conn, error) {
		client, end := net.Pipe()
		var once sync.Once
		go serveOnce(end, "HTTP/1.1 302 "+canary+"\r\nLocation: /?"+canary+"\r\n\r\n"+canary, func(string) { once.Do(func() {}) })
		return client, nil
	}
	for _, meets := range []func(context.Context) (net.Conn, error){echo, reflect, refuse, blackhole, answer(ok200), answer("SSH-" + canary + "\r\n")} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", meets)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(func(c *route.Check) {
				c.Type, c.Scheme, c.Path = route.ProbeHTTP, route.SchemeHTTP, "/health?token="+canary+"&"+canary
				c.Status, _ = route.ParseStatusSet("200")
				c.Headers = []route.CheckHeader{{Name: "Authorization", Value: canary}}
			}))))
			r.run()
			r.at(25 * time.Second)
			v := r.engine.View()
			for id, e := range v.Entrypoints {
				for i := range e.Backends {
					e.Backends[i].Backend.Check = nil // the declared check is the API's to redact
				}
				v.Entrypoints[id] = e
			}
			for what, text := range map[string]string{
				"view": fmt.Sprintf("%+v", v), "json": mustJSON(t, v), "log": strings.Join(r.logs.lines(), "\n"),
				"transitions": fmt.Sprintf("%#v", r.seen.all),
			} {
				if i := strings.Index(text, canary); i >= 0 {
					t.Errorf("the %s shows it: %s", what, text[max(0, i-80):i+20])
				}
			}
		})
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
