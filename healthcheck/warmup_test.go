package healthcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// shares are the weights of who serves an entrypoint, by backend id.
func (r *rig) shares(entrypoint string) string {
	var list []string
	for _, m := range r.cells[entrypoint].Load().Members {
		list = append(list, fmt.Sprintf("%s:%d", m.Placement.Backend.ID, m.Weight))
	}
	return strings.Join(list, " ")
}

func (r *rig) wantShares(entrypoint, want string) {
	r.t.Helper()
	if got := r.shares(entrypoint); got != want {
		r.t.Errorf("at %s: shares %q, want %q", time.Since(r.start), got, want)
	}
}

func slow(span time.Duration, least int) func(*route.Backend) {
	return func(b *route.Backend) { b.SlowStart, b.SlowStartMin = span, least }
}

// TestSlowStartShares: a newcomer beside a warm backend gets exactly the part of its
// weight that the passed part of its window is, and no less than the minimum.
func TestSlowStartShares(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.set("web", backend("a", "10.0.0.1", slow(100*time.Second, 10))))
		r.run()
		r.at(199500 * time.Millisecond)
		r.apply(r.set("web", backend("a", "10.0.0.1", slow(100*time.Second, 10)), backend("b", "10.0.0.2", slow(100*time.Second, 10))))
		r.at(200 * time.Second)
		up := r.health("web", "b").Since.Sub(r.start)
		r.wantShares("web", "a:10000 b:1000")
		for _, tt := range []struct {
			part    time.Duration
			want    string
			percent float64
			weight  int
		}{{25, "a:10000 b:2500", 25, 25}, {50, "a:10000 b:5000", 50, 50}, {99, "a:10000 b:9900", 99, 99}} {
			r.at(up.Truncate(time.Second) + (tt.part+1)*time.Second)
			r.wantShares("web", tt.want)
			h := r.health("web", "b")
			if h.Warmup == nil || h.Warmup.Percent != tt.percent || h.EffectiveWeight != tt.weight || h.Warmup.EndsAt.Sub(r.start) != up+100*time.Second {
				t.Errorf("%d s: %+v weight %d", tt.part, h.Warmup, h.EffectiveWeight)
			}
			if !strings.Contains(h.Explain, "slowStart") {
				t.Errorf("it does not say why it gets less: %s", h.Explain)
			}
		}
		r.at(up.Truncate(time.Second) + 101*time.Second)
		r.wantShares("web", "a:100 b:100")
		if h := r.health("web", "b"); h.Warmup != nil || h.EffectiveWeight != 100 {
			t.Errorf("after the window: %+v weight %d", h.Warmup, h.EffectiveWeight)
		}
	})
}

// TestSlowStartOnlyBesideWarmOnes: not at the router's own start, not for the only one,
// not in panic; after a fault it begins anew.
func TestSlowStartOnlyBesideWarmOnes(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.net.set("10.0.0.1:80", accept)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.set("web", backend("a", "10.0.0.1", slow(20*time.Second, 10)), backend("b", "10.0.0.2", slow(20*time.Second, 10))))
		r.run()
		r.at(2 * time.Second)
		r.wantShares("web", "a:100 b:100") // the router itself is younger than the window
		r.net.set("10.0.0.2:80", refuse)
		r.at(40 * time.Second)
		r.wantServing("web", "a")
		r.net.set("10.0.0.2:80", accept)
		r.at(51 * time.Second)
		if got := r.shares("web"); got == "a:100 b:100" || !strings.HasPrefix(got, "a:10000 b:") {
			t.Errorf("b came back cold: %s", got)
		}
		r.net.set("10.0.0.1:80", refuse)
		r.at(62 * time.Second)
		r.wantServing("web", "b")
		r.wantShares("web", "b:100") // there is nobody who takes what it does not
		r.net.set("10.0.0.2:80", refuse)
		r.at(75 * time.Second)
		r.wantShares("web", "a:100 b:100") // panic
	})
}
