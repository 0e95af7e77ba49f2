package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

// trafficWorld is a server whose view shows one entrypoint with two backends that
// requests may be counted on, and one that nobody asks.
type trafficWorld struct {
	plane
	server *Server
	app    router.Entry
	view   *router.View
}

func (w *trafficWorld) View() *router.View { return w.view }

func newTrafficWorld(t *testing.T) *trafficWorld {
	t.Helper()
	w := &trafficWorld{app: entry("app", 2)}
	quiet := entry("quiet", 1)
	w.serve(w.app, quiet)
	w.view = &router.View{Generation: 7, Table: w.Table(), Health: &route.HealthView{}}
	for _, e := range []router.Entry{w.app, quiet} {
		v := router.EntrypointView{Entrypoint: e.Entrypoint, Traffic: &e.Cell.Traffic}
		for i := range e.Entrypoint.Backends {
			b := up(e.Entrypoint.Backends[i])
			b.Load = load(e, i)
			v.Health.Backends = append(v.Health.Backends, b)
		}
		w.view.Entrypoints = append(w.view.Entrypoints, v)
	}
	w.server = New(Config{Viewer: w, Log: zerolog.Nop(), Traffic: record(t, &w.plane, new(route.Traffic))})
	return w
}

func (w *trafficWorld) read(t *testing.T, path string, into any) string {
	t.Helper()
	res := get(w.server, path)
	if err := json.Unmarshal(res.Body.Bytes(), into); err != nil || res.Code != http.StatusOK {
		t.Fatalf("%s: %d %v %s", path, res.Code, err, res.Body)
	}
	return res.Header().Get("ETag")
}

// TestTrafficInAnswers: totals are those of now, rates and latencies those of the last
// minute, and what is not known is null.
func TestTrafficInAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTrafficWorld(t)
		var one Entrypoint
		w.read(t, "/entrypoints/http_app", &one)
		if one.Traffic == nil || one.Traffic.RatePerS != nil || one.Traffic.ErrorRatio != nil || one.Traffic.Requests != 0 {
			t.Errorf("before the first step: %+v", one.Traffic)
		}
		for range 9 {
			request(w.app, 0, 200, 20*time.Millisecond)
		}
		request(w.app, 1, 503, 20*time.Millisecond)
		w.app.Cell.Traffic.NoteHeld()
		w.app.Cell.InFlight.Store(4)
		w.app.Cell.Held.Store(1)
		load(w.app, 0).InFlight.Store(3)
		pass(1)
		request(w.app, 0, 404, time.Second)
		w.read(t, "/entrypoints/http_app", &one)
		got := one.Traffic
		if got.Requests != 11 || *got.RatePerS != 2 || *got.ErrorRatio != 0.1 || *got.P50MS < 10 || *got.P99MS > 25 || got.InFlight != 4 || *got.Waiting != 1 || *got.Held != 1 {
			t.Errorf("entrypoint: %+v", got)
		}
		if got.Classes != (Classes{Success: 9, ClientError: 1, ServerError: 1}) {
			t.Errorf("classes %+v", got.Classes)
		}
		first, second := one.BackendHealth[0].Traffic, one.BackendHealth[1].Traffic
		if first.Requests != 10 || *first.ErrorRatio != 0 || first.InFlight != 3 || first.Held != nil || *second.ErrorRatio != 1 {
			t.Errorf("backends: %+v, %+v", first, second)
		}
		var series TrafficSeries
		w.read(t, "/entrypoints/http_app/traffic", &series)
		if len(series.Points) != 1 || series.Points[0].Requests != 10 || series.Points[0].RatePerS != 2 || series.StepMS != 5000 || series.WindowMS != 600000 {
			t.Errorf("series %+v", series)
		}
		var both TrafficOverview
		w.read(t, "/traffic", &both)
		if both.Total.Traffic.Requests != 10 || both.Total.Traffic.InFlight != 4 || len(both.Total.Points) != 1 || both.Unrouted.Traffic != nil || both.Unrouted.Points == nil {
			t.Errorf("total %+v", both)
		}
		w.read(t, "/entrypoints/http_quiet/traffic", &series)
		if len(series.Points) != 0 || series.Traffic.Requests != 0 || *series.Traffic.RatePerS != 0 || series.Traffic.P50MS != nil {
			t.Errorf("quiet: %+v", series)
		}
		if res := get(w.server, "/entrypoints/http_none/traffic"); res.Code != http.StatusNotFound {
			t.Errorf("no such entrypoint: %d", res.Code)
		}
		pass(1)
		w.read(t, "/traffic", &both)
		if both.Total.Traffic.Requests != 11 || both.Total.Points[1].P50MS == nil {
			t.Errorf("total %+v", both.Total)
		}
	})
}

