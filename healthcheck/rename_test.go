package healthcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// hands are two projects, blue (b1) and green (b2), that want the id http_web.
type hands struct {
	*rig
	blue, green route.RotationCell
	options     func(*route.Options)
	edit        func(*route.Backend)
	started     time.Time
}

// apply names each of the two by an id; without one it is gone.
func (h *hands) apply(blue, green string) {
	var sets []route.PlacementSet
	one := func(id, key string, cell *route.RotationCell, b route.Backend) {
		if id == "" {
			return
		}
		set := h.known(id, key, cell, b)
		if h.options != nil {
			h.options(&set.Entrypoint.Options)
		}
		sets = append(sets, set)
	}
	edit := func(b *route.Backend) {
		b.StartedAt = h.started
		if b.ID == "b1" && h.edit != nil {
			h.edit(b)
		}
	}
	one(blue, "blue", &h.blue, backend("b1", "10.0.0.1", edit))
	one(green, "green", &h.green, backend("b2", "10.0.0.2", edit))
	h.rig.apply(sets...)
}

// told lists what is told loudly after a time: "entrypoint/backend from>to".
func (h *hands) told(after time.Duration) string {
	h.seen.mu.Lock()
	defer h.seen.mu.Unlock()
	var out []string
	for _, t := range h.seen.all {
		if !t.Debug && t.At.Sub(h.start) > after {
			out = append(out, fmt.Sprintf("%s/%s %s>%s", t.Entrypoint, t.Backend, t.From, t.To))
		}
	}
	return strings.Join(out, ", ")
}

func byHand(t *testing.T, options func(*route.Options), test func(h *hands)) {
	t.Helper()
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		test(&hands{rig: r, options: options, started: time.Now()})
	})
}

// TestAlarmOfAnIDThatGoesAway: an entrypoint that gets another id in panic, or while nothing
// serves, ends that by the old id and tells it by the new one, its backend's state as well; when
// nothing but the id changed nothing about it is younger.
func TestAlarmOfAnIDThatGoesAway(t *testing.T) {
	for mode, state := range map[route.PanicMode]string{route.PanicAll: "panic", route.PanicOff: "down"} {
		byHand(t, func(o *route.Options) { o.Panic = mode }, func(h *hands) {
			h.apply("http_web", "")
			h.run()
			h.at(time.Second)
			h.net.set("10.0.0.1:80", refuse)
			h.at(time.Minute)
			before := h.engine.View().Entrypoints["http_web"]
			h.apply("http_web-blue", "http_web")
			after := h.engine.View().Entrypoints["http_web-blue"]
			if !after.Since.Equal(before.Since) || !after.Panic.Since.Equal(before.Panic.Since) || !after.Backends[0].Since.Equal(before.Backends[0].Since) {
				t.Errorf("since %s, %s, %s; was %s, %s, %s", after.Since, after.Panic.Since, after.Backends[0].Since, before.Since, before.Panic.Since, before.Backends[0].Since)
			}
			h.at(2 * time.Minute)
			h.net.set("10.0.0.1:80", accept)
			h.at(3 * time.Minute)
			want := strings.ReplaceAll("http_web/b1 down>pending, http_web-blue/b1 pending>down, http_web/ PANIC>pending, http_web-blue/ pending>PANIC, "+
				"http_web/b2 pending>up, http_web-blue/b1 down>up, http_web-blue/ PANIC>ok", "PANIC", state)
			if got := h.told(59 * time.Second); got != want {
				t.Errorf("%s: told %s\nwant %s", mode, got, want)
			}
			lines := strings.Join(h.logs.lines(), "\n")
			if n := strings.Count(lines, `"kind":"","message":"the entrypoint is http_web-blue now"`); n != 2 || strings.Contains(lines, `"msg":"backend pending"`) {
				t.Errorf("%d lines say so in\n%s", n, lines)
			}
			last := h.seen.all[slices.IndexFunc(h.seen.all, func(t route.Transition) bool { return t.Renamed != "" })]
			if last.Cause != causeConfig || last.Renamed != "http_web-blue" || last.Message != "the entrypoint is http_web-blue now" {
				t.Errorf("%+v", last)
			}
		})
	}
}

// TestAlarmOfAnIDThatIsInherited: the alarm of an entrypoint that was removed is about its id.
// One that gets the id ends it when it is well, and goes on with it when it is not.
func TestAlarmOfAnIDThatIsInherited(t *testing.T) {
	const again = ", http_web/b2 pending>up"
	for _, tt := range []struct {
		name  string
		green func(works func(bool)) // what becomes of green before it gets the id
		want  string
	}{
		{"green is well", func(func(bool)) {}, "http_web/ panic>ok" + again},
		{"green is in panic, too", func(works func(bool)) { works(false) },
			"http_web-green/b2 down>pending, http_web/b2 pending>down, http_web-green/ panic>pending, http_web/b2 down>up, http_web/ panic>ok" + again},
	} {
		byHand(t, nil, func(h *hands) {
			works := func(does bool) {
				if h.net.set("10.0.0.2:80", refuse); does {
					h.net.set("10.0.0.2:80", accept)
				}
			}
			h.apply("http_web", "http_web-green")
			h.run()
			h.at(time.Second)
			h.net.set("10.0.0.1:80", refuse)
			tt.green(works)
			h.at(time.Minute)
			h.apply("", "http_web")
			h.at(2 * time.Minute)
			works(true)
			h.at(3 * time.Minute)
			h.apply("", "")
			h.green = route.RotationCell{}
			h.apply("", "http_web") // nothing is left to tell of the id
			h.at(4 * time.Minute)
			if got := h.told(59 * time.Second); got != tt.want {
				t.Errorf("%s: told %s\nwant %s", tt.name, got, tt.want)
			}
		})
	}
}

