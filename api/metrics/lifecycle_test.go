package metrics

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"fairlead/healthcheck"
	"fairlead/router"
	"fairlead/router/proxy"
	"fairlead/router/route"
)

// names are the series of a scrape, without their values.
func names(text string) []string {
	var out []string
	for line := range strings.Lines(ours(text)) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	return out
}

// snapshot has an entrypoint with n backends and n entrypoints with one.
func snapshot(n, turn int) route.Snapshot {
	s := route.Snapshot{Provider: "docker", Status: route.ProviderStatus{Name: "docker", Enabled: true, Connected: true, Phase: route.PhaseReady}}
	backend := func(name string, i int) route.Backend {
		check := route.DefaultCheck()
		return route.Backend{
			ID: fmt.Sprintf("%s%d", name, i), Incarnation: fmt.Sprintf("%s%d/%d", name, i, turn), Host: "192.0.2.1", Port: 80,
			Scheme: route.SchemeHTTP, Weight: 100, Provider: route.ProviderPresent, Check: &check,
		}
	}
	add := func(name string, backends ...route.Backend) {
		e, _ := entry(name, route.HTTP, 0)
		e.Entrypoint.Backends = backends
		e.Entrypoint.Options.Passive.Failures, e.Entrypoint.Options.Breaker.Threshold = 1, 0.5
		s.Entrypoints = append(s.Entrypoints, e.Entrypoint)
	}
	var replicas []route.Backend
	for i := range n {
		replicas = append(replicas, backend("replica", i))
	}
	slices.SortFunc(replicas, func(a, b route.Backend) int { return strings.Compare(a.ID, b.ID) })
	add("app", replicas...)
	for i := range n - 1 {
		add(fmt.Sprintf("more%d", i), backend("m", i))
	}
	slices.SortFunc(s.Entrypoints, func(a, b *route.Entrypoint) int { return strings.Compare(a.ID, b.ID) })
	return s
}

// TestSeriesGoWithTheirObject (stale_metric_series) scales up and down a hundred times: what is scraped at
// the end is what was scraped at the beginning, and a request that ends after its
// backend has gone brings nothing back.
func TestSeriesGoWithTheirObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := healthcheck.New(healthcheck.Config{Log: zerolog.Nop()})
		plane := proxy.New(proxy.Config{Log: zerolog.Nop()})
		controller := router.NewController(router.ControllerConfig{Health: engine, Upstreams: plane, Log: zerolog.Nop()})
		in := make(chan route.Snapshot)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- controller.Run(ctx, in) }()
		r := prometheus.NewRegistry() // without the runtime, which takes longer than all of ours
		r.MustRegister(New(Config{Viewer: controller, Unrouted: plane.Unrouted(), Swaps: controller.Swaps}))
		h := promhttp.HandlerFor(r, promhttp.HandlerOpts{})
		show := func(s route.Snapshot) []string {
			in <- s
			synctest.Wait()
			return names(scrapeOf(t, h))
		}

		first := show(snapshot(1, 0))
		for turn := range 100 {
			most := show(snapshot(8, turn+1))
			if len(most) < len(first)+7*(20+10) {
				t.Fatalf("%d series with eight backends, %d with one", len(most), len(first))
			}
			cell := controller.Table().Route("http_app").Cell
			member, gate := cell.Load().Members[7], cell.Load().Gate
			late := member.Placement
			late.Load.InFlight.Add(1)
			ticket, _ := member.Judge.Begin(time.Now())
			lease, _, _ := gate.Enter(time.Now())
			cell.Traffic.Note(200, time.Millisecond)
			few := show(snapshot(1, 0))
			late.Load.Traffic.Note(200, time.Minute)
			late.Load.InFlight.Add(-1)
			bad := route.Outcome{Placement: late, Kind: route.KindConnectionReset, Transport: true}
			member.Judge.End(ticket, bad, time.Now())
			gate.Leave(lease, route.Outcome{Void: true}, time.Now())
			engine.Report(bad)
			if again := names(scrapeOf(t, h)); !slices.Equal(few, again) {
				t.Fatalf("a late answer changes the series")
			}
		}
		last := slices.DeleteFunc(names(scrapeOf(t, h)), func(name string) bool { return strings.Contains(name, "_duration_seconds") })
		first = slices.DeleteFunc(first, func(name string) bool { return strings.Contains(name, "_duration_seconds") })
		if !slices.Equal(first, last) {
			t.Errorf("%d series at the beginning, %d at the end", len(first), len(last))
		}
		if n, _ := controller.Swaps(); n != 201 {
			t.Errorf("%d swaps", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestServe: the listener of its own answers scrapes, nothing else, and ends.
func TestServe(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, collector(richView()).Handler(zerolog.Nop())) }()
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/metrics", 200}, {"HEAD", "/metrics", 200}, {"POST", "/metrics", 405}, {"GET", "/", 404}, {"GET", "/entrypoints", 404}, {"GET", "/debug/pprof/", 404}} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+l.Addr().String()+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != c.status || c.method == "GET" && c.status == 200 != strings.Contains(string(body), "fairlead_build_info") {
			t.Errorf("%s %s: %d %v", c.method, c.path, res.StatusCode, err)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
