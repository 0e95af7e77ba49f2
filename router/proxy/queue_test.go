package proxy

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

func limited(n, queue int, timeout time.Duration) option {
	return func(e *route.Entrypoint) {
		for i := range e.Backends {
			e.Backends[i].MaxConnections = n
		}
		e.Options.Queue = route.Queue{Size: queue, Timeout: timeout}
	}
}

// TestMaxConnectionsIsNeverExceeded: under 200 requests at once, each of which is served.
func TestMaxConnectionsIsNeverExceeded(t *testing.T) {
	for _, algo := range []route.LoadBalancer{route.RoundRobin, route.LeastConnections, route.PowerOfTwo} {
		var now, most [2]atomic.Int64
		var backends []string
		for i := range 2 {
			backends = append(backends, serveHTTP(t, func(http.ResponseWriter, *http.Request) {
				n := now[i].Add(1)
				for {
					m := most[i].Load()
					if n <= m || most[i].CompareAndSwap(m, n) {
						break
					}
				}
				<-time.After(2 * time.Millisecond)
				now[i].Add(-1)
			}))
		}
		r := newRig(t)
		entry := r.route("app.test", backends, limited(5, 200, time.Minute), func(e *route.Entrypoint) { e.Options.LoadBalancer = algo })
		r.start()
		c := client(t)
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if res, _ := r.doWith(c, r.request("GET", "app.test", "/", nil)); res.StatusCode != 200 {
					t.Errorf("status %d %v", res.StatusCode, res.Header)
				}
			})
		}
		wg.Wait()
		for i := range most {
			if n := most[i].Load(); n > 5 || n == 0 {
				t.Errorf("%s: backend %d had %d requests at once", algo, i, n)
			}
		}
		balanced(t, entry, nil)
		if entry.Cell.Traffic.Counts().Held == 0 {
			t.Errorf("%s: nobody waited", algo)
		}
	}
}

// waitingDelivery is a request that needs a slot, without a connection to anything.
func waitingDelivery(ctx context.Context, t *testing.T, matched *router.Route) *delivery {
	t.Helper()
	x := exchangeFor(t, "app.test", "/")
	x.Context, x.Route = ctx, matched
	return &delivery{x: x, r: matched}
}

// TestQueueIsFirstComeFirstServed: each slot that frees goes to who waits longest, and
// who comes later does not overtake.
func TestQueueIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		entry := r.route("app.test", []string{"127.0.0.1:1"}, limited(1, 3, time.Minute))
		matched := r.Table().Match(exchangeFor(t, "app.test", "/"))
		held := &stay{ended: make(chan struct{})}
		first := waitingDelivery(t.Context(), t, matched)
		if reason := first.begin(held); first.call == nil {
			t.Fatal(reason)
		}
		var order []int
		release := make(chan struct{})
		for i := range 3 {
			go func() {
				f := waitingDelivery(t.Context(), t, matched)
				if reason := f.begin(&stay{ended: held.ended}); f.call == nil {
					t.Errorf("request %d: %s", i, reason)
					return
				}
				order = append(order, i) // one at a time: there is one slot
				<-release
				f.done()
			}()
			synctest.Wait()
		}
		full := waitingDelivery(t.Context(), t, matched)
		if reason := full.begin(held); reason != route.ReasonQueueFull || full.call != nil {
			t.Errorf("a fourth in line for three: %q", reason)
		}
		first.done()
		synctest.Wait()
		late := waitingDelivery(t.Context(), t, matched)
		go func() {
			late.begin(&stay{ended: held.ended})
			order = append(order, 9)
			late.done()
		}()
		for range 3 {
			synctest.Wait()
			release <- struct{}{}
		}
		synctest.Wait()
		if fmt.Sprint(order) != "[0 1 2 9]" {
			t.Errorf("served in the order %v", order)
		}
		balanced(t, entry, nil)
	})
}

