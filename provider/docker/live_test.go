package docker

import (
	"strings"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// Each test of this file runs the provider against an engine behind a real socket.

func eachStyle(t *testing.T, test func(*testing.T, *enginetest.Engine)) {
	t.Helper()
	t.Run("20.10", func(t *testing.T) { test(t, enginetest.New(enginetest.Docker20)) })
	t.Run("29", func(t *testing.T) { test(t, enginetest.New(enginetest.Docker29)) })
}

func named(name string) func(*enginetest.Container) {
	return func(c *enginetest.Container) { c.Name = name }
}

func TestLifeOfAContainer(t *testing.T) {
	eachStyle(t, func(t *testing.T, e *enginetest.Engine) {
		r := start(t, newProvider(t, e.ServeUnix(t), nil))
		s := r.until("the first read", func(s route.Snapshot) bool { return s.Status.Phase == route.PhaseReady })
		if !s.Status.Connected || s.Status.APIVersion == "" || s.Status.EngineVersion == "" || s.Status.LastSync.IsZero() {
			t.Errorf("status after the first read: %+v", s.Status)
		}
		id := e.Run(web("app"))
		up := "app=" + e.Address("app", "bridge") + ":80(present)"
		r.until("the start", shows("http_web", up))
		e.Signal(id, "1")
		e.Pause(id)
		r.until("the pause", shows("http_web", "app(paused)"))
		e.Unpause(id)
		r.until("the unpause", shows("http_web", up))
		e.Rename(id, "app2")
		r.until("the rename", shows("http_web", strings.Replace(up, "app=", "app2=", 1)))
		e.Signal(id, "15")
		r.until("the signal", shows("http_web", strings.NewReplacer("app=", "app2=", "present", "leaving").Replace(up)))
		e.Stop(id)
		s = r.until("the stop", shows("http_web", "app2(retained)"))
		if left := time.Until(s.Entrypoints[0].RetainedUntil); left < 50*time.Second || left > time.Minute {
			t.Errorf("retained for %v, want a minute", left)
		}
		e.Start(id)
		r.until("the next start", shows("http_web", strings.Replace(up, "app=", "app2=", 1)))
		e.Crash(id)
		r.until("the crash", shows("http_web", "app2(restarting)"))
		e.Start(id)
		r.until("the start after the crash", shows("http_web", strings.Replace(up, "app=", "app2=", 1)))
		e.Restart(id)
		r.until("the restart", shows("http_web", strings.Replace(up, "app=", "app2=", 1)))
		e.Remove(id)
		r.until("the removal", shows("http_web", "app2(retained)"))
		if e.Dropped() != 0 {
			t.Errorf("the engine had to drop %d events", e.Dropped())
		}
	})
}

func TestHealthcheckStates(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	id := e.Run(web("app", func(c *enginetest.Container) { c.Health = "starting" }))
	at := "app=" + e.Address("app", "bridge") + ":80"
	r.until("starting", shows("http_web", at+"(starting)"))
	e.SetHealth(id, "healthy")
	s := r.until("healthy", shows("http_web", at+"(present)"))
	if s.Entrypoints[0].Backends[0].Container.Health != "healthy" {
		t.Error("the answer does not show Docker's word")
	}
	e.SetHealth(id, "unhealthy")
	r.until("unhealthy", shows("http_web", at+"(unhealthy)"))
}

func TestNoiseAsksForNothing(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	id := e.Run(web("app"))
	other := e.Run(enginetest.Container{Name: "db"})
	r.until("the start", func(s route.Snapshot) bool { return of(s, "http_web") != "-" })
	before := e.Requests(enginetest.Inspect)
	for range 60 { // within the engine's buffer of 1024 events, however slow this machine is
		e.Probe(id)
		e.Probe(other)
		e.SetHealth(other, "unhealthy")
		e.Signal(other, "15")
	}
	e.Emit(enginetest.Event{Type: "volume", Action: "mount", ID: "v"})
	e.Rename(id, "renamed")
	r.until("an event after the noise", func(s route.Snapshot) bool { return strings.HasPrefix(of(s, "http_web"), "renamed=") })
	if asked := e.Requests(enginetest.Inspect) - before; asked > 2 {
		t.Errorf("noise led to %d inspects", asked)
	}
	if e.Dropped() != 0 {
		t.Errorf("the engine had to drop %d events", e.Dropped())
	}
}

func TestOtherPeoplesContainersChangeNothing(t *testing.T) {
	e := enginetest.New(enginetest.Docker29)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	e.Run(web("app"))
	r.until("the start", func(s route.Snapshot) bool { return of(s, "http_web") != "-" })
	for range 20 {
		e.Remove(e.Run(enginetest.Container{Name: "job"}))
	}
	e.Run(web("next"))
	r.next("the next of ours", func(s route.Snapshot) bool { return strings.Contains(of(s, "http_web"), "next=") })
}

func TestBurstOfEventsIsOneChange(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	r.until("the first read", func(s route.Snapshot) bool { return s.Status.Connected })
	puts := r.puts
	for i := range 100 {
		e.Run(web("app", named("app"+string(rune('a'+i%26))+string(rune('a'+i/26)))))
	}
	r.until("all of them", func(s route.Snapshot) bool {
		return len(s.Entrypoints) == 1 && len(s.Entrypoints[0].Backends) == 100
	})
	if n := r.puts - puts; n > 5 {
		t.Errorf("400 events led to %d snapshots", n)
	}
	if asked := e.Requests(enginetest.Inspect); asked > 400 {
		t.Errorf("100 containers led to %d inspects", asked)
	}
	if e.Dropped() != 0 {
		t.Errorf("the engine had to drop %d events", e.Dropped())
	}
}

func TestAddressComesLaterThanTheStart(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	r.until("the first read", func(s route.Snapshot) bool { return s.Status.Connected })
	id := e.Create(web("app"))
	e.HideAddress(id, 3)
	e.Start(id)
	r.until("waiting", shows("http_web", "app(no_address)"))
	r.until("the address", shows("http_web", "app="+e.Address("app", "bridge")+":80(present)"))
}

func TestNetworksComeAndGo(t *testing.T) {
	eachStyle(t, func(t *testing.T, e *enginetest.Engine) {
		e.AddNetwork(enginetest.Network{Name: "edge"})
		e.AddNetwork(enginetest.Network{Name: "inner", Internal: true})
		r := start(t, newProvider(t, e.ServeUnix(t), nil))
		id := e.Run(web("app", func(c *enginetest.Container) { c.Networks = []string{"inner"} }))
		inner := "app=" + e.Address("app", "inner") + ":80(present)"
		r.until("the internal network", shows("http_web", inner))
		e.Connect(id, "edge") // comes first, but the address in use still works
		edge := "app=" + e.Address("app", "edge") + ":80(present)"
		e.Disconnect(id, "inner")
		r.until("the other network", shows("http_web", edge))
		e.Disconnect(id, "edge")
		r.next("no network left", shows("http_web", "app(no_address)"))
		e.Connect(id, "inner")
		r.until("the network is back", shows("http_web", "app="+e.Address("app", "inner")+":80(present)"))
	})
}

func TestNewNetworkIsLookedUpBeforeItIsUsed(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	r.until("the first read", func(s route.Snapshot) bool { return s.Status.Connected })
	e.AddNetwork(enginetest.Network{Name: "lan", Driver: "macvlan"})
	e.Run(web("app", func(c *enginetest.Container) { c.Networks = []string{"lan"} }))
	s := r.until("the container", func(s route.Snapshot) bool { return of(s, "http_web") != "-" })
	if of(s, "http_web") != "app(refused)" || !strings.Contains(codes(s.Entrypoints[0].Diagnostics), "E107") {
		t.Errorf("an address that the host cannot reach was used: %s", describeSnapshot(s))
	}
}

func TestFollowedContainer(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	vpn := e.Run(enginetest.Container{Name: "vpn"})
	e.Run(web("app", func(c *enginetest.Container) { c.NetworkMode = "container:" + vpn }))
	at := "app=" + e.Address("vpn", "bridge") + ":80(present)"
	r.until("the other one's address", shows("http_web", at))
	e.Stop(vpn)
	r.until("the other one's end", shows("http_web", "app(no_address)"))
	e.Run(enginetest.Container{Name: "taker"})
	e.Start(vpn)
	r.until("the other one's next address", shows("http_web", "app="+e.Address("vpn", "bridge")+":80(present)"))
	e.Remove(vpn)
	r.until("the other one's removal", shows("http_web", "app(refused)"))
}

func TestFollowedContainerIsRecreated(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	old := e.Run(enginetest.Container{Name: "vpn"})
	e.Run(web("app", func(c *enginetest.Container) { c.NetworkMode = "container:vpn" }))
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	r.until("the other one's address", shows("http_web", "app="+e.Address("vpn", "bridge")+":80(present)"))
	e.Remove(old)
	e.Run(enginetest.Container{Name: "taker"})
	e.Run(enginetest.Container{Name: "vpn", ID: enginetest.HexID("the next vpn")})
	r.until("the new one's address", shows("http_web", "app="+e.Address("vpn", "bridge")+":80(present)"))
}

// An address is given to the next container at once; the end of the first one is not
// announced.
func TestReusedAddressIsNeverTheOldContainers(t *testing.T) {
	for _, ours := range []bool{true, false} {
		e := enginetest.New(enginetest.Docker20)
		r := start(t, newProvider(t, e.ServeUnix(t), nil))
		old := e.Run(web("old"))
		address := e.Address("old", "bridge")
		r.until("the first", shows("http_web", "old="+address+":80(present)"))
		for _, action := range []string{"kill", "die", "stop", "disconnect", "destroy"} {
			e.Suppress(action, true)
		}
		e.Stop(old)
		next := enginetest.Container{Name: "new"}
		if ours {
			next = web("new", func(c *enginetest.Container) { c.Labels["sozune.http.web.host"] = "other.example" })
		}
		e.Run(next)
		if e.Address("new", "bridge") != address {
			t.Fatal("the fake did not reuse the address")
		}
		s := r.until("the old one out of the way", func(s route.Snapshot) bool {
			return !strings.Contains(describeSnapshot(s), "old="+address+":80(present)")
		})
		for _, ep := range s.Entrypoints {
			for _, b := range ep.Backends {
				if b.Name == "old" && b.Provider == route.ProviderPresent {
					t.Errorf("the old container is still served: %s", describeSnapshot(s))
				}
			}
		}
		r.until("the old one's end", func(s route.Snapshot) bool { return strings.Contains(describeSnapshot(s), "old(retained)") })
	}
}

func TestOneOffIsListedOnly(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.Run(web("shell", func(c *enginetest.Container) { c.Labels["com.docker.compose.oneoff"] = "True" }))
	e.Run(enginetest.Container{Name: "forgot", Labels: map[string]string{"sozune.http.web.host": "x.example"}})
	e.Run(enginetest.Container{Name: "off", Labels: map[string]string{"sozune.enable": "false"}})
	e.Run(enginetest.Container{Name: "plain"})
	s, err := newProvider(t, e.ServeTCP(t), nil).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Entrypoints) != 0 || len(s.Rejected) != 2 || s.Status.Candidates != 4 || s.Status.Ignored != 2 {
		t.Errorf("got %s, %+v", describeSnapshot(s), s.Status)
	}
}

