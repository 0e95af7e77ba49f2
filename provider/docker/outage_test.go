package docker

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead/provider"
	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// Each test of this file lets an engine misbehave for minutes of virtual time and counts
// what that costs.

func threeSites(e *enginetest.Engine) {
	for _, name := range []string{"a", "b", "c"} {
		e.Run(own(name))
	}
}

// quietly checks that nothing changed for anybody and that the log was spared.
func (w *wire) quietly(puts, lines, atMost int) {
	w.t.Helper()
	if n := w.puts() - puts; n != 0 {
		w.t.Errorf("%d snapshots without a change; the last one is %s", n, describeSnapshot(w.last()))
	}
	if n := w.log.count() - lines; n > atMost {
		w.t.Errorf("%d lines of log at info and above, want %d at most:\n%s", n, atMost, w.log)
	}
}

func TestStreamThatIsCutEveryFiveSecondsCostsNobodyAnything(t *testing.T) {
	for _, broken := range []bool{false, true} {
		onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
			puts, lines, ids := w.puts(), w.log.count(), 0
			for i := range 120 { // ten minutes
				w.after(5 * time.Second)
				w.e.Cut(broken)
				if i%12 != 7 {
					continue
				}
				w.quietly(puts, lines, 0)
				// What starts in the gap is seen within the second.
				name := fmt.Sprintf("n%d", ids)
				ids++
				w.e.Run(own(name))
				w.after(time.Second)
				w.is("http_"+name, w.up(name))
				puts = w.puts()
			}
			if n := w.e.Requests(enginetest.Events); n < 100 {
				t.Errorf("only %d streams", n)
			}
			w.quietly(puts, lines, 0)
		})
	}
}

func TestStreamThatStallsForEver(t *testing.T) {
	onWire(t, enginetest.Docker29, func(e *enginetest.Engine) { threeSites(e); e.Stall(true) }, func(w *wire) {
		puts, lines := w.puts(), w.log.count()
		for range 600 { // the probes of others do not hide it
			w.after(time.Second)
			w.e.Probe("a")
		}
		w.quietly(puts, lines, 0)
		if n := w.e.Requests(enginetest.Events); n != 1 {
			t.Errorf("%d streams without a change", n)
		}
		for i := range 5 {
			w.e.Stop("a")
			w.e.Run(own(fmt.Sprintf("d%d", i)))
			w.after(60*time.Second + quietTime)
			w.is("http_a", "a(retained)")
			w.is(fmt.Sprintf("http_d%d", i), w.up(fmt.Sprintf("d%d", i)))
			w.e.Start("a")
			w.after(61 * time.Second)
			w.is("http_a", w.up("a"))
		}
		if n := w.e.Requests(enginetest.Events); n < 6 {
			t.Errorf("the silent stream was opened anew %d times", n-1)
		}
		if n := w.log.count() - lines; n != 0 {
			t.Errorf("%d lines of log:\n%s", n, w.log)
		}
	})
}

// A stream may lose some events and deliver others.
func TestStreamThatOnlyCarriesNoiseIsReopened(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		stop := make(chan struct{})
		go func() { // a probe each 100 ms: there is always one during a read
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					w.e.Probe("a")
				}
			}
		}()
		defer close(stop)
		w.e.Delay(enginetest.List, 300*time.Millisecond)
		w.after(10 * time.Second)
		for _, action := range []string{"kill", "die", "stop", "disconnect"} {
			w.e.Suppress(action, true)
		}
		w.e.Stop("b")
		w.after(61 * time.Second)
		w.is("http_b", "b(retained)")
		if n := w.e.Requests(enginetest.Events); n != 2 {
			t.Errorf("%d streams, want a second one", n)
		}
	})
}

