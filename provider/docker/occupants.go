package docker

import (
	"net/netip"
	"strings"
	"time"
)

// An address is free again the moment its container ends, and the next container to
// start gets it. When the end was not announced, the start of the next one is too late
// a sign: its process listens before anybody has inspected it. But engines connect a
// container to its networks before they start its process, say so, and show in the
// network who holds which address: that is asked at each connect.

// seating is the answer to a question about the occupants of a network.
type seating struct {
	network   string // id or name, as it was asked for
	occupants map[string]string
	asked     time.Time
	err       error
}

// networkOf returns the network and the container of a connect or disconnect event.
func networkOf(e event) (network, container string) {
	if id := e.Attrs["container"]; id != "" {
		return e.ID, id
	}
	return e.Attrs["network"], e.ID // Podman: the network has its name only
}

// suspect notes that a container gets an address on a network. It is of interest when
// one of ours has, or just had, an address there. That may be the same one: then its last
// life ended without a word.
func (s *state) suspect(network, newcomer string) {
	for _, r := range s.records {
		if !r.live() && r.leaving == nil || !s.interesting(r) || len(r.keysOn(network)) == 0 {
			continue
		}
		if !s.blind() {
			s.suspects[network] = true
			return
		}
		// The next best: engines answer when the start is complete, which is sooner than
		// the question that the start's own event leads to.
		s.get(newcomer, nil).dirty = true
		return
	}
}

// blind reports whether the engine hides the occupants of networks.
func (s *state) blind() bool { return s.site.networks == nil || s.noOccupants }

// occupied takes the occupants of a network. A container of ours whose address belongs
// to another one, or that has another address there, leaves at once; one that left for
// that reason and has its address after all is back. Containers that were asked about
// later than the network say more themselves.
func (s *state) occupied(a seating, now time.Time) urgency {
	level := idle
	for _, r := range s.records {
		if r.removed || r.launched.After(a.asked) && !r.inFlight {
			continue
		}
		for _, key := range r.keysOn(a.network) {
			owner := a.occupants[key.address]
			if owner == "" {
				owner = a.occupants[canonical(key.address)]
			}
			seated := owner == "" && a.seats(r.id, isIPv6(key.address))
			level = max(level, s.contest(r, key, owner, seated, now))
		}
	}
	return level
}

// seats reports whether a container has an address of that kind on the network.
func (a *seating) seats(id string, ipv6 bool) bool {
	for address, owner := range a.occupants {
		if owner == id && isIPv6(address) == ipv6 {
			return true
		}
	}
	return false
}

// contest compares an address that a container is believed to have with its owner, ""
// for none; seated is set when there is none and the container has another one there.
func (s *state) contest(r *record, key addressKey, owner string, seated bool, now time.Time) urgency {
	switch {
	case owner == r.id:
		if r.leaving != nil && r.leaving.ousted == key {
			r.leaving = nil
			return soon
		}
		return idle
	case owner == "" && !seated:
		return idle // not every engine tells of every container
	case r.live():
		r.oust(key, now)
	case r.leaving == nil:
		return idle
	}
	if !s.interesting(r) {
		return idle
	}
	return atOnce
}

// keysOn returns the container's addresses on a network, given by id or name.
func (r *record) keysOn(network string) []addressKey {
	var keys []addressKey
	for name, a := range r.info.Networks {
		if a.NetworkID == network || name == network {
			keys = append(keys, keysOf(a)...)
		}
	}
	return keys
}

// canonical writes an address as the occupants of networks are written.
func canonical(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return addr.Unmap().String()
}

func isIPv6(address string) bool { return strings.Contains(address, ":") }

// doubt asks for the occupants of the networks of a container that lost its address to
// another one but goes on claiming it.
func (s *state) doubt(r *record) {
	if r.leaving == nil || r.leaving.ousted == (addressKey{}) || s.blind() {
		return
	}
	s.suspects[r.leaving.ousted.network] = true
}

// takeSuspects returns the networks to be asked about and forgets those.
func (s *state) takeSuspects(asking map[string]bool) []string {
	var list []string
	for network := range s.suspects {
		if !asking[network] {
			list = append(list, network)
			delete(s.suspects, network)
		}
	}
	return list
}
