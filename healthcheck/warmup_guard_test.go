package healthcheck

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// cooling is an entrypoint with slow starts of 20 s, run until 60 s with every backend
// warm; what changes its options comes first.
func cooling(t *testing.T, change func(*route.Entrypoint), list []route.Backend, test func(r *rig, apply func(...route.Backend))) {
	t.Helper()
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		apply := func(list ...route.Backend) {
			e := ejecting()
			change(e)
			for i := range list {
				slow(20*time.Second, 10)(&list[i])
			}
			r.apply(r.setOf(e, list...))
		}
		for i := range list {
			r.net.set(list[i].Address(), accept)
		}
		apply(list...)
		r.run()
		r.at(time.Minute)
		test(r, apply)
	})
}

func unchanged(*route.Entrypoint) {}

// fails takes a backend down and up again: it is back when this returns.
func (r *rig) fails(id, address string) {
	r.t.Helper()
	r.net.set(address, refuse)
	r.probe1(id)
	r.wantState("http_api", id, route.StateDown, "")
	r.net.set(address, accept)
	r.probe1(id)
}

// probe1 runs a counted probe, a second later than the last one.
func (r *rig) probe1(id string) {
	r.t.Helper()
	r.at(time.Since(r.start) + time.Second)
	if _, err := r.engine.ProbeNow(r.t.Context(), "http_api", id, true); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) wantWarmup(id string, on bool) {
	r.t.Helper()
	if h := r.health("http_api", id); (h.Warmup != nil) != on || h.State != route.StateUp {
		r.t.Errorf("at %s: %s is %s, warmup %+v, want one: %v", time.Since(r.start), id, h.State, h.Warmup, on)
	}
}

// TestSlowStartFollowsWhatIsCold: down, ejected and on trial; what the operator drained was
// warm all the time. It ends with the state that it belongs to, and with its setting.
func TestSlowStartFollowsWhatIsCold(t *testing.T) {
	two := func() []route.Backend { return []route.Backend{backend("a", "10.0.0.1"), backend("b", "10.0.0.2")} }
	cooling(t, unchanged, two(), func(r *rig, apply func(...route.Backend)) {
		r.must("http_api", "b", drain)
		r.must("http_api", "b", ready)
		r.wantWarmup("b", false)
		r.fails("b", "10.0.0.2:80")
		r.wantWarmup("b", true)
		r.must("http_api", "b", drain)
		if h := r.health("http_api", "b"); h.Warmup != nil {
			t.Errorf("drained, and warming up: %+v", h.Warmup)
		}
		r.must("http_api", "b", ready)
		r.must("http_api", "b", route.Order{Action: route.OrderEject})
		r.must("http_api", "b", route.Order{Action: route.OrderUneject})
		r.wantWarmup("b", true)
		r.must("http_api", "b", maintenance)
		r.must("http_api", "b", ready)
		if h := r.health("http_api", "b"); h.State != route.StatePending || h.Warmup != nil {
			t.Errorf("after maintenance: %s, %+v", h.State, h.Warmup)
		}
		r.at(time.Since(r.start) + 2*time.Second)
		r.wantWarmup("b", true)
		b := two()
		apply(b[0], b[1])
		e := ejecting()
		r.apply(r.setOf(e, two()...)) // without slowStart
		r.wantWarmup("b", false)
		r.wantShares("http_api", "a:100 b:100")
	})
	cooling(t, unchanged, two(), func(r *rig, _ func(...route.Backend)) {
		r.must("http_api", "b", route.Order{Action: route.OrderEject, For: 5 * time.Second})
		r.at(66 * time.Second)
		r.wantState("http_api", "b", route.StateTrial, route.InTrial)
		for i := 0; r.health("http_api", "b").State == route.StateTrial && i < 5; i++ {
			r.request("b", 200)
		}
		r.wantWarmup("b", true)
	})
}

