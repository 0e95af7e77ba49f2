package api

import (
	"net/netip"
	"sync"
	"time"
)

// How fast passwords may be tried: that many at once, then one in each period. Attempts
// that succeed do not count.
const (
	triesPerAddress = 10
	addressPeriod   = 10 * time.Second
	triesPerName    = 20
	namePeriod      = 5 * time.Second
	maxAddresses    = 4096 // that are remembered
	strangerBuckets = 8192 // shared by all names that no user has
)

// bucket holds the tries that are left. The zero value is full.
type bucket struct {
	used float64
	at   time.Time
}

// drain brings a bucket up to now.
func (b *bucket) drain(now time.Time, period time.Duration) {
	if !b.at.IsZero() {
		b.used = max(0, b.used-float64(now.Sub(b.at))/float64(period))
	}
	b.at = now
}

// wait is how long it takes until there is a try, 0 when there is one.
func (b *bucket) wait(tries int, period time.Duration) time.Duration {
	return max(0, time.Duration((b.used-float64(tries-1))*float64(period)))
}

// limiter slows whoever tries passwords, by address and by name. Its memory is bounded.
type limiter struct {
	mu        sync.Mutex
	addresses map[netip.Prefix]*bucket
	names     map[string]*bucket // of the users
	strangers []bucket
}

func newLimiter(names []string) *limiter {
	l := &limiter{addresses: map[netip.Prefix]*bucket{}, names: make(map[string]*bucket, len(names))}
	if len(names) > 0 {
		l.strangers = make([]bucket, strangerBuckets)
	}
	for _, name := range names {
		l.names[name] = &bucket{}
	}
	return l
}

// take counts a try and returns 0, or returns how long to wait. hash places names that
// no user has.
func (l *limiter) take(address netip.Prefix, name string, hash uint64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	byAddress, byName := l.address(address, now), l.name(name, hash)
	byName.drain(now, namePeriod)
	if d := max(byAddress.wait(triesPerAddress, addressPeriod), byName.wait(triesPerName, namePeriod)); d > 0 {
		return d
	}
	byAddress.used++
	byName.used++
	return 0
}

// back returns a try that succeeded, or that was none.
func (l *limiter) back(address netip.Prefix, name string, hash uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.addresses[address]; b != nil {
		b.used = max(0, b.used-1)
	}
	b := l.name(name, hash)
	b.used = max(0, b.used-1)
}

func (l *limiter) name(name string, hash uint64) *bucket {
	if b := l.names[name]; b != nil {
		return b
	}
	return &l.strangers[hash%strangerBuckets]
}

func (l *limiter) address(p netip.Prefix, now time.Time) *bucket {
	b := l.addresses[p]
	if b == nil {
		if len(l.addresses) >= maxAddresses {
			l.forget(now)
		}
		b = &bucket{}
		l.addresses[p] = b
	}
	b.drain(now, addressPeriod)
	return b
}

// forget makes room. Of some addresses, which differ each time, it drops those that may
// try as if nothing had been, else the one that comes nearest to it: whoever tried much
// stays.
func (l *limiter) forget(now time.Time) {
	const looked = 64
	var mildest netip.Prefix
	least, n := -1.0, 0
	for p, b := range l.addresses { // begins anywhere
		b.drain(now, addressPeriod)
		if b.used == 0 {
			delete(l.addresses, p)
		} else if least < 0 || b.used < least {
			mildest, least = p, b.used
		}
		if n++; n == looked {
			break
		}
	}
	if len(l.addresses) >= maxAddresses {
		delete(l.addresses, mildest)
	}
}

// prefixOf is what one attacker has at least: an IPv4 address, or 64 bits of IPv6.
func prefixOf(remote string) netip.Prefix {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr := peer.Addr().Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits)
	return p
}
