package healthcheck

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestTimesOfAnotherDay: what began or ends on another day than that on which it is read has
// its date, also in a text that nothing else has changed since; what is of today has none.
func TestTimesOfAnotherDay(t *testing.T) {
	bubble(t, Config{Tick: 10 * time.Second}, func(r *rig) {
		trio(r, ejecting(func(o *route.Options) { o.Passive.Recovery = route.RecoverProbe }), func(b *route.Backend) { b.Check = nil })
		r.must("http_api", "b0", maintenance)
		r.must("http_api", "b1", route.Order{Action: route.OrderEject, For: 72 * time.Hour, Actor: "ops"})
		explains := func(backend, want string) {
			t.Helper()
			if got := r.health("http_api", backend).Explain; !strings.HasPrefix(got, want) {
				t.Errorf("at %s: %s\nwant %s", time.Since(r.start), got, want)
			}
		}
		for _, hour := range []time.Duration{23, 25, 71} { // the first is read on the same day
			r.at(hour*time.Hour + 59*time.Minute)
			rev, at := r.engine.View().Rev, "2000-01-01 00:00:02 UTC"
			if hour == 23 {
				at = "00:00:02 UTC"
			}
			explains("b0", "Out of rotation: in maintenance by ops since "+at+". It is not probed meanwhile.")
			explains("b1", "Out of rotation: ejected by ops at "+at+". It is ejected until 2000-01-04 00:00:02 UTC; then")
			r.at(hour*time.Hour + 59*time.Minute + 50*time.Second)
			if again := r.engine.View().Rev; again != rev {
				t.Errorf("at %s: the view is another one without a change", time.Since(r.start))
			}
		}
		err := r.engine.Order("http_api", "b1", route.Order{Action: route.OrderEject})
		if want := "backend b1 is ejected already, until 2000-01-04 00:00:02 UTC"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	})
}

// TestNoteOfAnotherDay: an ejection that another state hides has its date, too.
func TestNoteOfAnotherDay(t *testing.T) {
	bubble(t, Config{Tick: 10 * time.Second}, func(r *rig) {
		e := ejecting()
		a := backend("a", "10.0.0.1", func(b *route.Backend) { b.Check = nil })
		r.apply(r.setOf(e, a))
		r.run()
		r.must("http_api", "a", route.Order{Action: route.OrderEject, For: 72 * time.Hour, Actor: "ops", Force: true})
		a.Provider = route.ProviderUnhealthy
		r.apply(r.setOf(e, a))
		r.at(25 * time.Hour)
		if got, want := r.health("http_api", "a").Explain, "It is ejected, too, until 2000-01-04 00:00:00 UTC: ejected by ops at 2000-01-01 00:00:00 UTC."; !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}
