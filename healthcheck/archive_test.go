package healthcheck

import (
	"fmt"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestHistoryOfRemoved: the transitions of a removed backend are kept for ten minutes and
// go before those of its next incarnation; their number is bounded.
func TestHistoryOfRemoved(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		told := func(id string) string {
			list, ok := r.engine.History("http_a", id)
			out := fmt.Sprint(ok)
			for _, m := range list {
				out += " " + m.From + ">" + m.To
			}
			return out
		}
		want := func(id, want string) {
			t.Helper()
			if got := told(id); got != want {
				t.Errorf("at %s: history of %s: %s, want %s", time.Since(r.start), id, got, want)
			}
		}
		r.apply(r.set("http_a", backend("b1", "10.0.0.1")))
		r.run()
		r.at(5 * time.Second)
		r.net.set("10.0.0.1:80", refuse)
		r.at(15 * time.Second)
		want("b1", "true pending>up up>down")
		want("b2", "false")
		r.apply(r.set("http_a"))
		want("b1", "true pending>up up>down")
		again := backend("b1", "10.0.0.1", func(b *route.Backend) { b.Incarnation += "/2" })
		r.apply(r.set("http_a", again))
		want("b1", "true pending>up up>down")
		r.at(17 * time.Second)
		want("b1", "true pending>up up>down pending>down")
		r.apply()
		want("b1", "true pending>up up>down pending>down")
		r.at(17*time.Second + archiveTime - 1)
		want("b1", "true pending>up up>down pending>down")
		r.at(17*time.Second + archiveTime)
		want("b1", "false")
	})
}

// TestArchiveIsBounded: of thousands of removed backends the last ones are remembered,
// and a backend that comes and goes takes one place.
func TestArchiveIsBounded(t *testing.T) {
	a, now := newArchive(), t0
	gone := func(id string) *placement {
		return &placement{
			entry: &entry{id: "http_a"}, current: &route.Placement{Backend: route.Backend{ID: id}},
			history: make([]route.Transition, mostHistory),
		}
	}
	for i := range 3 * archiveSize {
		a.add(gone(fmt.Sprint("b", i)), now)
		a.add(gone("often"), now)
	}
	if len(a.kept) != archiveSize || len(a.order) != archiveSize || len(a.kept[archiveKey{"http_a", "often"}].history) != mostHistory {
		t.Errorf("%d kept, %d in order", len(a.kept), len(a.order))
	}
	if _, old := a.kept[archiveKey{"http_a", "b0"}]; old || a.order[archiveSize-1].backend != "often" {
		t.Error("an old one is kept instead of a new one")
	}
	a.add(&placement{entry: &entry{id: "http_a"}, current: &route.Placement{}}, now)
	if len(a.kept) != archiveSize {
		t.Error("one without history takes a place")
	}
	a.forget(now.Add(archiveTime))
	if len(a.kept) != 0 || len(a.order) != 0 {
		t.Error("it forgets nothing")
	}
}
