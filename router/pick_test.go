package router

import (
	"fmt"
	"math"
	"testing"

	"fairlead/router/route"
)

// rotation makes one of verified members with the given weights.
func rotation(weights ...int) *route.Rotation {
	members := make([]route.Member, len(weights))
	for i, w := range weights {
		b := backend(i + 1)
		b.Weight = w
		members[i] = route.Member{
			Placement: &route.Placement{Entrypoint: "http_a", Backend: b, Load: &route.Load{}}, Weight: w, Reason: route.InVerified,
		}
	}
	return route.NewRotation(1, route.TierVerified, members)
}

var algorithms = []route.LoadBalancer{route.RoundRobin, route.LeastConnections, route.PowerOfTwo, route.Random, ""}

func index(t *testing.T, rot *route.Rotation, p *route.Placement) int {
	t.Helper()
	for i := range rot.Members {
		if rot.Members[i].Placement == p {
			return i
		}
	}
	t.Fatal("a placement that is no member")
	return -1
}

func tally(t *testing.T, rot *route.Rotation, algo route.LoadBalancer, n int, tried ...*route.Placement) []int {
	t.Helper()
	counts := make([]int, len(rot.Members))
	cell := &route.RotationCell{}
	for range n {
		m, ok := Pick(rot, cell, algo, tried)
		if !ok {
			t.Fatalf("%s: nothing picked", algo)
		}
		counts[index(t, rot, m.Placement)]++
	}
	return counts
}

func TestRoundRobinRotatesExactly(t *testing.T) {
	rot, cell := rotation(100, 100, 100), &route.RotationCell{}
	for i := range 30 {
		m, _ := Pick(rot, cell, route.RoundRobin, nil)
		if got := index(t, rot, m.Placement); got != i%3 {
			t.Fatalf("turn %d: member %d", i, got)
		}
	}
}

func TestWeightedRoundRobinIsExactAndSpread(t *testing.T) {
	for _, weights := range [][]int{{1, 3}, {100, 300}, {5, 1, 1}, {100, 50, 25}, {65535, 1}, {7, 11, 13}, {1, 1, 1, 97}} {
		rot, cell := rotation(weights...), &route.RotationCell{}
		total, unit := 0, 0
		for _, w := range weights {
			total += w
			unit = int(gcd(uint64(unit), uint64(w)))
		}
		period := total / unit
		counts := make([]float64, len(weights))
		worst := 0.0
		for turn := range 2 * period {
			m, _ := Pick(rot, cell, route.RoundRobin, nil)
			counts[index(t, rot, m.Placement)]++
			for i, w := range weights {
				worst = max(worst, math.Abs(counts[i]-float64(turn+1)*float64(w)/float64(total)))
			}
			if (turn+1)%period != 0 {
				continue
			}
			for i, w := range weights {
				if want := float64((turn + 1) / period * w / unit); counts[i] != want {
					t.Errorf("%v: after %d turns member %d has %v, want %v", weights, turn+1, i, counts[i], want)
				}
			}
		}
		if worst > 2.5 {
			t.Errorf("%v: a member was %.1f turns off its share", weights, worst)
		}
	}
}

func TestEveryAlgorithmHonoursWeights(t *testing.T) {
	const n = 60000
	weights := []int{300, 200, 100}
	for _, algo := range algorithms {
		counts := tally(t, rotation(weights...), algo, n)
		for i, w := range weights {
			want := float64(n) * float64(w) / 600
			// Six standard deviations of a fair draw.
			if slack := 6 * math.Sqrt(want); math.Abs(float64(counts[i])-want) > slack {
				t.Errorf("%q: %v, want about %v for member %d", algo, counts, want, i)
			}
		}
	}
}

func TestPickLeavesOutWhatWasTried(t *testing.T) {
	for _, algo := range algorithms {
		rot := rotation(100, 50, 1)
		first := rot.Members[0].Placement
		counts := tally(t, rot, algo, 5100, first)
		if counts[0] != 0 {
			t.Errorf("%q: %v", algo, counts)
		}
		if math.Abs(float64(counts[2])-100) > 60 {
			t.Errorf("%q: the rest is not shared by weight: %v", algo, counts)
		}
		// A new value of the same placement counts as tried too.
		again := *first
		if counts := tally(t, rot, algo, 100, &again); counts[0] != 0 {
			t.Errorf("%q: tried again under another pointer: %v", algo, counts)
		}
		all := []*route.Placement{rot.Members[2].Placement, rot.Members[0].Placement, rot.Members[1].Placement}
		if p, ok := Pick(rot, &route.RotationCell{}, algo, all); ok || p != nil {
			t.Errorf("%q: picked %v though all were tried", algo, p)
		}
		if m, ok := Pick(rot, &route.RotationCell{}, algo, all[:2]); !ok || m != &rot.Members[1] {
			t.Errorf("%q: did not pick the one that is left", algo)
		}
	}
}

