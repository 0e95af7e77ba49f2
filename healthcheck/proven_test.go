package healthcheck

import (
	"testing"
	"time"

	"fairlead/router/route"
)

// TestFirstSuccessProves: a refusal before it means "not yet" to the data plane; a
// verdict "down" before it proves nothing. An emptied rotation says since when.
func TestFirstSuccessProves(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		started := func(b *route.Backend) { b.StartedAt = r.start }
		first := r.set("http_api", backend("b1", "10.0.0.1", started))
		load := first.Placements[0].Load
		r.apply(first)
		r.run()
		r.at(12 * time.Second) // past initialDelay
		r.wantState("http_api", "b1", route.StateDown, route.InPanicAll)
		if load.Proven.Load() {
			t.Error("proven without a success")
		}
		r.net.set("10.0.0.1:80", accept)
		r.at(25 * time.Second)
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		if !load.Proven.Load() {
			t.Error("a passed probe does not prove it")
		}

		leaving := r.set("http_api", backend("b1", "10.0.0.1", started, func(b *route.Backend) { b.Provider = route.ProviderLeaving }))
		leaving.Placements[0].Load = load
		r.apply(leaving)
		r.at(40 * time.Second)
		rot := r.cells["http_api"].Load()
		if rot.Reason != route.ReasonLeaving || !rot.At.Equal(r.start.Add(25*time.Second)) {
			t.Errorf("%q since %v", rot.Reason, rot.At.Sub(r.start))
		}
	})
}
