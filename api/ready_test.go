package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

func provider(name string, phase route.ProviderPhase) route.ProviderStatus {
	return route.ProviderStatus{Name: name, Enabled: true, Configured: true, Phase: phase}
}

func TestReady(t *testing.T) {
	schema := compile(t, "ready.schema.json")
	docker := func(p route.ProviderPhase) []route.ProviderStatus {
		return []route.ProviderStatus{provider("docker", p), {Name: "podman"}}
	}
	both := func(d, f route.ProviderPhase) []route.ProviderStatus {
		return []route.ProviderStatus{provider("docker", d), provider("file", f)}
	}
	for name, c := range map[string]struct {
		providers []route.ProviderStatus
		views     []router.EntrypointView
		settled   bool
		stopping  bool
		status    string
		code      int
		counts    ReadyCounts
	}{
		"no entrypoints":              {docker(route.PhaseReady), nil, true, false, ReadyOK, 200, ReadyCounts{}},
		"no provider enabled":         {nil, nil, false, false, ReadyOK, 200, ReadyCounts{}},
		"before the first sync":       {docker(""), nil, false, false, ReadyInitializing, 503, ReadyCounts{}},
		"engine not reachable":        {docker(route.PhaseFailed), nil, false, false, ReadyInitializing, 503, ReadyCounts{}},
		"another one gives routes":    {both(route.PhaseFailed, route.PhaseReady), []router.EntrypointView{okView()}, true, false, ReadyOK, 200, ReadyCounts{Total: 1, Healthy: 1}},
		"another one without routes":  {both(route.PhaseFailed, route.PhaseReady), nil, true, false, ReadyInitializing, 503, ReadyCounts{}},
		"one still reads":             {both(route.PhasePending, route.PhaseReady), []router.EntrypointView{okView()}, true, false, ReadyInitializing, 503, ReadyCounts{Total: 1, Healthy: 1}},
		"no verdict yet":              {docker(route.PhaseReady), []router.EntrypointView{pendingView()}, false, false, ReadyInitializing, 503, ReadyCounts{Total: 1, Pending: 1}},
		"engine lost later":           {docker(route.PhaseStale), []router.EntrypointView{okView()}, true, false, ReadyOK, 200, ReadyCounts{Total: 1, Healthy: 1}},
		"newcomer":                    {docker(route.PhaseReady), []router.EntrypointView{okView(), pendingView()}, true, false, ReadyOK, 200, ReadyCounts{Total: 1, Healthy: 1, Pending: 1}},
		"partial":                     {docker(route.PhaseReady), []router.EntrypointView{partialView()}, true, false, ReadyOK, 200, ReadyCounts{Total: 1, Healthy: 1, Partial: 1}},
		"unchecked counts as healthy": {docker(route.PhaseReady), []router.EntrypointView{uncheckedView()}, true, false, ReadyOK, 200, ReadyCounts{Total: 1, Healthy: 1}},
		"a serving backup is healthy": {docker(route.PhaseReady), []router.EntrypointView{backupView()}, true, false, ReadyOK, 200, ReadyCounts{Total: 1, Healthy: 1, Partial: 1}},
		"panic":                       {docker(route.PhaseReady), []router.EntrypointView{okView(), panicView()}, true, false, ReadyDegraded, 200, ReadyCounts{Total: 2, Healthy: 1, Degraded: 1, Panic: 1}},
		"retained, closed and gated":  {docker(route.PhaseReady), []router.EntrypointView{retainedView(), closedView("E104"), gatedView()}, true, false, ReadyDegraded, 200, ReadyCounts{Total: 3, Degraded: 3, Down: 3}},
		"shutting down":               {docker(route.PhaseReady), []router.EntrypointView{okView()}, true, true, ReadyShuttingDown, 503, ReadyCounts{Total: 1, Healthy: 1}},
		"shutting down before ready":  {docker(route.PhasePending), nil, false, true, ReadyShuttingDown, 503, ReadyCounts{}},
	} {
		t.Run(name, func(t *testing.T) {
			v := &router.View{Providers: c.providers, Entrypoints: c.views, Health: &route.HealthView{Settled: c.settled}}
			s := newServer(v)
			s.cfg.Phase = func() bool { return c.stopping }
			w := get(s, "/ready")
			validate(t, schema, w.Body.Bytes())
			var got Ready
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if w.Code != c.code || got.Status != c.status || got.Policy != "process" {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.code, c.status)
			}
			if got.Entrypoints.Detail != nil {
				t.Error("names without admin.verbose")
			}
			got.Entrypoints.Detail = nil
			if e := got.Entrypoints; e.Total != c.counts.Total || e.Healthy != c.counts.Healthy || e.Degraded != c.counts.Degraded ||
				e.Panic != c.counts.Panic || e.Down != c.counts.Down || e.Partial != c.counts.Partial || e.Pending != c.counts.Pending {
				t.Errorf("counts %+v, want %+v", e, c.counts)
			}
			wantRetry := ""
			if c.status == ReadyInitializing {
				wantRetry = "1"
			}
			if got := w.Header().Get("Retry-After"); got != wantRetry {
				t.Errorf("Retry-After %q, want %q", got, wantRetry)
			}
		})
	}
}

