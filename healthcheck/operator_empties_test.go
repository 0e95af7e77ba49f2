package healthcheck

import (
	"fmt"
	"testing"
	"time"

	"fairlead/router/route"
)

// lastOne is a case in which b may not serve: an order that takes out a, too, leaves nobody.
type lastOne struct {
	name    string
	options func(*route.Options)
	b       func(*route.Backend)
	works   bool // b answers its probes
	ejects  bool // b is ejected first
	why     string
}

func lastOnes() []lastOne {
	passive := func(o *route.Options) {
		o.Passive.Failures, o.Passive.KeepServing, o.Passive.Recovery = 1, false, route.RecoverTime
	}
	return []lastOne{
		{"panic=off", func(o *route.Options) { o.Panic = route.PanicOff }, nil, false, false, "b is down"},
		{"panic=off, its own status", func(o *route.Options) { o.Panic, o.NoBackendStatus = route.PanicOff, 502 }, nil, false, false, "b is down"},
		{"initial=down", nil, checked(func(c *route.Check) { c.Initial = route.InitialDown }), false, false, "b waits for its first success (healthCheck.initial=down)"},
		{"dockerHealth=require", nil, func(b *route.Backend) {
			b.Provider, b.Docker = route.ProviderStarting, route.DockerHealthRequire
		}, true, false, "b waits for Docker's HEALTHCHECK (dockerHealth=require)"},
		{"passive.panic=false", passive, nil, true, true, "b is ejected"},
		{"passive.panic=false and panic=off", func(o *route.Options) { passive(o); o.Panic = route.PanicOff }, nil, true, true, "b is ejected"},
	}
}

func (c *lastOne) run(t *testing.T, test func(r *rig, status int)) {
	t.Helper()
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", refuse)
		if c.works {
			r.net.set("10.0.0.2:80", accept)
		}
		e := &route.Entrypoint{ID: "http_a", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
		e.Options.Passive.Failures = 5
		if c.options != nil {
			c.options(&e.Options)
		}
		b := backend("b", "10.0.0.2")
		if c.b != nil {
			c.b(&b)
		}
		r.apply(r.setOf(e, backend("a", "10.0.0.1"), b))
		r.run()
		r.at(time.Minute)
		if c.ejects {
			r.must("http_a", "b", route.Order{Action: route.OrderEject, For: time.Hour})
		}
		r.wantServing("http_a", "a")
		test(r, max(e.Options.NoBackendStatus, 503-e.Options.NoBackendStatus))
	})
}

// TestOrderAsksTheRotation: what would leave nobody who may serve is refused, whichever layer
// keeps the others out; force carries it out.
func TestOrderAsksTheRotation(t *testing.T) {
	for _, c := range lastOnes() {
		for _, action := range []route.OrderAction{route.OrderDrain, route.OrderMaintenance, route.OrderEject} {
			if action == route.OrderEject && !c.ejects {
				continue
			}
			c.run(t, func(r *rig, status int) {
				o := route.Order{Action: action, Actor: "ops"}
				err := r.engine.Order("http_a", "a", o)
				want := fmt.Sprintf("%s would leave http_a without a backend that may serve (%s), so clients would get %d; force it if that is meant", action, c.why, status)
				if err == nil || err.Error() != want {
					t.Errorf("%s: %v\nwant %s", c.name, err, want)
				}
				wantRefusal(t, err, route.OrderWouldEmpty)
				r.wantServing("http_a", "a")
				if got := len(r.health("http_a", "a").History); got != 1 {
					t.Errorf("%s: a refused order left %d transitions", c.name, got)
				}
				r.must("http_a", "a", forced(o))
				r.wantServing("http_a", "")
			})
		}
	}
}

// TestEjectionOfTheLastVerified needs force whatever passive.panic says, as others may be left
// that serve before their first verdict.
func TestEjectionOfTheLastVerified(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", accept)
			e := ejecting(func(o *route.Options) { o.Passive.KeepServing = keeps })
			r.apply(r.setOf(e, backend("a", "10.0.0.1"), backend("b", "10.0.0.2", func(b *route.Backend) { b.Provider = route.ProviderStarting })))
			r.run()
			r.at(time.Minute)
			eject := route.Order{Action: route.OrderEject}
			wantRefusal(t, r.engine.Order("http_api", "a", eject), route.OrderWouldEmpty)
			r.must("http_api", "a", forced(eject))
			r.wantServing("http_api", "b")
		})
	}
}

// TestWhatServesNobodyIsNotEmptied: an order about an entrypoint that serves nobody takes
// nothing from anybody, as long as one is left that the operator and Docker let serve.
func TestWhatServesNobodyIsNotEmptied(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		e := ejecting(func(o *route.Options) { o.Panic = route.PanicOff })
		r.apply(r.setOf(e, backend("a", "10.0.0.1"), backend("b", "10.0.0.2")))
		r.run()
		r.at(time.Minute)
		r.wantServing("http_api", "")
		r.must("http_api", "a", drain)
		wantRefusal(t, r.engine.Order("http_api", "b", drain), route.OrderWouldEmpty)
	})
}

// TestWaitingAfterServing: an entrypoint that served a moment ago does not wait for its first
// backend.
func TestWaitingAfterServing(t *testing.T) {
	c := lastOnes()[3]
	c.run(t, func(r *rig, _ int) {
		r.must("http_a", "a", forced(drain))
		const want = "Not serving: waiting for a backend that may be used; out: a (draining: by ops (kernel)), b (docker starting)."
		if got := r.engine.View().Entrypoints["http_a"].Explain; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}
