package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// heldFor runs a request's waiting for a rotation in a bubble until it ends, and says
// how long it took and with which answer. change is called once at its time.
func heldFor(t *testing.T, holdFor time.Duration, rot *route.Rotation, at time.Duration, change func(*route.RotationCell)) (time.Duration, route.Reason) {
	t.Helper()
	r := newRig(t)
	entry := r.route("app.test", nil, func(e *route.Entrypoint) { e.Options.HoldFor = holdFor })
	if !rot.At.IsZero() {
		rot.At = time.Now().Add(-time.Since(rot.At).Abs()) // an age
	}
	entry.Cell.Store(rot)
	matched := r.Table().Match(exchangeFor(t, "app.test", "/"))
	if change != nil {
		timer := time.AfterFunc(at, func() { change(entry.Cell) })
		defer timer.Stop()
	}
	begin := time.Now()
	var held stay
	defer held.leave()
	x := exchangeFor(t, "app.test", "/")
	for {
		now := matched.Cell.Load()
		if len(now.Members) > 0 {
			return time.Since(begin), route.ReasonNone
		}
		if reason := held.forRotation(x, matched, now, now.Reason); reason != route.ReasonNone {
			return time.Since(begin), reason
		}
	}
}

func emptied(reason route.Reason, age time.Duration) *route.Rotation {
	return &route.Rotation{Reason: reason, At: time.Now().Add(-age)}
}

func filled(c *route.RotationCell) {
	c.Store(route.NewRotation(9, route.TierPending, []route.Member{{Placement: &route.Placement{Load: new(route.Load)}, Weight: 1}}))
}

// TestHeldWhileBackendsAreReplaced, to the instant: only for the reasons that others
// are likely to follow, only in a rotation that was emptied less than holdFor ago, and
// never longer than holdFor in all.
func TestHeldWhileBackendsAreReplaced(t *testing.T) {
	const hold = 10 * time.Second
	refill := func(c *route.RotationCell) { filled(c) }
	for _, tt := range []struct {
		name   string
		hold   time.Duration
		reason route.Reason
		age    time.Duration // of the emptiness
		at     time.Duration
		change func(*route.RotationCell)
		took   time.Duration
		want   route.Reason
	}{
		{"leaving, then another", hold, route.ReasonLeaving, 0, 3 * time.Second, refill, 3 * time.Second, route.ReasonNone},
		{"retained, then another", hold, route.ReasonRetained, 4 * time.Second, 3 * time.Second, refill, 3 * time.Second, route.ReasonNone},
		{"initializing, then another", hold, route.ReasonInitializing, 0, 30 * time.Millisecond, refill, 30 * time.Millisecond, route.ReasonNone},
		{"nobody comes", hold, route.ReasonRetained, 0, 0, nil, hold, route.ReasonRetained},
		{"emptied 4 s ago", hold, route.ReasonLeaving, 4 * time.Second, 0, nil, 6 * time.Second, route.ReasonLeaving},
		{"emptied long ago", hold, route.ReasonRetained, 11 * time.Second, time.Second, refill, 0, route.ReasonRetained},
		{"it died meanwhile: another 10 s from then", hold, route.ReasonLeaving, 5 * time.Second, time.Second, func(c *route.RotationCell) {
			c.Store(emptied(route.ReasonRetained, 0))
		}, hold, route.ReasonRetained},
		{"turned unhealthy meanwhile", hold, route.ReasonInitializing, 0, time.Second, func(c *route.RotationCell) {
			c.Store(emptied(route.ReasonDockerUnhealthy, 0))
		}, time.Second, route.ReasonDockerUnhealthy},
		{"switched off", 0, route.ReasonLeaving, 0, time.Second, refill, 0, route.ReasonLeaving},
		{"unhealthy", hold, route.ReasonAllUnhealthy, 0, time.Second, refill, 0, route.ReasonAllUnhealthy},
		{"docker unhealthy", hold, route.ReasonDockerUnhealthy, 0, time.Second, refill, 0, route.ReasonDockerUnhealthy},
		{"drained", hold, route.ReasonAllDraining, 0, time.Second, refill, 0, route.ReasonAllDraining},
		{"maintenance", hold, route.ReasonAllMaintenance, 0, time.Second, refill, 0, route.ReasonAllMaintenance},
		{"paused", hold, route.ReasonNoBackends, 0, time.Second, refill, 0, route.ReasonNoBackends},
	} {
		synctest.Test(t, func(t *testing.T) {
			took, reason := heldFor(t, tt.hold, emptied(tt.reason, tt.age), tt.at, tt.change)
			if took != tt.took || reason != tt.want {
				t.Errorf("%s: %q after %v, want %q after %v", tt.name, reason, took, tt.want, tt.took)
			}
		})
	}
}

