package healthcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// guarded is a closed breaker with its options, at a fixed time.
func guarded(rules route.Breaker, timeout time.Duration) (*breaker, *route.Options, time.Time) {
	options := route.DefaultOptions()
	options.Breaker, options.BackendTimeout = rules, timeout
	b := &breaker{circuit: circuit{phase: route.PhaseClosed}}
	b.set(&options)
	return b, &options, time.Unix(1_000_000, 0)
}

// TestBreakerCountsTheLastRequests: as many as minRequests says now, and none that began
// before the circuit opened.
func TestBreakerCountsTheLastRequests(t *testing.T) {
	ok, bad := route.Outcome{Status: 200}, route.Outcome{Status: 503}
	b, options, now := guarded(route.Breaker{Threshold: 0.75, MinRequests: 2, Cooldown: 10 * time.Second}, 0)
	b.feed(now, ok, ok)
	options.Breaker.MinRequests = 4
	b.set(options)
	b.feed(now, bad, bad, ok)
	if v := b.view(); v.State != route.PhaseClosed || v.Samples != 3 || v.FailureRatio != 2.0/3 {
		t.Errorf("after other settings: %+v", v)
	}
	b.feed(now, bad)
	if v := b.view(); v.State != route.PhaseOpen || v.Samples != 4 || v.FailureRatio != 0.75 || v.Opens != 1 {
		t.Errorf("open: %+v", v)
	}
	b.feed(now.Add(5*time.Second), bad, bad, bad, bad) // they began before
	news := b.take(now.Add(5 * time.Second))
	if v := b.view(); len(news) != 1 || v.Opens != 1 || !v.RetryAt.Equal(now.Add(10*time.Second)) {
		t.Errorf("late failures count: %+v, %+v", v, news)
	}
	if want := "3 of the last 4 requests failed (circuitBreaker.threshold=0.75): answered 503"; len(news) != 1 || news[0].message != want {
		t.Errorf("%+v, want %s", news, want)
	}
	now = now.Add(10 * time.Second)
	lease, _, _ := b.Enter(now)
	b.Leave(lease, bad, now)
	if v := b.view(); v.State != route.PhaseOpen || v.Opens != 2 || v.Samples != 4 || v.FailureRatio != 0.75 || !v.RetryAt.Equal(now.Add(10*time.Second)) {
		t.Errorf("a failed trial: %+v", v)
	}
	now = now.Add(10 * time.Second)
	lease, _, _ = b.Enter(now)
	b.Leave(lease, ok, now)
	b.feed(now, bad, bad, bad)
	if v := b.view(); v.State != route.PhaseClosed || v.Samples != 3 || v.Opens != 2 {
		t.Errorf("closed, what was before counts: %+v", v)
	}
}

// TestBreakerTrialsFollow: one that said nothing makes room at once, its second end counts
// nothing, and a lease lasts as long as a request may, 30 s at least.
func TestBreakerTrialsFollow(t *testing.T) {
	for timeout, lasts := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Second: 30 * time.Second, time.Minute: time.Minute} {
		b, _, now := guarded(route.Breaker{Threshold: 1, MinRequests: 1, Cooldown: time.Second}, timeout)
		b.feed(now, route.Outcome{Status: 503})
		now = now.Add(time.Second)
		first, _, ok := b.Enter(now)
		b.Leave(first, route.Outcome{Void: true}, now)
		b.Leave(first, route.Outcome{Status: 503}, now)
		if b.phase() != route.PhaseHalfOpen || !ok {
			t.Fatalf("a trial that ended twice: %s", b.phase())
		}
		second, _, ok := b.Enter(now)
		if !ok || second == first {
			t.Errorf("after a trial that said nothing: %d %v", second, ok)
		}
		if _, wait, ok := b.Enter(now.Add(lasts - time.Millisecond)); ok || wait != time.Second {
			t.Errorf("backendTimeout=%s: a second trial beside the first, wait %s", timeout, wait)
		}
		if _, _, ok := b.Enter(now.Add(lasts)); !ok {
			t.Errorf("backendTimeout=%s: the lease does not end", timeout)
		}
	}
}

// TestBreakerNewsIsBounded, should nobody ask for it; the last is kept.
func TestBreakerNewsIsBounded(t *testing.T) {
	b, _, now := guarded(route.Breaker{Threshold: 1, MinRequests: 1, Cooldown: time.Second}, 0)
	for range maxTurns {
		b.feed(now, route.Outcome{Status: 503})
		now = now.Add(time.Second)
		lease, _, _ := b.Enter(now)
		b.Leave(lease, route.Outcome{Status: 200}, now)
	}
	news := b.take(now)
	if len(news) != maxTurns || news[maxTurns-1].to != route.PhaseClosed || len(b.take(now)) != 0 {
		t.Errorf("%d changes untold", len(news))
	}
}

// TestBreakerTurnsAreTold: the end of a cool-down without any request too, each change once
// and with a revision of its own, in the entrypoint's history as well.
func TestBreakerTurnsAreTold(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		e := &route.Entrypoint{ID: "web", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
		e.Options.Breaker = route.Breaker{Threshold: 0.5, MinRequests: 2, Cooldown: 10 * time.Second}
		r.net.set("10.0.0.1:80", accept)
		r.apply(r.setOf(e, backend("a", "10.0.0.1")))
		r.run()
		r.at(time.Second)
		gate := r.cells["web"].Load().Gate
		gate.Leave(0, route.Outcome{Status: 502}, time.Now())
		gate.Leave(0, route.Outcome{Status: 502}, time.Now())
		r.at(12 * time.Second)
		h := r.engine.View().Entrypoints["web"]
		if h.Breaker.State != route.PhaseHalfOpen || !h.Breaker.RetryAt.IsZero() || h.Explain != "Down: the circuit breaker is half open, after 100 % of the last 2 requests failed: answered 502. "+
			"One request at a time is tried now while the others get 503, and a success closes it. The application answers 502 to clients: its own log says why." {
			t.Errorf("cooled without a request: %+v %s", h.Breaker, h.Explain)
		}
		lease, _, _ := gate.Enter(time.Now())
		gate.Leave(lease, route.Outcome{Status: 200}, time.Now())
		r.at(13 * time.Second)
		gate.Leave(0, route.Outcome{Status: 502}, time.Now()) // and all of it again, between two ticks
		gate.Leave(0, route.Outcome{Status: 502}, time.Now())
		lease, _, _ = gate.Enter(time.Now().Add(10 * time.Second))
		gate.Leave(lease, route.Outcome{Status: 200}, time.Now())
		r.at(14 * time.Second)
		want := "closed>open traffic in=false debug=false; open>half_open timer in=false debug=true; half_open>closed traffic in=true debug=false"
		want += "; " + want
		told := func(list []route.Transition) string {
			var turns []string
			last := uint64(0)
			for _, n := range list {
				if n.Backend != "" || !strings.Contains(n.From+n.To, "open") {
					continue
				}
				if n.Rev <= last {
					t.Errorf("revision %d after %d", n.Rev, last)
				}
				last = n.Rev
				turns = append(turns, fmt.Sprintf("%s>%s %s in=%v debug=%v", n.From, n.To, n.Cause, n.InRotation, n.Debug))
			}
			return strings.Join(turns, "; ")
		}
		r.seen.mu.Lock()
		defer r.seen.mu.Unlock()
		if got := told(r.seen.all); got != want {
			t.Errorf("told: %s", got)
		}
		if got := told(r.engine.View().Entrypoints["web"].History); got != want {
			t.Errorf("history: %s", got)
		}
	})
}
