package router

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// limited is the view of one entrypoint whose backends take two requests each, with what
// they carry.
func limited(t *testing.T, q route.Queue, carried ...int64) *View {
	t.Helper()
	e := entrypoint(t, "http_web", "app.test")
	e.Options.Queue, e.Backends = q, nil
	for i := range carried {
		b := backend(i + 1)
		b.Check, b.MaxConnections = nil, 2
		e.Backends = append(e.Backends, b)
	}
	view := offline(e)
	cell := view.Table.Route("http_web").Cell
	for i, n := range carried {
		load := cell.Load().Members[i].Placement.Load
		load.InFlight.Store(n)
		view.Entrypoints[0].Health.Backends[i].Load = load
	}
	return view
}

// TestResolvePassesFullOnesOver: as the request path, and it says so of each.
func TestResolvePassesFullOnesOver(t *testing.T) {
	for _, algo := range []route.LoadBalancer{route.RoundRobin, route.Random, route.PowerOfTwo, route.LeastConnections} {
		view := limited(t, route.Queue{Size: 2, Timeout: time.Second}, 2, 1)
		view.Entrypoints[0].Entrypoint.Options.LoadBalancer = algo
		got := Resolve(view, Query{URL: "http://app.test/"})
		first, second := got.Rotation[0], got.Rotation[1]
		if got.Outcome != OutcomeServed || got.ExitCode() != ExitServed || !second.WouldPick || !second.InRotation {
			t.Errorf("%s: %+v", algo, got)
		}
		if first.WouldPick || first.InRotation || first.Reason != route.OutFull || !strings.Contains(first.Explain, "maxConnections permits 2") ||
			strings.Contains(first.Explain, ": In rotation") {
			t.Errorf("%s: %+v", algo, first)
		}
	}
}

// TestResolveSaysThatRequestsWait: all are full, and what becomes of a request depends on
// the line.
func TestResolveSaysThatRequestsWait(t *testing.T) {
	for _, tt := range []struct {
		queue   route.Queue
		waiting int
		reason  route.Reason
		want    string
	}{
		{route.Queue{Size: 2, Timeout: 3 * time.Second}, 1, route.ReasonOverloaded, "waits in line, where 1 of 2 wait (maxConnections.queue), for a backend to become free. After 3s (maxConnections.queueTimeout) it gets 503 overloaded"},
		{route.Queue{Size: 2, Timeout: time.Second}, 2, route.ReasonQueueFull, "The line is full, too: 2 of 2 wait (maxConnections.queue). It gets 503 queue_full at once."},
		{route.Queue{}, 0, route.ReasonOverloaded, "Nobody waits in line (maxConnections.queue=0): it gets 503 overloaded at once."},
	} {
		view := limited(t, tt.queue, 2, 3)
		for range tt.waiting {
			view.Table.Route("http_web").Cell.Line.Join(tt.queue.Size)
		}
		got := Resolve(view, Query{URL: "http://app.test/"})
		if got.Outcome != OutcomeUnavailable || *got.Status != 503 || *got.Reason != tt.reason || !strings.Contains(got.Explain, tt.want) ||
			got.Upstream != nil || got.ExitCode() != ExitUnverified {
			t.Errorf("%+v: %s", tt, got.Explain)
		}
		for _, b := range got.Rotation {
			if b.WouldPick || b.Reason != route.OutFull {
				t.Errorf("%+v: %+v", tt, b)
			}
		}
	}
}

// TestResolveOfACircuit: an open one asks nobody, a half-open one, and one whose
// cool-down is over, makes the next request its trial.
func TestResolveOfACircuit(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		breaker route.BreakerView
		trial   bool
	}{
		"open":   {route.BreakerView{State: route.PhaseOpen, RetryAt: now.Add(time.Minute)}, false},
		"cooled": {route.BreakerView{State: route.PhaseOpen, RetryAt: now.Add(-time.Second)}, true},
		"half":   {route.BreakerView{State: route.PhaseHalfOpen}, true},
	} {
		view := offline(entrypoint(t, "http_web", "app.test"))
		h := &view.Entrypoints[0].Health
		h.State, h.Reason, h.Breaker = route.EntrypointDown, route.ReasonCircuitOpen, &tt.breaker
		got := Resolve(view, Query{URL: "http://app.test/"})
		if served := got.Outcome == OutcomeServed; served != tt.trial || got.Rotation[0].WouldPick != tt.trial ||
			strings.Contains(got.Explain, "the next request is its trial") != tt.trial || len(got.Filters) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestResolveOfOneThatRefusedEveryProbe: it is tried, and what its clients get then is
// said with the time that they wait.
func TestResolveOfOneThatRefusedEveryProbe(t *testing.T) {
	e := entrypoint(t, "http_web", "app.test")
	e.Options.HoldFor = 7 * time.Second
	view := offline(e)
	b := &view.Entrypoints[0].Health.Backends[0]
	ask := func() string {
		got := Resolve(view, Query{URL: "http://app.test/"})
		if got.Outcome != OutcomeServed || got.ExitCode() != ExitUnverified {
			t.Errorf("%+v", got)
		}
		return got.Explain
	}
	const wait = "clients get 503 initializing when they have waited 7s (holdFor)."
	if got := ask(); strings.Contains(got, wait) {
		t.Errorf("without a probe: %s", got)
	}
	b.LastResult = &route.ProbeResult{Kind: route.KindConnectionRefused}
	if got := ask(); !strings.Contains(got, wait) {
		t.Error(got)
	}
	e.Options.HoldFor = 0
	if got := ask(); !strings.Contains(got, "503 initializing at once.") {
		t.Error(got)
	}
	view.Table.Route("http_web").Cell.Load().Members[0].Placement.Load.Proven.Store(true)
	if got := ask(); strings.Contains(got, "initializing") {
		t.Errorf("proven: %s", got)
	}
}
