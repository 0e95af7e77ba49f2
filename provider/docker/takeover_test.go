package docker

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// silence keeps everything back that announces the end of a container.
func silence(e *enginetest.Engine) {
	for _, action := range []string{"kill", "die", "stop", "disconnect", "cleanup", "destroy", "remove"} {
		e.Suppress(action, true)
	}
}

// routed reports whether traffic may go to the container at the address.
func routed(s route.Snapshot, name, address string) bool {
	for _, e := range s.Entrypoints {
		for _, b := range e.Backends {
			if b.Name == name && b.Host == address && b.Provider != route.ProviderLeaving {
				return true
			}
		}
	}
	return false
}

// The end of a container is lost and its address goes to the next one at once. The next
// one's process must not get a request: it is 190 ms after the connect on 20.10, 13 ms
// on 29.
func TestTakenAddressIsLeftBeforeTheNewOwnerStarts(t *testing.T) {
	for style, takes := range map[enginetest.Style]time.Duration{
		enginetest.Docker20: 190 * time.Millisecond, enginetest.Docker29: 13 * time.Millisecond,
	} {
		for _, next := range []enginetest.Container{{Name: "next"}, own("next")} {
			onWire(t, style, func(e *enginetest.Engine) { e.Run(own("old")); e.Run(own("steady")) }, func(w *wire) {
				address := w.e.Address("old", "bridge")
				w.e.StartTakes(takes)
				silence(w.e)
				w.e.Stop("old")
				w.after(time.Millisecond)
				w.is("http_old", "old="+address+":80(present)") // nobody could know
				before := w.e.Requests(enginetest.Inspect)
				w.e.Create(next)
				go w.e.Start("next")
				w.after(time.Millisecond)
				if w.e.Address("next", "bridge") != address {
					t.Fatal("the fake did not reuse the address")
				}
				if routed(w.last(), "old", address) {
					t.Errorf("1 ms after the connect: %s", describeSnapshot(w.last()))
				}
				w.after(time.Second)
				w.is("http_old", "old(retained)")
				w.is("http_steady", w.up("steady"))
				if n := w.e.Requests(enginetest.Inspect) - before; n > 4 {
					t.Errorf("%d inspects", n)
				}
			})
		}
	}
}

// Without the networks' occupants the new owner's own inspect has to tell, at its start.
func TestTakenAddressIsLeftAtTheStartWhereOccupantsAreHidden(t *testing.T) {
	for _, denied := range [][]string{{enginetest.Networks, enginetest.Occupants}, {enginetest.Occupants}} {
		onWire(t, enginetest.Docker20, func(e *enginetest.Engine) {
			e.Deny(denied...)
			e.Run(own("old"))
			e.Run(enginetest.Container{Name: "somebody"}) // a first connect tells that they are hidden
		}, func(w *wire) {
			w.e.Run(enginetest.Container{Name: "another"})
			w.after(time.Second)
			if notes := strings.Join(w.last().Status.Notes, "\n"); !strings.Contains(notes, denied[0]+" is denied") || !strings.Contains(notes, "takes over the address") {
				t.Errorf("notes %q", notes)
			}
			address := w.e.Address("old", "bridge")
			w.e.StartTakes(190 * time.Millisecond)
			w.e.Delay(enginetest.Inspect, 5*time.Millisecond) // one that is sent at the start comes too late
			silence(w.e)
			w.e.Stop("old")
			w.e.Create(enginetest.Container{Name: "next"})
			go w.e.Start("next")
			w.after(189 * time.Millisecond)
			w.is("http_old", "old="+address+":80(present)")
			w.after(time.Millisecond)
			if routed(w.last(), "old", address) {
				t.Errorf("at the start: %s", describeSnapshot(w.last()))
			}
		})
	}
}

// The removal waits for nothing that is asked meanwhile.
func TestTakenAddressIsLeftWhateverElseIsBeingAsked(t *testing.T) {
	onWire(t, enginetest.Docker29, func(e *enginetest.Engine) { threeSites(e); e.Run(own("old")); e.Run(own("next")) }, func(w *wire) {
		w.e.Stop("next")
		w.after(time.Second)
		address := w.e.Address("old", "bridge")
		w.e.StartTakes(13 * time.Millisecond)
		silence(w.e)
		w.e.Stop("old")
		w.e.Delay(enginetest.Inspect, 50*time.Millisecond)
		for _, name := range []string{"a", "b", "c", "old"} {
			w.e.SetHealth(name, "")
		}
		w.after(inspectGap / 2)
		go w.e.Start("next")
		w.after(time.Millisecond)
		if w.e.Address("next", "bridge") != address {
			t.Fatal("the fake did not reuse the address")
		}
		if routed(w.last(), "old", address) {
			t.Errorf("1 ms after the connect: %s", describeSnapshot(w.last()))
		}
		w.after(time.Second)
		w.is("http_old", "old(retained)")
		w.is("http_next", w.up("next"))
	})
}

func TestEngineThatNamesTheWrongOwnerForAMoment(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		w.e.SwapOccupants(1)
		w.e.Run(enginetest.Container{Name: "job"})
		w.after(time.Second)
		for _, name := range []string{"a", "b", "c"} {
			w.is("http_"+name, w.up(name))
		}
	})
}

