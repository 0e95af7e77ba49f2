package docker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider/label"
	"fairlead/router/route"
)

func testState() *state {
	return newState(Config{Retain: DefaultRetain, Label: label.Config{Prefix: "sozune"}, Log: zerolog.Nop()})
}

func containerAt(id, address string, now time.Time) inspected {
	return inspected{
		ID: id, Name: id, Status: statusRunning, Started: now, Created: now, StopTimeout: defaultStopTimeout,
		Labels:   map[string]string{"sozune.enable": "true", "sozune.http.web.host": "web.example"},
		Networks: nets("edge=" + address), Exposed: []string{"80/tcp"},
	}
}

func TestNothingIsRememberedForEver(t *testing.T) {
	s, now := testState(), time.Now()
	for i := range 2000 {
		id := fmt.Sprintf("c%d", i)
		c := containerAt(id, fmt.Sprintf("10.0.%d.%d", i/250, 2+i%250), now)
		if i%2 == 0 {
			c.Labels = nil
		}
		if i%7 == 1 {
			c.NetworkMode = "container:" + otherID
		}
		s.apply(event{Type: "container", Action: "start", ID: id, Attrs: c.Labels, At: now}, now)
		s.answered(id, c, nil, now)
		s.apply(event{Type: "container", Action: "die", ID: id, At: now}, now)
		s.apply(event{Type: "container", Action: "destroy", ID: id, At: now}, now)
		now = now.Add(time.Second)
		s.snapshot(now)
	}
	s.listed(nil)
	s.answered(otherID, inspected{}, errNotFound, now)
	now = now.Add(2 * DefaultRetain)
	s.snapshot(now)
	if len(s.records) != 0 || len(s.holders) != 0 || len(s.claims) != 0 || len(s.followed) != 0 {
		t.Errorf("left over: %d records, %d addresses, %d claims, %d followed", len(s.records), len(s.holders), len(s.claims), len(s.followed))
	}
}

// Podman names the container of a network event in Actor.ID, calls a removal
// "remove", and says health_status without the status in the action.
func TestPodmanEvents(t *testing.T) {
	s, now := testState(), time.Now()
	s.apply(event{Type: "container", Action: "start", ID: "a", Attrs: map[string]string{"sozune.enable": "true"}, At: now}, now)
	s.answered("a", containerAt("a", "10.0.0.2", now), nil, now)
	for _, e := range []event{
		{Type: "network", Action: "disconnect", ID: "a", Attrs: map[string]string{"name": "edge"}},
		{Type: "container", Action: "health_status", ID: "a"},
	} {
		if !matters(e) || s.apply(e, now) != soon || !s.records["a"].dirty {
			t.Errorf("%+v does not ask for an inspect", e)
		}
		s.records["a"].dirty = false
	}
	for _, action := range []string{"init", "cleanup", "sync", "create", "attach", "resize", "top", "exec_died", "update"} {
		if matters(event{Type: "container", Action: action}) {
			t.Errorf("%s is no noise", action)
		}
	}
	if matters(event{Type: "network", Action: "create"}) || matters(event{Type: "image", Action: "start"}) {
		t.Error("other objects are noise")
	}
	if s.apply(event{Type: "container", Action: "died", ID: "a", At: now}, now) != atOnce {
		t.Error("a death does not go out at once")
	}
	if s.apply(event{Type: "container", Action: "remove", ID: "a"}, now) != atOnce {
		t.Error("a removal does not go out at once")
	}
	if got := of(s.snapshot(now), "http_web"); got != "a(retained)" {
		t.Errorf("after the removal: %s", got)
	}
}

func TestLateAnswersDoNotRaiseTheDead(t *testing.T) {
	s, now := testState(), time.Now()
	c := containerAt("a", "10.0.0.2", now)
	s.apply(event{Type: "container", Action: "start", ID: "a", Attrs: c.Labels, At: now}, now)
	s.answered("a", c, nil, now)
	s.apply(event{Type: "container", Action: "destroy", ID: "a", At: now}, now)
	for _, e := range []string{"start", "die", "pause"} {
		if s.apply(event{Type: "container", Action: e, ID: "a", At: now}, now) != idle {
			t.Errorf("%s after the removal has an effect", e)
		}
	}
	if s.answered("a", c, nil, now) != idle || of(s.snapshot(now), "http_web") != "a(retained)" {
		t.Error("a late answer brought the container back")
	}
	if s.answered("unknown", c, nil, now) != idle {
		t.Error("an answer about nobody has an effect")
	}
}

