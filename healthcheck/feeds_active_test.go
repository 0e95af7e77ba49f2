package healthcheck

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestFedIsNoProbe: requests that count as failed probes (passive.feedsActive) are told as
// requests, with the advice about requests: last_checked and "the last probe" are of probes.
func TestFedIsNoProbe(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(func(o *route.Options) { o.Passive.FeedsActive, o.Passive.Failures = true, 100 }),
			checked(func(c *route.Check) { c.UnhealthyThreshold = 3 }))
		probed := r.start.Add(10 * time.Second)
		want := func(state route.State, lastChecked time.Time, hint string, says ...string) {
			t.Helper()
			h := r.health("http_api", "b0")
			if h.State != state || !h.LastChecked.Equal(lastChecked) || h.Hint != hint {
				t.Errorf("%s, last checked at %s, hint %q; want %s, %s, %q", h.State, h.LastChecked, h.Hint, state, lastChecked, hint)
			}
			for _, text := range says {
				if !strings.Contains(h.Explain, text) {
					t.Errorf("%s\nlacks %s", h.Explain, text)
				}
			}
			checkRules(t, &h)
		}
		const answers503 = "the application answers 503 to clients: its log (docker logs --tail 50 b0-name) says why"

		r.at(11500 * time.Millisecond)
		r.request("b0", 503)
		r.at(12500 * time.Millisecond)
		want(route.StateUp, probed, answers503, "In rotation, but 1 request failed (passive.feedsActive): answered 503 at 00:00:12 UTC; 1 of 3 failures")
		r.request("b0", 200)
		r.at(13500 * time.Millisecond)
		want(route.StateUp, probed, "", "In rotation: the last probe connected in 0s at 00:00:10 UTC (TCP 10.0.0.1:80).")
		r.requests("b0", 503, 503, 503)
		r.at(14500 * time.Millisecond)
		want(route.StateDown, probed, answers503,
			"Out of rotation: 3 requests failed (passive.feedsActive); last: answered 503 at 00:00:14 UTC. ", "Next probe at 00:00:20 UTC; 1 success needed.")
		r.net.set("10.0.0.1:80", refuse)
		r.at(20500 * time.Millisecond)
		probed = r.start.Add(20 * time.Second)
		want(route.StateDown, probed, "nothing listens on port 80: is the application up, and does it listen on 0.0.0.0 rather than 127.0.0.1?",
			"4 failures in a row, 3 of requests (passive.feedsActive); last: connection refused at 00:00:20 UTC (TCP 10.0.0.1:80)")
		if h := r.health("http_api", "b0"); h.Counters.Failures != 1 || h.Counters.Probes != 3 {
			t.Errorf("%d of %d probes failed", h.Counters.Failures, h.Counters.Probes)
		}
	})
}

// TestFedBesideProbes: what a probe saw stands again once a request has taken back what
// requests counted on top of it.
func TestFedBesideProbes(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(func(o *route.Options) { o.Passive.FeedsActive, o.Passive.Failures = true, 100 }),
			checked(func(c *route.Check) { c.UnhealthyThreshold = 5 }))
		explain := func() string { return r.health("http_api", "b0").Explain }
		r.net.set("10.0.0.1:80", refuse)
		r.at(12500 * time.Millisecond)
		r.requests("b0", 503, 503)
		r.at(13500 * time.Millisecond)
		if got, want := explain(), "3 failures in a row, 2 of requests (passive.feedsActive); last: a request failed: answered 503 at 00:00:13 UTC; 3 of 5 failures"; !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
		r.request("b0", 200)
		r.at(14500 * time.Millisecond)
		if got, want := explain(), "1 probe failed: connection refused at 00:00:10 UTC (TCP 10.0.0.1:80); 1 of 5 failures"; !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	})
	bubble(t, Config{StartupSpread: 1}, func(r *rig) { // all at once: no check is to blame
		trio(r, ejecting(func(o *route.Options) { o.Passive.FeedsActive, o.Passive.Failures = true, 100 }))
		for _, id := range []string{"b0", "b1", "b2"} {
			r.request(id, 503)
		}
		r.at(3 * time.Second)
		h := r.health("http_api", "b0")
		if h.State != route.StateDown || !h.InRotation || strings.Contains(h.Hint, "configuration") {
			t.Errorf("%s, in rotation %v, hint %s", h.State, h.InRotation, h.Hint)
		}
		if text := r.engine.View().Entrypoints["http_api"].Explain; strings.Contains(text, "configuration") {
			t.Error(text)
		}
	})
}