// TestIDsAreSwapped: each ends what it told by its old id, and tells it by the new one.
func TestIDsAreSwapped(t *testing.T) {
	byHand(t, nil, func(h *hands) {
		h.apply("http_web", "http_web-green")
		h.run()
		h.at(time.Second)
		h.net.set("10.0.0.1:80", refuse)
		h.at(time.Minute)
		h.apply("http_web-green", "http_web")
		h.net.set("10.0.0.1:80", accept)
		h.at(2 * time.Minute)
		const want = "http_web/b1 down>pending, http_web-green/b1 pending>down, http_web/ panic>pending, http_web-green/ pending>panic, " +
			"http_web-green/b1 down>up, http_web-green/ panic>ok"
		if got := h.told(59 * time.Second); got != want {
			t.Errorf("told %s\nwant %s", got, want)
		}
	})
}

// TestWhatIsToldAnew: whatever was told of a backend ends by the old id, and is told by the new
// one with who ordered it; what is well, or waits, is not told.
func TestWhatIsToldAnew(t *testing.T) {
	eject := route.Order{Action: route.OrderEject, Actor: "ops", Force: true}
	for _, tt := range []struct {
		name string
		do   func(h *hands)
		want string
	}{
		{"well", func(*hands) {}, ""},
		{"drained", func(h *hands) { h.must("http_web", "b1", forced(drain)) },
			"http_web/b1 draining>pending, http_web-blue/b1 pending>draining, http_web/ down>pending, http_web-blue/ pending>down"},
		{"in maintenance", func(h *hands) { h.must("http_web", "b1", forced(maintenance)) },
			"http_web/b1 maintenance>pending, http_web-blue/b1 pending>maintenance, http_web/ down>pending, http_web-blue/ pending>down"},
		{"ejected", func(h *hands) { h.must("http_web", "b1", eject) },
			"http_web/b1 ejected>pending, http_web-blue/b1 pending>ejected, http_web/ panic>pending, http_web-blue/ pending>panic"},
		{"on trial", func(h *hands) {
			h.must("http_web", "b1", eject)
			h.at(50 * time.Second)
		}, "http_web/b1 trial>pending, http_web-blue/b1 pending>ejected, http_web-blue/b1 ejected>trial"},
		{"gated", func(h *hands) {
			h.edit = func(b *route.Backend) { b.Provider = route.ProviderUnhealthy }
			h.apply("http_web", "")
		}, "http_web/b1 gated>pending, http_web-blue/b1 pending>gated, http_web/ down>pending, http_web-blue/ pending>down"},
	} {
		byHand(t, func(o *route.Options) { o.Passive.Failures = 5 }, func(h *hands) {
			h.apply("http_web", "")
			h.run()
			h.at(10 * time.Second)
			tt.do(h)
			h.at(59 * time.Second)
			if tt.name == "ejected" { // long over: again
				h.order("http_web", "b1", route.Order{Action: route.OrderUneject})
				h.must("http_web", "b1", eject)
			}
			h.at(time.Minute)
			h.apply("http_web-blue", "")
			if got := h.told(59*time.Second + 500*time.Millisecond); got != tt.want {
				t.Errorf("%s: told %s\nwant %s", tt.name, got, tt.want)
			}
			for _, tr := range h.seen.all {
				if tr.Renamed != "" && (tr.Actor != "" || tr.Reason != "") || tr.To == "draining" && (tr.Actor != "ops" || tr.Reason != "kernel") {
					t.Errorf("%+v", tr)
				}
			}
		})
	}
}

// TestCircuitOfAnIDThatChanges: what an open circuit told goes along, as well.
func TestCircuitOfAnIDThatChanges(t *testing.T) {
	for _, tt := range []struct {
		name        string
		blue, green bool // are open
		goes        bool // blue is removed
		want        string
	}{
		{"blue gets another id", true, false, false, "http_web/ open>closed, http_web-2/ closed>open"},
		{"green gets the id of blue", true, false, true, "http_web/ open>closed"},
		{"both are open", true, true, true, "http_web-green/ open>closed"},
	} {
		byHand(t, func(o *route.Options) {
			o.Breaker = route.Breaker{Threshold: 0.5, MinRequests: 4, Cooldown: time.Hour}
		}, func(h *hands) {
			h.apply("http_web", "http_web-green")
			h.run()
			h.at(time.Second)
			for cell, open := range map[*route.RotationCell]bool{&h.blue: tt.blue, &h.green: tt.green} {
				for range 4 {
					if gate := cell.Load().Gate; open {
						lease, _, _ := gate.Enter(time.Now())
						gate.Leave(lease, outcome(503), time.Now())
					}
				}
			}
			h.at(time.Minute)
			if tt.goes {
				h.apply("", "http_web")
			} else {
				h.apply("http_web-2", "http_web-green")
			}
			if got := h.told(59 * time.Second); got != tt.want {
				t.Errorf("%s: told %s\nwant %s", tt.name, got, tt.want)
			}
		})
	}
}
