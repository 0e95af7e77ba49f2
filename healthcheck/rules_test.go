package healthcheck

import (
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

// checkRules holds a backend's health to what the published schema demands.
func checkRules(t *testing.T, h *route.BackendHealth) {
	t.Helper()
	bad := func(why string) {
		t.Helper()
		t.Errorf("%s: state %s, healthy %v, kind %q, in %v (%s): %s", h.Backend.ID, h.State, h.Healthy, h.Kind, h.InRotation, h.RotationReason, why)
	}
	is := func(states ...route.State) bool { return slices.Contains(states, h.State) }
	switch {
	case h.Healthy != nil && *h.Healthy && h.Kind != "":
		bad("a healthy backend has a kind")
	case is(route.StateDown, route.StateGated) && (h.Healthy == nil || *h.Healthy || h.Kind == ""):
		bad("down or gated without healthy=false and a kind")
	case is(route.StateLeaving, route.StateGated) && h.InRotation:
		bad("leaving or gated, and serves")
	case h.State == route.StateDown && h.InRotation && !strings.HasPrefix(string(h.RotationReason), "panic_"):
		bad("down and serves without panic")
	case is(route.StatePending, route.StateUnchecked) && (h.Healthy != nil || h.Kind != "" && h.Kind != route.KindDockerStarting):
		bad("pending or unchecked with a verdict")
	case h.State == route.StateUp && h.LastChecked.IsZero():
		bad("up and never checked")
	case h.RotationReason == "" || h.Explain == "" || h.Source == "" || h.Since.IsZero():
		bad("a field is empty")
	case h.InRotation != isIn(h.RotationReason):
		bad("the reason contradicts")
	case h.InRotation != (h.EffectiveWeight > 0):
		bad("the weight contradicts")
	case len(h.History) > 20:
		bad("too much history")
	}
	if h.Check != nil && (h.Check.DetectionBound <= 0 || h.Check.ID == "" || h.Check.Target == "" || h.Check.Check.UnhealthyThreshold < 1) {
		bad("the check is not complete")
	}
}
