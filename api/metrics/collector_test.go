package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

var update = flag.Bool("update", false, "write the golden file anew")

// canary stands in every place of the view that must not show.
const canary = "c4nary-s3cret"

// fixed is a viewer of one view.
type fixed struct{ view *router.View }

func (f *fixed) View() *router.View { return f.view }

// entry makes an entrypoint with n backends; each has served some requests.
func entry(name string, protocol route.Protocol, n int) (router.Entry, router.EntrypointView) {
	h, err := route.ParseHostPattern(strings.ToLower(name) + ".example.com")
	if err != nil {
		panic(err)
	}
	e := &route.Entrypoint{
		ID: string(protocol) + "_" + name, Name: name, Protocol: protocol, Source: "docker", Options: route.DefaultOptions(),
		Match: route.Match{Hosts: []route.HostPattern{h}, Path: route.PathRule{Kind: route.PathPrefix, Value: "/"},
			Headers: []route.KeyValue{{Key: "X-Key", Value: canary}}, Query: []route.KeyValue{{Key: "token", Value: canary}}},
	}
	e.Options.Headers = []route.HeaderRule{{Name: "Authorization", Value: canary, Direction: route.OnRequest}}
	cell := &route.RotationCell{}
	v := router.EntrypointView{Entrypoint: e, Traffic: &cell.Traffic}
	v.Health.State = route.EntrypointOK
	yes := true
	for i := range n {
		id := fmt.Sprintf("%012d", i)
		b := route.Backend{
			ID: id, Name: name, Incarnation: name + id, Host: fmt.Sprintf("192.0.2.%d", i+1), Port: 80, Scheme: route.SchemeHTTP,
			Provider: route.ProviderPresent, Weight: 100, Container: &route.Container{ID: id, Name: fmt.Sprintf("%s-%d", name, i)},
		}
		e.Backends = append(e.Backends, b)
		load := &route.Load{}
		v.Health.Backends = append(v.Health.Backends, route.BackendHealth{
			Backend: b, State: route.StateUp, Healthy: &yes, InRotation: true, Load: load,
			Counters: route.Counters{Probes: 61, Failures: 2, Transitions: 3}, Message: canary,
		})
		v.Health.InRotation++
		for range 3 {
			load.Traffic.Note(200, 4*time.Millisecond)
			cell.Traffic.Note(200, 4*time.Millisecond)
		}
	}
	return router.Entry{Entrypoint: e, Cell: cell}, v
}

// world is a view of entrypoints.
func world(list ...func() (router.Entry, router.EntrypointView)) *router.View {
	v := &router.View{Generation: 1}
	entries := make([]router.Entry, 0, len(list))
	for _, one := range list {
		e, shown := one()
		entries = append(entries, e)
		v.Entrypoints = append(v.Entrypoints, shown)
	}
	v.Table = router.Build(1, entries)
	return v
}

// richView has something of everything.
func richView() *router.View {
	app, appView := entry("app", route.HTTP, 2)
	down, downView := entry("down", route.HTTP, 1)
	_, stream := entry("stream", route.TCP, 1)
	_, odd := entry("odd", route.HTTP, 0)
	odd.Entrypoint.ID, odd.Traffic = "http_\xff\n\"\\"+strings.Repeat("x", 200), nil

	app.Cell.Traffic.Note(502, 3*time.Second)
	app.Cell.Traffic.Note(0, 20*time.Second)
	app.Cell.Traffic.NoteRetry()
	app.Cell.Traffic.NoteHeld()
	app.Cell.Traffic.NoteCut()
	app.Cell.InFlight.Store(5)
	app.Cell.Held.Store(1)
	second := &appView.Health.Backends[1]
	second.Load.InFlight.Store(4)
	second.Load.Tunnels.Store(1)
	second.Load.Traffic.Note(0, time.Second)
	second.Load.Traffic.NoteAbandoned(time.Second)
	pending := &appView.Health.Backends[0]
	pending.State, pending.Healthy = route.StatePending, nil
	no := false
	downView.Health.State, downView.Health.InRotation = route.EntrypointPanic, 1
	downView.Health.Backends[0].State, downView.Health.Backends[0].Healthy = route.StateDown, &no

	layers, layersView := layered()

	v := &router.View{
		Table: router.Build(1, []router.Entry{app, down, layers}), Entrypoints: []router.EntrypointView{appView, downView, layersView, odd, stream},
		Providers: []route.ProviderStatus{
			{Name: "docker", Enabled: true, Connected: true, Candidates: 7, Rejected: 2, LastSync: time.Unix(1_800_000_000, 0), LastError: canary},
			{Name: "file"}, {Name: "swarm", Enabled: true},
		},
		Global:     []route.Diagnostic{route.Diagnose("I108", canary, "%s", canary)},
		Candidates: []route.CandidateDiagnostics{{CandidateID: "c", Diagnostics: []route.Diagnostic{route.Diagnose("E104", "", ""), route.Diagnose("W023", "", "")}}},
	}
	return v
}

