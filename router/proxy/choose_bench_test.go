package proxy

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

// openJudge and openGate let everybody through.
type openJudge struct{}

func (openJudge) Begin(time.Time) (route.Ticket, bool)          { return route.Ticket{}, true }
func (openJudge) End(route.Ticket, route.Outcome, time.Time)    {}
func (openJudge) Enter(time.Time) (uint64, time.Duration, bool) { return 0, 0, true }
func (openJudge) Leave(uint64, route.Outcome, time.Time)        {}

// BenchmarkTake is all between a matched request and its call: pick, slot, ticket,
// circuit breaker; and giving them back.
func BenchmarkTake(b *testing.B) {
	for _, with := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "limit, judge and breaker"}[with]
		b.Run(name, func(b *testing.B) {
			r := newRig(b, func(c *Config) { c.Log = zerolog.Nop() })
			entry := r.route("app.test", []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, func(e *route.Entrypoint) {
				e.Options.BackendTimeout = 0
				for i := range e.Backends {
					if with {
						e.Backends[i].MaxConnections = 100
					}
				}
			})
			if with {
				rot := *entry.Cell.Load()
				for i := range rot.Members {
					rot.Members[i].Judge = openJudge{}
				}
				rot.Gate = openJudge{}
				entry.Cell.Store(&rot)
			}
			x := exchangeFor(b, "app.test", "/")
			matched := r.Table().Match(x)
			b.ReportAllocs()
			for b.Loop() {
				f := delivery{x: x, r: matched}
				if reason := f.take(); reason != route.ReasonNone {
					b.Fatal(reason)
				}
				f.done()
			}
		})
	}
}

// TestTakingAllocatesNothingMore: judges, limits and the breaker cost no memory.
func TestTakingAllocatesNothingMore(t *testing.T) {
	allocs := func(with bool) float64 {
		r := newRig(t)
		entry := r.route("app.test", []string{"127.0.0.1:1", "127.0.0.1:2"}, func(e *route.Entrypoint) { e.Options.BackendTimeout = 0 })
		if with {
			rot := *entry.Cell.Load()
			for i := range rot.Members {
				rot.Members[i].Judge = openJudge{}
				rot.Members[i].Placement.Backend.MaxConnections = 9
			}
			rot.Gate = openJudge{}
			entry.Cell.Store(&rot)
		}
		x := exchangeFor(t, "app.test", "/")
		matched := r.Table().Match(x)
		return testing.AllocsPerRun(100, func() {
			f := delivery{x: x, r: matched}
			f.take()
			f.done()
		})
	}
	if plain, all := allocs(false), allocs(true); all > plain {
		t.Errorf("%v allocations, %v without", all, plain)
	}
}
