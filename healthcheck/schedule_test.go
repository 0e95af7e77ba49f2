package healthcheck

import (
	"slices"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestScheduleVectors holds the reference vectors of the specification: a backend
// that dies at 10.5 s and returns at 30.5 s.
func TestScheduleVectors(t *testing.T) {
	for _, tt := range []struct {
		name     string
		check    func(*route.Check)
		launches []time.Duration
		changes  []string
	}{
		{"defaults 1/1", func(*route.Check) {}, secs(0, 10, 20, 30, 40), []string{
			"0s http_api/b1 pending>up", "20s http_api/b1 up>down", "20s http_api/ ok>panic",
			"40s http_api/b1 down>up", "40s http_api/ panic>ok",
		}},
		{"3/2 with fastInterval 1s", func(c *route.Check) {
			c.UnhealthyThreshold, c.HealthyThreshold, c.FastInterval = 3, 2, time.Second
		}, secs(0, 10, 20, 21, 22, 32, 33, 43), []string{
			"0s http_api/b1 pending>up", "22s http_api/b1 up>down", "22s http_api/ ok>panic",
			"33s http_api/b1 down>up", "33s http_api/ panic>ok",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, Config{StartupSpread: time.Nanosecond}, func(r *rig) {
				const addr = "10.0.0.1:80"
				r.net.set(addr, accept)
				r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(tt.check))))
				r.run()
				r.at(10500 * time.Millisecond)
				r.net.set(addr, refuse)
				r.at(30500 * time.Millisecond)
				r.net.set(addr, accept)
				r.at(44 * time.Second)
				if got := r.net.dials(addr); !slices.Equal(got, tt.launches) {
					t.Errorf("launches at %v, want %v", got, tt.launches)
				}
				if got := r.seen.loud(r.start); !slices.Equal(got, tt.changes) {
					t.Errorf("transitions\n%q, want\n%q", got, tt.changes)
				}
			})
		})
	}
}