func collector(v *router.View) *Collector {
	unrouted := &route.Traffic{}
	unrouted.Note(404, time.Millisecond)
	took := &route.Traffic{}
	took.Note(200, 3*time.Millisecond)
	took.Note(0, time.Minute)
	return New(Config{
		Viewer: &fixed{v}, Unrouted: unrouted, Version: "1.2.3", Revision: "abc",
		Probing: func() Probing {
			return Probing{
				Finished: 10, Late: 1, Local: 2, Running: 3, Waiting: 4,
				Results: map[route.Kind]uint64{route.KindNone: 6, route.KindTimeout: 1},
				Took:    map[route.ProbeType]route.TrafficCounts{route.ProbeHTTP: took.Counts()},
			}
		},
		Webhook: func() Notices { return Notices{Sent: 9, Failed: 1, Dropped: 2, Retries: 3, Waiting: 4} },
		Swaps:   func() (uint64, time.Duration) { return 4, 20 * time.Millisecond },
		Access:  func() (uint64, uint64) { return 100, 5 },
	})
}

// scrape asks a collector as Prometheus does.
func scrape(t *testing.T, c *Collector) string {
	t.Helper()
	return scrapeOf(t, c.Handler(zerolog.Nop()))
}

func scrapeOf(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// ours are the lines about metrics of the router, without what differs between runs.
func ours(text string) string {
	volatile := regexp.MustCompile(`(goversion="|sync_age_seconds\{provider="docker"\} )[^"\n]+`)
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "fairlead_") {
			out.WriteString(volatile.ReplaceAllString(line, "${1}*"))
		}
	}
	return out.String()
}

// TestScrape compares a whole scrape with the golden file.
func TestScrape(t *testing.T) {
	text := scrape(t, collector(richView()))
	if strings.Contains(text, canary) {
		t.Error("a secret is in a series")
	}
	for _, want := range []string{"go_goroutines ", "process_start_time_seconds "} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	path, got := filepath.Join("testdata", "scrape.txt"), ours(text)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(want, []byte(got)) {
		t.Errorf("the scrape differs from %s (%v; go test ./api/metrics -update writes it anew):\n%s", path, err, got)
	}
}

// TestConventions: promlint has nothing to say, every metric of the table is scraped
// with the labels that the table names, and no other.
func TestConventions(t *testing.T) {
	r := prometheus.NewPedanticRegistry() // refuses what differs from its description
	r.MustRegister(collector(richView()))
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	scraped := map[string]bool{}
	for _, f := range families {
		scraped[f.GetName()] = true
		i := slices.IndexFunc(Families(), func(known Family) bool { return known.Name == f.GetName() })
		if i < 0 || Families()[i].Help != f.GetHelp() || !strings.EqualFold(Families()[i].Type, f.GetType().String()) {
			t.Errorf("%s is not what the table says", f.GetName())
		}
	}
	for _, f := range Families() {
		if !scraped[f.Name] {
			t.Errorf("%s has no series in the rich view", f.Name)
		}
	}
}

// TestBounded: names of any kind become short, valid, and stay apart.
func TestBounded(t *testing.T) {
	long := strings.Repeat("ä", 100)
	names := []string{"", "http_app", strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("x", 5000), strings.Repeat("x", 5000) + "y", long, long + "b", "a\xff", "a\xfe", "a\uFFFD"}
	seen := map[string]string{}
	for _, name := range names {
		got := bounded(name)
		if len(got) > maxValue || strings.ToValidUTF8(got, "?") != got || name != "" && got == "" {
			t.Errorf("%.20q gives %q", name, got)
		}
		if was, taken := seen[got]; taken {
			t.Errorf("%.20q and %.20q share %q", was, name, got)
		}
		seen[got] = name
	}
	if bounded("http_app") != "http_app" {
		t.Error("a plain name is changed")
	}
}

// TestHistogramIsCumulative: buckets, their total and the sum fit the requests.
func TestHistogramIsCumulative(t *testing.T) {
	v := world(func() (router.Entry, router.EntrypointView) { return entry("app", route.HTTP, 0) })
	for _, took := range []time.Duration{time.Millisecond, 2 * time.Millisecond, time.Minute} {
		v.Entrypoints[0].Traffic.Note(200, took)
	}
	text := scrape(t, collector(v))
	const name = "fairlead_entrypoint_request_duration_seconds"
	for _, want := range []string{
		name + `_bucket{entrypoint="http_app",le="0.001"} 1`, name + `_bucket{entrypoint="http_app",le="0.0025"} 2`,
		name + `_bucket{entrypoint="http_app",le="10"} 2`, name + `_bucket{entrypoint="http_app",le="+Inf"} 3`,
		name + `_count{entrypoint="http_app"} 3`, name + `_sum{entrypoint="http_app"} 60.003`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// BenchmarkScrape is a scrape of 10,000 entrypoints with a backend each.
func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var list []func() (router.Entry, router.EntrypointView)
			for i := range n {
				list = append(list, func() (router.Entry, router.EntrypointView) {
					return entry(fmt.Sprintf("app%d", i), route.HTTP, 1)
				})
			}
			h := collector(world(list...)).Handler(zerolog.Nop())
			r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size)/1e6, "MB/scrape")
		})
	}
}