func TestDepartureWithoutAnEndIsLong(t *testing.T) {
	s, now := testState(), time.Now()
	c := containerAt("a", "10.0.0.2", now)
	c.StopTimeout = -time.Second
	s.apply(event{Type: "container", Action: "start", ID: "a", Attrs: c.Labels, At: now}, now)
	s.answered("a", c, nil, now)
	s.apply(event{Type: "container", Action: "kill", ID: "a", Attrs: map[string]string{"signal": "15"}, At: now}, now)
	if left := s.records["a"].leaving.until.Sub(now); left < 24*time.Hour {
		t.Errorf("a container that waits for its process for ever is taken back after %v", left)
	}
}

// A container that lost its address to another one and has a new one is back at once.
func TestOustedContainerWithANewAddressIsBack(t *testing.T) {
	s, now := testState(), time.Now()
	a, b := containerAt("a", "10.0.0.2", now), containerAt("b", "10.0.0.2", now.Add(-time.Hour))
	tell := func(c inspected, launched time.Time) urgency {
		r := s.get(c.ID, c.Labels)
		r.launch(launched)
		return s.answered(c.ID, c, nil, now)
	}
	tell(a, now)
	if tell(b, now.Add(time.Second)) != immediately || s.records["a"].leaving == nil || !s.records["a"].dirty {
		t.Fatal("the one that was asked about earlier keeps the address")
	}
	if tell(a, now.Add(2*time.Second)); s.records["a"].leaving == nil || s.records["b"].leaving != nil {
		t.Error("an engine that goes on claiming both makes them take turns")
	}
	a.Networks = nets("edge=10.0.0.3")
	tell(a, now.Add(3*time.Second))
	if got := of(s.snapshot(now), "http_web"); got != "a=10.0.0.3:80(present) b=10.0.0.2:80(present)" {
		t.Errorf("got %s", got)
	}
	// An answer that was asked for before the other one's is the older truth.
	stale := containerAt("c", "10.0.0.3", now)
	if tell(stale, now); s.records["c"].leaving == nil || s.records["a"].leaving != nil {
		t.Error("an older answer took the address away from a newer one")
	}
}

func TestExposeByDefault(t *testing.T) {
	s := newState(Config{Retain: DefaultRetain, Label: label.Config{Prefix: "sozune", ExposeByDefault: true}, Log: zerolog.Nop()})
	c := containerAt("a", "10.0.0.2", time.Now())
	delete(c.Labels, "sozune.enable")
	s.listed([]summary{{ID: "a", Name: "a", Labels: c.Labels}, {ID: "b", Name: "b"}})
	if !s.records["b"].dirty {
		t.Error("with exposeByDefault every container is asked about")
	}
	s.answered("a", c, nil, time.Now())
	if got := of(s.snapshot(time.Now()), "http_web"); got != "a=10.0.0.2:80(present)" {
		t.Errorf("got %s", got)
	}
}

func TestLabelPrefixesAreComparedWithoutCase(t *testing.T) {
	for key, want := range map[string]bool{
		"sozune.enable": true, "Sozune.HTTP.app.Host": true, "sozune": false, "sozunes.enable": false, "traefik.enable": false, "sozune.": true,
	} {
		if got := hasLabels(map[string]string{key: "x"}, "sozune"); got != want {
			t.Errorf("hasLabels(%q) = %v", key, got)
		}
	}
}

func TestEqualSnapshots(t *testing.T) {
	s, now := testState(), time.Now()
	c := containerAt("a", "10.0.0.2", now)
	s.listed([]summary{{ID: "a", Labels: c.Labels}})
	s.answered("a", c, nil, now)
	s.synced(now, nil)
	first := s.snapshot(now)
	s.synced(now.Add(time.Hour), nil)
	if second := s.snapshot(now.Add(time.Hour)); !equal(first, second, true) {
		t.Error("a read without a change is a change")
	}
	s.apply(event{Type: "container", Action: "start", ID: "other"}, now)
	s.answered("other", inspected{ID: "other", Status: statusRunning}, nil, now)
	third := s.snapshot(now)
	if !equal(first, third, false) || equal(first, third, true) {
		t.Error("other people's containers count after a complete read, and only then")
	}
	s.disconnected(problem(nil, "hint", "text"), now)
	if equal(first, s.snapshot(now), false) {
		t.Error("a lost engine is no change")
	}
	if first.Status.Phase != route.PhaseReady || !strings.HasPrefix(first.Entrypoints[0].Backends[0].Incarnation, "docker/") {
		t.Errorf("snapshot %+v", first)
	}
}

