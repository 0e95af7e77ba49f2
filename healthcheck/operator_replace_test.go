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
