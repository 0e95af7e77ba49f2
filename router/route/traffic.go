package route

import (
	"sync/atomic"
	"time"
)

// StatusClasses is the number of classes that requests are counted by: class n are
// the statuses n00 to n99, and class 5 those beyond, too (RFC 9110 section 15); class 0
// are requests without a response of the backend, or whose client left before one.
const StatusClasses = 6

// Traffic counts the requests of an entrypoint or of one of its backends since its
// identity began. It is safe for concurrent use; the zero value is ready.
type Traffic struct {
	// classes has one more for abandoned contacts, so that no moment has them in class 0
	// without being known as abandoned.
	classes [StatusClasses + 1]atomic.Uint64
	buckets [LatencyBuckets]atomic.Uint64
	sum     atomic.Int64  // nanoseconds to the response head
	retries atomic.Uint64 // contacts beyond a request's first one
	held    atomic.Uint64 // requests that waited for a backend
	cut     atomic.Uint64 // responses that broke off after their head
	slowest atomic.Int64  // nanoseconds of the slowest one since TakeSlowest
}

// Note counts a request by the status of its response head, 0 without one, and by the
// time until then.
func (t *Traffic) Note(status int, took time.Duration) {
	class := min(status/100, StatusClasses-1)
	if status < 0 {
		class = 0
	}
	t.note(class, took)
}

// NoteAbandoned counts a contact without an answer that says nothing about the backend:
// its client left or broke the request off, or the router ended it. It is in class 0 with
// the time that it waited.
func (t *Traffic) NoteAbandoned(took time.Duration) { t.note(StatusClasses, took) }

func (t *Traffic) note(class int, took time.Duration) {
	// Before it is counted, so that a step that has the request has its time, too.
	for slowest := t.slowest.Load(); int64(took) > slowest && !t.slowest.CompareAndSwap(slowest, int64(took)); {
		slowest = t.slowest.Load()
	}
	t.classes[class].Add(1)
	t.buckets[bucketOf(took)].Add(1)
	t.sum.Add(int64(took))
}

// TakeSlowest returns the time of the slowest request since the last call, 0 without
// one. Only one caller may do so, and reads Counts before.
func (t *Traffic) TakeSlowest() time.Duration {
	if t.slowest.Load() == 0 {
		return 0 // nothing to take: an idle one is not written
	}
	return time.Duration(t.slowest.Swap(0))
}

// NoteRetry counts a contact beyond a request's first one.
func (t *Traffic) NoteRetry() { t.retries.Add(1) }

// NoteHeld counts a request that waited for a backend.
func (t *Traffic) NoteHeld() { t.held.Add(1) }

// NoteCut counts a response that broke off after its head.
func (t *Traffic) NoteCut() { t.cut.Add(1) }

// TrafficCounts is what a Traffic had counted at one moment.
type TrafficCounts struct {
	Classes [StatusClasses]uint64
	Buckets [LatencyBuckets]uint64 // not cumulative
	Sum     time.Duration
	Retries uint64
	Held    uint64
	Cut     uint64
	// Abandoned are those of class 0 that are no failure of the backend.
	Abandoned uint64
}

// Counts reads the counters. They are read one after the other: a request that is
// noted meanwhile may be in some of them only.
func (t *Traffic) Counts() TrafficCounts {
	var c TrafficCounts
	for i := range c.Classes {
		c.Classes[i] = t.classes[i].Load()
	}
	c.Abandoned = t.classes[StatusClasses].Load()
	c.Classes[0] += c.Abandoned
	for i := range t.buckets {
		c.Buckets[i] = t.buckets[i].Load()
	}
	c.Sum = time.Duration(t.sum.Load())
	c.Retries, c.Held, c.Cut = t.retries.Load(), t.held.Load(), t.cut.Load()
	return c
}

// Requests is how many requests were counted.
func (c *TrafficCounts) Requests() uint64 {
	var n uint64
	for _, class := range c.Classes {
		n += class
	}
	return n
}

// Since returns what was counted between an earlier moment and this one.
func (c *TrafficCounts) Since(earlier *TrafficCounts) TrafficCounts {
	d := *c
	for i := range d.Classes {
		d.Classes[i] -= earlier.Classes[i]
	}
	for i := range d.Buckets {
		d.Buckets[i] -= earlier.Buckets[i]
	}
	d.Sum -= earlier.Sum
	d.Retries -= earlier.Retries
	d.Held -= earlier.Held
	d.Cut -= earlier.Cut
	d.Abandoned -= earlier.Abandoned
	return d
}
