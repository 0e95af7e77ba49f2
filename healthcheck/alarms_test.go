package healthcheck

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestAlarmOutlivesRemoval: who was told that an entrypoint is down or in panic is told the
// end, once, when it was removed and serves again, and hears nothing of its removal. One that
// was well, or down in the course of a deploy, begins anew.
func TestAlarmOutlivesRemoval(t *testing.T) {
	for _, tt := range []struct {
		name          string
		mode          route.PanicMode
		before, after string // works, fails, or none: without a container
		told          string
	}{
		{"down, then well", route.PanicOff, "fails", "works", "10s http_api/ ok>down, 2m0s http_api/ down>pending"},
		{"down, and again", route.PanicOff, "fails", "fails", "10s http_api/ ok>down, 2m0s http_api/ down>pending, 2m0s http_api/ pending>down, 3m10s http_api/ down>ok"},
		{"down, and without a container", route.PanicOff, "fails", "none", "10s http_api/ ok>down, 3m0s http_api/ down>pending"},
		{"panic, then well", route.PanicAll, "fails", "works", "10s http_api/ ok>panic, 2m0s http_api/ panic>pending"},
		{"well, then well", route.PanicAll, "works", "works", ""},
		{"a deploy", route.PanicAll, "none", "works", ""},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			apply := func(how, id string) {
				e := ejecting(func(o *route.Options) { o.Panic = tt.mode })
				var backends []route.Backend
				if how != "none" {
					backends = []route.Backend{backend(id, "10.0.0.1")}
				}
				r.net.set("10.0.0.1:80", accept)
				if how == "fails" {
					r.net.set("10.0.0.1:80", refuse)
				}
				r.apply(r.setOf(e, backends...))
			}
			apply("works", "b1")
			r.run()
			r.at(time.Second)
			apply(tt.before, "b1")
			r.at(time.Minute)
			r.apply() // it is removed
			r.at(2 * time.Minute)
			apply(tt.after, "b2")
			r.at(3 * time.Minute)
			apply("works", "b2")
			r.at(4 * time.Minute)
			r.apply() // removed while it is well: nothing is left to tell
			r.at(5 * time.Minute)
			apply("works", "b3")
			r.at(6 * time.Minute)
			if told := r.toldOfEntrypoint(); told != tt.told {
				t.Errorf("%s: told %s, want %s", tt.name, told, tt.told)
			}
			if since := r.engine.View().Entrypoints["http_api"].Since; since.Before(r.start.Add(2 * time.Minute)) {
				t.Errorf("%s: since %s, before it was there again", tt.name, since)
			}
		})
	}
}

// TestAlarmOfAnotherOwner: an id that goes to another entrypoint at once ends the alarm of the
// one before, which is about the id.
func TestAlarmOfAnotherOwner(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		next := func(id, host string) {
			delete(r.cells, "http_api")
			r.apply(r.setOf(ejecting(func(o *route.Options) { o.Panic = route.PanicOff }), backend(id, host)))
		}
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		next("b1", "10.0.0.1")
		r.run()
		r.at(time.Second)
		r.net.set("10.0.0.1:80", refuse)
		r.at(time.Minute)
		next("b2", "10.0.0.2")
		r.at(2 * time.Minute)
		next("b3", "10.0.0.2")
		r.at(3 * time.Minute)
		if told, want := r.toldOfEntrypoint(), "10s http_api/ ok>down, 1m0s http_api/ down>pending"; told != want {
			t.Errorf("told %s, want %s", told, want)
		}
	})
}

// TestPanicOfAReturned: an entrypoint that comes back in panic is in it since then.
func TestPanicOfAReturned(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		apply := func() {
			b := backend("b1", "10.0.0.1")
			r.apply(r.setOf(ejecting(), b))
		}
		apply() // refused from the start
		r.run()
		r.at(time.Minute)
		r.apply()
		r.at(2 * time.Minute)
		other := r.set("http_other", backend("b1", "10.0.0.1")) // knows already that the same check fails
		r.apply(other)
		r.at(3 * time.Minute)
		b := backend("b1", "10.0.0.1")
		r.apply(r.setOf(ejecting(), b), other)
		h := r.engine.View().Entrypoints["http_api"]
		if h.State != route.EntrypointPanic || !h.Panic.Since.Equal(r.start.Add(3*time.Minute)) || !h.Since.Equal(h.Panic.Since) {
			t.Errorf("%s since %s, panic since %s", h.State, h.Since, h.Panic.Since)
		}
		if told := r.toldOfEntrypoint(); strings.Count(told, "http_api/") != 1 {
			t.Errorf("told %s", told)
		}
	})
}

// TestCircuitOutlivesRemoval: an open circuit is told to be closed when its breaker is
// turned off, or its entrypoint was removed and is there again.
func TestCircuitOutlivesRemoval(t *testing.T) {
	const end = "29.5s http_api/ closed>open, 2m0s http_api/ open>closed"
	for name, back := range map[string]func(r *rig, off, on *route.Entrypoint, b route.Backend){
		"turned off": func(r *rig, off, _ *route.Entrypoint, b route.Backend) { r.apply(r.setOf(off, b)) },
		"removed and back": func(r *rig, _, on *route.Entrypoint, b route.Backend) {
			r.apply()
			r.apply(r.setOf(on, b))
		},
		"removed and back without one": func(r *rig, off, _ *route.Entrypoint, b route.Backend) {
			r.apply()
			r.apply(r.setOf(off, b))
		},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			on := func() *route.Entrypoint {
				return ejecting(func(o *route.Options) {
					o.Breaker = route.Breaker{Threshold: 0.5, MinRequests: 4, Cooldown: time.Hour}
				})
			}
			b := backend("b1", "10.0.0.1")
			r.net.set("10.0.0.1:80", accept)
			r.apply(r.setOf(on(), b))
			r.run()
			r.at(29500 * time.Millisecond)
			gate := r.cells["http_api"].Load().Gate
			for range 4 {
				lease, _, _ := gate.Enter(time.Now())
				gate.Leave(lease, outcome(503), time.Now())
			}
			r.at(time.Minute)
			r.apply(r.setOf(on(), b)) // a reload leaves it open
			r.at(2 * time.Minute)
			back(r, ejecting(), on(), b)
			r.at(3 * time.Minute)
			if told := r.toldOfEntrypoint(); told != end {
				t.Errorf("%s: told %s, want %s", name, told, end)
			}
		})
	}
}

// TestAlarmsAreBounded: entrypoints that never come back are not remembered without end.
func TestAlarmsAreBounded(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		for range mostAlarms {
			r.engine.alarms[time.Now().String()+string(rune(len(r.engine.alarms)))] = alarm{tripped: true}
		}
		r.engine.alarms["http_api"] = alarm{tripped: true}
		n := len(r.engine.alarms)
		r.engine.leave(&entry{id: "one more", tripped: true})
		if len(r.engine.alarms) != n {
			t.Errorf("%d alarms", len(r.engine.alarms))
		}
	})
}
