package healthcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// timed runs an entrypoint of two backends with an HTTP check under a way of recovery, and
// ejects b0 for ten minutes after the first one.
func timed(t *testing.T, how route.Recovery, test func(r *rig)) {
	t.Helper()
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		var backends []route.Backend
		for i := range 2 {
			host := fmt.Sprintf("10.0.0.%d", i+1)
			r.net.set(host+":80", answer(ok200))
			backends = append(backends, backend(fmt.Sprintf("b%d", i), host, httpCheck("/health")))
		}
		r.apply(r.setOf(ejecting(func(o *route.Options) { o.Passive.Recovery = how }), backends...))
		r.run()
		r.at(time.Minute)
		r.must("http_api", "b0", route.Order{Action: route.OrderEject, Actor: "ops", For: 10 * time.Minute})
		test(r)
	})
}

// TestEjectionForATime: an ejection for which an operator said how long ends then, by no probe
// and no request before, under each way of recovery.
func TestEjectionForATime(t *testing.T) {
	for how, after := range map[route.Recovery]route.State{
		route.RecoverAuto: route.StateTrial, route.RecoverTrial: route.StateTrial, route.RecoverTime: route.StateUp, route.RecoverProbe: route.StateUp,
	} {
		timed(t, how, func(r *rig) {
			h := r.health("http_api", "b0")
			then, recovery := "serves again", route.RecoverTime
			if after == route.StateTrial {
				then, recovery = "gets one request at a time as its trial", route.RecoverTrial
			}
			want := "Out of rotation: ejected by ops at 00:01:00 UTC. It is ejected until 00:11:00 UTC; then it " + then +
				". Neither probes nor requests bring it back before; fairlead uneject http_api b0 does. Next probe at"
			if !strings.HasPrefix(h.Explain, want) || h.Passive.Recovery != recovery || !h.Passive.Until.Equal(r.start.Add(11*time.Minute)) {
				t.Errorf("%s: %s by %s\n%s\nwant\n%s", how, h.Passive.Until, h.Passive.Recovery, h.Explain, want)
			}
			r.at(10*time.Minute + 50*time.Second)
			r.wantState("http_api", "b0", route.StateEjected, route.OutEjected)
			r.at(11*time.Minute + time.Second)
			if how == route.RecoverAuto {
				after = route.StateUp // a probe ended the trial at once, as it may
			}
			r.wantState("http_api", "b0", after, "")
		})
	}
}

// TestEjectionForATimeInPanic: what it serves because nothing better is left does not end it,
// an order does.
func TestEjectionForATimeInPanic(t *testing.T) {
	for _, how := range []route.Recovery{route.RecoverAuto, route.RecoverTrial, route.RecoverTime} {
		timed(t, how, func(r *rig) {
			r.net.set("10.0.0.2:80", refuse)
			r.at(2 * time.Minute)
			r.wantServing("http_api", "b0 b1")
			r.requests("b0", 200, 200)
			r.wantState("http_api", "b0", route.StateEjected, route.InPanicAll)
			if text := r.health("http_api", "b0").Explain; strings.Contains(text, "successful") {
				t.Error(text)
			}
			r.must("http_api", "b0", route.Order{Action: route.OrderUneject})
			r.wantState("http_api", "b0", route.StateUp, route.InVerified)
		})
	}
}

// TestEjectionAfterOneForATime ends as passive.recovery says.
func TestEjectionAfterOneForATime(t *testing.T) {
	timed(t, route.RecoverProbe, func(r *rig) {
		r.must("http_api", "b0", route.Order{Action: route.OrderUneject})
		r.requests("b0", 503, 503, 503)
		r.wantState("http_api", "b0", route.StateEjected, "")
		if h := r.health("http_api", "b0"); h.Passive.Recovery != route.RecoverProbe || strings.Contains(h.Explain, "uneject") {
			t.Errorf("by %s: %s", h.Passive.Recovery, h.Explain)
		}
		r.at(75 * time.Second)
		r.wantState("http_api", "b0", route.StateUp, "")
	})
}

// TestEjectionBehindAnotherState: an operator's eject and uneject are told wherever another
// state keeps the backend out, and what is said of it names no traffic.
func TestEjectionBehindAnotherState(t *testing.T) {
	for state, out := range map[route.State]func(r *rig){
		route.StateDraining:    func(r *rig) { r.must("http_api", "b0", drain) },
		route.StateMaintenance: func(r *rig) { r.must("http_api", "b0", maintenance) },
		route.StateDown: func(r *rig) {
			r.net.set("10.0.0.1:80", refuse)
			r.at(20 * time.Second)
		},
	} {
		bubble(t, Config{StartupSpread: 1}, func(r *rig) {
			trio(r, ejecting())
			out(r)
			r.wantState("http_api", "b0", state, "")
			n := len(r.health("http_api", "b0").History)
			eject := route.Order{Action: route.OrderEject, Actor: "ana", Reason: "a test", For: 5 * time.Minute}
			r.must("http_api", "b0", eject)
			h := r.health("http_api", "b0")
			if !strings.Contains(h.Explain, "It is ejected, too, until 00:0") || !strings.Contains(h.Explain, ": ejected by ana: a test at 00:00:") || strings.Contains(h.Explain, "raffic") {
				t.Errorf("%s: %s", state, h.Explain)
			}
			r.must("http_api", "b0", route.Order{Action: route.OrderUneject, Actor: "eva"})
			h = r.health("http_api", "b0")
			if h.State != state || len(h.History) != n+2 {
				t.Fatalf("%s: %s with %+v", state, h.State, h.History[n:])
			}
			for i, want := range []string{"ejected by ana: a test, ana, a test", "readmitted by eva, eva, "} {
				tr := h.History[n+i]
				if got := tr.Message + ", " + tr.Actor + ", " + tr.Reason; got != want || tr.Debug || tr.Layer != layerPassive || tr.Cause != causeOperator || tr.From != tr.To {
					t.Errorf("%s: %+v, want %s", state, tr, want)
				}
			}
			r.stop()
			lines := r.lifeOf("b0")
			word := fmt.Sprintf("%s>%s operator backend ", state, state)
			want := []string{`"level":"warn" ` + word + "ejected", `"level":"info" ` + word + "readmitted"}
			if got := lines[len(lines)-2:]; got[0] != want[0] || got[1] != want[1] {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestOnTrialBehindAnotherState names the operator, too.
func TestOnTrialBehindAnotherState(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		r.must("http_api", "b0", drain)
		r.must("http_api", "b0", route.Order{Action: route.OrderEject, Actor: "ana", For: 5 * time.Second})
		r.at(20 * time.Second)
		if text := r.health("http_api", "b0").Explain; !strings.Contains(text, "It is on trial, too: ejected by ana at 00:00:") {
			t.Error(text)
		}
	})
}
