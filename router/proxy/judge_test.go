package proxy

import (
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// testJudge counts tickets. On trial it gives one lease at a time; a success ends the
// trial.
type testJudge struct {
	mu       sync.Mutex
	onTrial  bool
	lease    uint64 // of the trial under way
	leases   uint64
	begun    int
	ended    int
	outcomes []route.Outcome
	onBegin  func()
	onEnd    func()
}

// Begin implements route.Judge.
func (j *testJudge) Begin(time.Time) (route.Ticket, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.onBegin != nil {
		j.onBegin()
	}
	if !j.onTrial {
		j.begun++
		return route.Ticket{}, true
	}
	if j.lease != 0 {
		return route.Ticket{}, false
	}
	j.begun++
	j.leases++
	j.lease = j.leases
	return route.Ticket{Lease: j.lease}, true
}

// End implements route.Judge.
func (j *testJudge) End(t route.Ticket, o route.Outcome, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now.IsZero() {
		panic("no time")
	}
	if !o.Late { // it follows the end of its ticket
		j.ended++
	}
	if j.onEnd != nil {
		j.onEnd()
	}
	j.outcomes = append(j.outcomes, o)
	if j.lease == t.Lease {
		j.lease = 0
	}
	if t.Lease != 0 && !o.Void && o.Kind == "" && o.Status < 500 {
		j.onTrial = false
	}
}

func (j *testJudge) seen() (begun, ended int, outcomes []route.Outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.begun, j.ended, append([]route.Outcome(nil), j.outcomes...)
}

// testGate counts who is inside.
type testGate struct {
	mu       sync.Mutex
	open     bool
	wait     time.Duration
	entered  int
	left     int
	outcomes []route.Outcome
}

// Enter implements route.Gate.
func (g *testGate) Enter(time.Time) (uint64, time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return 0, g.wait, false
	}
	g.entered++
	return uint64(g.entered), 0, true
}

// Leave implements route.Gate.
func (g *testGate) Leave(_ uint64, o route.Outcome, _ time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left++
	g.outcomes = append(g.outcomes, o)
}

// judged rebuilds an entrypoint's rotation with a judge for each member and a gate.
func judged(entry *router.Entry, gate route.Gate, judges ...*testJudge) {
	old := entry.Cell.Load()
	members := make([]route.Member, len(old.Members))
	for i, m := range old.Members {
		if members[i] = m; i < len(judges) && judges[i] != nil {
			members[i].Judge = judges[i]
		}
	}
	rot := route.NewRotation(old.Rev+1, old.Tier, members)
	rot.Gate, rot.Fallback, rot.Sticky = gate, old.Fallback, old.Sticky
	entry.Cell.Store(rot)
}

// balanced waits until nothing is held any more, and checks that all was given back once.
func balanced(t *testing.T, entry *router.Entry, gate *testGate, judges ...*testJudge) {
	t.Helper()
	rot := entry.Cell.Load()
	eventually(t, "nothing is in flight", func() bool {
		for i := range rot.Members {
			if rot.Members[i].Placement.Load.InFlight.Load() != 0 {
				return false
			}
		}
		return entry.Cell.InFlight.Load() == 0 && entry.Cell.Retrying.Load() == 0 && entry.Cell.Line.Waiting() == 0
	})
	for i, j := range judges {
		begun, ended, outcomes := j.seen()
		if begun != ended || j.lease != 0 {
			t.Errorf("judge %d: %d tickets begun, %d ended, lease %d; %+v", i, begun, ended, j.lease, outcomes)
		}
	}
	if gate != nil && gate.entered != gate.left {
		t.Errorf("%d entered, %d left", gate.entered, gate.left)
	}
}

