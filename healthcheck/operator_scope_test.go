package healthcheck

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// drained is an entrypoint whose options a test may change, with two backends.
func drained(t *testing.T, change func(*route.Options), test func(*rig)) {
	t.Helper()
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		e := &route.Entrypoint{ID: "http_a", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
		change(&e.Options)
		r.apply(r.setOf(e, backend("a", "10.0.0.1"), backend("b", "10.0.0.2")))
		r.run()
		r.at(time.Second)
		test(r)
	})
}

// TestDrainServesBoundClients: until drain.timeout and no longer, and a renewed order does
// not begin that time anew.
func TestDrainServesBoundClients(t *testing.T) {
	drained(t, func(o *route.Options) { o.DrainTimeout = 30 * time.Second; o.Sticky.On = true }, func(r *rig) {
		r.must("http_a", "a", drain)
		if got := r.sticky("http_a"); got != "a sticky_only" {
			t.Errorf("bound clients are served by %q", got)
		}
		if text := r.health("http_a", "a").Explain; !strings.Contains(text, "Clients that a cookie binds to it are served until 00:00:31 UTC (drain.timeout=30s).") {
			t.Errorf("%s", text)
		}
		r.at(20 * time.Second)
		r.must("http_a", "a", route.Order{Action: route.OrderDrain, Actor: "eva", Reason: "still"})
		r.wantLast("a", "draining>draining admin operator eva still")
		r.at(25 * time.Second)
		r.must("http_a", "", route.Order{Action: route.OrderDrain, Scope: route.ScopeService, Force: true})
		r.at(30 * time.Second)
		if got := r.sticky("http_a"); got != "a sticky_only, b sticky_only" {
			t.Errorf("at 30 s: %q", got)
		}
		rev := r.cells["http_a"].Load().Rev
		r.at(31 * time.Second)
		if got := r.sticky("http_a"); got != "b sticky_only" || r.cells["http_a"].Load().Rev == rev {
			t.Errorf("at 31 s: %q", got)
		}
		if text := r.health("http_a", "a").Explain; !strings.Contains(text, "served by others") {
			t.Errorf("%s", text)
		}
	})
}

// TestBoundClientsMove from a draining backend that could not serve without the order, and
// at once with drain.timeout=0 and in maintenance.
func TestBoundClientsMove(t *testing.T) {
	drained(t, func(o *route.Options) { o.DrainTimeout = time.Minute }, func(r *rig) {
		r.must("http_a", "a", drain)
		r.net.set("10.0.0.1:80", refuse)
		r.at(15 * time.Second)
		if got := r.sticky("http_a"); got != "" {
			t.Errorf("a backend that is down serves %q", got)
		}
		r.net.set("10.0.0.1:80", accept)
		r.at(25 * time.Second)
		if got := r.sticky("http_a"); got != "a sticky_only" {
			t.Errorf("after its recovery: %q", got)
		}
		r.must("http_a", "a", maintenance)
		if got := r.sticky("http_a"); got != "" {
			t.Errorf("in maintenance: %q", got)
		}
	})
	drained(t, func(o *route.Options) { o.DrainTimeout = 0 }, func(r *rig) {
		r.must("http_a", "a", drain)
		if got := r.sticky("http_a"); got != "" {
			t.Errorf("without a drain.timeout: %q", got)
		}
	})
}

// TestOrderEndsByItself at the first tick at which its time is over.
func TestOrderEndsByItself(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", route.Order{Action: route.OrderMaintenance, Actor: "ops", For: 30 * time.Second})
		if at := r.health("http_a", "a").Admin.ExpiresAt; !at.Equal(r.start.Add(31 * time.Second)) {
			t.Errorf("it expires at %s", at)
		}
		r.at(30 * time.Second)
		r.wantState("http_a", "a", route.StateMaintenance, route.OutMaintenance)
		r.at(32500 * time.Millisecond)
		r.wantState("http_a", "a", route.StateUp, route.InVerified)
		if len(r.engine.Orders()) != 0 {
			t.Errorf("%+v", r.engine.Orders())
		}
		var texts []string
		for _, h := range r.health("http_a", "a").History {
			texts = append(texts, h.From+">"+h.To+" "+h.Layer+" "+h.Cause)
		}
		if !slices.Contains(texts, "maintenance>pending admin timer") {
			t.Errorf("%v", texts)
		}
	})
}

