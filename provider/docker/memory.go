package docker

import "fairlead/provider/label"

// Memory keeps claims while no router runs. Both methods return at once.
type Memory interface {
	// Claims are those that were kept last, nil for none. The caller does not change them.
	Claims() label.Claims
	// KeepClaims takes the claims in force. The caller does not change them any more.
	KeepClaims(claims label.Claims)
}

// Remember gives the provider claims to begin with, and somebody who is told of changes.
// Those of owners that the first complete read does not find are forgotten. It must come
// before Run; without it the ages of the containers alone decide at a start.
func (p *Provider) Remember(m Memory) { p.memory = m }
