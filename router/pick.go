package router

import (
	"math/bits"
	"math/rand/v2"

	"fairlead/router/route"
)

// Pick chooses the member of a rotation that gets the next request. Placements in
// tried are left out; false means that there is no other one (call it without
// tried to use the same ones again). Weights count in every algorithm. It neither
// allocates nor locks and ends for every mixture of weights. The member is the
// rotation's own and must not be changed.
func Pick(rot *route.Rotation, cell *route.RotationCell, algo route.LoadBalancer, tried []*route.Placement) (*route.Member, bool) {
	if len(rot.Members) == 0 {
		return nil, false
	}
	return pickAt(rot.Members, rot.Uniform, cell.Cursor.Add(1)-1, algo, tried)
}

// PickFallback is Pick among those that serve while all members are on trial.
func PickFallback(rot *route.Rotation, cell *route.RotationCell, algo route.LoadBalancer, tried []*route.Placement) (*route.Member, bool) {
	if len(rot.Fallback) == 0 {
		return nil, false
	}
	return pickAt(rot.Fallback, false, cell.Cursor.Add(1)-1, algo, tried)
}

// pickAt is Pick at a given turn of the cursor, from one or more members.
func pickAt(members []route.Member, uniform bool, turn uint64, algo route.LoadBalancer, tried []*route.Placement) (*route.Member, bool) {
	if len(members) == 1 && len(tried) == 0 {
		return &members[0], true
	}
	pool := measure(members, uniform, tried)
	if pool.total == 0 {
		return nil, false
	}
	var i int
	switch algo {
	case route.LeastConnections:
		i = pool.least(turn)
	case route.PowerOfTwo:
		i = pool.twoChoices()
	case route.Random:
		i = pool.at(rand.Uint64N(pool.total))
	case route.RoundRobin:
		i = pool.turn(turn)
	default:
		i = pool.turn(turn)
	}
	return &members[i], true
}

// pool is what one pick may choose from.
type pool struct {
	members []route.Member
	tried   []*route.Placement
	total   uint64 // sum of the weights that may be picked, divided by unit
	unit    uint64 // greatest common divisor of those weights
	uniform bool   // all weights equal and nothing was tried
}

func measure(members []route.Member, uniform bool, tried []*route.Placement) pool {
	p := pool{members: members, tried: tried, unit: 1, uniform: uniform && len(tried) == 0}
	if p.uniform {
		p.total = uint64(len(members))
		p.unit = uint64(max(members[0].Weight, 1))
		return p
	}
	var sum, unit uint64
	for i := range members {
		w := p.weight(i)
		sum += w
		if unit != 1 {
			unit = gcd(unit, w)
		}
	}
	if sum > 0 {
		p.total, p.unit = sum/unit, unit
	}
	return p
}

// weight is a member's weight in this pick: 0 when it was tried, never 0 otherwise.
func (p *pool) weight(i int) uint64 {
	m := &p.members[i]
	for _, t := range p.tried {
		if t == m.Placement || t.Key() == m.Placement.Key() {
			return 0
		}
	}
	return uint64(max(m.Weight, 1))
}

// at returns the member on which a point of [0, total) falls.
func (p *pool) at(point uint64) int {
	if p.uniform {
		return int(point)
	}
	for i := range p.members {
		w := p.weight(i) / p.unit
		if point < w {
			return i
		}
		point -= w
	}
	return 0
}

// turn returns the member whose turn it is. Equal weights rotate one by one; other
// ones are visited in golden-section steps: within total turns every member gets
// exactly its weight, and its turns are spread out.
func (p *pool) turn(turn uint64) int {
	if p.uniform {
		return int(turn % p.total)
	}
	high, low := bits.Mul64(turn%p.total, stride(p.total))
	return p.at(bits.Rem64(high, low, p.total))
}

// stride is coprime to n and close to n divided by the golden ratio.
func stride(n uint64) uint64 {
	step := max(n/1000*618+n%1000*618/1000, 1)
	for gcd(step, n) != 1 {
		step++
	}
	return step
}

// least returns the member with the fewest requests in flight per weight. Among
// equals each gets turns by its weight: the one whose turn it is stays if it is
// among them, else they are drawn by weight.
func (p *pool) least(turn uint64) int {
	best := p.turn(turn)
	flight, weight := p.load(best), p.weight(best)
	kept, drawn := true, weight
	for i := range p.members {
		w := p.weight(i)
		if w == 0 || i == best {
			continue
		}
		switch f := p.load(i); compareLoad(f, w, flight, weight) {
		case -1:
			best, flight, weight = i, f, w
			kept, drawn = false, w
		case 0:
			if kept {
				continue
			}
			if drawn += w; mix(turn+uint64(i))%drawn < w {
				best, flight, weight = i, f, w
			}
		}
	}
	return best
}

// twoChoices draws two members by weight and takes the one with less to do.
func (p *pool) twoChoices() int {
	a := p.at(rand.Uint64N(p.total))
	wa := p.weight(a)
	rest := p.total - wa/p.unit
	if rest == 0 {
		return a
	}
	b := p.other(a, rand.Uint64N(rest))
	if compareLoad(p.load(b), p.weight(b), p.load(a), wa) < 0 {
		return b
	}
	return a
}

// other returns the member on which a point falls when one member is left out.
func (p *pool) other(without int, point uint64) int {
	for i := range p.members {
		if i == without {
			continue
		}
		w := p.weight(i) / p.unit
		if point < w {
			return i
		}
		point -= w
	}
	return without
}

func (p *pool) load(i int) uint64 {
	l := p.members[i].Placement.Load
	if l == nil {
		return 0
	}
	return uint64(max(l.InFlight.Load(), 0))
}

// compareLoad compares a/wa with b/wb without dividing.
func compareLoad(a, wa, b, wb uint64) int {
	switch x, y := a*wb, b*wa; {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// mix spreads a counter over 64 bits (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