// client_cancel_counts, half_open_leak_cancel and every other way out of an attempt: the
// ticket is ended and the breaker left, once, with what it says about the backend.
func TestEveryWayOutEndsTheTicket(t *testing.T) {
	answers := func(status int) string {
		return serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	g, nobody := newGate(), newGate()
	defer close(g.finish)
	defer close(nobody.finish)
	silent := serveHTTP(t, g.serve)
	for _, tt := range []struct {
		name    string
		backend string
		change  func(*Config)
		option  option
		drive   func(r *rig)
		want    route.Outcome // without placement and latency
	}{
		{name: "success", backend: answers(200), want: route.Outcome{Status: 200}},
		{name: "bad status", backend: answers(503), want: route.Outcome{Status: 503}},
		{name: "refused", backend: closedAddress(t), want: route.Outcome{Kind: route.KindConnectionRefused, Transport: true}},
		{name: "newcomer that does not listen yet", backend: closedAddress(t), option: func(e *route.Entrypoint) { e.Name = "unproven"; e.Options.HoldFor = 0 },
			want: route.Outcome{Kind: route.KindConnectionRefused, Transport: true, Void: true}},
		{name: "local fault", backend: "127.0.0.1:1", change: dialing(syscall.EMFILE), want: route.Outcome{Kind: route.KindLocalError, Transport: true, Void: true}},
		{name: "blocked target", backend: "169.254.169.254:80", want: route.Outcome{Kind: route.KindProbeBlocked, Transport: true, Void: true}},
		{name: "timeout", backend: serveHTTP(t, nobody.serve), option: func(e *route.Entrypoint) { e.Options.BackendTimeout = 20 * time.Millisecond },
			want: route.Outcome{Kind: route.KindTimeout, Transport: true}},
		{name: "client leaves", backend: silent, drive: leaveAfter(g, "GET"), want: route.Outcome{Void: true}},
		{name: "client leaves in its body", backend: silent, drive: leaveAfter(g, "PUT"), want: route.Outcome{Void: true}},
		{name: "cut by the end of a drain", backend: silent, drive: func(r *rig) {
			done := r.inBackground("POST", "app.test", "/")
			<-g.began
			r.entries[0].Cell.Load().Members[0].Placement.Upstream.Retire(route.Drain{})
			<-done
		}, want: route.Outcome{Kind: route.KindLeaving, Transport: true, Void: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) {
				if tt.change != nil {
					tt.change(c)
				}
			})
			one := func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 }
			entry := r.route("app.test", []string{tt.backend}, one, func(e *route.Entrypoint) {
				if tt.option != nil {
					tt.option(e)
				}
			})
			judge, gate := &testJudge{onTrial: true}, &testGate{}
			judged(entry, gate, judge)
			placement(entry, 0).Load.Proven.Store(entry.Entrypoint.Name != "unproven")
			r.start()
			if tt.drive == nil {
				r.get("app.test", "/")
			} else {
				tt.drive(r)
			}
			eventually(t, "the ticket is ended", func() bool { _, ended, _ := judge.seen(); return ended > 0 })
			balanced(t, entry, gate, judge)
			_, _, outcomes := judge.seen()
			if len(outcomes) != 1 || len(gate.outcomes) != 1 || outcomes[0] != gate.outcomes[0] {
				t.Fatalf("told %+v and %+v", outcomes, gate.outcomes)
			}
			got := outcomes[0]
			if got.Placement != placement(entry, 0) || (got.Latency > 0) != (got.Status > 0) {
				t.Errorf("outcome %+v", got)
			}
			got.Placement, got.Latency = nil, 0
			if tt.want.Void && tt.want.Kind == "" { // whatever a void one says besides
				got.Kind, got.Transport = "", false
			}
			if got != tt.want {
				t.Errorf("outcome %+v, want %+v", got, tt.want)
			}
		})
	}
}

// leaveAfter sends a request and leaves while the backend thinks.
func leaveAfter(g *gate, method string) func(r *rig) {
	return func(r *rig) {
		c := r.dial()
		head := method + " / HTTP/1.1\r\nHost: app.test\r\n"
		if method != "GET" {
			head += "Content-Length: 10\r\n"
		}
		_, _ = c.Write([]byte(head + "\r\n"))
		<-g.began
		_ = c.Close()
	}
}

// half_open_leak_no_backend: a lease that was taken and then not used, because the
// breaker refuses or the backend has just left, comes back.
func TestTrialThatIsNotSentComesBack(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{closedAddress(t)}, func(e *route.Entrypoint) { e.Options.HoldFor = 0 })
	judge, gate := &testJudge{onTrial: true}, &testGate{open: true, wait: 6500 * time.Millisecond}
	judged(entry, gate, judge)
	r.start()
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 503, route.ReasonCircuitOpen)
	if after := res.Header.Get("Retry-After"); after != "7" {
		t.Errorf("Retry-After %q", after)
	}
	balanced(t, entry, gate, judge)
	gate.open = false
	placement(entry, 0).Upstream.Retire(route.Drain{})
	res, _ = r.get("app.test", "/")
	wantReason(t, res, 503, route.ReasonLeaving)
	balanced(t, entry, gate, judge)
	begun, _, outcomes := judge.seen()
	if begun < 2 || gate.entered != begun-1 {
		t.Errorf("%d tickets, %d entered", begun, gate.entered)
	}
	for _, o := range append(outcomes, gate.outcomes...) {
		if !o.Void {
			t.Errorf("what was not sent is told as %+v", o)
		}
	}
	if n := placement(entry, 0).Load.Requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestPanicEndsTheTicket: a bug of ours is no fault of the backend's.
