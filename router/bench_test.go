package router

import (
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

func manyHosts(b testing.TB, n int) []*route.Entrypoint {
	list := make([]*route.Entrypoint, n)
	for i := range list {
		list[i] = entrypoint(b, fmt.Sprintf("http_%05d", i), fmt.Sprintf("app-%05d.example.com", i))
	}
	return list
}

func manyPrefixes(b testing.TB, n int) []*route.Entrypoint {
	list := make([]*route.Entrypoint, n)
	for i := range list {
		list[i] = entrypoint(b, fmt.Sprintf("http_%05d", i), "app.example.com", prefix(fmt.Sprintf("/api/v1/service-%05d", i)))
	}
	return list
}

func benchmarkBuild(b *testing.B, n int) {
	list := entries(manyHosts(b, n)...)
	b.ReportAllocs()
	for b.Loop() {
		Build(1, list)
	}
}

func BenchmarkBuild10(b *testing.B)    { benchmarkBuild(b, 10) }
func BenchmarkBuild1000(b *testing.B)  { benchmarkBuild(b, 1000) }
func BenchmarkBuild10000(b *testing.B) { benchmarkBuild(b, 10000) }

func benchmarkBuildPrefixes(b *testing.B, n int) {
	list := entries(manyPrefixes(b, n)...)
	b.ReportAllocs()
	for b.Loop() {
		Build(1, list)
	}
}

func BenchmarkBuildPrefixes1000(b *testing.B)  { benchmarkBuildPrefixes(b, 1000) }
func BenchmarkBuildPrefixes10000(b *testing.B) { benchmarkBuildPrefixes(b, 10000) }

// benchmarkMatch asks for ten routes spread over the table, so that both sizes
// are measured on the same number of distinct requests.
func benchmarkMatch(b *testing.B, list []*route.Entrypoint, path func(i int) (host, path string)) {
	table := build(list...)
	requests := make([]Request, 10)
	for i := range requests {
		host, p := path(i * (len(list) / 10))
		requests[i] = get(host, p)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if table.Match(requests[i%10]) == nil {
			b.Fatal("no route")
		}
		i++
	}
}

func matchHosts(b *testing.B, n int) {
	benchmarkMatch(b, manyHosts(b, n), func(i int) (string, string) {
		return fmt.Sprintf("app-%05d.example.com", i), "/api/v1/users/42"
	})
}

func matchPrefixes(b *testing.B, n int) {
	benchmarkMatch(b, manyPrefixes(b, n), func(i int) (string, string) {
		return "app.example.com", fmt.Sprintf("/api/v1/service-%05d/users/42", i)
	})
}

func BenchmarkMatchHosts10(b *testing.B)       { matchHosts(b, 10) }
func BenchmarkMatchHosts10000(b *testing.B)    { matchHosts(b, 10000) }
func BenchmarkMatchPrefixes10(b *testing.B)    { matchPrefixes(b, 10) }
func BenchmarkMatchPrefixes10000(b *testing.B) { matchPrefixes(b, 10000) }

func BenchmarkCanonicalPath(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CanonicalPath("/api/v1/service-00042/users/42"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCanonicalHost(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CanonicalHost("app-00042.example.com:8080"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, algo := range []route.LoadBalancer{route.RoundRobin, route.LeastConnections, route.PowerOfTwo, route.Random} {
		for name, weights := range map[string][]int{"equal": {100, 100, 100}, "weighted": {100, 50, 10}} {
			b.Run(string(algo)+"/"+name, func(b *testing.B) {
				rot, cell := rotation(weights...), &route.RotationCell{}
				b.ReportAllocs()
				for b.Loop() {
					Pick(rot, cell, algo, nil)
				}
			})
		}
	}
}

// BenchmarkChange10000 is one backend that changes among 10,000 entrypoints, each
// handed over anew as a provider does.
func BenchmarkChange10000(b *testing.B) {
	health := &fakeHealth{}
	c := NewController(ControllerConfig{Health: health, Upstreams: &fakeUpstreams{}, Log: zerolog.Nop()})
	health.controller = c
	snapshots := make([]route.Snapshot, 2)
	for i := range snapshots {
		list := manyHosts(b, 10000)
		list[5000].Backends[0].Weight = 1 + i
		snapshots[i] = route.Snapshot{Provider: "docker", Entrypoints: list, Status: connected("docker")}
		for n := range list {
			list[n].Backends[0].Incarnation = list[n].ID
			snapshots[i].Candidates = append(snapshots[i].Candidates, route.CandidateDiagnostics{
				CandidateID: list[n].ID, Diagnostics: []route.Diagnostic{{Code: "I001", Message: "path defaulted"}},
			})
		}
	}
	i := 0
	for b.Loop() {
		c.take(snapshots[i%2])
		i++
	}
}
