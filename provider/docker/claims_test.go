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

// TestRestoredClaimsWaitForTheirOwners: after a reboot of the machine the router can be up
// before the containers are, and the first complete read finds nobody.
func TestRestoredClaimsWaitForTheirOwners(t *testing.T) {
	s, now := testState(), time.Now()
	key := label.ClaimKey{Protocol: route.HTTP, Service: "web", Owner: "p1", ComposeService: "web", Match: "aa"}
	s.restore(label.Claims{key: now.Add(-time.Hour)})
	s.synced(now, nil)
	s.snapshot(now)
	if s.snapshot(now.Add(restoredTime - time.Second)); !s.claims[key].Equal(now.Add(-time.Hour)) {
		t.Errorf("before the hour is over: %v", s.claims)
	}
	if s.snapshot(now.Add(restoredTime)); len(s.claims) != 0 {
		t.Errorf("after it: %v", s.claims)
	}
	// Whoever was seen has an ordinary claim from then on.
	s = testState()
	s.restore(label.Claims{key: now.Add(-time.Hour)})
	if got := s.remembered(label.Claims{key: now.Add(-time.Hour)}, now); len(got) != 1 {
		t.Errorf("seen: %v", got)
	}
	if got := s.remembered(label.Claims{}, now.Add(time.Minute)); len(got) != 0 {
		t.Errorf("seen and gone: %v", got)
	}
}