// TestRetryAfterKnowsTheEndOfAnOrder: what drains is not brought back by a probe.
func TestRetryAfterKnowsTheEndOfAnOrder(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", forced(drain))
		r.must("http_a", "b", route.Order{Action: route.OrderDrain, For: 20 * time.Second, Force: true})
		c := r.cells["http_a"]
		if got := c.RetryAfter(time.Now()); got != 20 || c.Load().Reason != route.ReasonAllDraining {
			t.Errorf("Retry-After %d, %s", got, c.Load().Reason)
		}
		e := r.engine.View().Entrypoints["http_a"]
		want := "Down: every backend is drained or in maintenance, so clients get 503; out: a (draining: by ops (kernel)), b (draining: by an operator). " +
			"The first order ends at 00:00:21 UTC. The command fairlead ready http_a --all brings all back."
		if e.Explain != want {
			t.Errorf("%s\nwant %s", e.Explain, want)
		}
	})
}

// TestAnOrderSaysWhatClientsGet: the status that noBackendStatus sets, not the usual one.
func TestAnOrderSaysWhatClientsGet(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		set := r.set("http_a", backend("a", "10.0.0.1"))
		set.Entrypoint.Options.NoBackendStatus = 502
		r.net.set("10.0.0.1:80", accept)
		r.apply(set)
		r.run()
		r.at(time.Second)
		r.must("http_a", "a", forced(maintenance))
		e := r.engine.View().Entrypoints["http_a"]
		if want := "Down: the only backend is in maintenance, so clients get 502; out: "; !strings.HasPrefix(e.Explain, want) {
			t.Errorf("%s\nwant %s", e.Explain, want)
		}
	})
}

// TestOrderFollowsTheContainer over a change of its address, not over a restart; another
// container with its address is none of its business.
func TestOrderFollowsTheContainer(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", drain)
		moved := backend("a", "10.0.0.9", func(b *route.Backend) { b.StartedAt = r.start })
		b := backend("b", "10.0.0.2", func(b *route.Backend) { b.StartedAt = r.start })
		r.net.set("10.0.0.9:80", accept)
		r.apply(r.set("http_a", moved, b))
		r.wantState("http_a", "a", route.StateDraining, route.OutDraining)
		r.wantLast("a", "pending>draining admin operator ops kernel")
		// Off its network for a while, then back.
		r.apply(r.set("http_a", b))
		r.at(30 * time.Minute)
		r.apply(r.set("http_a", moved, b))
		r.wantState("http_a", "a", route.StateDraining, "")
		restarted := backend("a", "10.0.0.9", func(b *route.Backend) { b.StartedAt = time.Now(); b.Incarnation += "/2" })
		r.apply(r.set("http_a", restarted, b))
		r.at(30*time.Minute + 2*time.Second)
		r.wantState("http_a", "a", route.StateUp, route.InVerified)
		other := backend("c", "10.0.0.9")
		r.apply(r.set("http_a", other, b))
		r.at(31 * time.Minute)
		r.wantState("http_a", "c", route.StateUp, route.InVerified)
		if n := len(r.engine.Orders()); n != 1 {
			t.Errorf("%d orders", n)
		}
		r.at(91 * time.Minute)
		if n := len(r.engine.Orders()); n != 0 {
			t.Errorf("after an hour without its container there are %d orders", n)
		}
	})
}

func static(address string) route.Backend {
	b := backend(address+":80", address)
	b.Container, b.StartedAt, b.Incarnation = nil, time.Time{}, "file/"+address+":80/0"
	return b
}

// TestOrderOfAStaticBackend ends with its removal, and not with other changes.
func TestOrderOfAStaticBackend(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		a, b := static("10.0.0.1"), static("10.0.0.2")
		r.apply(r.set("http_a", a, b))
		r.must("http_a", "10.0.0.1:80", drain)
		a.Weight = 7
		r.apply(r.set("http_a", a, b))
		r.wantState("http_a", "10.0.0.1:80", route.StateDraining, "")
		r.apply(r.set("http_a", b))
		r.apply(r.set("http_a", a, b))
		r.wantState("http_a", "10.0.0.1:80", route.StatePending, "")
	})
}

