package api

import (
	"encoding/binary"
	"hash/maphash"

	"fairlead/router"
	"fairlead/router/route"
)

// liveTag sums up what an answer shows beside the picture of its view: loads and
// traffic, which change without a new generation. It is 0 where nothing moves. It is
// taken before the answer is made: what changes between the two changes the next tag,
// since every change of a gauge goes with one of a counter.
func (s *Server) liveTag(view *router.View, page []*router.EntrypointView) (sum uint64) {
	var b []byte
	for _, v := range page {
		b = s.cfg.Traffic.appendLive(b[:0], view, v)
		for _, c := range b {
			if c != 0 {
				b = append(b, v.Entrypoint.ID...)
				sum += maphash.Bytes(s.seed, b)
				break
			}
		}
	}
	return sum
}

// appendLive writes the numbers of an entrypoint and of its backends.
func (r *TrafficRecorder) appendLive(b []byte, view *router.View, v *router.EntrypointView) []byte {
	if v.Traffic != nil {
		counts := v.Traffic.Counts()
		b = appendInts(appendCounts(b, &counts), r.stamp(v.Entrypoint.ID, nil))
	}
	if cell := cellOf(view, v); cell != nil {
		waits, turned := cell.Line.Counts()
		b = appendInts(b, cell.InFlight.Load(), cell.Held.Load(), int64(cell.Line.Waiting()), int64(waits), int64(turned))
	}
	for i := range v.Health.Backends {
		load := v.Health.Backends[i].Load
		if load == nil {
			continue
		}
		b = appendInts(b, load.InFlight.Load(), load.Tunnels.Load(), int64(load.Requests.Load()))
		counts := load.Traffic.Counts()
		b = appendInts(appendCounts(b, &counts), r.stamp(v.Entrypoint.ID, load))
	}
	return b
}

func appendCounts(b []byte, c *route.TrafficCounts) []byte {
	values := (&measure{counts: *c}).values()
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// stamp changes with the last minute of an entrypoint, or of a backend: with every
// sample while there is traffic in it, and not at all while there is none.
func (r *TrafficRecorder) stamp(id string, load *route.Load) int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var s *series
	switch e := r.entries[id]; {
	case e == nil:
	case load == nil:
		s = e.series
	case e.backends[load] != nil:
		s = e.backends[load].series
	}
	if s.quiet() {
		return min(int64(r.samples), 1) // whether there was a sample at all
	}
	return int64(r.samples) + 1
}

func appendInts(b []byte, values ...int64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}
