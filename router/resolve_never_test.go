package router

import (
	"testing"

	"fairlead/router/route"
)

// TestNeverServed: one that passed a probe or served once makes a refusal a 502.
func TestNeverServed(t *testing.T) {
	member := func(proven bool) route.Member {
		load := &route.Load{}
		load.Proven.Store(proven)
		return route.Member{Placement: &route.Placement{Load: load}, Weight: 1}
	}
	for _, tt := range []struct {
		members []route.Member
		want    bool
	}{
		{nil, false},
		{[]route.Member{member(false)}, true},
		{[]route.Member{member(false), member(false)}, true},
		{[]route.Member{member(false), member(true)}, false},
		{[]route.Member{{Placement: &route.Placement{}}}, false}, // offline: nobody knows
	} {
		if got := neverServed(&route.Rotation{Members: tt.members}); got != tt.want {
			t.Errorf("%d members: %v", len(tt.members), got)
		}
	}
}
