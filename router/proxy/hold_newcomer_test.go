package proxy

import (
	"context"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

func (l *lateListener) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	l.dials[address]++
	refuse := l.late[address] != 0
	if l.late[address] > 0 {
		l.late[address]--
	}
	l.mu.Unlock()
	if refuse {
		return nil, syscall.ECONNREFUSED
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func (l *lateListener) count(address string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials[address]
}

func newLate(late map[string]int) (*lateListener, func(*Config)) {
	l := &lateListener{late: late, dials: map[string]int{}}
	return l, func(c *Config) { c.Dial = l.dial }
}

// newcomer makes the i-th backend one that never served, in its first verdict's wait.
func newcomer(entry *router.Entry, i int) {
	p := placement(entry, i)
	p.Load.Proven.Store(false)
	p.Backend.Check = &route.Check{}
}

// TestRefusedNewcomerIsNotYet: it is dialled again until it accepts, whatever the
// method, and the refusals count neither as tries nor against the budget.
func TestRefusedNewcomerIsNotYet(t *testing.T) {
	good := &recorder{}
	address := serveRaw(t, good.serve)
	late, dial := newLate(map[string]int{address: 3})
	r := newRig(t, dial)
	entry := r.route("app.test", []string{address}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
	newcomer(entry, 0)
	r.start()
	begin := time.Now()
	res, _ := r.do(r.request("POST", "app.test", "/", strings.NewReader("body")))
	if res.StatusCode != http.StatusOK || late.count(address) != 4 || entry.Cell.Held.Load() != 0 {
		t.Errorf("status %d after %d dials, %d held", res.StatusCode, late.count(address), entry.Cell.Held.Load())
	}
	if took := time.Since(begin); took < 3*lookAgain {
		t.Errorf("it was dialled again too soon: %v", took)
	}
	if got := good.take(); len(got) != 1 || got[0].body != "body" || !placement(entry, 0).Load.Proven.Load() {
		t.Errorf("%+v", got)
	}
}

// TestNewcomerThatNeverListens: 503 initializing when holdFor is over, at once without
// one or when its probes say that it is down; 502 only once it has served.
func TestNewcomerThatNeverListens(t *testing.T) {
	address := closedAddress(t)
	for _, tt := range []struct {
		name   string
		hold   time.Duration
		panic  bool
		proven bool
		check  *route.Check
		status int
		want   route.Reason
		least  time.Duration
	}{
		{"held", 300 * time.Millisecond, false, false, &route.Check{}, 503, route.ReasonInitializing, 300 * time.Millisecond},
		{"not held", 0, false, false, &route.Check{}, 503, route.ReasonInitializing, 0},
		{"down", time.Minute, true, false, &route.Check{}, 503, route.ReasonAllUnhealthy, 0},
		{"down, but it has only just started", 300 * time.Millisecond, true, false, &route.Check{}, 503, route.ReasonAllUnhealthy, 300 * time.Millisecond},
		{"never probed", time.Minute, false, false, nil, 503, route.ReasonInitializing, 0},
		{"served before", time.Minute, false, true, &route.Check{}, 502, route.ReasonConnectRefused, newsWait},
	} {
		r := newRig(t)
		entry := r.route("app.test", []string{address}, func(e *route.Entrypoint) { e.Options.HoldFor = tt.hold })
		placement(entry, 0).Load.Proven.Store(tt.proven)
		placement(entry, 0).Backend.Check = tt.check
		if strings.Contains(tt.name, "just started") {
			placement(entry, 0).Backend.StartedAt = time.Now()
		}
		entry.Cell.Load().Panic = tt.panic
		r.start()
		begin := time.Now()
		res, _ := r.get("app.test", "/")
		took := time.Since(begin)
		wantReason(t, res, tt.status, tt.want)
		if took < tt.least || took > tt.least+5*time.Second || (res.Header.Get("Retry-After") != "") != (tt.status == 503) {
			t.Errorf("%s: %v, Retry-After %q", tt.name, took, res.Header.Get("Retry-After"))
		}
	}
}

// TestNewcomerBesideAnOldOne: a refusal of the newcomer goes to the old one at once.
func TestNewcomerBesideAnOldOne(t *testing.T) {
	good := &recorder{}
	old, fresh := serveRaw(t, good.serve), closedAddress(t)
	r := newRig(t)
	entry := r.route("app.test", []string{fresh, old}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
	newcomer(entry, 0)
	entry.Cell.Retrying.Store(1000) // no budget is needed for it
	r.start()
	for range 6 {
		if res, _ := r.get("app.test", "/"); res.StatusCode != http.StatusOK {
			t.Errorf("status %d %v", res.StatusCode, res.Header)
		}
	}
	if entry.Cell.Retrying.Load() != 1000 {
		t.Error("the budget was touched")
	}
}