func TestPickEndsForEveryMixture(t *testing.T) {
	for _, algo := range algorithms {
		for _, weights := range [][]int{{}, {0}, {0, 0, 0}, {-5, 0}, {0, 1}, {1}, {65535, 65535}, {1, 65535, 0}} {
			rot, cell := rotation(weights...), &route.RotationCell{}
			for turn := range uint64(50) {
				cell.Cursor.Store(turn * 0x0123456789abcdef)
				p, ok := Pick(rot, cell, algo, nil)
				if ok != (len(weights) > 0) || ok && p == nil {
					t.Errorf("%q of %v: %v, %v", algo, weights, p, ok)
				}
			}
		}
		rot := rotation(1, 1)
		for i := range rot.Members {
			rot.Members[i].Placement.Load = nil
		}
		if _, ok := Pick(rot, &route.RotationCell{}, algo, nil); !ok {
			t.Errorf("%q: nothing picked without loads", algo)
		}
	}
}

func TestLeastConnectionsTakesTheLeastPerWeight(t *testing.T) {
	tests := []struct {
		weights, flight []int
		want            []int // members that may be picked
	}{
		{[]int{100, 100, 100}, []int{3, 1, 2}, []int{1}},
		{[]int{100, 200}, []int{3, 5}, []int{1}},
		{[]int{100, 200}, []int{2, 5}, []int{0}},
		{[]int{100, 200}, []int{1, 2}, []int{0, 1}},
		{[]int{100, 100, 100, 100}, []int{5, 0, 0, 7}, []int{1, 2}},
		{[]int{100, 100}, []int{-1, 1}, []int{0}},
	}
	for _, tt := range tests {
		rot := rotation(tt.weights...)
		for i, n := range tt.flight {
			rot.Members[i].Placement.Load.InFlight.Store(int64(n))
		}
		counts := tally(t, rot, route.LeastConnections, 1000)
		for i, n := range counts {
			may := false
			for _, w := range tt.want {
				may = may || w == i
			}
			if may != (n > 0) {
				t.Errorf("%v in flight %v: picked %v", tt.weights, tt.flight, counts)
			}
		}
	}
}

func TestLeastConnectionsSharesTiesByWeight(t *testing.T) {
	rot := rotation(100, 300, 100, 100)
	rot.Members[2].Placement.Load.InFlight.Store(9)
	rot.Members[3].Placement.Load.InFlight.Store(9)
	counts := tally(t, rot, route.LeastConnections, 4000)
	if counts[2]+counts[3] != 0 || math.Abs(float64(counts[0])-1000) > 150 {
		t.Errorf("%v, want about [1000 3000 0 0]", counts)
	}
}

func TestPowerOfTwoAvoidsTheBusyOne(t *testing.T) {
	rot := rotation(100, 100, 100)
	rot.Members[0].Placement.Load.InFlight.Store(50)
	counts := tally(t, rot, route.PowerOfTwo, 9000)
	if counts[0] != 0 {
		t.Errorf("the busy one is never the better of two: %v", counts)
	}
	if math.Abs(float64(counts[1]-counts[2])) > 600 {
		t.Errorf("the idle ones share unevenly: %v", counts)
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	for _, algo := range algorithms {
		for _, weights := range [][]int{{100}, {100, 100, 100}, {100, 50, 1}} {
			rot, cell := rotation(weights...), &route.RotationCell{}
			tried := []*route.Placement{rot.Members[0].Placement}
			if n := testing.AllocsPerRun(100, func() {
				Pick(rot, cell, algo, nil)
				Pick(rot, cell, algo, tried)
			}); n != 0 {
				t.Errorf("%q of %v: %v allocations", algo, weights, n)
			}
		}
	}
}

func TestStrideIsCoprime(t *testing.T) {
	for n := uint64(1); n < 3000; n++ {
		if s := stride(n); s == 0 || gcd(s, n) != 1 {
			t.Fatalf("stride(%d) = %d", n, s)
		}
	}
	if s := stride(math.MaxUint32); gcd(s, math.MaxUint32) != 1 {
		t.Error(fmt.Sprint(s))
	}
}

// TestPickFallback: as Pick, among those that serve while all are on trial.
func TestPickFallback(t *testing.T) {
	rot, cell := rotation(1), &route.RotationCell{}
	if _, ok := PickFallback(rot, cell, route.RoundRobin, nil); ok {
		t.Error("picked from an empty fallback")
	}
	rot.Fallback = rotation(100, 300).Members
	counts := map[*route.Member]int{}
	for range 400 {
		m, _ := PickFallback(rot, cell, route.RoundRobin, nil)
		counts[m]++
	}
	if counts[&rot.Fallback[0]] != 100 || counts[&rot.Fallback[1]] != 300 {
		t.Errorf("%v", counts)
	}
}
