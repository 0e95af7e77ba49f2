package proxy

import (
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// TestAllInLineAreToldOfWhatIsPublished, though none of those before them ends.
func TestAllInLineAreToldOfWhatIsPublished(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(r *rig, entry *router.Entry)
		reason route.Reason
		after  time.Duration
	}{
		{"nothing", func(*rig, *router.Entry) {}, route.ReasonOverloaded, time.Minute},
		{"the entrypoint is removed", func(_ *rig, entry *router.Entry) {
			placement(entry, 0).Upstream.Retire(route.Drain{Timeout: int64(time.Hour)})
			entry.Cell.Line.Wake()
		}, route.ReasonLeaving, 0},
		{"another entrypoint has its backends now", func(_ *rig, entry *router.Entry) { entry.Cell.Line.Wake() }, route.ReasonOverloaded, time.Minute},
		{"its backends stopped", func(_ *rig, entry *router.Entry) {
			entry.Cell.Store(&route.Rotation{At: time.Now(), Reason: route.ReasonRetained})
		}, route.ReasonRetained, 0},
		{"maxConnections is removed", func(r *rig, entry *router.Entry) {
			entry.Entrypoint.Backends[0].MaxConnections = 0
			r.rotate(entry)
		}, route.ReasonNone, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			entry := r.route("app.test", []string{"127.0.0.1:1"}, limited(1, 3, time.Minute))
			matched := r.Table().Match(exchangeFor(t, "app.test", "/"))
			ended := make(chan struct{})
			first := waitingDelivery(t.Context(), t, matched)
			first.begin(&stay{ended: ended})
			reasons := make(chan route.Reason, 3)
			for range 3 {
				go func() {
					f := waitingDelivery(t.Context(), t, matched)
					reasons <- f.begin(&stay{ended: ended})
					f.done()
				}()
			}
			synctest.Wait()
			began := time.Now()
			tt.change(r, entry)
			for range 3 {
				if reason := <-reasons; reason != tt.reason || time.Since(began) != tt.after {
					t.Errorf("%s: %q after %v, want %q after %v", tt.name, reason, time.Since(began), tt.reason, tt.after)
				}
			}
			first.done()
		})
	}
}

// TestARotationThatFollowsIsWaitedFor: a backend that was replaced has retired, too.
func TestARotationThatFollowsIsWaitedFor(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{"127.0.0.1:1"})
	f := waitingDelivery(t.Context(), t, r.Table().Match(exchangeFor(t, "app.test", "/")))
	f.rot = entry.Cell.Load()
	if f.deserted() {
		t.Error("its backend takes requests")
	}
	placement(entry, 0).Upstream.Retire(route.Drain{})
	if !f.deserted() {
		t.Error("it takes none any more")
	}
	r.rotate(entry)
	if f.deserted() {
		t.Error("there is another one")
	}
}
