package dashboard

import (
	"testing"
	"time"

	"fairlead/router/route"
)

// TestTimelineTellsTheFault: who gave an order says enough of it, but not of the fault that
// keeps a backend out when the order is over.
func TestTimelineTellsTheFault(t *testing.T) {
	q := &request{now: time.Unix(1_800_000_000, 0)}
	for _, c := range []struct {
		layer   string
		to      route.State
		message string
		want    string
	}{
		{"admin", route.StateDown, "connection refused", "connection refused"},
		{"admin", route.StateGated, "Docker's HEALTHCHECK says unhealthy", "Docker's HEALTHCHECK says unhealthy"},
		{"admin", route.StatePending, "ready again by eva (done)", ""},
		{"admin", route.StateDraining, "drained by eva (done)", ""},
		{"passive", route.StateEjected, "ejected by eva: done", ""},
	} {
		tr := route.Transition{Layer: c.layer, From: string(route.StateUp), To: string(c.to), Cause: "operator", Message: c.message, Actor: "eva", Reason: "done"}
		if got := q.transitionsOf([]event{{t: &tr}})[0]; got.Message != c.want || got.By() != "eva: done" {
			t.Errorf("%s: %q by %q, want %q", c.to, got.Message, got.By(), c.want)
		}
	}
}
