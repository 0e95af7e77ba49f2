package docker

import (
	"maps"
	"time"

	"fairlead/provider/label"
)

// Memory keeps claims while no router runs. Both methods return at once.
type Memory interface {
	// Claims are those that were kept last, nil for none. The caller does not change them.
	Claims() label.Claims
	// KeepClaims takes the claims in force. The caller does not change them any more.
	KeepClaims(claims label.Claims)
}

// Remember gives the provider claims to begin with, and somebody who is told of changes.
// Those of owners that do not appear within restoredTime of the first complete read are
// forgotten. It must come before Run; without it the ages of the containers alone decide
// at a start.
func (p *Provider) Remember(m Memory) { p.memory = m }

// restoredTime is how long a claim from before the start waits for its owner: after a
// reboot of the machine the router can be up before the containers are.
const restoredTime = time.Hour

// restore takes the claims from before the start.
func (s *state) restore(claims label.Claims) {
	s.claims, s.restored = claims, maps.Clone(claims)
}

// remembered adds to the claims in force those from before the start whose owners have not
// been seen yet. It is called for complete reads alone.
func (s *state) remembered(claims label.Claims, now time.Time) label.Claims {
	if len(s.restored) == 0 {
		return claims
	}
	if s.restoredUntil.IsZero() {
		s.restoredUntil = now.Add(restoredTime)
	}
	maps.DeleteFunc(s.restored, func(key label.ClaimKey, _ time.Time) bool {
		_, seen := claims[key]
		return seen || !now.Before(s.restoredUntil)
	})
	maps.Copy(claims, s.restored)
	return claims
}