// TestReadyWaitsForTheListener: a router that takes no connection yet is not ready,
// however much it knows; one that stops says so whatever else is true.
func TestReadyWaitsForTheListener(t *testing.T) {
	s := newServer(&router.View{
		Providers: []route.ProviderStatus{provider("docker", route.PhaseReady)}, Entrypoints: []router.EntrypointView{okView()},
		Health: &route.HealthView{Settled: true},
	})
	accepting, stopping := false, false
	s.cfg.Accepting, s.cfg.Phase = func() bool { return accepting }, func() bool { return stopping }
	want := func(code int, status string) {
		t.Helper()
		if w := get(s, "/ready"); w.Code != code || !strings.Contains(w.Body.String(), `"status":"`+status+`"`) {
			t.Errorf("%d %s, want %d %s", w.Code, w.Body, code, status)
		}
	}
	want(503, ReadyInitializing)
	accepting = true
	want(200, ReadyOK)
	stopping = true
	want(503, ReadyShuttingDown)
	accepting = false
	want(503, ReadyShuttingDown)
}

// TestReadyOnce: a router is ready when the first verdicts of every provider are there, and
// one that was ready goes on being so while a provider that comes later is waited for.
func TestReadyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now *router.View
		s := New(Config{Log: zerolog.Nop(), Viewer: &slow{view: func() *router.View { return now }}})
		for i, c := range []struct {
			docker  route.ProviderPhase
			settled bool
			code    int
		}{
			{route.PhasePending, false, 503},
			{route.PhasePending, true, 503}, // the file provider's verdicts are all there
			{route.PhaseReady, false, 503},  // and now Docker's are awaited
			{route.PhaseReady, true, 200},
			{route.PhaseReady, false, 200}, // a third provider
			{route.PhaseFailed, true, 200},
		} {
			now = &router.View{
				Providers: []route.ProviderStatus{provider("docker", c.docker), provider("file", route.PhaseReady)},
				Health:    &route.HealthView{Settled: c.settled},
			}
			if w := get(s, "/ready"); w.Code != c.code {
				t.Errorf("no. %d: %d %s, want %d", i, w.Code, w.Body, c.code)
			}
		}
	})
}

func TestReadyVerbose(t *testing.T) {
	s := newServer(richView())
	s.cfg.Verbose = true
	w := get(s, "/ready")
	validate(t, compile(t, "ready.schema.json"), w.Body.Bytes())
	golden(t, "ready_verbose", w.Body.Bytes())
	if w := get(s, "/ready", "Host", "anything.example"); w.Code != http.StatusOK {
		t.Errorf("/ready is behind the Host guard: %d", w.Code)
	}
}

// TestReadyWithoutHealth: a view that was made before the engine ran is no crash.
func TestReadyWithoutHealth(t *testing.T) {
	s := newServer(&router.View{Providers: []route.ProviderStatus{provider("docker", route.PhaseReady)}})
	if w := get(s, "/ready"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := get(s, "/checks"); w.Body.String() != "[]\n" {
		t.Errorf("checks: %s", w.Body)
	}
	for path, want := range map[string]string{"/entrypoints": "[]\n", "/providers": ""} {
		if w := get(s, path); w.Code != http.StatusOK || want != "" && w.Body.String() != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