// TestServiceOrder is about every backend, later ones included; the last word counts.
func TestServiceOrder(t *testing.T) {
	pair(t, func(r *rig) {
		all := route.Order{Action: route.OrderMaintenance, Actor: "ops", Scope: route.ScopeService, Force: true}
		r.must("http_a", "a", drain)
		r.must("http_a", "a", all)
		r.wantServing("http_a", "")
		r.apply(r.set("http_a", backend("c", "10.0.0.3"), backend("d", "10.0.0.4")))
		r.wantState("http_a", "c", route.StateMaintenance, route.OutMaintenance)
		r.wantLast("c", "pending>maintenance admin operator ops ")
		r.net.set("10.0.0.3:80", accept)
		r.must("http_a", "c", ready) // an exception
		r.at(3 * time.Second)
		r.wantServing("http_a", "c")
		r.apply(r.set("http_a", backend("c", "10.0.0.3", func(b *route.Backend) { b.Weight = 3; b.StartedAt = r.start.Add(time.Second) }), backend("e", "10.0.0.5")))
		r.wantState("http_a", "c", route.StateUp, "")
		r.wantState("http_a", "e", route.StateMaintenance, "")
		r.must("http_a", "", route.Order{Action: route.OrderReady, Scope: route.ScopeService})
		if len(r.engine.Orders()) != 0 || r.health("http_a", "e").State != route.StatePending {
			t.Errorf("%+v", r.engine.Orders())
		}
		if h := r.health("http_a", "c"); h.Admin.State != route.AdminReady {
			t.Errorf("%+v", h.Admin)
		}
	})
}

// TestOrdersSurviveARestart: an engine that was given the orders of another goes on with
// them, from the moment on at which the backends appear; what ended meanwhile does not.
func TestOrdersSurviveARestart(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		born := time.Now()
		a := backend("a", "10.0.0.1", func(b *route.Backend) { b.StartedAt = born })
		b := backend("b", "10.0.0.2", func(b *route.Backend) { b.StartedAt = born })
		r.apply(r.set("http_a", a, b), r.set("http_b", static("10.0.0.3"), static("10.0.0.4")))
		r.must("http_a", "a", drain)
		r.must("http_a", "b", route.Order{Action: route.OrderDrain, For: time.Second, Force: true})
		r.must("http_b", "10.0.0.3:80", maintenance)
		kept := r.engine.Orders()
		<-r.engine.OrdersChanged()
		r.at(5 * time.Second)

		next := New(Config{OnTransition: r.seen.add})
		next.Restore(kept)
		r.engine = next
		r.apply(r.set("http_a", a, b), r.set("http_b", static("10.0.0.3"), static("10.0.0.4")))
		r.wantServing("http_a", "b")
		r.wantLast("a", "pending>draining admin restore ops kernel")
		if h := r.health("http_a", "a"); !h.Admin.Since.Equal(born) || h.Admin.Actor != "ops" {
			t.Errorf("%+v", h.Admin)
		}
		r.wantServing("http_b", "10.0.0.4:80")
		if got := len(next.Orders()); got != 2 {
			t.Errorf("%d orders are in force", got)
		}
		r.must("http_a", "a", ready)
		select {
		case <-next.OrdersChanged():
		default:
			t.Error("no signal")
		}
	})
}

// TestRestoredOrderWaits for its backend an hour, whatever comes before it.
func TestRestoredOrderWaits(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.engine.Restore([]route.StandingOrder{
			{Entrypoint: "http_a", Address: "10.0.0.1:80", Admin: route.Admin{State: route.AdminDrain, Since: time.Now()}},
			{Entrypoint: "http_never", Admin: route.Admin{State: route.AdminDrain, Since: time.Now().Add(time.Hour)}},
		})
		r.apply()
		r.run()
		r.at(50 * time.Minute)
		r.apply(r.set("http_a", static("10.0.0.2")))
		r.apply(r.set("http_a", static("10.0.0.1"), static("10.0.0.2")))
		r.wantState("http_a", "10.0.0.1:80", route.StateDraining, "")
		r.at(61 * time.Minute)
		if got := r.engine.Orders(); len(got) != 1 || got[0].Entrypoint != "http_a" {
			t.Errorf("%+v", got)
		}
	})
}
