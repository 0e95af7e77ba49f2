package router

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestLeavingBackendDrainsFromItsSignalOn: its upstream retires with the first word
// that it leaves, once, and takes requests again when it stays after all.
func TestLeavingBackendDrainsFromItsSignalOn(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		drain := func(e *route.Entrypoint) { e.Options.DrainTimeout = 5 * time.Second }
		stays, leaves := backend(1), backend(2)
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(stays, leaves), drain))
		up := r.upstreams.opened[1]
		if up.retired != nil {
			t.Fatal("retired before it leaves")
		}
		leaves.Provider = route.ProviderLeaving
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(stays, leaves), drain))
		if up.retired == nil || up.retired.Timeout != int64(5*time.Second) {
			t.Fatalf("leaving: drain %v", up.retired)
		}
		if r.upstreams.opened[0].retired != nil {
			t.Error("the one that stays was retired")
		}

		up.retired = nil // a second call would be seen
		other := entrypoint(t, "http_b", "b.example", backends(backend(3)))
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(stays, leaves), drain), other)
		if up.retired != nil {
			t.Error("an unrelated change began the drain anew")
		}

		leaves.Provider = route.ProviderPresent
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(stays, leaves), drain), other)
		if up.reinstated != 1 || len(r.upstreams.opened) != 3 {
			t.Errorf("taken back: reinstated %d times, %d upstreams", up.reinstated, len(r.upstreams.opened))
		}
		leaves.Provider = route.ProviderLeaving
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(stays, leaves), drain), other)
		if up.retired == nil {
			t.Error("the second signal did not begin a drain")
		}
		up.retired = nil
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(stays), drain), other)
		if up.retired != nil {
			t.Error("its end began the drain anew")
		}
	})
}

// TestSharedUpstreamStaysWhileOneUserStays: a backend of two entrypoints leaves both.
func TestSharedUpstreamStaysWhileOneUserStays(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		leaves := backend(1)
		leaves.Provider = route.ProviderLeaving
		r.send("docker", entrypoint(t, "http_a", "a.example"), entrypoint(t, "http_b", "b.example", backends(leaves)))
		if len(r.upstreams.opened) != 1 || r.upstreams.opened[0].retired != nil {
			t.Errorf("%d upstreams, drain %v", len(r.upstreams.opened), r.upstreams.opened[0].retired)
		}
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(leaves)), entrypoint(t, "http_b", "b.example", backends(leaves)))
		if r.upstreams.opened[0].retired == nil {
			t.Error("both leave and nothing drains")
		}
	})
}

// TestDoubtLastsUntilTheTableIsInForce: from the word that a lost source can be reached
// again until what it holds has been brought into force.
func TestDoubtLastsUntilTheTableIsInForce(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		e := entrypoint(t, "http_a", "a.example")
		r.send("docker", e)
		if len(*r.doubts) != 1 || (*r.doubts)[0] != "false at 1" {
			t.Fatalf("%v", *r.doubts)
		}
		returning := route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{e}, Status: connected("docker")}
		returning.Status.Returning = true
		r.snapshot(returning)
		r.send("file", entrypoint(t, "http_f", "f.example")) // another source says nothing about it
		r.send("docker", entrypoint(t, "http_a", "a.example", backends(backend(9))))
		if got := strings.Join((*r.doubts)[1:], ", "); got != "true at 1, true at 1, false at 3" {
			t.Errorf("%s", got)
		}
	})
}

// TestARemovedEntrypointTellsItsLine: nobody publishes a rotation for it any more.
func TestARemovedEntrypointTellsItsLine(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		b := entrypoint(t, "http_b", "b.example")
		r.send("docker", entrypoint(t, "http_a", "a.example"), b)
		place, _ := r.Table().Route("http_a").Cell.Line.Join(1)
		<-place.Turn()
		r.send("docker", b)
		select {
		case <-place.Turn():
		default:
			t.Error("who waits in its line is not told")
		}
		if r.upstreams.opened[0].retired != nil {
			t.Error("retired though it is used")
		}
	})
}
