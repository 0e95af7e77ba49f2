package healthcheck

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// TestOrderReplacesAnother of the same state: it has its own time in the answer, the text
// and the book, the transition says whose it took the place of, and the clients that are
// bound are not served longer for it.
func TestOrderReplacesAnother(t *testing.T) {
	pair(t, func(r *rig) {
		r.must("http_a", "a", drain)
		entered := r.health("http_a", "a").Since
		r.at(11 * time.Second)
		r.must("http_a", "a", route.Order{Action: route.OrderDrain, Actor: "ana", Reason: "disk", Scope: route.ScopeBackend})
		h := r.health("http_a", "a")
		if at := h.Admin.Since.Sub(r.start); at != 11*time.Second || !h.Since.Equal(entered) {
			t.Errorf("the order is in force since %s, the state since %s", at, h.Since)
		}
		if want := "drained by ana since 00:00:11 UTC (disk)."; !strings.Contains(h.Explain, want) {
			t.Errorf("%s\nwant %s", h.Explain, want)
		}
		if kept := r.engine.Orders(); len(kept) != 1 || kept[0].Admin.Actor != "ana" || kept[0].Admin.Since.Sub(r.start) != 11*time.Second {
			t.Errorf("kept are %+v", kept)
		}
		r.wantLast("a", "draining>draining admin operator ana disk")
		r.wantMessage("a", "drained by ana (disk), in place of the drain that ops ordered at 00:00:01 UTC (kernel)")
		if got := r.engine.entries["http_a"].named("a").boundUntil().Sub(r.start); got != 31*time.Second {
			t.Errorf("bound clients are served until %s", got)
		}
		r.must("http_a", "a", route.Order{Action: route.OrderMaintenance, Actor: "eva", Scope: route.ScopeBackend})
		r.wantMessage("a", "in maintenance by eva, in place of the drain that ana ordered at 00:00:11 UTC (disk)")
		r.must("http_a", "a", ready)
		r.wantMessage("a", "ready again by eva (done)")
		r.must("http_a", "a", drain)
		r.wantMessage("a", "drained by ops (kernel)") // in place of nobody's
	})
}

// TestOrderOfAllComesBack when the one of a single backend ends: that is told, too, and the
// order about all that is given again keeps its time.
func TestOrderOfAllComesBack(t *testing.T) {
	pair(t, func(r *rig) {
		all := route.Order{Action: route.OrderDrain, Actor: "ops", Scope: route.ScopeService, Force: true}
		r.must("http_a", "", all)
		r.must("http_a", "a", route.Order{Action: route.OrderDrain, Actor: "ana", Scope: route.ScopeBackend, For: 10 * time.Second})
		r.at(13 * time.Second)
		r.wantLast("a", "draining>draining admin timer ops ")
		r.wantMessage("a", "drained by ops, in place of the drain that ana ordered at 00:00:01 UTC")
		r.must("http_a", "", all)
		if kept := r.engine.Orders(); len(kept) != 1 || kept[0].Admin.Since.Sub(r.start) != time.Second {
			t.Errorf("kept are %+v", kept)
		}
	})
}

// wantMessage checks what the last loud transition of a backend says.
func (r *rig) wantMessage(backend, want string) {
	r.t.Helper()
	synctest.Wait()
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	var got string
	for _, t := range r.seen.all {
		if t.Backend == backend && !t.Debug {
			got = t.Message
		}
	}
	if got != want {
		r.t.Errorf("the last transition of %s says %q, want %q", backend, got, want)
	}
}

// TestReadyButOut: an order that ends while a fault keeps the backend out is told with the
// fault, and as gravely; whose order it was stays said.
func TestReadyButOut(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   func(r *rig, b *route.Backend)
		order   route.Order
		kind    route.Kind
		message string
		last    string
	}{
		{"down", func(r *rig, _ *route.Backend) { r.net.set("10.0.0.1:80", refuse) }, drain,
			route.KindConnectionRefused, "connection refused", "draining>down admin operator eva done"},
		{"down, at its time", func(r *rig, _ *route.Backend) { r.net.set("10.0.0.1:80", refuse) },
			route.Order{Action: route.OrderDrain, Actor: "ops", For: 20 * time.Second}, route.KindConnectionRefused,
			"connection refused; the drain that ops ordered was to end now", "draining>down admin timer  the drain that ops ordered was to end now"},
		{"ejected", func(r *rig, _ *route.Backend) { r.requests("b0", 503, 503, 503) }, maintenance,
			route.KindEjectedFailures, "3 requests in a row failed; last: answered 503", "maintenance>ejected admin operator eva done"},
		{"gated", func(_ *rig, b *route.Backend) { b.Provider = route.ProviderUnhealthy }, drain,
			route.KindDockerUnhealthy, "Docker's HEALTHCHECK says unhealthy", "draining>gated admin operator eva done"},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			e := ejecting()
			list := []route.Backend{backend("b0", "10.0.0.1"), backend("b1", "10.0.0.2")}
			r.net.set("10.0.0.1:80", accept)
			r.net.set("10.0.0.2:80", accept)
			r.run()
			r.apply(r.setOf(e, list...))
			r.at(2 * time.Second)
			c.fault(r, &list[0])
			r.must("http_api", "b0", c.order)
			r.apply(r.setOf(e, list...))
			r.at(15 * time.Second)
			if c.order.For == 0 {
				r.must("http_api", "b0", ready)
			}
			r.at(25 * time.Second)
			r.wantLast("b0", c.last)
			r.wantMessage("b0", c.message)
			h := r.health("http_api", "b0")
			if got := h.History[len(h.History)-1].Kind; got != c.kind {
				t.Errorf("%s: the kind is %s, want %s", c.name, got, c.kind)
			}
			r.stop()
			if l := r.lifeOf("b0"); !strings.HasPrefix(l[len(l)-1], `"level":"warn"`) || !strings.HasSuffix(l[len(l)-1], "backend ready") {
				t.Errorf("%s: %s", c.name, l[len(l)-1])
			}
		})
	}
}
