package api

import (
	"encoding/binary"
	"math/bits"
	"time"

	"fairlead/router/route"
)

const (
	trafficStep    = 5 * time.Second
	trafficSteps   = 120 // kept for an entrypoint: 10 minutes
	trafficMinutes = 12  // steps of the last minute, kept for a backend
)

// measure is what one step brought, or several.
type measure struct {
	counts   route.TrafficCounts
	slowest  time.Duration // of the requests, 0 when it is not known
	inFlight uint64
}

// busy reports whether there was any traffic.
func (m *measure) busy() bool { return m.inFlight > 0 || m.counts != route.TrafficCounts{} }

// quantile estimates a latency.
func (m *measure) quantile(q float64) time.Duration { return m.counts.Quantile(q, m.slowest) }

// measureFields is the number of values in a measure, 64 at most.
const measureFields = 7 + route.StatusClasses + route.LatencyBuckets

// slowestField is the one that several steps have the greatest of, not the sum.
const slowestField = 1

// values lists the fields, those first that most steps have. The sum is in microseconds,
// the slowest one exact: no estimate is to be above it.
func (m *measure) values() (v [measureFields]uint64) {
	c := &m.counts
	n := copy(v[:], []uint64{uint64(max(c.Sum, 0).Microseconds()), uint64(max(m.slowest, 0)), m.inFlight, c.Retries, c.Held, c.Cut, c.Abandoned})
	n += copy(v[n:], c.Classes[:])
	copy(v[n:], c.Buckets[:])
	return v
}

func (m *measure) set(v *[measureFields]uint64) {
	c := &m.counts
	c.Sum, m.slowest = time.Duration(v[0])*time.Microsecond, time.Duration(v[slowestField])
	m.inFlight, c.Retries, c.Held, c.Cut, c.Abandoned = v[2], v[3], v[4], v[5], v[6]
	n := 7 + copy(c.Classes[:], v[7:])
	copy(c.Buckets[:], v[n:])
}

// series are the measures of successive steps, packed: a set of the fields that are
// not zero, then their values, all as varints. A step costs one byte without traffic
// and some ten with it.
type series struct {
	keep   int    // steps at most
	data   []byte // oldest first
	steps  int
	recent int // where the last minute begins in data, and how many steps it has
	newest int
	idle   int // steps since the last one with traffic
}

// add appends a step and forgets what is too old.
func (s *series) add(m *measure) {
	s.idle++
	if m.busy() {
		s.idle = 0
	}
	s.data = appendMeasure(s.data, m)
	s.steps++
	if s.newest++; s.newest > trafficMinutes {
		s.newest--
		s.recent += measureSize(s.data[s.recent:])
	}
	for s.steps > s.keep {
		n := measureSize(s.data)
		s.data, s.recent, s.steps = s.data[n:], s.recent-n, s.steps-1
	}
}

// each calls yield for every step, oldest first.
func (s *series) each(yield func(*measure)) {
	for data := s.data; len(data) > 0; {
		var values [measureFields]uint64
		data = addMeasure(&values, data)
		var m measure
		m.set(&values)
		yield(&m)
	}
}

// minute sums up the last minute.
func (s *series) minute() measure {
	var sum [measureFields]uint64
	for data := s.data[s.recent:]; len(data) > 0; {
		data = addMeasure(&sum, data)
	}
	var m measure
	m.set(&sum)
	return m
}

// quiet reports whether the last minute is empty.
func (s *series) quiet() bool { return s == nil || s.idle >= trafficMinutes }

func appendMeasure(data []byte, m *measure) []byte {
	values := m.values()
	var set uint64
	for i, v := range values {
		if v != 0 {
			set |= 1 << i
		}
	}
	data = binary.AppendUvarint(data, set)
	for _, v := range values {
		if v != 0 {
			data = binary.AppendUvarint(data, v)
		}
	}
	return data
}

// addMeasure adds the first step in data and returns what comes after it.
func addMeasure(sum *[measureFields]uint64, data []byte) []byte {
	set, n := binary.Uvarint(data)
	data = data[n:]
	for ; set != 0; set &= set - 1 {
		v, n := binary.Uvarint(data)
		if field := bits.TrailingZeros64(set); field == slowestField {
			sum[field] = max(sum[field], v)
		} else {
			sum[field] += v
		}
		data = data[n:]
	}
	return data
}

// measureSize is the length of the first step in data.
func measureSize(data []byte) int {
	set, size := binary.Uvarint(data)
	for ; set != 0; set &= set - 1 {
		for data[size] >= 0x80 {
			size++
		}
		size++
	}
	return size
}
