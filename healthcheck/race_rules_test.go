package healthcheck

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// puppet is a prober that ignores its cancellation: the n-th probe waits for its result,
// the others succeed at once.
type puppet struct {
	mu      sync.Mutex
	calls   int
	holds   int // which one waits, from 1
	release chan Result
}

func (p *puppet) Probe(context.Context, Target, *Spec) Result {
	p.mu.Lock()
	p.calls++
	held := p.calls == p.holds
	p.mu.Unlock()
	if held {
		return <-p.release
	}
	return Result{OK: true, Message: "connected", Phases: noPhases()}
}

// heldAt10 is a rig whose second probe of http_api/b1, launched at 10 s, is on its way.
func heldAt10(r *rig) *puppet {
	p := &puppet{holds: 2, release: make(chan Result)}
	r.engine.probers[route.ProbeTCP] = p
	r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
	r.run()
	r.at(10500 * time.Millisecond)
	if p.calls != 2 || r.engine.Stats().Running != 1 {
		r.t.Fatalf("%d probes, %+v", p.calls, r.engine.Stats())
	}
	return p
}

func noAnswer() Result { return Result{Kind: route.KindConnectionRefused, Phases: noPhases()} }

// lateCases are the ways in which a probe on its way becomes about nothing any more.
func lateCases() map[string]func(r *rig) {
	settings := func(f func(*route.Check)) func(r *rig) {
		return func(r *rig) { r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(f)))) }
	}
	return map[string]func(r *rig){
		"removed":         func(r *rig) { r.apply() },
		"added again":     func(r *rig) { r.apply(); r.apply(r.set("http_api", backend("b1", "10.0.0.1"))) },
		"new container":   func(r *rig) { r.apply(r.set("http_api", backend("b2", "10.0.0.1"))) },
		"timeout changed": settings(func(c *route.Check) { c.Timeout = 3 * time.Second }),
		"content changed": settings(func(c *route.Check) { c.Port = 81 }),
		"check off": func(r *rig) {
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", func(b *route.Backend) { b.Check = nil })))
		},
		"leaving": func(r *rig) {
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", func(b *route.Backend) { b.Provider = route.ProviderLeaving })))
		},
	}
}

// TestR1LateResults: a result whose check is gone, or another one, changes nothing and is
// counted once (health.md, test 6). After the stop: TestLateResultAfterShutdown.
func TestR1LateResults(t *testing.T) {
	for name, change := range lateCases() {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			p := heldAt10(r)
			change(r)
			r.at(11500 * time.Millisecond)
			p.release <- noAnswer()
			synctest.Wait()
			if got := r.engine.Stats(); got.LateResults != 1 || got.Failures != 0 || got.Running != 0 {
				t.Errorf("%s: %+v", name, got)
			}
			for _, b := range r.engine.View().Entrypoints["http_api"].Backends {
				if b.Counters.Failures != 0 || b.State == route.StateDown {
					t.Errorf("%s: %s %+v", name, b.State, b.Counters)
				}
			}
			for _, m := range r.seen.all {
				if m.To == "down" && m.Backend != "" {
					t.Errorf("%s: told %s>%s", name, m.From, m.To)
				}
			}
		})
	}
}

// TestR2CancellationIsNoFailure: a probe that we end says nothing; one that its deadline
// ends is a failure.
func TestR2CancellationIsNoFailure(t *testing.T) {
	for name, change := range lateCases() {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", accept)
			r.net.set("10.0.0.1:81", accept)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
			r.run()
			r.at(9 * time.Second)
			r.net.set("10.0.0.1:80", blackhole)
			r.at(10500 * time.Millisecond)
			r.net.set("10.0.0.1:80", accept)
			change(r)
			if got := r.engine.Stats(); got.LateResults != 1 || got.Failures != 0 {
				t.Errorf("%s: %+v", name, got)
			}
			r.at(20 * time.Second)
			if got := r.engine.Stats(); got.Failures != 0 {
				t.Errorf("%s: %+v", name, got)
			}
		})
	}
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", blackhole)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.at(5500 * time.Millisecond)
		if h := r.health("http_api", "b1"); h.Counters.Failures != 1 || h.Kind != route.KindTimeout {
			t.Errorf("after the deadline: %s %+v", h.Kind, h.Counters)
		}
	})
}