func TestAddressThatIsHiddenForAMomentStays(t *testing.T) {
	onWire(t, enginetest.Docker20, func(e *enginetest.Engine) {
		e.AddNetwork(enginetest.Network{Name: "edge"})
		threeSites(e)
		e.Run(enginetest.Container{Name: "two", Networks: []string{"edge", "bridge"}, Labels: own("two").Labels, Expose: []string{"80/tcp"}})
		e.Run(enginetest.Container{
			Name: "named", Networks: []string{"edge"}, Expose: []string{"80/tcp"},
			Labels: map[string]string{"sozune.enable": "true", "sozune.http.named.host": "named.example", "sozune.network": "edge"},
		})
	}, func(w *wire) {
		puts, lines := w.puts(), w.log.count()
		for _, name := range []string{"a", "two", "named"} {
			w.e.HideAddress(name, 2)
			w.e.SetHealth(name, "")
		}
		w.after(3 * time.Second)
		w.quietly(puts, lines, 0)
		// One that is gone for good is believed after a second or so.
		w.e.HideAddress("a", 1000)
		w.e.SetHealth("a", "")
		w.after(hiddenTime / 2)
		w.is("http_a", w.up("a"))
		w.after(2 * hiddenTime)
		w.is("http_a", "a(no_address)")
		w.e.HideAddress("a", 0)
		w.after(maxInspectBackoff)
		w.is("http_a", w.up("a"))
	})
}

// What an event took away, or an earlier life had, is not believed in for a moment.
func TestAddressThatWasTakenAwayIsLeftAtOnce(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		w.e.Disconnect("a", "bridge")
		w.after(removalWait)
		w.is("http_a", "a(no_address)")
		silence(w.e)
		w.e.Stop("b")
		w.e.HideAddress("b", 3)
		w.e.Start("b")
		w.after(200 * time.Millisecond)
		w.is("http_b", "b(no_address)")
		w.after(time.Second)
		w.is("http_b", w.up("b"))
	})
}

// An inspect that wrongly says "no such container" is put right by the next list.
func TestContainerThatWasDeniedByAnInspectIsBackWithTheNextList(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		id := enginetest.HexID("container a")
		w.e.Emit(enginetest.Event{Type: "container", Action: "destroy", ID: id})
		w.after(time.Millisecond)
		w.is("http_a", "a(retained)")
		w.after(resyncInterval)
		w.is("http_a", w.up("a"))
	})
}

func TestOccupantsOfARealAnswer(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	six := e.AddNetwork(enginetest.Network{Name: "six", Subnet6: netip.MustParsePrefix("fd00::/64")})
	e.Run(enginetest.Container{Name: "both", Networks: []string{"six"}})
	p := newProvider(t, e.ServeUnix(t), nil)
	eng, err := p.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	for _, ref := range []string{six.ID, "six"} {
		got, err := eng.Occupants(context.Background(), ref)
		id := enginetest.HexID("container both")
		if err != nil || len(got) != 2 || got["172.20.0.2"] != id || got["fd00::2"] != id {
			t.Errorf("%s: %v %v", ref, got, err)
		}
	}
	if _, err := eng.Occupants(context.Background(), "none such"); err == nil {
		t.Error("no error for a network that does not exist")
	}
}

// Two events are on their way: the inspect after the first one shows what the second one
// will say.
func TestInspectThatIsFasterThanTheDisconnect(t *testing.T) {
	const lag = 100 * time.Millisecond
	for _, style := range []enginetest.Style{enginetest.Docker20, enginetest.Docker29, enginetest.Podman} {
		onWire(t, style, func(e *enginetest.Engine) {
			e.AddNetwork(enginetest.Network{Name: "edge"})
			threeSites(e)
			e.Lag(lag)
		}, func(w *wire) {
			w.e.Connect("a", "edge")
			w.after(lag / 2)
			w.e.Disconnect("a", "bridge")
			w.after(lag + removalWait)
			w.is("http_a", "a="+w.e.Address("a", "edge")+":80(present)")
		})
	}
}

// A removal that waits a moment for additions goes out when an address is given out.
func TestConnectDoesNotFindARemovalWaiting(t *testing.T) {
	for _, blind := range []bool{false, true} {
		onWire(t, enginetest.Docker20, func(e *enginetest.Engine) {
			threeSites(e)
			if blind {
				e.Deny(enginetest.Networks, enginetest.Occupants)
			}
		}, func(w *wire) {
			address := w.e.Address("a", "bridge")
			w.e.Delay(enginetest.Inspect, 50*time.Millisecond)
			w.e.StartTakes(3 * time.Millisecond)
			w.e.Create(enginetest.Container{Name: "next"})
			w.e.SetHealth("b", "") // is being asked about
			w.after(5 * time.Millisecond)
			w.e.Suppress("disconnect", true)
			w.e.Die("a", 1)
			w.after(time.Millisecond)
			go w.e.Start("next")
			w.after(time.Millisecond)
			if w.e.Address("next", "bridge") != address {
				t.Fatal("the fake did not reuse the address")
			}
			if routed(w.last(), "a", address) {
				t.Errorf("blind %v: 1 ms after the connect: %s", blind, describeSnapshot(w.last()))
			}
			w.after(time.Second)
		})
	}
}

// An inspect that was sent after the question about the network, and whose answer is not
// there yet, excuses nobody.
func TestOccupantsCountWhileAnInspectIsUnderWay(t *testing.T) {
	now := time.Now()
	s := testState()
	r := s.get("a", containerAt("a", "10.0.0.2", now).Labels)
	r.launch(now)
	s.answered("a", containerAt("a", "10.0.0.2", now), nil, now)
	at := seating{network: "id-edge", occupants: map[string]string{"10.0.0.2": "b"}, asked: now.Add(time.Second)}
	r.launch(now.Add(2 * time.Second))
	if s.occupied(at, now) != atOnce || r.leaving == nil {
		t.Error("the container keeps an address that is another one's")
	}
	r.leaving, r.inFlight = nil, false
	if s.occupied(at, now) != idle || r.leaving != nil {
		t.Error("an older answer about the network counts more than the container's own")
	}
}
