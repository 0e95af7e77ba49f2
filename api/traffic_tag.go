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
		counts, minute := v.Traffic.Counts(), r.EntrypointMinute(v.Entrypoint.ID)
		b = appendMinute(appendCounts(b, &counts), &minute)
	}
	if cell := cellOf(view, v); cell != nil {
		b = appendInts(b, cell.InFlight.Load(), cell.Held.Load())
	}
	for i := range v.Health.Backends {
		load := v.Health.Backends[i].Load
		if load == nil {
			continue
		}
		b = appendInts(b, load.InFlight.Load(), load.Tunnels.Load(), int64(load.Requests.Load()))
		counts, minute := load.Traffic.Counts(), r.BackendMinute(v.Entrypoint.ID, load)
		b = appendMinute(appendCounts(b, &counts), &minute)
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

// appendMinute writes a minute: nothing but zeros while nothing was sampled, and one
// number of its own kind when there were no requests.
func appendMinute(b []byte, m *TrafficMinute) []byte {
	return appendInts(b, int64(m.span()), int64(m.Requests), int64(m.Errors), int64(m.P50), int64(m.P99))
}

func appendInts(b []byte, values ...int64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}
