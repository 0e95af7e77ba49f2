package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/router/route"
)

// TestHealthcheckReady: the exit code of a router that starts, serves and stops; --wait
// asks again until the answer is yes.
func TestHealthcheckReady(t *testing.T) {
	var accepting, stopping atomic.Bool
	v := view(t, someVerdicts())
	handler := api.New(api.Config{
		Viewer: fixedView{v}, Log: zerolog.Nop(), Phase: stopping.Load, Accepting: accepting.Load,
	}).Handler()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accepting.Store(asked.Add(1) >= 4)
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	w := &world{t: t, env: []string{"FAIRLEAD_ADMIN=" + server.URL, "CONFIG_PATH=" + empty(t)}}
	if r := w.run("healthcheck"); r.code != 0 || r.out != "ok\n" {
		t.Errorf("it answers: exit %d %s", r.code, r.all())
	}
	if r := w.run("healthcheck", "--ready"); r.code != 1 || !strings.Contains(r.err, "not ready: initializing, docker ready") {
		t.Errorf("while it starts: exit %d %s", r.code, r.all())
	}
	if r := w.run("healthcheck", "--ready", "--wait", "20s"); r.code != 0 || asked.Load() != 4 {
		t.Errorf("after %d questions: exit %d %s", asked.Load(), r.code, r.all())
	}
	stopping.Store(true)
	begin := time.Now()
	if r := w.run("healthcheck", "--ready", "--wait", "250ms"); r.code != 1 || !strings.Contains(r.err, "shutting down") || time.Since(begin) < 250*time.Millisecond {
		t.Errorf("while it stops: exit %d after %v %s", r.code, time.Since(begin), r.all())
	}
	server.Close()
	if r := w.run("healthcheck", "--ready"); r.code != 1 || !strings.Contains(r.err, "no router answers") {
		t.Errorf("without a router: exit %d %s", r.code, r.all())
	}
}

// TestHealthcheckReadyDemandsEveryProvider: /ready is 200 when a file gives routes while the
// engine was never read; a router that has read it must not be stopped then.
func TestHealthcheckReadyDemandsEveryProvider(t *testing.T) {
	for phase, want := range map[route.ProviderPhase]int{
		route.PhaseFailed: 1, route.PhaseReady: 0, route.PhaseStale: 0,
	} {
		v := view(t, someVerdicts())
		v.Providers = []route.ProviderStatus{
			{Name: "docker", Enabled: true, Phase: phase}, {Name: "file", Enabled: true, Phase: route.PhaseReady}, {Name: "other"},
		}
		server := httptest.NewServer(api.New(api.Config{Viewer: fixedView{v}, Log: zerolog.Nop()}).Handler())
		w := &world{t: t, env: []string{"FAIRLEAD_ADMIN=" + server.URL, "CONFIG_PATH=" + empty(t)}}
		r := w.run("healthcheck", "--ready")
		if r.code != want || want == 1 && !strings.Contains(r.err, "not ready: it serves, but never read docker\n") {
			t.Errorf("%s: exit %d %s", phase, r.code, r.all())
		}
		if r := w.run("healthcheck", "--serving"); r.code != 0 {
			t.Errorf("%s, serving: exit %d %s", phase, r.code, r.all())
		}
		server.Close()
	}
}