// TestR3RemovalDoesNotWait: removals return at once while a probe ignores them; its slot
// comes back exactly once, when it ends.
func TestR3RemovalDoesNotWait(t *testing.T) {
	bubble(t, Config{StartupSpread: 1, Concurrency: 3}, func(r *rig) {
		p := heldAt10(r)
		before := time.Now()
		for range 3 {
			r.apply()
			r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		}
		if took := time.Since(before); took > time.Millisecond {
			t.Errorf("it waited %s", took)
		}
		r.at(15 * time.Second)
		s := &r.engine.schedule
		if s.running != 1 || s.hosts["10.0.0.1"] != 1 {
			t.Errorf("the slot came back before the probe ended: %d, %v", s.running, s.hosts)
		}
		p.release <- noAnswer()
		r.at(15500 * time.Millisecond)
		if s.running != 0 || len(s.hosts) != 0 || s.down != 0 || s.unproven != 0 {
			t.Errorf("after the end: %d, %v, %d, %d", s.running, s.hosts, s.down, s.unproven)
		}
	})
}

// TestR5OneStep: results and rotations are one step: no picture, no rotation and no
// transition goes back, and a picture agrees with the rotation that is published.
func TestR5OneStep(t *testing.T) {
	bubble(t, Config{StartupSpread: 1, Tick: 10 * time.Millisecond}, func(r *rig) {
		var list []route.Backend
		for i := range 6 {
			host := "10.0.0." + string(rune('1'+i))
			n := 0
			r.net.set(host+":80", func(ctx context.Context) (net.Conn, error) {
				if n++; n%(i+2) == 0 {
					return refuse(ctx)
				}
				return accept(ctx)
			})
			list = append(list, backend("b"+string(rune('1'+i)), host, checked(func(c *route.Check) {
				c.Interval, c.DownInterval = 20*time.Millisecond, 20*time.Millisecond
			})))
		}
		r.apply(r.set("http_api", list...))
		r.run()
		var readers sync.WaitGroup
		agreed := make([]int, 4)
		for i := range agreed {
			readers.Go(func() { agreed[i] = r.read(800) })
		}
		readers.Wait()
		r.stop()
		for i := 1; i < len(r.seen.all); i++ {
			if r.seen.all[i].Rev < r.seen.all[i-1].Rev {
				t.Fatalf("transition %d has revision %d after %d", i, r.seen.all[i].Rev, r.seen.all[i-1].Rev)
			}
		}
		if len(r.seen.all) < 100 || agreed[0] == 0 {
			t.Errorf("%d transitions, %d comparisons: the test tests nothing", len(r.seen.all), agreed[0])
		}
	})
}

// read compares pictures with the published rotation while they change.
func (r *rig) read(times int) (agreed int) {
	cell := r.cells["http_api"]
	var rev, published uint64
	for range times {
		before := cell.Load()
		v := r.engine.View()
		after := cell.Load()
		if v.Rev < rev || after.Rev < published || before.Rev > v.Rev {
			r.t.Errorf("view %d after %d, rotation %d after %d", v.Rev, rev, after.Rev, published)
		}
		rev, published = v.Rev, after.Rev
		if before == after {
			agreed++
			var in []string
			for _, b := range v.Entrypoints["http_api"].Backends {
				if b.InRotation {
					in = append(in, b.Backend.ID)
				}
			}
			var members []string
			for _, m := range before.Members {
				members = append(members, m.Placement.Backend.ID)
			}
			if strings.Join(in, " ") != strings.Join(members, " ") {
				r.t.Errorf("the view says %v, the rotation is %v", in, members)
			}
		}
		<-time.After(3 * time.Millisecond)
	}
	return agreed
}

// free fails the test when the engine's lock cannot be had: the caller holds it.
func free(t *testing.T, e *Engine, where string) {
	for range 1 << 20 {
		if e.mu.TryLock() {
			e.mu.Unlock()
			return
		}
		runtime.Gosched()
	}
	t.Errorf("the engine's lock is held during a %s", where)
}

// openLog is a log that looks whether the engine's lock is free at each line.
type openLog struct {
	t *testing.T
	e *Engine
}

func (l *openLog) Write(p []byte) (int, error) {
	free(l.t, l.e, "line of the log")
	return len(p), nil
}

// openUpstream does the same when connections are closed.
type openUpstream struct {
	fakeUpstream
	t *testing.T
	e *Engine
}

func (u *openUpstream) CloseIdle() { free(u.t, u.e, "close of idle connections") }

