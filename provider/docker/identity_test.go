package docker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// replica is a container of a compose service. Its id and name are its own.
func replica(project, service string, number int, host string) enginetest.Container {
	name := fmt.Sprintf("%s-%s-%d", project, service, number)
	return enginetest.Container{Name: name, Expose: []string{"80/tcp"}, Labels: map[string]string{
		"sozune.enable": "true", "sozune.http." + service + ".host": host,
		"com.docker.compose.project": project, "com.docker.compose.service": service, "com.docker.compose.container-number": fmt.Sprint(number),
	}}
}

func (w *wire) entrypoint(id string) *route.Entrypoint {
	w.t.Helper()
	list := w.last().Entrypoints
	i := slices.IndexFunc(list, func(e *route.Entrypoint) bool { return e.ID == id })
	if i < 0 {
		w.t.Fatalf("no %s in %s", id, describeSnapshot(w.last()))
	}
	return list[i]
}

// recreate replaces a container as compose does: the new one is made, the old one ends,
// the new one takes its name and starts.
func (w *wire) recreate(old string, next enginetest.Container, generation int) {
	w.t.Helper()
	name := next.Name
	next.Name, next.ID = fmt.Sprintf("%d_%s", generation, name), enginetest.HexID(fmt.Sprintf("%s generation %d", name, generation))
	w.e.Create(next)
	w.e.Stop(old)
	w.e.Remove(old)
	w.e.Rename(next.ID, name)
	w.e.Start(next.ID)
}

// misrouted tells of a backend in use whose address is another running container's.
func (w *wire) misrouted() string {
	for _, e := range w.last().Entrypoints {
		for _, b := range e.Backends {
			owner := w.e.Owner(b.Host)
			if b.Provider != route.ProviderLeaving && owner != "" && owner != b.Container.ID {
				return fmt.Sprintf("%s sends to %s of %s, which is %s's", e.ID, b.Address(), b.Name, owner)
			}
		}
	}
	return ""
}

// Two projects use one service name. Who had it first keeps the plain id over recreates,
// as long as the entrypoint is retained, and loses it afterwards.
func TestClaimSurvivesARecreateWithinTheRetention(t *testing.T) {
	onWire(t, enginetest.Docker20, func(e *enginetest.Engine) {
		e.Run(replica("first", "web", 1, "first.example"))
	}, func(w *wire) {
		w.e.Run(replica("second", "web", 1, "second.example"))
		w.after(time.Second)
		claim := w.entrypoint("http_web").Claim
		is := func(step string, id, host string) {
			t.Helper()
			if got := w.entrypoint(id).Match.Hosts[0].String(); got != host {
				t.Errorf("%s: %s serves %s, want %s", step, id, got, host)
			}
		}
		for i := range 5 {
			w.recreate("first-web-1", replica("first", "web", 1, "first.example"), i)
			w.after(time.Second)
			is("recreated", "http_web", "first.example")
			if got := w.entrypoint("http_web").Claim; !got.Equal(claim) {
				t.Errorf("the claim moved from %v to %v", claim, got)
			}
		}
		w.e.Remove("first-web-1")
		w.after(DefaultRetain - 2*time.Second)
		is("retained", "http_web", "first.example")
		// An engine that is away for an hour does not end the retention.
		w.e.Down()
		w.after(time.Hour)
		is("retained while the engine is away", "http_web", "first.example")
		w.e.Up(t)
		next := replica("first", "web", 1, "first.example")
		next.ID = enginetest.HexID("in time")
		w.e.Run(next)
		w.after(5 * time.Second)
		is("back in time", "http_web", "first.example")
		if got := w.entrypoint("http_web").Claim; !got.Equal(claim) {
			t.Errorf("the claim moved from %v to %v", claim, got)
		}
		w.e.Remove("first-web-1")
		w.after(DefaultRetain + time.Second)
		is("forgotten", "http_web", "second.example")
		next.ID = enginetest.HexID("too late")
		w.e.Run(next)
		w.after(time.Second)
		is("back too late", "http_web", "second.example")
		is("back too late", "http_web-first", "first.example")
	})
}

// The old address is another container's before the new container is there.
func TestRecreateWhileAnotherContainerGrabsTheOldAddress(t *testing.T) {
	for _, style := range []enginetest.Style{enginetest.Docker20, enginetest.Docker29, enginetest.Podman} {
		onWire(t, style, func(e *enginetest.Engine) { threeSites(e); e.Run(own("app")) }, func(w *wire) {
			others := describeOthers(w.last().Entrypoints)
			for i := range 20 {
				old := w.e.Address("app", "bridge")
				w.e.Remove("app")
				w.e.Run(enginetest.Container{Name: fmt.Sprintf("grab%d", i)})
				c := own("app")
				c.ID = enginetest.HexID(fmt.Sprintf("app %d", i))
				w.e.Run(c)
				if w.e.Address("app", "bridge") == old {
					t.Fatal("the fake gave the old address back")
				}
				for range 30 {
					w.after(time.Millisecond)
					if text := w.misrouted(); text != "" {
						t.Fatal(text)
					}
				}
				w.after(time.Second)
				w.is("http_app", w.up("app"))
			}
			if got := describeOthers(w.last().Entrypoints); got != others {
				t.Errorf("others changed from %s to %s", others, got)
			}
		})
	}
}

