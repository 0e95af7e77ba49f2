package healthcheck

import (
	"testing"
	"time"

	"fairlead/router/route"
)

// TestChecksFollowTheirUsers: what GET /checks says of a check is true after new
// thresholds and after a new word of the provider, though the check stays the same.
func TestChecksFollowTheirUsers(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		a := func(failures int, word route.ProviderState) route.PlacementSet {
			return r.set("web", backend("a", "10.0.0.1", checked(func(c *route.Check) { c.UnhealthyThreshold, c.Interval = failures, time.Hour }),
				func(b *route.Backend) { b.Provider = word }))
		}
		want := func(bound time.Duration, planned, running bool) {
			t.Helper()
			c, h := r.engine.View().Checks[0], r.health("web", "a")
			if c.DetectionBound != bound || h.Check.DetectionBound != bound || c.NextLaunch.IsZero() == planned || !c.NextLaunch.Equal(h.NextCheckAt) || c.InFlight != running {
				t.Errorf("at %s: bound %s and %s, want %s; next %s and %s, planned %v; in flight %v", time.Since(r.start),
					c.DetectionBound, h.Check.DetectionBound, bound, c.NextLaunch, h.NextCheckAt, planned, c.InFlight)
			}
		}
		r.apply(a(1, route.ProviderPresent))
		r.run()
		r.at(5 * time.Second)
		want(time.Hour+6*time.Second, true, false)
		r.apply(a(3, route.ProviderPresent))
		want(3*time.Hour+6*time.Second, true, false)
		r.apply(a(3, route.ProviderLeaving))
		want(3*time.Hour+6*time.Second, false, false)
		r.net.set("10.0.0.1:80", blackhole)
		r.apply(a(3, route.ProviderPresent))
		r.at(6500 * time.Millisecond)
		want(3*time.Hour+6*time.Second, false, true)
		r.apply(a(3, route.ProviderLeaving)) // and the probe is given up
		want(3*time.Hour+6*time.Second, false, false)
	})
}

// TestChecksTellTheOthersNothingNew: a change that no answer about the check shows leaves
// the other entrypoints as they were.
func TestChecksTellTheOthersNothingNew(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		other := r.set("other", backend("a", "10.0.0.1"))
		weight := func(n int) route.PlacementSet {
			return r.set("web", backend("a", "10.0.0.1", func(b *route.Backend) { b.Weight = n }))
		}
		r.apply(other, weight(100))
		r.run()
		r.at(5 * time.Second)
		before := r.engine.View().Entrypoints["other"].Rev
		r.apply(other, weight(50))
		if after := r.engine.View().Entrypoints["other"].Rev; after != before {
			t.Errorf("revision %d, then %d", before, after)
		}
	})
}
