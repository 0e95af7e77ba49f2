package cli

import (
	"strings"
	"testing"
	"time"

	"fairlead/api"
	"fairlead/router/route"
)

// flat is a text in one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestDrainWithBoundClientsSaysFromWhenOn its container may be stopped, and not that it
// may be now.
func TestDrainWithBoundClientsSaysFromWhenOn(t *testing.T) {
	w, p := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e", "77bb00112233")
	o := &p.set.Entrypoint.Options
	o.Sticky.On, o.DrainTimeout = true, time.Hour
	p.engine.Apply(2, []route.PlacementSet{p.set})
	r := w.run("drain", "http_api", "3f2a9c0d1b7e")
	since := p.engine.Orders()[0].Admin.Since
	until := utc(since.Add(time.Hour).Unix())
	if text := flat(r.out); r.code != 0 || !strings.Contains(text, "Nothing is in flight there now") || !strings.Contains(text, "may be stopped after "+until) || strings.Contains(text, "may be stopped.") {
		t.Errorf("%d %s, want %s", r.code, r.all(), until)
	}
	p.set.Placements[0].Load.InFlight.Store(2)
	if text := flat(w.run("drain", "http_api", "3f2a9c0d1b7e").out); !strings.Contains(text, "In flight now: 2 requests, and bound clients may still come") {
		t.Error(text)
	}
	p.set.Placements[0].Load.InFlight.Store(0)
	if text := flat(w.run("maintenance", "http_api", "3f2a9c0d1b7e").out); !strings.Contains(text, "its container may be stopped.") {
		t.Errorf("maintenance binds nobody: %s", text)
	}
	// The time is over: nobody is bound any more.
	then := since.Unix()
	old := &api.BackendHealth{Admin: api.Admin{State: "drain", Since: &then}}
	if text := stopText(&api.Entrypoint{ID: "x", Config: api.EntrypointConfig{StickySession: true, DrainTimeoutMS: 500}}, old, since.Add(time.Second)); !strings.HasSuffix(text, "may be stopped.") {
		t.Error(text)
	}
}

// TestOrderSaysWhatItReplaces: whose order, why, and until when it was to last.
func TestOrderSaysWhatItReplaces(t *testing.T) {
	w, p := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e", "77bb00112233")
	order := func(actor string, action route.OrderAction, reason string, last time.Duration) {
		t.Helper()
		if err := p.engine.Order("http_api", "3f2a9c0d1b7e", route.Order{Action: action, Actor: actor, Reason: reason, For: last}); err != nil {
			t.Fatal(err)
		}
	}
	if r := w.run("drain", "http_api", "3f2a9c0d1b7e"); strings.Contains(r.out, "This ") {
		t.Errorf("nothing was replaced: %s", r.out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"drain", "http_api", "3f2a9c0d1b7e", "--reason", "mine"}, "This replaces the drain by ana since"},
		{[]string{"maintenance", "http_api", "3f2a9c0d1b7e"}, "This replaces the drain by ana since"},
		{[]string{"ready", "http_api", "3f2a9c0d1b7e"}, "This ends the drain by ana since"},
		{[]string{"drain", "http_api", "--all", "--force"}, "This replaces the drain by ana since"},
	} {
		order("ops", route.OrderReady, "", 0)
		order("ana", route.OrderDrain, "new disk", time.Hour)
		until := utc(p.engine.Orders()[0].Admin.ExpiresAt.Unix())
		r := w.run(c.args...)
		if text := flat(r.out); r.code != 0 || !strings.Contains(text, c.want) || !strings.Contains(text, "(new disk), which was to end at "+until+".") {
			t.Errorf("%v: %d %s", c.args, r.code, r.all())
		}
		order("ops", route.OrderReady, "", 0)
		if err := p.engine.Order("http_api", "", route.Order{Action: route.OrderReady, Scope: route.ScopeService}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOrderOfOneWhoIsNotLetIn is refused with the code of refusals, whatever was read first.
func TestOrderOfOneWhoIsNotLetIn(t *testing.T) {
	w, p := orderWorld(t, api.RoleAdmin, "3f2a9c0d1b7e", "77bb00112233")
	w.env = append(w.env, "FAIRLEAD_PASSWORD=wrong")
	for _, args := range [][]string{{"drain", "http_api", "3f2a9c0d1b7e"}, {"ready", "http_api", "3f2a9c0d1b7e"}, {"probe", "http_api", "3f2a9c0d1b7e"}} {
		if r := w.run(args...); r.code != exitRefused || !strings.Contains(r.err, "role admin") {
			t.Errorf("%v: %d %s", args, r.code, r.all())
		}
	}
	if r := w.run("health"); r.code != exitUnreachable {
		t.Errorf("reading: %d %s", r.code, r.all())
	}
	if len(p.engine.Orders()) != 0 {
		t.Errorf("%+v", p.engine.Orders())
	}
}

// TestAddressesAreSaidOnce: backends of a file have no other name.
func TestAddressesAreSaidOnce(t *testing.T) {
	list := []api.BackendHealth{{ID: "127.0.0.1:24101", Address: "127.0.0.1:24101"}, {ID: "127.0.0.1:24103", Address: "127.0.0.1:24103"}}
	e := &api.Entrypoint{ID: "http_fast", BackendHealth: list}
	if _, err := chooseBackend(e, "127.0.0.1:24102", oneOnly); err == nil || !strings.Contains(err.Error(), "did you mean 127.0.0.1:24101, 127.0.0.1:24103?") {
		t.Errorf("%v", err)
	}
	var out buffer
	p := &program{Streams: Streams{Out: &out}}
	p.printOrdered(e, &list[0], nil)
	p.printSeen("http_fast 127.0.0.1:24101", &api.Probe{Address: "127.0.0.1:24101"})
	if n := strings.Count(out.String(), "127.0.0.1:24101"); n != 2 {
		t.Errorf("%d times: %s", n, out.String())
	}
}

// TestEndOfAHiddenEjectionIsSaid: the state is the same before and after, and says nothing of it.
func TestEndOfAHiddenEjectionIsSaid(t *testing.T) {
	in := func(state, passive string) *api.BackendHealth {
		return &api.BackendHealth{ID: "b", State: state, Passive: &api.Passive{State: passive}}
	}
	const over = "This ends its ejection; its state is draining as before."
	for _, c := range []struct {
		was, is *api.BackendHealth
		want    bool
	}{
		{in("draining", "open"), in("draining", "closed"), true},
		{in("draining", "half_open"), in("draining", "closed"), true},
		{in("draining", "closed"), in("draining", "closed"), false},
		{in("draining", "closed"), in("draining", "open"), false},
		{in("ejected", "open"), in("up", "closed"), false},
		{&api.BackendHealth{ID: "b", State: "draining"}, in("draining", "closed"), false},
	} {
		var out buffer
		p := &program{Streams: Streams{Out: &out}}
		p.printOrdered(&api.Entrypoint{ID: "http_api"}, c.is, c.was)
		if got := strings.Contains(flat(out.String()), over); got != c.want {
			t.Errorf("%+v to %+v: %s", c.was.Passive, c.is.Passive, out.String())
		}
	}
}
