package api

import (
	"testing"

	"fairlead/router/route"
)

// TestLoadIsReadWhenAsked: traffic is no event of health, so a picture taken before
// it must still show it.
func TestLoadIsReadWhenAsked(t *testing.T) {
	load := &route.Load{}
	h := &route.BackendHealth{Load: load}
	load.InFlight.Add(3)
	load.Tunnels.Add(1)
	if got := newLoad(h); got != (Load{InFlight: 3, Tunnels: 1}) {
		t.Errorf("load is %+v, want 3 in flight and 1 tunnel", got)
	}
	if got := newLoad(&route.BackendHealth{InFlight: 2}); got != (Load{InFlight: 2}) {
		t.Errorf("load without a placement is %+v, want 2 in flight", got)
	}
}