func TestPanicEndsTheTicket(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{"127.0.0.1:1"})
	judge, gate := &testJudge{onTrial: true}, &testGate{}
	judged(entry, gate, judge)
	x := exchangeFor(t, "app.test", "/")
	x.Response = nil // Duplex panics
	x.Route = r.Table().Match(x)
	func() {
		defer func() { _ = recover() }()
		r.proxy.forward(x, x.Route, nil, &stay{})
		t.Error("no panic")
	}()
	balanced(t, entry, gate, judge)
	if _, _, outcomes := judge.seen(); len(outcomes) != 1 || !outcomes[0].Void {
		t.Errorf("told %+v", outcomes)
	}
}

// TestFailedTrialCostsNothing: neither a try nor a share of the budget.
func TestFailedTrialCostsNothing(t *testing.T) {
	for _, tt := range []struct {
		name    string
		on      route.RetryOn
		backend string
	}{
		{"refused", route.RetryConnect, closedAddress(t)},
		{"bad status", route.Retry503, serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })},
	} {
		r := newRig(t)
		entry := r.route("app.test", []string{tt.backend, serveHTTP(t, func(http.ResponseWriter, *http.Request) {})}, func(e *route.Entrypoint) {
			e.Options.RetryAttempts, e.Options.Retry.On = 1, tt.on
		})
		judge := &testJudge{onTrial: true}
		judged(entry, nil, judge)
		entry.Cell.Retrying.Store(3) // the budget is used up
		r.start()
		for range 4 {
			if res, _ := r.get("app.test", "/"); res.StatusCode != 200 {
				t.Errorf("%s: status %d %v", tt.name, res.StatusCode, res.Header)
			}
		}
		if _, _, outcomes := judge.seen(); len(outcomes) == 0 || outcomes[0].Void {
			t.Errorf("%s: trials %+v", tt.name, outcomes)
		}
		entry.Cell.Retrying.Add(-3)
		balanced(t, entry, nil, judge)
	}
}

// TestBrokenBodyIsTold: after its head was a success; not when the client left.
func TestBrokenBodyIsTold(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("12345"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})})
	judge := &testJudge{}
	judged(entry, nil, judge)
	r.start()
	res, err := client(t).Do(r.request("GET", "app.test", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	eventually(t, "both are told", func() bool { return len(r.outcomes.all()) == 2 })
	balanced(t, entry, nil, judge)
	got := r.outcomes.all()
	if got[0].Kind != "" || got[0].Status != 200 || !got[1].Transport || got[1].Placement != placement(entry, 0) {
		t.Errorf("outcomes %+v", got)
	}
	if _, _, outcomes := judge.seen(); len(outcomes) != 2 || outcomes[0].Kind != "" || outcomes[0].Late || !outcomes[1].Late || !outcomes[1].Transport {
		t.Errorf("judged %+v", outcomes)
	}
}

// TestSlowClientIsNoSlowBackend: the time in which the body still comes is not the
// backend's.
func TestSlowClientIsNoSlowBackend(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = req.Body.Read(make([]byte, 100))
		_, _ = req.Body.Read(make([]byte, 100))
	})})
	judge := &testJudge{}
	judged(entry, nil, judge)
	r.start()
	c := r.dial()
	_, _ = c.Write([]byte("POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 10\r\nConnection: close\r\n\r\n12345"))
	<-time.After(150 * time.Millisecond)
	_, _ = c.Write([]byte("67890"))
	eventually(t, "it is judged", func() bool { _, ended, _ := judge.seen(); return ended == 1 })
	if _, _, outcomes := judge.seen(); outcomes[0].Status != 200 || outcomes[0].Latency <= 0 || outcomes[0].Latency > 100*time.Millisecond {
		t.Errorf("outcome %+v", outcomes[0])
	}
}
