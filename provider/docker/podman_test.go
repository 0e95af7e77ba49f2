package docker

import (
	"context"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
)

// Podman's events come up to a quarter of a second late, tell of no network at a start,
// call a removal "remove", name the container in network events, and its lists say
// neither the network mode nor the ports that are only exposed.
func TestLifeOfAPodmanContainer(t *testing.T) {
	const lag = 250 * time.Millisecond
	onWire(t, enginetest.Podman, func(e *enginetest.Engine) {
		threeSites(e)
		e.AddNetwork(enginetest.Network{Name: "edge"})
		e.Lag(lag)
	}, func(w *wire) {
		others := describeOthers(w.last().Entrypoints)
		if s := w.last().Status; !s.Connected || s.EngineVersion != "4.3.1" || s.APIVersion != "1.41" || len(s.Notes) != 0 {
			t.Errorf("status %+v", s)
		}
		seen := lag + quietTime + removalWait
		step := func(what, want string) {
			t.Helper()
			w.after(seen)
			if got := of(w.last(), "http_app"); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		id := w.e.Run(own("app"))
		step("run", w.up("app"))
		w.e.Pause(id)
		step("pause", "app(paused)")
		w.e.Unpause(id)
		step("unpause", w.up("app"))
		w.e.Rename(id, "app2")
		step("rename", w.up("app2"))
		w.e.Connect(id, "edge")
		w.e.Disconnect(id, "bridge")
		step("another network", "app2="+w.e.Address("app2", "edge")+":80(present)")
		w.e.Stop(id)
		step("stop", "app2(retained)")
		w.e.Start(id)
		step("start", "app2="+w.e.Address("app2", "edge")+":80(present)")
		w.e.Restart(id)
		step("restart", "app2="+w.e.Address("app2", "edge")+":80(present)")
		w.e.Crash(id) // between two tries it has no word for that: it has just exited
		step("crash", "app2(retained)")
		if got := w.entrypoint("http_app").Absent[0].Detail; got != "ended with exit code 1, restarted once" {
			t.Errorf("detail %q", got)
		}
		w.e.Start(id)
		step("start after the crash", "app2="+w.e.Address("app2", "edge")+":80(present)")
		w.e.Remove(id)
		step("rm -f", "app2(retained)")
		w.after(DefaultRetain)
		if got := of(w.last(), "http_app"); got != "-" {
			t.Errorf("after the retention: %s", got)
		}
		if got := describeOthers(w.last().Entrypoints); got != others {
			t.Errorf("others changed from %s to %s", others, got)
		}
	})
}

// A container that shares another one's network, as every member of a pod does, shows that
// one's addresses as its own: nobody has taken them from anybody.
func TestPodmanMembersShareAnAddress(t *testing.T) {
	onWire(t, enginetest.Podman, func(e *enginetest.Engine) {
		e.Run(enginetest.Container{Name: "infra"})
	}, func(w *wire) {
		for _, name := range []string{"app", "api"} {
			c := own(name)
			c.NetworkMode = "container:" + enginetest.HexID("container infra")
			w.e.Run(c)
		}
		at := "=" + w.e.Address("infra", "bridge") + ":80(present)"
		w.after(quietTime + removalWait)
		for range 10 {
			w.is("http_app", "app"+at)
			w.is("http_api", "api"+at)
			w.after(15 * time.Second)
		}
	})
}

// HEALTHCHECKs make an event for each run, whose word is not in the action, and without
// systemd never leave "starting".
func TestHealthOfPodmanContainers(t *testing.T) {
	onWire(t, enginetest.Podman, func(e *enginetest.Engine) {
		c := own("app")
		c.Health, c.Image = "starting", "shop"
		e.Run(c)
	}, func(w *wire) {
		at := "app=" + w.e.Address("app", "bridge") + ":80"
		w.is("http_app", at+"(starting)")
		if image := w.entrypoint("http_app").Backends[0].Container.Image; image != "docker.io/library/shop" {
			t.Errorf("image %s", image)
		}
		puts := w.puts()
		for range 60 {
			w.e.SetHealth("app", "starting")
			w.e.Emit(enginetest.Event{Type: "container", Action: "health_status", ID: enginetest.HexID("container app")})
			w.after(time.Second)
		}
		w.quietly(puts, w.log.count(), 0)
		for _, health := range []string{"healthy", "unhealthy", "healthy"} {
			w.e.SetHealth("app", health)
			w.after(time.Second)
			w.is("http_app", at+map[string]string{"healthy": "(present)", "unhealthy": "(unhealthy)"}[health])
		}
	})
}

// Filtering by event would lose every end of a container.
func TestEventsAreFilteredByTypeOnly(t *testing.T) {
	e := enginetest.New(enginetest.Podman)
	p := newProvider(t, e.ServeUnix(t), nil)
	eng, err := p.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, errs := eng.Events(ctx, time.Now().Add(-time.Minute))
	eventually(t, "the stream", func() bool { return e.Subscribers() == 1 })
	go func() { e.Die(e.Run(own("app")), 1) }()
	for {
		select {
		case ev := <-events:
			if ev.Action == "die" {
				return
			}
		case err := <-errs:
			t.Fatal(err)
		case <-time.After(10 * time.Second):
			t.Fatal("no die")
		}
	}
}

func TestPodmansWordsForStates(t *testing.T) {
	for word, want := range map[string]string{
		"configured": statusCreated, "initialized": statusCreated, "stopping": statusRunning, "stopped": statusExited,
		"running": statusRunning, "paused": statusPaused, "exited": statusExited, "restarting": statusRestarting, "": "",
	} {
		if got := dockerStatus(word); got != want {
			t.Errorf("%q became %q, want %q", word, got, want)
		}
	}
}
