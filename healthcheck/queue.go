package healthcheck

import (
	"cmp"
	"slices"
	"time"
)

// due is a check whose time has come, with what it is sorted by.
type due struct {
	check *check
	class class
	share share
}

// compare orders by urgency (health.md, "Scheduling", rule 3).
func (a due) compare(b due) int {
	return cmp.Or(cmp.Compare(a.class, b.class), a.check.nextAt.Compare(b.check.nextAt),
		cmp.Compare(a.check.generation, b.check.generation))
}

// Pools of the budget.
const (
	poolProven = iota
	poolUnproven
	poolDown
	pools
)

// queue holds what is due and has no slot yet. A pool or a host that is full costs
// nothing while it is full: each slot that comes back launches at most what it has
// room for, without a look at the others.
type queue struct {
	lists  [pools][]due // sorted
	heads  [pools]int
	parked map[string][]due // by host, while the host is full; in order
}

// fill replaces everything.
func (q *queue) fill(each func(yield func(due))) {
	for i := range q.lists {
		clear(q.lists[i])
		q.lists[i], q.heads[i] = q.lists[i][:0], 0
	}
	clear(q.parked)
	each(func(d due) {
		pool := d.share.pool()
		q.lists[pool] = append(q.lists[pool], d)
	})
	for i := range q.lists {
		slices.SortFunc(q.lists[i], due.compare)
	}
}

// next takes the most urgent one of the open pools.
func (q *queue) next(open func(pool int) bool) (due, bool) {
	best := -1
	for i := range q.lists {
		if q.heads[i] == len(q.lists[i]) || !open(i) {
			continue
		}
		if best < 0 || q.lists[i][q.heads[i]].compare(q.lists[best][q.heads[best]]) < 0 {
			best = i
		}
	}
	if best < 0 {
		return due{}, false
	}
	d := q.lists[best][q.heads[best]]
	q.heads[best]++
	return d, true
}

// park puts aside what was taken while its host is full.
func (q *queue) park(d due) { q.parked[d.share.host] = append(q.parked[d.share.host], d) }

// unpark returns the first one of a host that has room again to where it was: in
// front of what is left of its list.
func (q *queue) unpark(host string) {
	list := q.parked[host]
	if len(list) == 0 {
		return
	}
	d := list[0]
	if q.parked[host] = list[1:]; len(list) == 1 {
		delete(q.parked, host)
	}
	pool := d.share.pool()
	q.heads[pool]--
	q.lists[pool][q.heads[pool]] = d
}

// len is the number of checks that wait.
func (q *queue) len() int {
	n := 0
	for i := range q.lists {
		n += len(q.lists[i]) - q.heads[i]
	}
	for _, list := range q.parked {
		n += len(list)
	}
	return n
}

// collectDue queues every check whose time has come.
func (e *Engine) collectDue(now time.Time) {
	s := &e.schedule
	s.queue.fill(func(yield func(due)) {
		for _, c := range e.checks {
			if !e.isDue(c, now) {
				continue
			}
			if c.dueSince.IsZero() {
				c.dueSince = s.lastTick
			}
			cl := c.class()
			yield(due{check: c, class: cl, share: c.share(cl)})
		}
	})
}

func (e *Engine) isDue(c *check, now time.Time) bool {
	return c.inFlight == nil && !c.nextAt.After(now) && c.wanted()
}

// launchWaiting launches what waits and has room. It runs at each tick and whenever
// a slot is free again.
func (e *Engine) launchWaiting(now time.Time) {
	if e.start == nil || e.stopped {
		return
	}
	s := &e.schedule
	for {
		d, ok := s.queue.next(s.open)
		if !ok {
			return
		}
		switch {
		case e.checks[d.check.key] != d.check, !e.isDue(d.check, now):
		case !s.room(d.share):
			s.queue.park(d)
		default:
			e.launch(d.check, d.share, now)
		}
	}
}
