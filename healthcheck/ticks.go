package healthcheck

import (
	"slices"

	"fairlead/router/route"
)

// spareTicks is the room behind a full list: so many results are added before the
// list moves.
const spareTicks = 10

// ticks are the last results of a placement. What list returned never changes: results
// are added behind it, and a full list moves to memory of its own.
type ticks struct{ kept []route.ProbeTick }

// add notes an applied result.
func (t *ticks) add(r *route.ProbeResult) {
	if len(t.kept) == route.MaxProbeTicks {
		t.kept = t.kept[1:]
	}
	if n := len(t.kept); n == cap(t.kept) {
		room := min(max(2*n, 4), route.MaxProbeTicks+spareTicks)
		t.kept = append(make([]route.ProbeTick, 0, room), t.kept...)
	}
	t.kept = append(t.kept, route.ProbeTick{At: r.At, OK: r.OK, Duration: r.Duration, Kind: r.Kind})
}

// list returns the results, oldest first.
func (t *ticks) list() []route.ProbeTick { return slices.Clip(t.kept) }

// fork is a list that begins with the same results and goes on apart from this one.
func (t *ticks) fork() ticks { return ticks{t.list()} }