func BenchmarkSnapshotOf300Containers(b *testing.B) {
	s, now := testState(), time.Now()
	for i := range 300 {
		c := containerAt(fmt.Sprintf("c%03d", i), fmt.Sprintf("10.0.%d.%d", i/250, 2+i%250), now)
		c.Labels["sozune.http.web.host"] = fmt.Sprintf("h%d.example", i%100)
		s.get(c.ID, c.Labels)
		s.answered(c.ID, c, nil, now)
	}
	for b.Loop() {
		s.snapshot(now)
	}
}

// Another network that comes before the chosen one must not change the address: that
// is a new incarnation, with new health and closed connections.
func TestConnectedNetworkKeepsTheChosenAddress(t *testing.T) {
	began := time.Now()
	type step struct {
		nets  string
		fresh bool // started anew
		self  string
		want  string
	}
	for name, c := range map[string]struct {
		standard, wanted, project string
		steps                     []step
	}{
		"unrelated":               {steps: []step{{nets: "m=10.0.0.2", want: "10.0.0.2"}, {nets: "a=10.1.0.2 m=10.0.0.2", want: "10.0.0.2"}}},
		"compose's own":           {project: "shop", steps: []step{{nets: "m=10.0.0.2", want: "10.0.0.2"}, {nets: "shop_default=10.1.0.2 m=10.0.0.2", want: "10.0.0.2"}}},
		"label":                   {wanted: "a", steps: []step{{nets: "m=10.0.0.2", want: "10.0.0.2"}, {nets: "a=10.1.0.2 m=10.0.0.2", want: "10.1.0.2"}}},
		"provider's default":      {standard: "z", steps: []step{{nets: "m=10.0.0.2", want: "10.0.0.2"}, {nets: "z=10.1.0.2 m=10.0.0.2", want: "10.1.0.2"}}},
		"default without address": {standard: "z", steps: []step{{nets: "m=10.0.0.2", want: "10.0.0.2"}, {nets: "a=10.2.0.2 z= m=10.0.0.2", want: "10.0.0.2"}}},
		"disconnected":            {steps: []step{{nets: "m=10.0.0.2", want: "10.0.0.2"}, {nets: "a=10.1.0.2", want: "10.1.0.2"}, {nets: "a=10.1.0.2 m=10.0.0.2", want: "10.1.0.2"}}},
		"another address":         {steps: []step{{nets: "m=10.0.0.2", want: "10.0.0.2"}, {nets: "a=10.1.0.2 m=10.0.0.3", want: "10.1.0.2"}}},
		"started anew":            {steps: []step{{nets: "m=10.0.0.2", want: "10.0.0.2"}, {nets: "a=10.1.0.2 m=10.0.0.2", fresh: true, want: "10.1.0.2"}}},
		"not shared any more":     {steps: []step{{nets: "m=10.0.0.2", self: "a m", want: "10.0.0.2"}, {nets: "a=10.1.0.2 m=10.0.0.2", self: "a", want: "10.1.0.2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, now := testState(), began
			s.site.defaultNetwork = c.standard
			s.site.self = location{where: onHost}
			started := began
			for i, step := range c.steps {
				now = now.Add(time.Second)
				if step.fresh {
					started = now
				}
				in := containerAt("a", "", started)
				in.Networks = nets(strings.Fields(step.nets)...)
				in.Labels["sozune.network"], in.Labels["com.docker.compose.project"] = c.wanted, c.project
				if step.self != "" {
					s.site.self = location{where: inContainer, networks: nets(strings.Fields(step.self)...)}
				}
				s.apply(event{Type: "network", Action: "connect", Attrs: map[string]string{"container": "a"}}, now)
				for gone, a := range s.get("a", in.Labels).info.Networks {
					if _, stays := in.Networks[gone]; !stays {
						s.apply(event{Type: "network", Action: "disconnect", ID: a.NetworkID, Attrs: map[string]string{"container": "a"}}, now)
					}
				}
				s.answered("a", in, nil, now)
				e := s.snapshot(now).Entrypoints[0]
				if len(e.Backends) != 1 || e.Backends[0].Host != step.want {
					t.Fatalf("step %d: %s, want %s", i, backends(e), step.want)
				}
			}
		})
	}
}

// Two containers that both claim an address: the loser's removal waits for nothing.
func TestContestedAddressWaitsForNothing(t *testing.T) {
	var p pace
	now := time.Now()
	p.settle(immediately, now)
	if at := p.deadline(true); at.After(now) {
		t.Errorf("it waits %v", at.Sub(now))
	}
}
