package docker

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// chaos drives a fake engine at random.
type chaos struct {
	*wire
	rnd  *rand.Rand
	made int
	log  []string
}

func (c *chaos) did(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

// pick returns a container other than the steady ones, or "".
func (c *chaos) pick(states ...string) string {
	var names []string
	for _, name := range c.e.Names() {
		if s, _ := c.e.Container(name); len(name) > 1 && slices.Contains(states, s.Status) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[c.rnd.IntN(len(names))]
}

// act does something to a container, as users and restart policies do.
func (c *chaos) act() {
	running, stopped := c.pick("running"), c.pick("exited", "created", "restarting")
	switch n := c.rnd.IntN(10); {
	case n < 3 || running == "":
		c.made++
		next := own(fmt.Sprintf("n%d", c.rnd.IntN(8)))
		if c.rnd.IntN(3) == 0 {
			next.Labels = nil
		}
		next.Name = fmt.Sprintf("%s-%d", next.Name, c.made)
		c.did("run %s", next.Name)
		c.e.Run(next)
	case n == 3 && stopped != "":
		c.did("start %s", stopped)
		c.e.Start(stopped)
	case n == 4:
		c.did("restart %s", running)
		c.e.Restart(running)
	case n == 5:
		c.did("crash %s", running)
		c.e.Crash(running)
	case n == 6:
		c.did("stop %s", running)
		c.e.Stop(running)
	case n == 7 && stopped != "":
		c.did("remove %s", stopped)
		c.e.Remove(stopped)
	case n == 8:
		c.did("pause %s", running)
		c.e.Pause(running)
		<-time.After(time.Duration(c.rnd.IntN(2000)) * time.Millisecond) // virtual time
		c.e.Unpause(running)
	default:
		c.did("kill and remove %s", running)
		c.e.Remove(running)
	}
}

// steady checks that the three that nobody touches are as they were.
func (c *chaos) steady(want string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all {
		if got := describeOthers(s.Entrypoints); got != want {
			c.t.Fatalf("the untouched became\n%s\nfrom\n%s\nafter %s", got, want, strings.Join(c.log, "; "))
		}
	}
	c.all, c.times = c.all[len(c.all)-1:], c.times[len(c.times)-1:]
}

// converged checks that what is known is what a fresh look at the engine finds.
func (c *chaos) converged() {
	c.t.Helper()
	truth, err := c.p.Collect(c.t.Context())
	if err != nil {
		c.t.Fatalf("a fresh look: %v", err)
	}
	if got, want := inUse(c.last()), inUse(truth); got != want {
		c.t.Fatalf("what is known\n%s\nis not what is there\n%s\nafter %s", got, want, strings.Join(c.log, "; "))
	}
	c.log = nil
}

// inUse lists the backends with their incarnations, and the containers that are absent
// for another reason than that they have stopped.
func inUse(s route.Snapshot) string {
	var b strings.Builder
	for _, e := range s.Entrypoints {
		for i := range e.Backends {
			fmt.Fprintf(&b, "%s %s %s %s\n", e.Name, e.Backends[i].Name, e.Backends[i].Provider, e.Backends[i].Incarnation)
		}
		for _, a := range e.Absent {
			if a.Why != route.AbsentRetained {
				fmt.Fprintf(&b, "%s %s %s\n", e.Name, a.Name, a.Why)
			}
		}
	}
	return b.String()
}

func eachSeed(t *testing.T, test func(*chaos)) {
	t.Helper()
	for seed := range uint64(12) {
		style := enginetest.Style(seed % 3)
		onWire(t, style, threeSites, func(w *wire) {
			test(&chaos{wire: w, rnd: rand.New(rand.NewPCG(seed, 1))})
		})
	}
}

// Whatever an engine does to its clients, nobody's state changes but that of what was
// touched, and a minute after it behaves again everything is known.
func TestChaosEndsInTheTruth(t *testing.T) {
	eachSeed(t, func(c *chaos) {
		want := describeOthers(c.last().Entrypoints)
		for range 12 {
			end := c.fault()
			for range 1 + c.rnd.IntN(12) {
				c.act()
				c.after(time.Duration(c.rnd.IntN(3000)) * time.Millisecond)
			}
			end()
			c.after(resyncInterval + time.Duration(c.rnd.IntN(20))*time.Second)
			c.steady(want)
			c.converged()
		}
	})
}

// fault begins something that engines and proxies do, and returns what ends it.
func (c *chaos) fault() (end func()) {
	e := c.e
	nothing := func() {}
	switch n := c.rnd.IntN(10); n {
	case 0:
		c.did("cuts")
		e.CutEvery(time.Duration(1+c.rnd.IntN(5000)) * time.Millisecond)
		e.Cut(true)
		return func() { e.CutEvery(0) }
	case 1:
		c.did("down")
		e.Down()
		return func() { e.Up(c.t) }
	case 2:
		c.did("stalled")
		e.Stall(true)
		return func() { e.Stall(false) }
	case 3:
		c.did("lists fail")
		e.Fail(enginetest.List, http.StatusNotFound, http.StatusBadGateway, http.StatusInternalServerError)
		e.Cut(false)
		return nothing
	case 4:
		c.did("lists lie")
		e.LieAboutList(2)
		e.Cut(false)
		return nothing
	case 5:
		c.did("inspects fail")
		e.Fail(enginetest.Inspect, http.StatusNotFound, http.StatusInternalServerError, http.StatusForbidden, http.StatusBadGateway)
		return nothing
	case 6:
		c.did("addresses hide")
		for _, name := range e.Names() {
			e.HideAddress(name, 2)
		}
		return nothing
	case 7:
		c.did("slow")
		e.Delay(enginetest.Inspect, 700*time.Millisecond)
		return func() { e.Delay(enginetest.Inspect, 0) }
	case 8:
		c.did("forbidden")
		e.Deny(enginetest.List, enginetest.Inspect, enginetest.Networks, enginetest.Occupants)
		return func() { e.Allow(enginetest.List, enginetest.Inspect, enginetest.Networks, enginetest.Occupants) }
	}
	c.did("lossy")
	silence(e)
	return func() {
		for _, action := range []string{"kill", "die", "stop", "disconnect", "cleanup", "destroy", "remove"} {
			e.Suppress(action, false)
		}
	}
}

// While the stream is there, lossy or not, nobody's address is used for another one from
// the moment on at which the new owner's process can run: 3 to 183 ms after its connect.
func TestChaosNeverRoutesToAnotherOnesAddress(t *testing.T) {
	for seed := range uint64(8) {
		onWire(t, enginetest.Style(seed%2), threeSites, func(w *wire) {
			c := &chaos{wire: w, rnd: rand.New(rand.NewPCG(seed, 2))}
			for range 100 {
				c.e.StartTakes(time.Duration(3+c.rnd.IntN(180)) * time.Millisecond)
				if c.rnd.IntN(2) == 0 {
					silence(c.e)
				}
				watched := 1 + c.rnd.IntN(250)
				done := make(chan struct{})
				go func() { defer close(done); c.act() }()
				for range watched {
					c.after(time.Millisecond)
					if text := c.misrouted(); text != "" {
						t.Fatalf("%s after %s", text, strings.Join(c.log, "; "))
					}
				}
				<-done
				for _, action := range []string{"kill", "die", "stop", "disconnect", "cleanup", "destroy", "remove"} {
					c.e.Suppress(action, false)
				}
			}
		})
	}
}