// TestSlowStartNeedsOthersThatAreWarm: not one that is itself cold, on trial or standing by,
// and never itself.
func TestSlowStartNeedsOthersThatAreWarm(t *testing.T) {
	a, b, c := func() route.Backend { return backend("a", "10.0.0.1") }, func() route.Backend { return backend("b", "10.0.0.2") }, func() route.Backend { return backend("c", "10.0.0.3") }
	cooling(t, unchanged, []route.Backend{a(), b()}, func(r *rig, _ func(...route.Backend)) {
		r.net.set("10.0.0.1:80", refuse)
		r.probe1("a")
		r.fails("b", "10.0.0.2:80")
		r.wantWarmup("b", false) // it is alone
		r.net.set("10.0.0.1:80", accept)
		r.probe1("a")
		r.wantWarmup("a", true)
		// Now a is cold and in rotation: no help for another one.
		r.must("http_api", "b", drain)
		r.wantShares("http_api", "a:100")
		r.must("http_api", "b", route.Order{Action: route.OrderEject, Force: true})
		r.must("http_api", "b", ready)
		r.must("http_api", "b", route.Order{Action: route.OrderUneject})
		r.wantWarmup("b", false)
		if got := r.shares("http_api"); !strings.HasSuffix(got, "b:10000") || strings.HasPrefix(got, "a:10000") {
			t.Errorf("a cold, b not: %s", got)
		}
	})
	cooling(t, unchanged, []route.Backend{a(), b()}, func(r *rig, _ func(...route.Backend)) {
		r.must("http_api", "a", route.Order{Action: route.OrderEject, For: 5 * time.Second})
		r.at(66 * time.Second)
		r.wantState("http_api", "a", route.StateTrial, route.InTrial)
		r.fails("b", "10.0.0.2:80")
		r.wantWarmup("b", false)
	})
	for _, order := range [][]string{{"c", "a"}, {"a", "c"}} { // the place in the list plays no part
		spare := c()
		spare.Weight = 0
		list := []route.Backend{spare, a()}
		if order[0] == "a" {
			list = []route.Backend{a(), spare}
		}
		cooling(t, unchanged, list, func(r *rig, _ func(...route.Backend)) {
			r.wantServing("http_api", "a")
			r.fails("a", "10.0.0.1:80")
			r.wantServing("http_api", "a")
			r.wantWarmup("a", false) // the backup stands by again
		})
	}
}

// TestSlowStartNotInPanic, where everybody serves all that there is to serve.
func TestSlowStartNotInPanic(t *testing.T) {
	list := []route.Backend{backend("a", "10.0.0.1"), backend("b", "10.0.0.2"), backend("c", "10.0.0.3")}
	cooling(t, func(e *route.Entrypoint) { e.Options.PanicThreshold = 70 }, list, func(r *rig, _ func(...route.Backend)) {
		r.fails("b", "10.0.0.2:80")
		r.wantWarmup("b", true)
		if h := r.health("http_api", "b"); h.EffectiveWeight >= 100 {
			t.Errorf("cold, and weight %d", h.EffectiveWeight)
		}
		r.net.set("10.0.0.3:80", refuse)
		r.probe1("c")
		r.wantState("http_api", "b", route.StateUp, route.InPanicThreshold)
		r.wantShares("http_api", "a:100 b:100 c:100")
		if h := r.health("http_api", "b"); h.EffectiveWeight != 100 || strings.Contains(h.Explain, "slowStart") {
			t.Errorf("in panic: weight %d, %s", h.EffectiveWeight, h.Explain)
		}
		r.must("http_api", "a", drain)
		r.must("http_api", "c", drain)
		r.wantShares("http_api", "b:100")
		if h := r.health("http_api", "b"); h.EffectiveWeight != 100 || strings.Contains(h.Explain, "slowStart") {
			t.Errorf("alone: weight %d, %s", h.EffectiveWeight, h.Explain)
		}
	})
}

// TestSlowStartGivesSomething from its first moment on, without a minimum too.
func TestSlowStartGivesSomething(t *testing.T) {
	w := warmup{began: time.Unix(1000, 0), span: time.Minute}
	for at, want := range map[int64]int{900: 1, 1000: 1, 1030: 50, 1060: full, 2000: full} {
		if got := w.percent(time.Unix(at, 0)); got != want {
			t.Errorf("at %d: %d %%, want %d", at, got, want)
		}
	}
}
