package healthcheck

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// probe asks for a probe and returns the code of its refusal.
func (r *rig) probe(backend string, count bool) (route.ProbeReport, route.OrderErrorCode) {
	r.t.Helper()
	report, err := r.engine.ProbeNow(r.t.Context(), "http_a", backend, count)
	if refusal, ok := errors.AsType[*route.OrderError](err); ok {
		return report, refusal.Code
	} else if err != nil {
		r.t.Error(err)
	}
	return report, ""
}

// TestProbeNowDryRun changes nothing: no counter, no state, no pace.
func TestProbeNowDryRun(t *testing.T) {
	pair(t, func(r *rig) {
		r.net.set("10.0.0.1:80", refuse)
		before := r.health("http_a", "a")
		report, code := r.probe("a", false)
		if code != "" || report.Counted || report.Result.OK || report.Result.Kind != route.KindConnectionRefused || report.Address != "10.0.0.1:80" ||
			!strings.Contains(report.Hint, "nothing listens on port 80") || report.Check.ID == "" {
			t.Errorf("%s %+v", code, report)
		}
		after := r.health("http_a", "a")
		if after.State != route.StateUp || after.Counters != before.Counters || after.LastResult != before.LastResult || !after.NextCheckAt.Equal(before.NextCheckAt) {
			t.Errorf("%+v\nwas %+v", after, before)
		}
		if s := r.engine.Stats(); s.Running != 0 || s.Failures != 0 || s.LateResults != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestProbeNowCounts as any scheduled probe, at once.
func TestProbeNowCounts(t *testing.T) {
	pair(t, func(r *rig) {
		r.net.set("10.0.0.1:80", refuse)
		report, code := r.probe("a", true)
		if code != "" || !report.Counted || time.Since(r.start) != time.Second {
			t.Errorf("%s %+v after %s", code, report, time.Since(r.start))
		}
		r.wantState("http_a", "a", route.StateDown, route.OutProbeFailed)
		r.wantServing("http_a", "b")
		r.wantLast("a", "up>down active probe  ")
		r.at(10500 * time.Millisecond)
		if got := r.net.dials("10.0.0.1:80"); len(got) != 2 {
			t.Errorf("the pace has changed: %v", got) // the next one is 10 s after this one
		}
	})
}

// TestProbeNowIsLimited to one a second for each backend, dry runs included.
func TestProbeNowIsLimited(t *testing.T) {
	pair(t, func(r *rig) {
		for i, want := range []route.OrderErrorCode{"", route.OrderTooOften} {
			if _, code := r.probe("a", i == 1); code != want {
				t.Errorf("%d: %q", i, code)
			}
		}
		if _, code := r.probe("b", false); code != "" {
			t.Errorf("another backend: %q", code)
		}
		r.at(2 * time.Second)
		if _, code := r.probe("a", true); code != "" {
			t.Errorf("after a second: %q", code)
		}
	})
}

// TestProbeNowWhileOneIsInFlight (race rule R9): the order is not lost and two probes do
// not run at once; the answer is that of the second.
func TestProbeNowWhileOneIsInFlight(t *testing.T) {
	pair(t, func(r *rig) {
		r.at(9 * time.Second)
		r.net.set("10.0.0.1:80", func(ctx context.Context) (net.Conn, error) {
			select {
			case <-time.After(2500 * time.Millisecond):
				return nil, errno(111)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		r.at(11 * time.Second)
		if !r.health("http_a", "a").InFlightProbe {
			t.Fatal("no probe is in flight")
		}
		r.net.set("10.0.0.1:80", accept)
		report, code := r.probe("a", true)
		if code != "" || !report.Result.OK || r.net.node("10.0.0.1:80").most != 1 {
			t.Errorf("%s %+v, %d at once", code, report.Result, r.net.node("10.0.0.1:80").most)
		}
		if at := time.Since(r.start); at < 12*time.Second || at > 14*time.Second {
			t.Errorf("answered at %s", at)
		}
	})
}

// TestProbeNowRefused where there is nothing to run, or nothing that could count.
func TestProbeNowRefused(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		off := backend("off", "10.0.0.2", func(b *route.Backend) { b.Check = nil })
		gone := backend("gone", "10.0.0.3", func(b *route.Backend) { b.Provider = route.ProviderLeaving })
		r.apply(r.set("http_a", backend("a", "10.0.0.1"), off, gone))
		if _, code := r.probe("a", false); code != route.OrderImpossible {
			t.Errorf("before the start: %q", code)
		}
		r.run()
		r.at(time.Second)
		r.must("http_a", "a", forced(maintenance))
		for backend, want := range map[string]route.OrderErrorCode{"a": route.OrderImpossible, "off": route.OrderImpossible, "gone": route.OrderImpossible, "none": route.OrderUnknown} {
			if _, code := r.probe(backend, true); code != want {
				t.Errorf("%s: %q", backend, code)
			}
		}
		if report, code := r.probe("a", false); code != "" || !report.Result.OK {
			t.Errorf("a dry run in maintenance: %q %+v", code, report)
		}
	})
}

// TestProbeNowRespectsTheBudget and gives its slot back.
func TestProbeNowRespectsTheBudget(t *testing.T) {
	bubble(t, Config{Concurrency: 4, PerHost: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_a", backend("a", "10.0.0.1")))
		r.run()
		r.at(time.Second)
		r.net.set("10.0.0.1:80", blackhole)
		r.at(11 * time.Second)
		if _, code := r.probe("a", false); code != route.OrderTooOften {
			t.Errorf("with the host's only slot taken: %q", code)
		}
		r.at(16 * time.Second)
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		if _, err := r.engine.ProbeNow(ctx, "http_a", "a", false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nobody waits any more: %v", err)
		}
		synctest.Wait()
		if s := r.engine.Stats(); s.Running != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestProbeNowEndsWithItsBackend: nobody waits for what is not there: the backend is gone, or the engine stops.
func TestProbeNowEndsWithItsBackend(t *testing.T) {
	for _, stop := range []bool{false, true} {
		pair(t, func(r *rig) {
			r.net.set("10.0.0.1:80", blackhole)
			r.net.set("10.0.0.2:80", blackhole)
			codes := make(chan route.OrderErrorCode, 2)
			go func() { _, code := r.probe("a", true); codes <- code }()
			go func() { _, code := r.probe("b", stop); codes <- code }()
			r.at(2 * time.Second)
			if stop {
				r.stop()
			} else {
				r.apply(r.set("http_a", backend("b", "10.0.0.2", func(b *route.Backend) { b.StartedAt = r.start })))
			}
			if code := <-codes; code != route.OrderImpossible {
				t.Errorf("%q", code)
			}
			if code := <-codes; stop && code != route.OrderImpossible || !stop && code != "" {
				t.Errorf("the other one: %q", code)
			}
		})
	}
}
