package healthcheck

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// manySets makes n entrypoints with one backend each, on hosts of their own.
func manySets(n int) []route.PlacementSet {
	sets := make([]route.PlacementSet, n)
	for i := range sets {
		c := route.DefaultCheck()
		host := fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
		b := route.Backend{
			ID: "b", Incarnation: "docker/b/1/" + host, Host: host, Port: 80, Weight: 100,
			Provider: route.ProviderPresent, Check: &c,
		}
		e := &route.Entrypoint{ID: fmt.Sprintf("http_%05d", i), Protocol: route.HTTP, Options: route.DefaultOptions(), Backends: []route.Backend{b}}
		sets[i] = route.PlacementSet{Entrypoint: e, Cell: &route.RotationCell{}, Placements: []*route.Placement{{Entrypoint: e.ID, Backend: b, Load: &route.Load{}}}}
	}
	return sets
}

func quietEngine() *Engine {
	return New(Config{Log: zerolog.New(io.Discard).Level(zerolog.WarnLevel), Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		_ = server.Close()
		return client, nil
	}})
}

// BenchmarkTick is the cost of a tick at which nothing is due, with 5,000 checks.
func BenchmarkTick(b *testing.B) {
	e := quietEngine()
	e.Apply(1, manySets(5000))
	for b.Loop() {
		e.mu.Lock()
		now := time.Now().Add(-time.Hour)
		e.collectDue(now)
		e.launchWaiting(now)
		e.mu.Unlock()
	}
}

// BenchmarkProbes is the cost of one probe from launch to publication, with 5,000
// checks of which all are due at each tick.
func BenchmarkProbes(b *testing.B) {
	e := quietEngine()
	e.Apply(1, manySets(5000))
	e.start = func(probe func(context.Context)) context.CancelCauseFunc {
		ctx, cancel := context.WithCancelCause(b.Context())
		e.probes.Go(func() {
			defer cancel(nil)
			probe(ctx)
		})
		return cancel
	}
	probes := uint64(0)
	for b.Loop() {
		e.mu.Lock()
		for _, c := range e.checks {
			c.nextAt = time.Time{}
		}
		now := time.Now()
		e.collectDue(now)
		e.launchWaiting(now)
		e.mu.Unlock()
		for e.Stats().Probes < probes+5000 {
			runtime.Gosched()
		}
		probes += 5000
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(probes), "ns/probe")
}

// BenchmarkApplyUnchanged is the cost of a reload that changes nothing, BenchmarkApplyOne
// that of one with a single new backend.
func BenchmarkApplyUnchanged(b *testing.B) {
	e, sets := quietEngine(), manySets(10000)
	e.Apply(1, sets)
	for b.Loop() {
		e.Apply(2, sets)
	}
}

func BenchmarkApplyOne(b *testing.B) {
	e, sets := quietEngine(), manySets(10001)
	n := 0
	e.Apply(1, sets)
	for b.Loop() {
		n++
		e.Apply(2, sets[:10000+n%2])
	}
}

func BenchmarkApplyFirst(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			sets := manySets(n)
			for b.Loop() {
				quietEngine().Apply(1, sets)
			}
		})
	}
}

// BenchmarkView is the cost of a picture of 10,000 entrypoints of which one changed.
func BenchmarkView(b *testing.B) {
	e := quietEngine()
	e.Apply(1, manySets(10000))
	_ = e.View()
	for b.Loop() {
		e.mu.Lock()
		e.touchCheck(e.entries["http_00000"].placements[0].check)
		e.mu.Unlock()
		_ = e.View()
	}
}

// BenchmarkReport is the cost of a success on the request path.
func BenchmarkReport(b *testing.B) {
	e := quietEngine()
	o := route.Outcome{Placement: &route.Placement{Load: &route.Load{}}, Status: 200}
	b.ReportAllocs()
	for b.Loop() {
		e.Report(o)
	}
}

// BenchmarkJudge is the cost of the passive layer for a request that succeeds.
func BenchmarkJudge(b *testing.B) {
	e, sets := quietEngine(), manySets(1)
	sets[0].Entrypoint.Options.Passive.Failures = 5
	e.Apply(1, sets)
	j := sets[0].Cell.Load().Members[0].Judge
	now := time.Now()
	o := route.Outcome{Placement: sets[0].Placements[0], Status: 200, Latency: time.Millisecond}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t, _ := j.Begin(now)
			j.End(t, o, now)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				t, _ := j.Begin(now)
				j.End(t, o, now)
			}
		})
	})
}