func TestListsThatFail(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden, http.StatusInternalServerError, http.StatusBadGateway} {
		onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
			puts, lines := w.puts(), w.log.count()
			w.e.Fail(enginetest.List, status) // one, at the next resync
			w.after(2 * time.Minute)
			w.quietly(puts, lines, 0)
			failures := make([]int, 100000)
			for i := range failures {
				failures[i] = status
			}
			w.e.Fail(enginetest.List, failures...) // all of them, for ten minutes
			w.after(10 * time.Minute)
			s := w.last()
			if s.Status.Connected || s.Status.Phase != route.PhaseStale || !strings.Contains(s.Status.LastError, "GET /containers/json") {
				t.Errorf("%d: status %+v", status, s.Status)
			}
			for _, name := range []string{"a", "b", "c"} {
				w.is("http_"+name, w.up(name))
			}
			if n := w.swaps(puts); n != 0 {
				t.Errorf("%d: %d swaps", status, n)
			}
			if n := w.log.count() - lines; n != 1 {
				t.Errorf("%d: %d lines of log, want one:\n%s", status, n, w.log)
			}
		})
	}
}

// An engine that comes and goes is told once a minute, and what it serves stays.
func TestEngineThatComesAndGoesDoesNotFloodTheLog(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		puts, lines := w.puts(), w.log.count()
		for range 20 { // five minutes
			w.e.Down()
			w.after(10 * time.Second)
			if w.last().Status.Connected {
				t.Fatalf("the loss was not noticed:\n%s", w.log)
			}
			w.e.Up(t)
			w.after(5 * time.Second)
			if !w.last().Status.Connected {
				t.Fatalf("the return was not noticed: %+v", w.last().Status)
			}
		}
		if n := w.log.count() - lines; n > 2*6 {
			t.Errorf("%d lines of log in five minutes:\n%s", n, w.log)
		}
		if n := w.swaps(puts); n != 0 {
			t.Errorf("%d swaps", n)
		}
	})
}

func TestBurstOfEventsWithASlowEngine(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		w.e.Delay(enginetest.Inspect, 20*time.Millisecond)
		puts, before := w.puts(), w.e.Requests(enginetest.Inspect)
		for i := range 100 { // 400 events at once
			w.e.Run(own(fmt.Sprintf("n%d", i)))
		}
		w.after(2 * time.Second)
		for i := range 100 {
			w.is(fmt.Sprintf("http_n%d", i), w.up(fmt.Sprintf("n%d", i)))
		}
		if n := w.puts() - puts; n > 4 {
			t.Errorf("400 events led to %d snapshots", n)
		}
		if n := w.e.Requests(enginetest.Inspect) - before; n > 200 {
			t.Errorf("100 containers led to %d inspects", n)
		}
		if w.e.Dropped() != 0 {
			t.Errorf("the engine had to drop %d events", w.e.Dropped())
		}
	})
}

// What a socket proxy or an engine refuses while we run is said, and what was known stays.
func TestPermissionLostWhileRunning(t *testing.T) {
	all := []string{enginetest.Ping, enginetest.Version, enginetest.Events, enginetest.List, enginetest.Inspect, enginetest.Networks, enginetest.Occupants}
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		puts, lines := w.puts(), w.log.count()
		w.e.Deny(all...)
		w.after(time.Minute)
		s := w.last().Status
		if s.Connected || s.Phase != route.PhaseStale || !strings.Contains(s.LastError, "refused (403)") || !strings.Contains(s.Hint, "CONTAINERS=1") {
			t.Errorf("status %+v", s)
		}
		if age := time.Since(s.Since); age < 30*time.Second || age > time.Minute {
			t.Errorf("stale since %v ago", age)
		}
		w.after(20 * time.Minute)
		w.e.Allow(all...)
		w.after(provider.DefaultBackoffMax)
		if s := w.last().Status; !s.Connected || s.Phase != route.PhaseReady || s.LastError != "" {
			t.Errorf("status after the return %+v", s)
		}
		if n := w.swaps(puts); n != 0 {
			t.Errorf("%d swaps", n)
		}
		if n := w.log.count() - lines; n != 2 {
			t.Errorf("%d lines of log, want one for the loss and one for the return:\n%s", n, w.log)
		}
	})
}