func TestStoppedBeforeTheRouterStarted(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.Stop(e.Run(web("just")))
	long := e.Run(web("long", func(c *enginetest.Container) { c.Labels["sozune.http.web.host"] = "long.example" }))
	e.Stop(long)
	e.Edit(long, func(c *enginetest.Container) { c.Finished = time.Now().Add(-time.Hour) })
	e.Create(web("created", func(c *enginetest.Container) { c.Labels["sozune.http.web.host"] = "created.example" }))
	s, err := newProvider(t, e.ServeUnix(t), nil).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Entrypoints) != 1 || of(s, "http_web") != "just(retained)" {
		t.Errorf("got %s", describeSnapshot(s))
	}
	none, err := newProvider(t, e.ServeUnix(t), func(c *Config) { c.Retain = -1 }).Collect(t.Context())
	if err != nil || len(none.Entrypoints) != 0 {
		t.Errorf("without retention: %v %s", err, describeSnapshot(none))
	}
}

func TestRouterInAContainer(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.AddNetwork(enginetest.Network{Name: "edge"})
	e.AddNetwork(enginetest.Network{Name: "db"})
	own := e.Run(enginetest.Container{Name: "router", Networks: []string{"edge"}})
	e.Run(web("app", func(c *enginetest.Container) { c.Networks = []string{"db"} }))
	e.Run(enginetest.Container{
		Name: "hosted", NetworkMode: "host",
		Labels: map[string]string{"sozune.enable": "true", "sozune.http.h.host": "h.example", "sozune.http.h.port": "8123"},
	})
	p := newProvider(t, e.ServeUnix(t), nil)
	p.self = insideOf(own)
	r := start(t, p)
	s := r.until("the first read", func(s route.Snapshot) bool { return of(s, "http_web") == "app(refused)" })
	if !strings.Contains(codes(s.Entrypoints[1].Diagnostics), "E105") {
		t.Errorf("no E105 in %+v", s.Entrypoints[1].Diagnostics)
	}
	if got := of(s, "http_h"); got != "hosted=172.20.0.1:8123(present)" {
		t.Errorf("host network from a container: %s", got)
	}
	e.Connect(own, "db")
	r.until("the shared network", shows("http_web", "app="+e.Address("app", "db")+":80(present)"))
	e.Disconnect(own, "db")
	r.until("the network no longer shared", shows("http_web", "app(refused)"))
}