// TestWaitingInLineEnds: by time, by the client, by the router's end, and at once where
// there is no line.
func TestWaitingInLineEnds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		queue  int
		end    func(leave context.CancelFunc, ended chan struct{}, entry *router.Entry)
		reason route.Reason
		after  time.Duration
	}{
		{"time", 10, func(context.CancelFunc, chan struct{}, *router.Entry) {}, route.ReasonOverloaded, time.Second},
		{"no line", 0, func(context.CancelFunc, chan struct{}, *router.Entry) {}, route.ReasonOverloaded, 0},
		{"client", 10, func(leave context.CancelFunc, _ chan struct{}, _ *router.Entry) { leave() }, route.ReasonClientGone, 100 * time.Millisecond},
		{"router", 10, func(_ context.CancelFunc, ended chan struct{}, _ *router.Entry) { close(ended) }, route.ReasonOverloaded, 100 * time.Millisecond},
		{"room in another rotation", 10, func(_ context.CancelFunc, _ chan struct{}, entry *router.Entry) {
			roomier := *entry.Cell.Load().Members[0].Placement
			roomier.Backend.MaxConnections = 2
			entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{{Placement: &roomier, Weight: 1}}))
		}, route.ReasonNone, 100 * time.Millisecond},
		{"an empty rotation", 10, func(_ context.CancelFunc, _ chan struct{}, entry *router.Entry) {
			entry.Cell.Store(&route.Rotation{Reason: route.ReasonAllUnhealthy})
		}, route.ReasonAllUnhealthy, 100 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				entry := r.route("app.test", []string{"127.0.0.1:1"}, limited(1, tt.queue, time.Second))
				matched := r.Table().Match(exchangeFor(t, "app.test", "/"))
				ended := make(chan struct{})
				first := waitingDelivery(t.Context(), t, matched)
				first.begin(&stay{ended: ended})
				load := placement(entry, 0).Load
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				f := waitingDelivery(ctx, t, matched)
				began := time.Now()
				time.AfterFunc(100*time.Millisecond, func() { tt.end(leave, ended, entry) })
				reason := f.begin(&stay{ended: ended})
				if took := time.Since(began); reason != tt.reason || took != tt.after || f.x.Held != took {
					t.Errorf("%q after %v, held %v", reason, took, f.x.Held)
				}
				f.done()
				first.done()
				if n := load.InFlight.Load(); n != 0 || entry.Cell.Line.Waiting() != 0 {
					t.Errorf("%d in flight, %d waiting", n, entry.Cell.Line.Waiting())
				}
				<-time.After(time.Second) // nothing is left that ends later
			})
		})
	}
}

// TestFullBackendsAnswer503: with Retry-After, and without a word about noBackendStatus.
func TestFullBackendsAnswer503(t *testing.T) {
	g := newGate()
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, g.serve)}, limited(1, 1, 50*time.Millisecond), func(e *route.Entrypoint) { e.Options.NoBackendStatus = 502 })
	entry.Cell.SetRetryAt(time.Now().Add(20 * time.Second))
	r.start()
	first := r.inBackground("GET", "app.test", "/")
	<-g.began
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 503, route.ReasonOverloaded)
	if after := res.Header.Get("Retry-After"); after != "1" {
		t.Errorf("Retry-After %q", after)
	}
	place, _ := entry.Cell.Line.Join(1)
	res, _ = r.get("app.test", "/")
	wantReason(t, res, 503, route.ReasonQueueFull)
	entry.Cell.Line.Leave(place)
	close(g.finish)
	<-first
	if res, _ := r.get("app.test", "/"); res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
	balanced(t, entry, nil)
}

// TestFullMembersArePassedOver: the others get the requests, and nobody waits.
func TestFullMembersArePassedOver(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, limited(1, 10, time.Minute))
	matched := r.Table().Match(exchangeFor(t, "app.test", "/"))
	got := map[string]int{}
	var all []*delivery
	for range 3 {
		f := waitingDelivery(t.Context(), t, matched)
		if reason := f.take(); f.call == nil {
			t.Fatal(reason)
		}
		got[f.admission.member.Placement.Backend.ID]++
		all = append(all, f)
	}
	if len(got) != 3 {
		t.Errorf("slots taken: %v", got)
	}
	if reason := waitingDelivery(t.Context(), t, matched).take(); reason != route.ReasonOverloaded {
		t.Errorf("a fourth: %q", reason)
	}
	for _, f := range all {
		f.done()
	}
	balanced(t, entry, nil)
}

// TestReserve: however many try at once, no more than the limit have a slot.
func TestReserve(t *testing.T) {
	const limit = 1
	var inFlight, holders, most atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			<-start
			for range 200_000 {
				if !reserve(&inFlight, limit) {
					continue
				}
				n := holders.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				holders.Add(-1)
				inFlight.Add(-1)
			}
		})
	}
	close(start)
	wg.Wait()
	if most.Load() > limit || inFlight.Load() != 0 {
		t.Errorf("%d slots of %d, %d in flight in the end", most.Load(), limit, inFlight.Load())
	}
	if !reserve(&inFlight, 0) || inFlight.Load() != 1 {
		t.Error("no limit is a limit")
	}
}

// TestNobodyOvertakes: a slot that is free is for who waits, not for who comes.
func TestNobodyOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		entry := r.route("app.test", []string{"127.0.0.1:1"}, limited(1, 3, time.Minute))
		matched := r.Table().Match(exchangeFor(t, "app.test", "/"))
		ended, load := make(chan struct{}), placement(entry, 0).Load
		load.InFlight.Store(1)
		waits, comes := waitingDelivery(t.Context(), t, matched), waitingDelivery(t.Context(), t, matched)
		go waits.begin(&stay{ended: ended})
		synctest.Wait()
		load.InFlight.Store(0) // as between the end of a request and the word of it
		go comes.begin(&stay{ended: ended})
		synctest.Wait()
		if comes.call != nil {
			t.Error("the later one has the slot")
		}
		entry.Cell.Line.Wake()
		synctest.Wait()
		if waits.call == nil || comes.call != nil {
			t.Errorf("the first has it: %v, the later one: %v", waits.call != nil, comes.call != nil)
		}
		waits.done()
		synctest.Wait()
		comes.done()
		balanced(t, entry, nil)
	})
}
