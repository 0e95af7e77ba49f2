package healthcheck

import (
	"testing"
	"time"

	"fairlead/router/route"
)

// TestStormBehindTCP: a backend that is up by TCP only, while most of its answers to clients
// are 5xx, gets the advice to probe a path. It takes twenty answers, and goes with better
// ones; a check by HTTP, and errors of the router itself, are no case for it.
func TestStormBehindTCP(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(), func(b *route.Backend) {
			if b.ID == "b2" {
				httpCheck("/health")(b)
			}
		})
		at := 2 * time.Second
		answers := func(id string, statuses map[int]int, want string) {
			t.Helper()
			for status, n := range statuses {
				for range n {
					r.member(id).Placement.Load.Traffic.Note(status, time.Millisecond)
				}
			}
			at += 10 * time.Second // its next probe
			r.at(at)
			h := r.health("http_api", id)
			checkRules(t, &h)
			if h.State != route.StateUp || h.Hint != want {
				t.Errorf("%s after %v: %s, hint %q, want %q", id, statuses, h.State, h.Hint, want)
			}
		}
		const tail = " answers to clients were 5xx, which a check by TCP does not see: set healthCheck.path to one that shows whether the application works; " +
			"its log (docker logs --tail 50 b0-name) says why they fail"
		answers("b0", map[int]int{503: 19}, "")
		answers("b0", map[int]int{500: 1}, "20 of its last 20"+tail)
		answers("b0", map[int]int{200: 19}, "20 of its last 39"+tail)
		answers("b0", map[int]int{200: 1}, "")
		answers("b0", map[int]int{200: 10, 404: 5, 500: 15}, "15 of its last 30"+tail)
		answers("b0", map[int]int{200: 11, 500: 10}, "")
		answers("b0", map[int]int{0: 100, 503: 20}, "20 of its last 20"+tail)
		answers("b2", map[int]int{500: 100}, "")
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) { // what it answered before is no matter of a check that is new
		e := &route.Entrypoint{ID: "http_api", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
		b := backend("b0", "10.0.0.1", httpCheck("/health"))
		load := &route.Load{}
		apply := func(b route.Backend) {
			set := r.setOf(e, b)
			set.Placements[0].Load = load
			r.apply(set)
		}
		r.net.set("10.0.0.1:80", answer(ok200))
		apply(b)
		r.run()
		r.at(11 * time.Second)
		for range 50 {
			load.Traffic.Note(500, time.Millisecond)
		}
		b.Check = backend("b0", "10.0.0.1").Check
		apply(b)
		r.at(31 * time.Second)
		if h := r.health("http_api", "b0"); h.Hint != "" || h.State != route.StateUp {
			t.Errorf("%s, hint %q", h.State, h.Hint)
		}
	})
}
