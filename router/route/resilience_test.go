package route

import (
	"strings"
	"testing"
	"time"
)

// TestRetryRules: what may be sent a second time, and after what.
func TestRetryRules(t *testing.T) {
	for methods, allowed := range map[string]string{
		"":         "GET HEAD OPTIONS TRACE PUT DELETE", // RFC 9110 section 9.2.2
		"GET,POST": "GET POST",
	} {
		r := Retry{Methods: methods}
		for m := range strings.FieldsSeq("GET HEAD OPTIONS TRACE PUT DELETE POST PATCH BREW") {
			if want := strings.Contains(" "+allowed+" ", " "+m+" "); r.Allows(m) != want {
				t.Errorf("%q: %s may be repeated is %v", methods, m, !want)
			}
		}
	}
	on := Retry502 | Retry504
	for status, want := range map[int]bool{200: false, 500: false, 502: true, 503: false, 504: true} {
		if on.Status(status) != want {
			t.Errorf("%d is tried again is %v", status, !want)
		}
	}
	if !Retry503.Status(503) || RetryConnect.Status(503) {
		t.Error("503 follows retry.on=503 alone")
	}
}

// TestResilienceIsOffByDefault, and its defaults are those of the reference.
func TestResilienceIsOffByDefault(t *testing.T) {
	o := DefaultOptions()
	if o.Passive.On() || o.Breaker.On() || o.Sticky.On {
		t.Errorf("%+v", o)
	}
	p := o.Passive
	for status := 100; status < 600; status++ {
		if want := status >= 502 && status <= 504; p.Status.Contains(status) != want {
			t.Errorf("%d counts as a failure is %v", status, !want)
		}
	}
	if !p.KeepServing || p.EjectionTime != 30*time.Second || p.MaxEjectionTime != 5*time.Minute || p.MaxEjectionPercent != 50 ||
		p.Recovery != RecoverAuto || p.Trials != 1 {
		t.Errorf("%+v", p)
	}
	if o.Retry != (Retry{On: RetryConnect, TryInterval: 250 * time.Millisecond}) || o.Queue != (Queue{Size: 100, Timeout: time.Second}) ||
		o.Breaker != (Breaker{MinRequests: 20, Cooldown: 10 * time.Second}) || o.NoBackendStatus != 503 || o.OnDown != OnDownIdle {
		t.Errorf("%+v", o)
	}
	p.Failures, o.Breaker.Threshold = 1, 0.1
	if !p.On() || !o.Breaker.On() {
		t.Error("a threshold turns them on")
	}
}

// TestWhatReasonsMean: which empty a rotation, which are worth waking somebody, and what
// clients get.
func TestWhatReasonsMean(t *testing.T) {
	o := DefaultOptions()
	o.NoBackendStatus = 502
	for reason, want := range map[Reason]struct {
		empties, outage bool
		status          int
	}{
		ReasonAllUnhealthy: {true, true, 502}, ReasonAllDraining: {true, true, 502}, ReasonAllMaintenance: {true, true, 502},
		ReasonDockerUnhealthy: {true, true, 502},
		ReasonNoBackends:      {true, false, 502}, ReasonRetained: {true, false, 502}, ReasonLeaving: {true, false, 502}, ReasonInitializing: {true, false, 502},
		ReasonMisconfigured: {false, true, 503},
		ReasonCircuitOpen:   {false, false, 503}, ReasonOverloaded: {false, false, 503}, ReasonQueueFull: {false, false, 503},
		ReasonNone: {false, false, 0}, ReasonNoRoute: {false, false, 404}, ReasonBackendTimeout: {false, false, 504},
	} {
		if reason.Empties() != want.empties || reason.Outage() != want.outage || o.StatusFor(reason) != want.status {
			t.Errorf("%q: empties %v, outage %v, status %d, want %+v", reason, reason.Empties(), reason.Outage(), o.StatusFor(reason), want)
		}
	}
	if err := error(&OrderError{Code: OrderWouldEmpty, Message: "nothing would be left"}); err.Error() != "nothing would be left" {
		t.Error(err)
	}
}

// TestHoldLeft: only what left, or was never verified, is worth waiting for.
func TestHoldLeft(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for name, tt := range map[string]struct {
		rot  Rotation
		want time.Duration
	}{
		"somebody serves": {Rotation{Members: []Member{{}}, Reason: ReasonLeaving}, 0},
		"leaving":         {Rotation{Reason: ReasonLeaving}, 10 * time.Second},
		"retained for 4s": {Rotation{Reason: ReasonRetained, At: now.Add(-4 * time.Second)}, 6 * time.Second},
		"for too long":    {Rotation{Reason: ReasonInitializing, At: now.Add(-time.Minute)}, 0},
		"unhealthy":       {Rotation{Reason: ReasonAllUnhealthy}, 0},
		"drained":         {Rotation{Reason: ReasonAllDraining}, 0},
	} {
		if got := tt.rot.HoldLeft(10*time.Second, now); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestStaleSince: a source may be stale while it is connected.
func TestStaleSince(t *testing.T) {
	lost, refused := time.Unix(1, 0), time.Unix(2, 0)
	for name, tt := range map[string]struct {
		status ProviderStatus
		since  time.Time
		stale  bool
	}{
		"ready":   {ProviderStatus{Phase: PhaseReady, Since: lost}, time.Time{}, false},
		"lost":    {ProviderStatus{Phase: PhaseStale, Since: lost}, lost, true},
		"refused": {ProviderStatus{Phase: PhaseStale, Since: lost, StaleSince: refused}, refused, true},
	} {
		if since, stale := tt.status.Stale(); !since.Equal(tt.since) || stale != tt.stale {
			t.Errorf("%s: %v %v", name, since, stale)
		}
	}
}

// TestFullExplain says first why it gets nothing now.
func TestFullExplain(t *testing.T) {
	for explain, want := range map[string]string{
		"In rotation: the last probe connected.": "further ones go elsewhere or wait. Apart from that it is in rotation: the last probe connected.",
		"Standing by as a backup.":               "further ones go elsewhere or wait. Apart from that: Standing by as a backup.",
	} {
		h := BackendHealth{Backend: Backend{MaxConnections: 2}, Explain: explain}
		if got := h.FullExplain(3); !strings.HasSuffix(got, want) || !strings.Contains(got, "it has 3 requests, and maxConnections permits 2") {
			t.Errorf("%q", got)
		}
	}
}
