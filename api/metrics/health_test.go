package metrics

import (
	"strings"
	"testing"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// layered is an entrypoint of which every layer has something to say.
func layered() (router.Entry, router.EntrypointView) {
	e, v := entry("layers", route.HTTP, 4)
	v.Health.Breaker = &route.BreakerView{State: route.PhaseHalfOpen, FailureRatio: 0.75, Samples: 20, Opens: 2}
	place, _ := e.Cell.Line.Join(1)
	_, _ = e.Cell.Line.Join(1)
	_ = place
	list := v.Health.Backends
	check := route.DefaultCheck()
	list[0].Check = &route.CheckView{Check: check, DetectionBound: 17 * time.Second}
	list[0].NextCheckAt, list[0].Counters.LateResults = time.UnixMilli(1_800_000_000_250), 1
	list[0].Passive = &route.PassiveView{State: route.PhaseClosed, ConsecutiveFailures: 5, Threshold: 5, Failures: 12, BlockedBy: "last"}
	no := false
	list[1].State, list[1].Healthy, list[1].InRotation = route.StateEjected, &no, false
	list[1].Passive = &route.PassiveView{State: route.PhaseOpen, Threshold: 5, Failures: 8, Ejections: 3, Trials: 2}
	list[2].State, list[2].Healthy, list[2].InRotation = route.StateMaintenance, nil, false
	list[2].Admin = route.Admin{State: route.AdminMaintenance, Actor: canary, Reason: canary}
	list[2].Backend.MaxConnections = 10
	list[3].Warmup = &route.WarmupView{Percent: 25, EndsAt: time.UnixMilli(1_800_000_000_000)}
	list[3].Backend.MaxConnections = 2
	list[3].Load.InFlight.Store(2)
	v.Health.InRotation = 2
	return e, v
}

// TestLayers: what each layer says is a series of the backend, and what a layer does not
// say has none.
func TestLayers(t *testing.T) {
	text := ours(scrape(t, collector(richView())))
	for _, want := range []string{
		`fairlead_entrypoint_rotation_size{entrypoint="http_layers"} 2`, // with the full one: load is never health
		`fairlead_entrypoint_queue_length{entrypoint="http_layers"} 1`,
		`fairlead_entrypoint_queue_waits_total{entrypoint="http_layers"} 1`,
		`fairlead_entrypoint_queue_rejections_total{entrypoint="http_layers"} 1`,
		`fairlead_entrypoint_breaker_state{entrypoint="http_layers",state="half_open"} 1`,
		`fairlead_entrypoint_breaker_opens_total{entrypoint="http_layers"} 2`,
		`fairlead_backend_passive_state{backend="000000000001",entrypoint="http_layers",state="open"} 1`,
		`fairlead_backend_passive_failures_total{backend="000000000000",entrypoint="http_layers"} 12`,
		`fairlead_backend_ejections_total{backend="000000000001",entrypoint="http_layers"} 3`,
		`fairlead_backend_trials_total{backend="000000000001",entrypoint="http_layers"} 2`,
		`fairlead_backend_ejection_blocked{backend="000000000000",entrypoint="http_layers",reason="last"} 1`,
		`fairlead_backend_admin_state{backend="000000000002",entrypoint="http_layers",state="maintenance"} 1`,
		`fairlead_backend_admin_state{backend="000000000003",entrypoint="http_layers",state="ready"} 1`,
		`fairlead_backend_warmup_percent{backend="000000000003",entrypoint="http_layers"} 25`,
		`fairlead_backend_full{backend="000000000003",entrypoint="http_layers"} 1`,
		`fairlead_backend_full{backend="000000000002",entrypoint="http_layers"} 0`,
		`fairlead_backend_in_rotation{backend="000000000003",entrypoint="http_layers"} 0`,
		`fairlead_backend_up{backend="000000000001",entrypoint="http_layers"} 0`,
		`fairlead_backend_detection_bound_seconds{backend="000000000000",entrypoint="http_layers"} 17`,
		`fairlead_backend_next_check_timestamp_seconds{backend="000000000000",entrypoint="http_layers"} 1.80000000025e+09`,
		`fairlead_backend_late_results_total{backend="000000000000",entrypoint="http_layers"} 1`,
		`fairlead_probe_results_total{kind="ok"} 6`,
		`fairlead_probe_results_total{kind="timeout"} 1`,
		`fairlead_probe_duration_seconds_bucket{type="http",le="10"} 1`,
		`fairlead_probe_duration_seconds_count{type="http"} 2`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	for _, not := range []string{
		`fairlead_backend_passive_state{backend="000000000003"`, `fairlead_backend_warmup_percent{backend="000000000002"`,
		`fairlead_backend_full{backend="000000000000"`, `fairlead_backend_ejection_blocked{backend="000000000001"`,
		`fairlead_backend_up{backend="000000000002",entrypoint="http_layers"`, `fairlead_entrypoint_breaker_state{entrypoint="http_app"`,
		`fairlead_backend_next_check_timestamp_seconds{backend="000000000001"`, `state="closed"} 0`,
	} {
		if strings.Contains(text, not) {
			t.Errorf("there is %s", not)
		}
	}
}