// TestHeldRequestsHaveABound: the 101st does not wait, and places come back.
func TestHeldRequestsHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		entry := r.route("app.test", nil)
		entry.Cell.Store(emptied(route.ReasonLeaving, 0))
		var full, through atomic.Int32
		var all sync.WaitGroup
		for range maxHeld + 5 {
			all.Go(func() {
				var held stay
				defer held.leave()
				_, reason := r.proxy.match(exchangeFor(t, "app.test", "/"), &held)
				switch reason {
				case route.ReasonQueueFull:
					full.Add(1)
				case route.ReasonNone:
					through.Add(1)
				default:
					t.Errorf("reason %q", reason)
				}
			})
		}
		synctest.Wait()
		if n := entry.Cell.Held.Load(); n != maxHeld || full.Load() != 5 {
			t.Errorf("%d held, %d refused", n, full.Load())
		}
		filled(entry.Cell)
		all.Wait()
		if n := entry.Cell.Held.Load(); n != 0 || through.Load() != maxHeld {
			t.Errorf("%d held afterwards, %d went on", n, through.Load())
		}
	})
}

// TestHeldRequestEndsWithItsClient gives the place back.
func TestHeldRequestEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		entry := r.route("app.test", nil)
		entry.Cell.Store(emptied(route.ReasonLeaving, 0))
		x := exchangeFor(t, "app.test", "/")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		x.Context = ctx
		var held stay
		_, reason := r.proxy.match(x, &held)
		held.leave()
		if reason != route.ReasonClientGone || entry.Cell.Held.Load() != 0 {
			t.Errorf("%q, %d held", reason, entry.Cell.Held.Load())
		}
	})
}

// TestHeldRequestAsksTheTableAgain: the new backends came with another route.
func TestHeldRequestAsksTheTableAgain(t *testing.T) {
	r := newRig(t)
	old := r.route("app.test", nil)
	old.Cell.Store(emptied(route.ReasonRetained, 0))
	first := &movingTable{}
	first.now.Store(r.table)
	r.proxy.SetTables(first)
	r.start()
	done := r.inBackground("GET", "app.test", "/")
	eventually(t, "the request is held", func() bool { return old.Cell.Held.Load() == 1 })

	renamed := r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "new") })},
		func(e *route.Entrypoint) { e.ID, e.Match.Priority = "http_renamed", 1 })
	first.now.Store(r.table)
	if a := <-done; a.err != nil || a.res.StatusCode != 200 || a.body != "new" {
		t.Errorf("%+v", a)
	}
	if old.Cell.Held.Load() != 0 || renamed.Cell.Held.Load() != 0 {
		t.Error("a place was not given back")
	}
}

// movingTable is a table that can be swapped.
type movingTable struct{ now atomic.Pointer[router.Table] }

// Table implements Tables.
func (m *movingTable) Table() *router.Table { return m.now.Load() }

// lateListener refuses dials to some addresses until it is told to let them through.
type lateListener struct {
	mu    sync.Mutex
	late  map[string]int // refusals left; negative is for ever
	dials map[string]int
}

