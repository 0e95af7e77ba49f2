package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"fairlead/router"
	"fairlead/router/route"
)

// hangsUp is a backend that takes requests and closes without an answer, as a listener
// that closes does to what it has not accepted.
func hangsUp(t *testing.T, got *atomic.Int32) string {
	return serveRaw(t, func(_ int, _ net.Conn, br *bufio.Reader) {
		if _, err := readSeen(br); err == nil {
			got.Add(1)
		}
	})
}

// TestResetOfABackendThatLeaves: what may be sent twice goes to another one as soon as
// the news comes, be it the second piece of news; the rest is a 502, and so is a reset
// by a backend that stays.
func TestResetOfABackendThatLeaves(t *testing.T) {
	for _, tt := range []struct {
		method string
		leaves bool
		status int
	}{{"GET", true, 200}, {"DELETE", true, 200}, {"POST", true, 502}, {"GET", false, 502}} {
		var reset atomic.Int32
		good := &recorder{}
		r := newRig(t)
		entry := r.route("app.test", []string{hangsUp(t, &reset)}, func(e *route.Entrypoint) { e.Options.HoldFor = 0 })
		spare := r.rotateOnly(entry, serveRaw(t, good.serve))
		r.start()
		done := r.inBackground(tt.method, "app.test", "/")
		if tt.method != "POST" {
			eventually(t, "the reset waits for news", func() bool { return reset.Load() == 1 && entry.Cell.Held.Load() == 1 })
			old := entry.Cell.Load().Members[0]
			entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{old, {Placement: spare, Weight: 1}}))
			if tt.leaves {
				entry.Cell.Store(route.NewRotation(3, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}}))
			}
		}
		a := <-done
		if a.err != nil || a.res.StatusCode != tt.status {
			t.Errorf("%s, leaves %v: %+v", tt.method, tt.leaves, a)
		}
		if n := len(good.take()); n != map[bool]int{true: 1, false: 0}[tt.status == http.StatusOK] || reset.Load() != 1 {
			t.Errorf("%s, leaves %v: it reached the other %d times, the first %d times", tt.method, tt.leaves, n, reset.Load())
		}
	}
}

// TestHandshakeOfABackendThatLeaves is sent to another one, as any GET is: if the first did
// not begin an answer, and does leave.
func TestHandshakeOfABackendThatLeaves(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers string // before the end
		leaves  bool
		status  int
	}{
		{"leaves", "", true, http.StatusSwitchingProtocols},
		{"leaves within its answer", "HTTP/1.1 101 Switching Protocols\r\n", true, http.StatusBadGateway},
		{"stays", "", false, http.StatusBadGateway},
	} {
		var got atomic.Int32
		r := newRig(t)
		entry := r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
			if _, err := readSeen(br); err == nil {
				got.Add(1)
				_, _ = io.WriteString(c, tt.answers)
			}
		})}, func(e *route.Entrypoint) { e.Options.HoldFor = 0 })
		spare := r.rotateOnly(entry, serveRaw(t, switcher))
		r.start()
		done := r.sendRaw(upgradeRequest)
		if tt.leaves {
			eventually(t, "the handshake was sent", func() bool { return got.Load() == 1 })
			entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}}))
		}
		if a := <-done; a.err != nil || a.res.StatusCode != tt.status || got.Load() != 1 {
			t.Errorf("%s: %+v, sent %d times", tt.name, a, got.Load())
		}
	}
}

// TestRequestThatEndsItsBackendsEndsTwoAtMost: each of them leaves because of it.
func TestRequestThatEndsItsBackendsEndsTwoAtMost(t *testing.T) {
	var killed atomic.Int32
	r := newRig(t)
	entry := r.route("app.test", []string{hangsUp(t, &killed), hangsUp(t, &killed), hangsUp(t, &killed), hangsUp(t, &killed)})
	r.start()
	done := r.inBackground("GET", "app.test", "/")
	for n := int32(1); n <= 2; n++ {
		eventually(t, "another one is gone", func() bool { return killed.Load() == n })
		removeKilled(entry)
	}
	a := <-done
	if a.err != nil {
		t.Fatal(a.err)
	}
	wantReason(t, a.res, 502, route.ReasonBackendClosed)
	if killed.Load() != 2 {
		t.Errorf("%d backends were ended", killed.Load())
	}
}

// removeKilled takes the member that has just been contacted out of the rotation.
func removeKilled(entry *router.Entry) {
	var left []route.Member
	rot := entry.Cell.Load()
	for _, m := range rot.Members {
		if m.Placement.Load.Requests.Load() == 0 {
			left = append(left, m)
		}
	}
	entry.Cell.Store(route.NewRotation(rot.Rev+1, route.TierVerified, left))
}

// TestRequestCutByTheEndOfADrain goes to another backend where the method allows it; the
// one that was cut has it, so that another method is told the truth and no Retry-After.
func TestRequestCutByTheEndOfADrain(t *testing.T) {
	for method, status := range map[string]int{"GET": 200, "POST": 502} {
		g := newGate()
		good := &recorder{}
		r := newRig(t)
		entry := r.route("app.test", []string{serveHTTP(t, g.serve)})
		spare := r.rotateOnly(entry, serveRaw(t, good.serve))
		r.start()
		done := r.inBackground(method, "app.test", "/")
		<-g.began
		old := placement(entry, 0)
		entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}}))
		old.Upstream.Retire(route.Drain{})
		a := <-done
		close(g.finish)
		if a.err != nil {
			t.Fatal(a.err)
		}
		if a.res.StatusCode != status || a.res.Header.Get("Retry-After") != "" {
			t.Errorf("%s: %d, Retry-After %q", method, a.res.StatusCode, a.res.Header.Get("Retry-After"))
		}
		for _, o := range r.outcomes.all() {
			if o.Transport {
				t.Errorf("%s: our own cut is blamed on the backend: %+v", method, o)
			}
		}
	}
}