// TestTrafficGoldens shows the shapes with numbers in them.
func TestTrafficGoldens(t *testing.T) {
	bodies := map[string][]byte{}
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(epoch0)) // virtual
		w := newTrafficWorld(t)
		for range 99 {
			request(w.app, 0, 200, 4*time.Millisecond)
		}
		request(w.app, 1, 502, 80*time.Millisecond)
		w.app.Cell.Traffic.NoteRetry()
		w.app.Cell.InFlight.Store(2)
		pass(1)
		w.app.Cell.InFlight.Store(0)
		pass(1)
		for name, path := range map[string]string{"traffic": "/traffic", "traffic_one": "/entrypoints/http_app/traffic", "traffic_entrypoint": "/entrypoints/http_app"} {
			bodies[name] = get(w.server, path).Body.Bytes()
		}
	})
	validate(t, compile(t, "entrypoint.schema.json"), bodies["traffic_entrypoint"])
	for name, body := range bodies {
		golden(t, name, body)
	}
}

// TestNoStaleTraffic: whatever changes an answer changes its tag, although the
// generation stays, and what changes nothing does not.
func TestNoStaleTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTrafficWorld(t)
		for _, path := range []string{"/entrypoints", "/entrypoints/http_app"} {
			for name, change := range map[string]func(){
				"requests":            func() { w.app.Cell.Traffic.Note(200, time.Millisecond) },
				"requests of one":     func() { load(w.app, 1).Traffic.Note(200, time.Millisecond) },
				"failures of one":     func() { load(w.app, 1).Traffic.Note(0, time.Second) },
				"in flight":           func() { w.app.Cell.InFlight.Add(1) },
				"held":                func() { w.app.Cell.Held.Add(1) },
				"ever held":           w.app.Cell.Traffic.NoteHeld,
				"retries":             w.app.Cell.Traffic.NoteRetry,
				"cut":                 load(w.app, 0).Traffic.NoteCut,
				"in flight of one":    func() { load(w.app, 1).InFlight.Add(1) },
				"tunnels of one":      func() { load(w.app, 1).Tunnels.Add(1) },
				"the minute goes by":  func() { w.app.Cell.Traffic.Note(500, time.Second); pass(1) },
				"the minute is empty": func() { pass(13) },
			} {
				before := get(w.server, path)
				tag := before.Header().Get("ETag")
				if res := get(w.server, path, "If-None-Match", tag); res.Code != http.StatusNotModified {
					t.Errorf("%s, nothing has changed: %d", path, res.Code)
				}
				change()
				after := get(w.server, path, "If-None-Match", tag)
				if fresh := get(w.server, path); fresh.Body.String() == before.Body.String() {
					t.Logf("%s, %s: not in the answer", path, name)
				} else if after.Code != http.StatusOK || after.Header().Get("ETag") == tag {
					t.Errorf("%s, %s: %d with the tag %s", path, name, after.Code, after.Header().Get("ETag"))
				}
			}
		}
		if quiet := "/entrypoints/http_quiet"; get(w.server, quiet, "If-None-Match", get(w.server, quiet).Header().Get("ETag")).Code != http.StatusNotModified {
			t.Error("traffic of another entrypoint changes the tag")
		}
	})
}

// TestProbesInAnswers: only where one entrypoint or backend is asked for.
func TestProbesInAnswers(t *testing.T) {
	w := newServer(richView())
	v := richView()
	h := &v.Entrypoints[0].Health.Backends[0]
	h.Probes = []route.ProbeTick{
		{At: epoch0, OK: true, Duration: 1500 * time.Microsecond},
		{At: epoch0.Add(10 * time.Second), Duration: 5 * time.Second, Kind: route.KindTimeout},
	}
	w.cfg.Viewer = fixed{v}
	path := "/entrypoints/" + v.Entrypoints[0].Entrypoint.ID
	want := `"probes":[{"at":1800000000,"ok":true,"kind":null,"duration_ms":1.5},{"at":1800000010,"ok":false,"kind":"timeout","duration_ms":5000}]`
	for _, p := range []string{path, path + "/backends", path + "/backends/" + h.Backend.ID} {
		if body := get(w, p).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s lacks the probes: %s", p, body)
		}
	}
	if body := get(w, "/entrypoints").Body.String(); strings.Contains(body, `"probes":[`) {
		t.Error("a list of entrypoints has probes")
	}
}

// TestABackendThatNobodyWaitsForIsNotIdle: contacts that were given up are its traffic,
// and no ratio of errors follows from them alone.
func TestABackendThatNobodyWaitsForIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTrafficWorld(t)
		for range 10 {
			load(w.app, 1).Traffic.NoteAbandoned(2 * time.Second)
			w.app.Cell.Traffic.Note(0, 2*time.Second)
		}
		pass(1)
		var e Entrypoint
		w.read(t, "/entrypoints/http_app", &e)
		got := e.BackendHealth[1].Traffic
		if got == nil || got.Classes != (Classes{None: 10}) || *got.Abandoned != 10 || *got.RatePerS != 2 || got.P99MS == nil || *got.P99MS < 1500 || *got.P99MS > 2000 || got.ErrorRatio != nil {
			t.Errorf("%+v", got)
		}
	})
}