// TestRefusalOfABackendThatIsAboutToLeave: the application closed its listener before
// its engine said so. The news is waited for; the refusal is no failure and no try.
func TestRefusalOfABackendThatIsAboutToLeave(t *testing.T) {
	good := &recorder{}
	other := serveRaw(t, good.serve)
	for _, tt := range []struct {
		name string
		next func(entry *router.Entry, spare *route.Placement) *route.Rotation
		want route.Reason
	}{
		{"another serves", func(_ *router.Entry, spare *route.Placement) *route.Rotation {
			return route.NewRotation(2, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}})
		}, route.ReasonNone},
		{"nobody is left", func(*router.Entry, *route.Placement) *route.Rotation {
			return emptied(route.ReasonLeaving, 0)
		}, route.ReasonLeaving},
		{"it stays", func(entry *router.Entry, _ *route.Placement) *route.Rotation {
			return route.NewRotation(2, route.TierVerified, slices.Clone(entry.Cell.Load().Members))
		}, route.ReasonConnectRefused},
	} {
		late, dial := newLate(map[string]int{"127.0.0.1:1": -1})
		r := newRig(t, dial)
		entry := r.route("app.test", []string{"127.0.0.1:1"}, func(e *route.Entrypoint) { e.Options.RetryAttempts, e.Options.HoldFor = 1, 0 })
		spare := r.rotateOnly(entry, other)
		r.start()
		done := r.inBackground("GET", "app.test", "/")
		eventually(t, "the refusal waits for news", func() bool { return late.count("127.0.0.1:1") == 1 && entry.Cell.Held.Load() == 1 })
		entry.Cell.Store(tt.next(entry, spare))
		a := <-done
		switch {
		case a.err != nil:
			t.Errorf("%s: %v", tt.name, a.err)
		case tt.want == route.ReasonNone:
			if a.res.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %v", tt.name, a.res.StatusCode, a.res.Header)
			}
		default:
			wantReason(t, a.res, tt.want.Info().Status, tt.want)
		}
	}
}

// rotateOnly opens a placement that is in no rotation yet.
func (r *rig) rotateOnly(entry *router.Entry, address string) *route.Placement {
	r.t.Helper()
	b := r.backend(address, 7)
	up, err := r.proxy.Open(b)
	if err != nil {
		r.t.Fatal(err)
	}
	return &route.Placement{Entrypoint: entry.Entrypoint.ID, Backend: b, Load: new(route.Load), Upstream: up}
}

// TestDialThatEndsAfterItsBackendLeft is not used: the address may be another's by
// then. The request goes on without a failure.
func TestDialThatEndsAfterItsBackendLeft(t *testing.T) {
	var wrong atomic.Int32
	taken := serveRaw(t, func(_ int, _ net.Conn, br *bufio.Reader) {
		if _, err := readSeen(br); err == nil {
			wrong.Add(1)
		}
	})
	good := &recorder{}
	dialled, free := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(c *Config) {
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == taken {
				close(dialled)
				<-free
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	entry := r.route("app.test", []string{taken}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
	spare := r.rotateOnly(entry, serveRaw(t, good.serve))
	r.start()
	done := r.inBackground("POST", "app.test", "/")
	<-dialled
	leaving := placement(entry, 0)
	entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}}))
	leaving.Upstream.Retire(route.Drain{Timeout: int64(time.Minute)})
	close(free)
	if a := <-done; a.err != nil || a.res.StatusCode != http.StatusOK {
		t.Errorf("%+v", a)
	}
	if wrong.Load() != 0 {
		t.Error("the request reached the address of a backend that had left")
	}
}

// TestReinstatedUpstream goes on as if nothing had been.
func TestReinstatedUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, Config{})
		c := u.begin(exchangeFor(t, "app.test", "/"), 0, nil)
		u.Retire(route.Drain{Timeout: int64(30 * time.Second)})
		<-time.After(20 * time.Second)
		u.Reinstate()
		<-time.After(time.Hour)
		if c.ctx.Err() != nil {
			t.Errorf("a request of a backend that stayed was cut: %v", context.Cause(c.ctx))
		}
		second := u.begin(exchangeFor(t, "app.test", "/"), 0, nil)
		if second == nil {
			t.Fatal("it takes no requests")
		}
		second.end()
		u.Retire(route.Drain{Timeout: int64(30 * time.Second)})
		begin := time.Now()
		<-c.ctx.Done()
		if took := time.Since(begin); took != 30*time.Second {
			t.Errorf("the second drain took %v", took)
		}
		c.end()
	})
}

// TestHeldRequestIsAnsweredBeforeTheRouterStops: with a reason, not by the cut.
func TestHeldRequestIsAnsweredBeforeTheRouterStops(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.ShutdownTimeout = time.Second })
	entry := r.route("app.test", nil, func(e *route.Entrypoint) { e.Options.HoldFor = time.Minute })
	entry.Cell.Store(emptied(route.ReasonRetained, 0))
	r.start()
	done := r.inBackground("GET", "app.test", "/")
	eventually(t, "the request is held", func() bool { return entry.Cell.Held.Load() == 1 })
	r.stop()
	a := <-done
	if a.err != nil {
		t.Fatal(a.err)
	}
	wantReason(t, a.res, 503, route.ReasonRetained)
	if a.res.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}