// Two containers that are started in the other order have swapped their addresses.
func TestContainersThatSwapTheirAddresses(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		a, b := w.e.Address("a", "bridge"), w.e.Address("b", "bridge")
		w.e.Stop("a")
		w.e.Stop("b")
		w.e.Start("b")
		w.e.Start("a")
		if w.e.Address("a", "bridge") != b || w.e.Address("b", "bridge") != a {
			t.Fatal("the fake did not swap the addresses")
		}
		for range 200 {
			w.after(time.Millisecond)
			if text := w.misrouted(); text != "" {
				t.Fatal(text)
			}
		}
		w.is("http_a", w.up("a"))
		w.is("http_b", w.up("b"))
	})
}

func TestScaleTouchesNobodyThatStays(t *testing.T) {
	onWire(t, enginetest.Docker29, threeSites, func(w *wire) {
		others := describeOthers(w.last().Entrypoints)
		for i := 1; i <= 3; i++ {
			w.e.Run(replica("shop", "web", i, "shop.example"))
		}
		w.after(time.Second)
		before := slices.Clone(w.entrypoint("http_web").Backends)
		for i := 4; i <= 6; i++ {
			w.e.Run(replica("shop", "web", i, "shop.example"))
			w.after(time.Second)
		}
		if n := len(w.entrypoint("http_web").Backends); n != 6 {
			t.Fatalf("%d backends", n)
		}
		for i := 6; i > 3; i-- {
			w.e.Stop(fmt.Sprintf("shop-web-%d", i))
			w.e.Remove(fmt.Sprintf("shop-web-%d", i))
		}
		w.after(time.Second)
		e := w.entrypoint("http_web")
		if len(e.Backends) != 3 {
			t.Errorf("after the scale-down: %s", backends(e))
		}
		for i := range e.Backends {
			if e.Backends[i].Incarnation != before[i].Incarnation || e.Backends[i].Provider != before[i].Provider {
				t.Errorf("%s became %+v", before[i].Incarnation, e.Backends[i])
			}
		}
		w.after(DefaultRetain)
		if e := w.entrypoint("http_web"); len(e.Absent) != 0 {
			t.Errorf("after the retention: %s", backends(e))
		}
		w.e.Rename("shop-web-1", "renamed")
		w.after(time.Second)
		e = w.entrypoint("http_web")
		i := slices.IndexFunc(e.Backends, func(b route.Backend) bool { return b.Name == "renamed" })
		if i < 0 || e.Backends[i].Incarnation != before[i].Incarnation {
			t.Errorf("after the rename: %s", backends(e))
		}
		if got := describeOthers(w.last().Entrypoints); got != others {
			t.Errorf("others changed from %s to %s", others, got)
		}
	})
}

// A restart is a new life even at the same address; what an old life leaves behind (an
// event that comes late) is not held against it.
func TestRestartIsANewIncarnation(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		before := w.entrypoint("http_a").Backends[0]
		w.e.Restart("a")
		w.after(time.Second)
		after := w.entrypoint("http_a").Backends[0]
		if after.Host != before.Host || after.Incarnation == before.Incarnation {
			t.Errorf("%s became %s", before.Incarnation, after.Incarnation)
		}
		w.e.Emit(enginetest.Event{Type: "container", Action: "die", ID: after.Container.ID, At: after.StartedAt.Add(-time.Millisecond)})
		w.after(time.Second)
		w.is("http_a", w.up("a"))
	})
}

// The end of a container is lost and it is started again at another address: what it had
// is free for others from its new connect on.
func TestRestartWhoseStopIsLostLeavesTheOldAddressAtOnce(t *testing.T) {
	onWire(t, enginetest.Docker20, func(e *enginetest.Engine) {
		e.Run(enginetest.Container{Name: "low"})
		e.Run(own("app"))
	}, func(w *wire) {
		old := w.e.Address("app", "bridge")
		w.e.StartTakes(190 * time.Millisecond)
		silence(w.e)
		w.e.Stop("app")
		w.e.Remove("low") // its address comes first
		go w.e.Start("app")
		w.after(removalWait + time.Millisecond)
		if w.e.Address("app", "bridge") == old {
			t.Fatal("the fake gave the old address back")
		}
		if routed(w.last(), "app", old) {
			t.Errorf("after the connect: %s", describeSnapshot(w.last()))
		}
		w.after(time.Second)
		w.is("http_app", w.up("app"))
	})
	// The connect is lost as well: the inspect at the start tells.
	onWire(t, enginetest.Docker20, func(e *enginetest.Engine) {
		e.Run(enginetest.Container{Name: "low"})
		e.Run(own("app"))
	}, func(w *wire) {
		old := w.e.Address("app", "bridge")
		silence(w.e)
		w.e.Suppress("connect", true)
		w.e.Stop("app")
		w.e.Remove("low")
		w.e.Start("app")
		w.after(removalWait)
		if routed(w.last(), "app", old) {
			t.Errorf("after the start: %s", describeSnapshot(w.last()))
		}
	})
}
