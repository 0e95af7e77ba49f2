package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// TestDoubtHoldsNewConnectionsBack, to the instant: for ten seconds at most, once for
// each doubt, and nobody who is not a container.
func TestDoubtHoldsNewConnectionsBack(t *testing.T) {
	waited := func(d *doubt) time.Duration {
		begin := time.Now()
		said := d.certain(context.Background())
		took := time.Since(begin)
		if said != (took > 0) {
			t.Errorf("it says %v of a wait of %v", said, took)
		}
		return took
	}
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{})
		want := func(what string, d time.Duration) {
			t.Helper()
			if got := waited(&p.doubt); got != d {
				t.Errorf("%s: waited %v, want %v", what, got, d)
			}
		}
		want("no doubt", 0)
		p.Doubt(true)
		time.AfterFunc(3*time.Second, func() { p.Doubt(false) })
		want("ended by word", 3*time.Second)
		want("afterwards", 0)
		p.Doubt(true)
		<-time.After(4 * time.Second)
		p.Doubt(true) // the same doubt
		want("ended by time", 6*time.Second)
		p.Doubt(true)
		want("the same doubt again", 0)
		p.Doubt(false)
		p.Doubt(false)
		p.Doubt(true)
		want("another doubt", doubtLimit)
		p.Doubt(false)

		p.Doubt(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		p.doubt.certain(ctx)
		if got := time.Since(begin); got != time.Second {
			t.Errorf("it outlives its caller: %v", got)
		}
		p.Doubt(false)
	})
}

// TestNobodyIsDialledInDoubt: connections that stand serve on; what needs a new one
// waits, and goes to whoever is there when the doubt is over.
func TestNobodyIsDialledInDoubt(t *testing.T) {
	var dials atomic.Int32
	r := newRig(t, func(c *Config) {
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	good := &recorder{}
	entry := r.route("app.test", []string{serveRaw(t, good.serve)}, func(e *route.Entrypoint) {
		e.Backends[0].Container = &route.Container{ID: "c1"}
	})
	spare := r.rotateOnly(entry, serveRaw(t, good.serve))
	r.start()
	r.get("app.test", "/")
	r.proxy.Doubt(true)
	if res, _ := r.get("app.test", "/"); res.StatusCode != http.StatusOK || dials.Load() != 1 {
		t.Errorf("a connection that stands: status %d, %d dials", res.StatusCode, dials.Load())
	}
	old := placement(entry, 0)
	old.Upstream.CloseIdle()
	done := r.inBackground("POST", "app.test", "/")
	eventually(t, "the request needs a connection", func() bool { return old.Load.InFlight.Load() == 1 })
	if dials.Load() != 1 {
		t.Error("dialled in doubt")
	}
	entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}}))
	old.Upstream.Retire(route.Drain{Timeout: int64(time.Minute)})
	r.proxy.Doubt(false)
	if a := <-done; a.err != nil || a.res.StatusCode != http.StatusOK || dials.Load() != 2 {
		t.Errorf("%+v, %d dials", a, dials.Load())
	}
}

// TestDoubtIsNotTheBackendsTime: nothing was sent yet, however short backendTimeout is.
func TestDoubtIsNotTheBackendsTime(t *testing.T) {
	const limit = 30 * time.Millisecond
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(http.ResponseWriter, *http.Request) {})}, func(e *route.Entrypoint) {
		e.Backends[0].Container = &route.Container{ID: "c1"}
		e.Options.BackendTimeout = limit
	})
	r.start()
	r.proxy.Doubt(true)
	done := r.inBackground("GET", "app.test", "/")
	eventually(t, "the request needs a connection", func() bool { return placement(entry, 0).Load.InFlight.Load() == 1 })
	select {
	case a := <-done:
		t.Errorf("in doubt: %+v", a)
		return
	case <-time.After(5 * limit):
	}
	end := time.Now()
	r.proxy.Doubt(false)
	if a := <-done; a.err != nil || a.res.StatusCode != http.StatusOK {
		t.Errorf("%+v", a)
	}
	for _, o := range r.outcomes.all() {
		if o.Transport || o.Latency > time.Since(end)+4*limit {
			t.Errorf("the router's doubt is blamed on the backend: %+v", o)
		}
	}
}

// TestDrainEndsWhileARequestWaitsForAConnection: it was never sent, so it goes to another
// backend whatever its method.
func TestDrainEndsWhileARequestWaitsForAConnection(t *testing.T) {
	const hole = "127.0.0.1:9"
	for request, status := range map[string]int{postRequest: http.StatusOK, upgradeRequest: http.StatusSwitchingProtocols} {
		r := newRig(t, swallows(hole))
		entry := r.route("app.test", []string{hole})
		spare := r.rotateOnly(entry, serveRaw(t, switcher))
		r.start()
		done := r.sendRaw(request)
		old := placement(entry, 0)
		eventually(t, "the request needs a connection", func() bool { return old.Load.InFlight.Load() == 1 })
		entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}}))
		old.Upstream.Retire(route.Drain{})
		if a := <-done; a.err != nil || a.res.StatusCode != status {
			t.Errorf("%q: %+v", request, a)
		}
	}
}

// TestRetiredUpstreamIsNotDialled at all.
func TestRetiredUpstreamIsNotDialled(t *testing.T) {
	u := newUpstream(t, Config{Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("dialled")
		return nil, syscall.ECONNREFUSED
	}})
	u.Retire(route.Drain{})
	_, err := u.dial(t.Context())
	var dial *dialError
	if !errors.As(err, &dial) || dial.kind != route.KindLeaving {
		t.Errorf("%v", err)
	}
}
