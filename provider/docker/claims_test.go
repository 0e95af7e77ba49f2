package docker

import (
	"maps"
	"testing"
	"time"

	"fairlead/provider/label"
	"fairlead/router/route"
)

// TestRememberedClaimsOutliveAnEngineThatIsAway: until it was read nobody is known to be
// gone; after that who is not there has no claim.
func TestRememberedClaimsOutliveAnEngineThatIsAway(t *testing.T) {
	s := testState()
	held := label.Claims{{Protocol: route.HTTP, Service: "web", Owner: "p1", ComposeService: "web", Match: "aa"}: time.Now()}
	s.claims = held
	s.snapshot(time.Now())
	if !maps.Equal(s.claims, held) {
		t.Errorf("before the first read: %v", s.claims)
	}
	s.synced(time.Now(), nil)
	s.snapshot(time.Now())
	if len(s.claims) != 0 {
		t.Errorf("after it: %v", s.claims)
	}
}
