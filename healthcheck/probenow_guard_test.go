package healthcheck

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// TestProbeNowDryRunEndsInTime as its check's probes do, and is one of those that ran.
func TestProbeNowDryRunEndsInTime(t *testing.T) {
	pair(t, func(r *rig) {
		ran := r.engine.Stats().Probes
		r.net.set("10.0.0.1:80", blackhole)
		report, code := r.probe("a", false)
		if took := time.Since(r.start) - time.Second; code != "" || report.Result.Kind != route.KindTimeout || took != route.DefaultCheck().Timeout {
			t.Errorf("%q %+v after %s", code, report.Result, took)
		}
		if got := r.engine.Stats().Probes; got != ran+1 {
			t.Errorf("%d probes, were %d", got, ran)
		}
		r.net.set("10.0.0.1:80", func(context.Context) (net.Conn, error) { return nil, errno(syscall.EMFILE) })
		r.at(8 * time.Second)
		if report, code = r.probe("a", true); code != "" || report.Counted || report.Result.Kind != route.KindLocalError {
			t.Errorf("a trouble of the router itself counts: %q %+v", code, report)
		}
	})
}

// TestProbeNowDryRunOfAStoppingRouter is refused when it stops.
func TestProbeNowDryRunOfAStoppingRouter(t *testing.T) {
	pair(t, func(r *rig) {
		r.net.set("10.0.0.1:80", blackhole)
		codes := make(chan route.OrderErrorCode, 1)
		go func() { _, code := r.probe("a", false); codes <- code }()
		synctest.Wait()
		r.stop()
		if code := <-codes; code != route.OrderImpossible {
			t.Errorf("%q", code)
		}
	})
}

// TestProbeNowTakesTurns: a counted one waits for a free slot, and the slot of a dry run is
// used by who waits as soon as it is free.
func TestProbeNowTakesTurns(t *testing.T) {
	bubble(t, Config{StartupSpread: 1, Concurrency: 4, PerHost: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.set("http_a", backend("a", "10.0.0.1"), backend("b", "10.0.0.1", checked(func(c *route.Check) { c.Port = 81 }))))
		r.net.set("10.0.0.1:81", accept)
		r.run()
		r.at(2 * time.Second)
		r.net.set("10.0.0.1:80", func(ctx context.Context) (net.Conn, error) {
			<-time.After(1234 * time.Millisecond)
			return accept(ctx)
		})
		go r.probe("a", false)
		synctest.Wait()
		report, code := r.probe("b", true)
		if code != "" || !report.Counted || !report.Result.OK {
			t.Errorf("%q %+v", code, report)
		}
		if got := r.net.dials("10.0.0.1:81"); len(got) != 2 || got[1] != 3234*time.Millisecond {
			t.Errorf("it ran at %v, want 3.234s: when the host's slot was free", got)
		}
	})
}
