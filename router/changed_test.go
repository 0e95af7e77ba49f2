package router

import (
	"slices"
	"testing"

	"fairlead/router/route"
)

// TestChangedIsCalledOnceTheViewShowsIt: whoever is told must find the change when it
// looks, and hears nothing of snapshots that say nothing new.
func TestChangedIsCalledOnceTheViewShowsIt(t *testing.T) {
	run(t, func(t *testing.T, r *rig) {
		var told []string
		r.cfg.Changed = func() {
			v := r.View()
			for i := range v.Entrypoints {
				told = append(told, v.Entrypoints[i].Entrypoint.ID)
			}
			told = append(told, string(v.Providers[0].Phase))
		}
		r.send("docker", entrypoint(t, "http_a", "a.example"))
		r.send("docker", entrypoint(t, "http_a", "a.example"))
		lost := connected("docker")
		lost.Connected, lost.Phase = false, route.PhaseStale
		r.snapshot(route.Snapshot{Provider: "docker", Entrypoints: []*route.Entrypoint{entrypoint(t, "http_a", "a.example")}, Status: lost})
		r.snapshot(route.Snapshot{Provider: "docker", Status: lost})
		if want := []string{"http_a", "ready", "http_a", "stale", "stale"}; !slices.Equal(told, want) {
			t.Errorf("told of %v, want %v", told, want)
		}
	})
}
