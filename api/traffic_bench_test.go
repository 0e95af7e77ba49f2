package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

// BenchmarkList is GET /entrypoints with 10,000 entrypoints that all have traffic, and
// the same for a caller who has the answer already.
func BenchmarkList(b *testing.B) {
	var p plane
	entries := make([]router.Entry, 10000)
	for i := range entries {
		entries[i] = entry(fmt.Sprintf("app%05d", i), 1)
	}
	p.serve(entries...)
	v := &router.View{Generation: 7, Table: p.Table(), Health: &route.HealthView{}}
	r, now := NewTrafficRecorder(&p, nil), time.Unix(1_800_000_000, 0)
	for _, e := range entries {
		shown := up(e.Entrypoint.Backends[0])
		shown.Load = load(e, 0)
		v.Entrypoints = append(v.Entrypoints, router.EntrypointView{
			Entrypoint: e.Entrypoint, Traffic: &e.Cell.Traffic, Health: route.EntrypointHealth{Backends: []route.BackendHealth{shown}},
		})
	}
	for range trafficSteps {
		for i := range entries {
			request(entries[i], 0, 200, 4*time.Millisecond)
		}
		now = now.Add(trafficStep)
		r.sample(now)
	}
	s := New(Config{Viewer: fixed{v}, Log: zerolog.Nop(), Traffic: r})
	tag := get(s, "/entrypoints").Header().Get("ETag")
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if w := get(s, "/entrypoints"); w.Code != http.StatusOK {
				b.Fatal(w.Code)
			}
		}
	})
	b.Run("not modified", func(b *testing.B) {
		for b.Loop() {
			if w := get(s, "/entrypoints", "If-None-Match", tag); w.Code != http.StatusNotModified {
				b.Fatal(w.Code)
			}
		}
	})
}
