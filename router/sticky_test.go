package router

import (
	"testing"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// TestPlacementsHaveTheirStickyName: from the moment at which the entrypoint asks for
// it, and a placement whose name stays is the same one.
func TestPlacementsHaveTheirStickyName(t *testing.T) {
	health := &fakeHealth{}
	c := NewController(ControllerConfig{
		Health: health, Upstreams: &fakeUpstreams{}, Log: zerolog.Nop(),
		Sticky: func(e *route.Entrypoint, b *route.Backend) string {
			if !e.Options.Sticky.On {
				return ""
			}
			return e.ID + "/" + b.ID
		},
	})
	health.controller = c
	send := func(on bool, weight int) *route.Placement {
		e := entrypoint(t, "http_a", "a.example")
		e.Options.Sticky.On = on
		e.Options.HoldFor++ // something else that changes
		e.Backends[0].Weight = weight
		c.take(route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{e}, Status: connected("docker")})
		return placementsOf(health, "http_a")[0]
	}
	off := send(false, 1)
	on := send(true, 1)
	heavier := send(true, 2)
	if off.Sticky != "" || on.Sticky != "http_a/b1" || heavier.Sticky != on.Sticky {
		t.Errorf("%q, %q, %q", off.Sticky, on.Sticky, heavier.Sticky)
	}
	if off.Load != on.Load || on.Load != heavier.Load {
		t.Error("the load was lost")
	}
	if again := send(true, 2); again != heavier {
		t.Error("an equal placement is another one")
	}
}