// TestR13NoLockHeld: nothing is dialled, logged, closed or told under the engine's lock,
// and a subscriber that takes an hour delays neither probes nor answers.
func TestR13NoLockHeld(t *testing.T) {
	var e *Engine
	told := 0
	cfg := Config{StartupSpread: 1}
	cfg.Dial = func(ctx context.Context, _, address string) (net.Conn, error) {
		free(t, e, "dial")
		if address == "10.0.0.1:80" && time.Since(e.begun) > 9*time.Second {
			return refuse(ctx)
		}
		return accept(ctx)
	}
	bubble(t, cfg, func(r *rig) {
		e = r.engine
		patience := make(chan struct{}) // of the bubble
		e.cfg.Log = e.cfg.Log.Output(&openLog{t, e})
		e.cfg.OnTransition = func(m route.Transition) {
			free(t, e, "call of a subscriber")
			if told++; m.To == "down" {
				<-patience
			}
		}
		set := r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2"))
		set.Placements[0].Upstream = &openUpstream{t: t, e: e}
		r.apply(set)
		r.run()
		r.at(30 * time.Minute) // b1 went down at 10 s, and its news is still being told
		if got := e.Stats().Probes; got < 350 {
			t.Errorf("a slow subscriber stops the probes: %d", got)
		}
		before := told
		r.apply(r.set("http_api", backend("b1", "10.0.0.1"), backend("b2", "10.0.0.2"), backend("b3", "10.0.0.3")))
		if got := len(e.View().Entrypoints["http_api"].Backends); got != 3 || told != before {
			t.Errorf("%d backends, %d told meanwhile", got, told-before)
		}
		close(patience)
		r.at(31 * time.Minute)
		if told <= before {
			t.Error("what waited is lost")
		}
	})
}

// TestR18SharedResults: placements of one check see each result at the same moment, once.
func TestR18SharedResults(t *testing.T) {
	bubble(t, Config{StartupSpread: 1, Tick: 10 * time.Millisecond}, func(r *rig) {
		var dials atomic.Uint64
		r.net.set("10.0.0.1:80", func(ctx context.Context) (net.Conn, error) {
			if dials.Add(1)%3 == 0 {
				return refuse(ctx)
			}
			return accept(ctx)
		})
		quick := checked(func(c *route.Check) { c.Interval, c.DownInterval = 20*time.Millisecond, 20*time.Millisecond })
		strict := checked(func(c *route.Check) { c.UnhealthyThreshold = 2 })
		r.apply(r.set("http_a", backend("b1", "10.0.0.1", quick)), r.set("http_b", backend("b1", "10.0.0.1", quick, strict)))
		r.run()
		for range 500 {
			<-time.After(3 * time.Millisecond)
			v := r.engine.View()
			a, b := v.Entrypoints["http_a"].Backends[0], v.Entrypoints["http_b"].Backends[0]
			if a.Counters.Probes != b.Counters.Probes || a.Counters.Failures != b.Counters.Failures || a.LastResult != b.LastResult {
				t.Fatalf("%+v beside %+v", a.Counters, b.Counters)
			}
			if b.State == route.StateDown {
				t.Fatal("two in a row never failed")
			}
		}
		r.at(1505 * time.Millisecond) // between two ticks
		if a, n := r.health("http_a", "b1"), dials.Load(); a.Counters.Transitions < 50 || a.Counters.Probes != n {
			t.Errorf("%+v after %d dials", a.Counters, n)
		}
	})
}

// TestR19Since: it is the time of the result that caused the state, and no reload moves it.
func TestR19Since(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		r.run()
		r.at(5 * time.Second)
		r.net.set("10.0.0.1:80", refuse)
		r.at(12 * time.Second)
		h := r.health("http_api", "b1")
		if got := h.Since.Sub(r.start); got != 10*time.Second || !h.Since.Equal(h.LastChecked) {
			t.Errorf("down since %s, last checked %s", got, h.LastChecked.Sub(r.start))
		}
		for i, edit := range []func(*route.Backend){
			func(b *route.Backend) { b.Weight = 7 },
			checked(func(c *route.Check) { c.HealthyThreshold = 4 }),
			checked(func(c *route.Check) { c.Interval = 7 * time.Second }),
			checked(func(c *route.Check) { c.Timeout = time.Second }),
			checked(func(c *route.Check) { c.Port = 81 }),
		} {
			r.at(time.Duration(20+5*i) * time.Second)
			r.apply(r.set("http_api", backend("b1", "10.0.0.1", edit)))
			if b := r.health("http_api", "b1"); !b.Since.Equal(h.Since) || b.State != route.StateDown || b.LastChecked.Before(b.Since) {
				t.Errorf("after change %d: %s since %s", i, b.State, b.Since.Sub(r.start))
			}
		}
	})
}
