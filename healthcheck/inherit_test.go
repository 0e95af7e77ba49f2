package healthcheck

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// second is the set of another entrypoint that shares the check of b1.
func (r *rig) second(options func(*route.Options), edit ...func(*route.Backend)) route.PlacementSet {
	e := &route.Entrypoint{ID: "http_second", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
	if options != nil {
		options(&e.Options)
	}
	return r.setOf(e, backend("b1", "10.0.0.1", edit...))
}

// told lists the loud transitions of an entrypoint and its backends after a time.
func (r *rig) toldOf(id string, after time.Duration) string {
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	var out []string
	for _, t := range r.seen.all {
		if !t.Debug && t.Entrypoint == id && t.At.Sub(r.start) >= after {
			out = append(out, t.Backend+" "+t.From+">"+t.To+" "+t.Cause)
		}
	}
	return strings.Join(out, ", ")
}

// TestABadBeginningIsTold: an entrypoint that is in panic, or serves nobody, from its first
// moment on is told so, and so is its backend that is down; the end of what was told is told,
// and nothing else is.
func TestABadBeginningIsTold(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options func(*route.Options)
		fails   bool
		want    string
	}{
		{"panic", nil, true, "b1 pending>down start,  pending>panic config, b1 down>up probe,  panic>ok probe"},
		{"down", func(o *route.Options) { o.Panic = route.PanicOff }, true, "b1 pending>down start,  pending>down config, b1 down>up probe,  down>ok probe"},
		{"well", nil, false, ""},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			r.net.set("10.0.0.1:80", accept)
			first := r.set("http_first", backend("b1", "10.0.0.1"))
			r.apply(first)
			r.run()
			r.at(time.Second)
			if tt.fails {
				r.net.set("10.0.0.1:80", refuse)
			}
			r.at(time.Minute)
			since := r.health("http_first", "b1").Since
			r.apply(first, r.second(tt.options))
			if got := r.health("http_second", "b1").Since; !got.Equal(since) {
				t.Errorf("%s: %s, and the same probes say so since %s", tt.name, got, since)
			}
			r.at(2 * time.Minute)
			r.net.set("10.0.0.1:80", accept)
			r.at(3 * time.Minute)
			if got := r.toldOf("http_second", 0); got != tt.want {
				t.Errorf("%s: told %q, want %q", tt.name, got, tt.want)
			}
		})
	}
}

// TestRestoredOutageIsNotNew: that orders from before the restart keep all out was told then.
// The cause says so, and the end is told.
func TestRestoredOutageIsNotNew(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.engine.Restore([]route.StandingOrder{{Entrypoint: "http_second", Admin: route.Admin{State: route.AdminDrain, Actor: "ops", Since: r.start, Scope: route.ScopeService}}})
		r.apply(r.second(nil))
		r.run()
		r.at(time.Minute)
		r.must("http_second", "b1", route.Order{Action: route.OrderReady, Scope: route.ScopeService})
		r.at(2 * time.Minute)
		const want = "b1 pending>draining restore,  pending>down restore, b1 draining>up operator,  down>ok operator"
		if got := r.toldOf("http_second", 0); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// TestTrafficIsNotInherited: what requests to one entrypoint say of a backend by
// passive.feedsActive is no matter of another one, which has the verdict of its probes.
func TestTrafficIsNotInherited(t *testing.T) {
	const failed = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
	for _, tt := range []struct {
		name      string
		now       string // what probes see after the requests failed
		unhealthy int    // of the second one
		state     route.State
		message   string
	}{
		{"probes succeed", ok200, 1, route.StateUp, "answered 200"},
		{"probes fail", failed, 1, route.StateDown, "answered 500, wanted 2xx,3xx"},
		{"probes fail, not often enough", failed, 3, route.StateUp, "answered 500, wanted 2xx,3xx"},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			with := func(f func(*route.Check)) func(*route.Backend) {
				return func(b *route.Backend) { httpCheck("/health")(b); checked(f)(b) }
			}
			r.net.set("10.0.0.1:80", answer(ok200))
			r.net.set("10.0.0.2:80", accept)
			first := r.setOf(ejecting(func(o *route.Options) { o.Passive.FeedsActive, o.Passive.Failures = true, 9 }),
				backend("b1", "10.0.0.1", with(func(c *route.Check) { c.HealthyThreshold = 5 })), backend("b2", "10.0.0.2"))
			r.apply(first)
			r.run()
			r.at(25 * time.Second)
			r.requests("b1", 503, 503)
			r.at(27 * time.Second)
			r.wantState("http_api", "b1", route.StateDown, route.OutProbeFailed)
			r.net.set("10.0.0.1:80", answer(tt.now))
			r.at(34 * time.Second)
			r.wantState("http_api", "b1", route.StateDown, route.OutProbeFailed)
			r.apply(first, r.second(nil, with(func(c *route.Check) { c.UnhealthyThreshold = tt.unhealthy })))
			h := r.health("http_second", "b1")
			if h.State != tt.state || h.Message != tt.message || h.LastResult == nil || h.LastChecked.IsZero() || len(h.Probes) != 4 || strings.Contains(h.Explain, "feedsActive") {
				t.Errorf("%s: %s, %q, %s", tt.name, h.State, h.Message, h.Explain)
			}
		})
	}
}

// TestInheritsOfOneQuestion: what probes saw of an older question has no part in a verdict that
// another entrypoint takes over, nor what they saw before a maintenance.
func TestInheritsOfOneQuestion(t *testing.T) {
	for _, action := range []route.OrderAction{"", route.OrderMaintenance} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			feeds := func(o *route.Options) { o.Passive.FeedsActive, o.Passive.Failures = true, 9 }
			started := func(b *route.Backend) { b.StartedAt = r.start }
			path := "/a"
			first := func() route.PlacementSet {
				return r.setOf(ejecting(feeds), backend("b1", "10.0.0.1", httpCheck(path), started))
			}
			r.apply(first())
			r.run()
			r.at(31 * time.Second)
			r.wantState("http_api", "b1", route.StateDown, "")
			r.net.set("10.0.0.1:80", answer(ok200))
			if path = "/b"; action != "" {
				path = "/a"
				r.must("http_api", "b1", forced(route.Order{Action: action}))
				r.must("http_api", "b1", ready)
			}
			r.apply(first())
			r.at(33 * time.Second) // one success, which decides alone
			r.wantState("http_api", "b1", route.StateUp, "")
			r.apply(first(), r.second(nil, httpCheck(path), checked(func(c *route.Check) { c.HealthyThreshold = 2 }), started))
			r.wantState("http_second", "b1", route.StateUp, "")
			if h := r.health("http_second", "b1"); len(h.Probes) != 5 || len(h.Check.SharedWith) != 2 {
				t.Errorf("%d results of a check of %v", len(h.Probes), h.Check.SharedWith)
			}
		})
	}
}