func TestHostNetworkOnTheHost(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.Run(web("ported", func(c *enginetest.Container) {
		c.NetworkMode, c.Labels = "host", map[string]string{
			"sozune.enable": "true", "sozune.http.web.host": "h.example", "sozune.http.web.port": "8123", "sozune.http.none.host": "n.example",
		}
	}))
	s, err := newProvider(t, e.ServeUnix(t), nil).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if of(s, "http_web") != "ported=127.0.0.1:8123(present)" || of(s, "http_none") != "ported(refused)" {
		t.Errorf("got %s", describeSnapshot(s))
	}
	if b := s.Entrypoints[1].Backends[0]; !b.Loopback {
		t.Error("the loopback address is not marked as the provider's own")
	}
}

func TestPortsComeFromTheImageAndFromWhatIsPublished(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.AddNetwork(enginetest.Network{Name: "inner", Internal: true})
	e.Run(web("app", func(c *enginetest.Container) { c.Networks, c.Expose = []string{"inner"}, []string{"3000/tcp"} }))
	e.Run(web("pub", func(c *enginetest.Container) {
		c.Expose, c.Publish, c.Labels["sozune.http.web.host"] = nil, []string{"4000/tcp"}, "pub.example"
	}))
	e.Run(web("two", func(c *enginetest.Container) {
		c.Expose = []string{"3000/tcp", "4000/tcp"}
		c.Labels = map[string]string{
			"sozune.enable": "true", "sozune.http.a.host": "a.example", "sozune.http.a.port": "3000", "sozune.http.b.host": "b.example",
		}
	}))
	s, err := newProvider(t, e.ServeUnix(t), nil).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := describeSnapshot(s)
	for _, want := range []string{":3000(present)", ":4000(present)", "http_b:two(refused)", "http_a:two=" + e.Address("two", "bridge") + ":3000(present)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}
