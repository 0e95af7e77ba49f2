package api

import (
	"slices"
	"time"

	"github.com/gorilla/websocket"
)

// What is kept for watchers that are slow or come back. Both bounds hold.
const (
	keptFrames = 1024
	keptBytes  = 1 << 20
)

// frame is one message of the stream, encoded.
type frame struct {
	key   string // frames with one key replace each other; "" never
	rev   uint64
	size  int // of its text, in bytes
	wire  *websocket.PreparedMessage
	table *EventTable // of a frame about tables
}

// ring keeps the last frames. Their revisions have no holes.
type ring struct {
	slots  [keptFrames]*frame // a frame's slot is its revision modulo the length
	first  uint64             // the first revision of this run
	oldest uint64             // the first that is kept, next when none is
	next   uint64             // of the next frame
	bytes  int
}

func newRing(first uint64) ring { return ring{first: first, oldest: first, next: first} }

func (r *ring) add(f *frame) {
	if r.next-r.oldest == keptFrames {
		r.drop()
	}
	r.slots[f.rev%keptFrames] = f
	r.next = f.rev + 1
	r.bytes += f.size
	for r.bytes > keptBytes && r.next-r.oldest > 1 {
		r.drop()
	}
}

func (r *ring) drop() {
	slot := &r.slots[r.oldest%keptFrames]
	r.bytes -= (*slot).size
	*slot = nil
	r.oldest++
}

// after returns at most limit frames behind a revision, and how many are missing
// before the first.
func (r *ring) after(rev uint64, limit int) (batch []*frame, lost uint64) {
	from := rev + 1
	if from < r.oldest {
		lost, from = r.oldest-from, r.oldest
	}
	for ; from < r.next && len(batch) < limit; from++ {
		batch = append(batch, r.slots[from%keptFrames])
	}
	return batch, lost
}

// mergeWithin is how far the first and the last change of a merged frame may be apart:
// a frame has one time, and who asks for the last ten minutes is not told of what changed
// an hour ago.
const mergeWithin = 10 * time.Second

// place tells frames apart that do not replace each other.
type place struct {
	key   string
	group int // of frames about tables: those that are close in time
}

// placesOf returns the place of each frame of a batch.
func placesOf(batch []*frame) []place {
	out := make([]place, len(batch))
	group, since := 0, int64(0)
	for i, f := range batch {
		out[i].key = f.key
		if f.table == nil {
			continue
		}
		if f.table.AtMS-since > mergeWithin.Milliseconds() {
			group, since = group+1, f.table.AtMS
		}
		out[i].group = group
	}
	return out
}

// merged leaves out frames that a later one of the batch replaces. Frames about tables
// that are close in time become one that names what any of them named.
func merged(batch []*frame) []*frame {
	if !slices.ContainsFunc(batch, func(f *frame) bool { return f.key != "" }) {
		return batch
	}
	places, last := placesOf(batch), map[place]int{}
	for i := range batch {
		last[places[i]] = i
	}
	var sum *EventTable
	group := 0
	out := make([]*frame, 0, len(batch))
	for i, f := range batch {
		if f.table != nil {
			if places[i].group != group {
				sum, group = nil, places[i].group
			}
			sum = sum.plus(f.table)
		}
		switch {
		case f.key != "" && last[places[i]] != i:
		case f.table != nil && sum != f.table:
			if whole, err := newFrame(f.key, f.rev, sum); err == nil {
				f = whole
			}
			out = append(out, f)
		default:
			out = append(out, f)
		}
	}
	return out
}

// plus returns what two changes of the table come to; neither is altered.
func (t *EventTable) plus(later *EventTable) *EventTable {
	if t == nil {
		return later
	}
	sum := *later
	sum.All = t.All || later.All
	sum.Diagnostics = t.Diagnostics || later.Diagnostics
	unlike := func(list []string) func(string) bool {
		return func(id string) bool { return slices.Contains(list, id) }
	}
	sum.Changed = union(slices.DeleteFunc(slices.Clone(t.Changed), unlike(later.Removed)), later.Changed)
	sum.Removed = union(slices.DeleteFunc(slices.Clone(t.Removed), unlike(later.Changed)), later.Removed)
	sum.bound()
	return &sum
}

// union of two lists, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return list(slices.Compact(all))
}