func TestInspectsThatAreRefusedWhileRunning(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		puts := w.puts()
		w.e.Deny(enginetest.Inspect)
		w.after(2 * time.Minute)
		notes := strings.Join(w.last().Status.Notes, "\n")
		if !strings.Contains(notes, "containers may be out of date") || !strings.Contains(notes, "GET /containers/{id}/json is refused") {
			t.Errorf("notes %q", notes)
		}
		w.e.Kill("a") // events still count
		w.after(time.Second)
		w.is("http_a", "a=172.17.0.2:80(leaving)")
		w.e.Allow(enginetest.Inspect)
		w.after(maxInspectBackoff + time.Second)
		w.is("http_a", "a(retained)")
		if n := len(w.last().Status.Notes); n != 0 {
			t.Errorf("notes %q", w.last().Status.Notes)
		}
		if n := w.swaps(puts); n != 2 {
			t.Errorf("%d swaps, want the end of a in two steps", n)
		}
	})
}

// An engine is replaced under us by one that cannot be spoken to, then by one that can.
func TestEngineOfAnotherVersionTakesOver(t *testing.T) {
	for name, c := range map[string]struct{ minimum, maximum, says, hint string }{
		"too new": {"1.60", "1.70", "wants API version at least 1.60, Fairlead offered 1.51", "update Fairlead"},
		"too old": {"1.0", "1.20", "speaks API versions up to 1.20, Fairlead needs 1.24 or newer", "update the engine"},
	} {
		onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
			puts := w.puts()
			w.e.Down()
			w.e.SetAPI(c.minimum, c.maximum)
			w.e.Up(t)
			w.after(10 * time.Second)
			s := w.last().Status
			if s.Connected || s.Phase != route.PhaseStale || !strings.Contains(s.LastError, c.says) || !strings.Contains(s.Hint, c.hint) || s.Candidates != 3 {
				t.Errorf("%s: status %+v", name, s)
			}
			w.e.Down()
			w.e.SetAPI("1.44", "1.55")
			w.e.Up(t)
			w.after(10 * time.Second)
			if s := w.last().Status; !s.Connected || s.APIVersion != "1.51" || s.LastError != "" {
				t.Errorf("%s: status %+v", name, s)
			}
			if n := w.swaps(puts); n != 0 {
				t.Errorf("%s: %d swaps", name, n)
			}
		})
		onWire(t, enginetest.Docker20, func(e *enginetest.Engine) { threeSites(e); e.SetAPI(c.minimum, c.maximum) }, func(w *wire) {
			if s := w.last().Status; s.Connected || s.Phase != route.PhaseFailed || !strings.Contains(s.LastError, c.says) {
				t.Errorf("%s from the start: %+v", name, s)
			}
			if n := w.log.count(); n != 1 {
				t.Errorf("%s: %d lines of log, want one:\n%s", name, n, w.log)
			}
		})
	}
}

// The least that a socket proxy has to allow, as the documentation says.
func TestOnlyTheDocumentedEndpointsAreAsked(t *testing.T) {
	onWire(t, enginetest.Docker20, threeSites, func(w *wire) {
		w.e.Run(enginetest.Container{Name: "job"})
		w.after(2 * time.Minute)
		for endpoint := range w.e.Asked() {
			switch endpoint {
			case enginetest.Ping, enginetest.Version, enginetest.Events, enginetest.List, enginetest.Inspect, enginetest.Networks, enginetest.Occupants:
			default:
				t.Errorf("%s is asked for", endpoint)
			}
		}
	})
	onWire(t, enginetest.Docker20, func(e *enginetest.Engine) {
		threeSites(e)
		e.Deny(enginetest.Info, enginetest.Networks, enginetest.Occupants)
	}, func(w *wire) {
		w.is("http_a", w.up("a"))
		s := w.last().Status
		if !s.Connected || s.LastError != "" || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "GET /networks is denied") {
			t.Errorf("status %+v", s)
		}
		lists := w.e.Requests(enginetest.Networks)
		w.after(10 * time.Minute)
		if n := w.e.Requests(enginetest.Networks) - lists; n > 11 {
			t.Errorf("what is denied was asked for %d times in ten minutes", n)
		}
	})
}
