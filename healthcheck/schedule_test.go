package healthcheck

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestLateTicks: a tick that is late by several launches each due check once, and the
// grid stays where it was (R20).
func TestLateTicks(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_api", backend("b1", "10.0.0.1")))
		launched := 0
		r.engine.start = func(func(context.Context)) context.CancelCauseFunc {
			launched++
			return func(error) {}
		}
		r.engine.schedule.start(r.start, time.Second)
		r.at(47300 * time.Millisecond)
		r.engine.tick()
		r.engine.tick()
		if launched != 1 {
			t.Errorf("launched %d times", launched)
		}
		if got := r.engine.schedule.lastTick.Sub(r.start); got != 47*time.Second {
			t.Errorf("the tick counts as that of %s", got)
		}
	})
}

// TestLateTicksOfARunningEngine: the loop stands still for 47 s, here because somebody who is
// told of a transition does not return, as it does when the machine is suspended. Then each
// check runs once, and goes on at its pace from there (R20).
func TestLateTicksOfARunningEngine(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.engine.cfg.OnTransition = func(n route.Transition) {
			if n.Cause == causeTimer {
				<-time.After(time.Until(r.start.Add(53300 * time.Millisecond)))
			}
		}
		var list []route.Backend
		for i, id := range []string{"a", "b", "c"} {
			b := backend(id, fmt.Sprintf("10.0.0.%d", i+1))
			r.net.set(b.Address(), accept)
			list = append(list, b)
		}
		r.apply(r.set("http_api", list...))
		r.run()
		r.at(time.Second)
		if err := r.engine.Order("http_api", "a", route.Order{Action: route.OrderDrain, For: 5 * time.Second}); err != nil {
			t.Fatal(err)
		}
		r.at(80500 * time.Millisecond)
		for i := range list {
			got := r.net.dials(list[i].Address())[1:]
			want := []time.Duration{53300 * time.Millisecond, 63 * time.Second, 73 * time.Second}
			if !slices.Equal(got, want) {
				t.Errorf("%s was asked at %v, want %v", list[i].ID, got, want)
			}
		}
	})
}

// TestQueueSkipsFullHosts: a full host delays nobody else, and its own keep their order.
func TestQueueSkipsFullHosts(t *testing.T) {
	s := newSchedule(4, 1)
	var all []due
	for i, host := range []string{"a", "a", "a", "b"} {
		c := &check{generation: uint64(i), seq: uint64(i)}
		all = append(all, due{check: c, share: share{host: host}})
	}
	s.queue.fill(func(yield func(due)) {
		for _, d := range all {
			yield(d)
		}
	})
	var order []uint64
	launch := func() {
		for {
			d, ok := s.queue.next(s.open)
			switch {
			case !ok:
				return
			case s.room(d.share):
				s.book(d.share, 1)
				order = append(order, d.check.generation)
			default:
				s.queue.park(d)
			}
		}
	}
	launch()
	if !slices.Equal(order, []uint64{0, 3}) || s.queue.len() != 2 {
		t.Errorf("launched %v, %d wait", order, s.queue.len())
	}
	for range 2 {
		s.book(share{host: "a"}, -1)
		launch()
	}
	if !slices.Equal(order, []uint64{0, 3, 1, 2}) || s.queue.len() != 0 {
		t.Errorf("launched %v, %d wait", order, s.queue.len())
	}
}
