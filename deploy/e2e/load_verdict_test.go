package e2e

import (
	"slices"
	"testing"
	"time"
)

// wantNone reports every failed request as one, with what the router logged meanwhile.
func (l *load) wantNone() {
	l.s.t.Helper()
	l.wantAtMost(0, 0)
}

// wantHeld wants no failed request although nobody served for gap. Only where the
// engine took so long that holdFor's default ended, which says nothing about the
// router, a 503 that says when to come back is right, too.
func (l *load) wantHeld(gap time.Duration) {
	l.s.t.Helper()
	if gap < defaultHold-time.Second {
		l.wantNone()
		return
	}
	l.s.t.Logf("%s: the engine took %v to replace it, about holdFor or longer", l.host, gap)
	if len(l.failed()) > 0 {
		l.wantOnly503(gapReasons...)
	}
}

// wantAtMost allows n failed requests, all begun within settle of the action.
func (l *load) wantAtMost(n int, settle time.Duration) {
	t := l.s.t
	t.Helper()
	failed := l.failed()
	t.Logf("%s", l.summary())
	if len(failed) > n {
		t.Errorf("%s: %d failed requests, want at most %d", l.host, len(failed), n)
	}
	for _, r := range failed {
		if late := r.at.Sub(l.began); late > settle && n > 0 {
			t.Errorf("%s: a request begun %v after the action failed: %s; none may after %v", l.host, late, r.verdict(), settle)
			break
		}
	}
	for _, r := range failed {
		if r.foreign != "" {
			t.Errorf("%s: another app's page:\n%s", l.host, r.foreign)
		}
	}
	if t.Failed() && len(failed) > 0 {
		t.Logf("router log around the first failure:\n%s", l.s.logBetween(failed[0].at.Add(-2*time.Second), failed[0].at.Add(failed[0].took+time.Second)))
	}
}

// wantOnly503 wants every failed request to be a 503 of the router that says when to
// come back and why, and at least one of them: otherwise the test saw no gap.
func (l *load) wantOnly503(reasons ...string) {
	t := l.s.t
	t.Helper()
	failed := l.failed()
	t.Logf("%s", l.summary())
	for _, r := range failed {
		if r.failure != "" || r.foreign != "" || r.status != 503 || r.retryAfter == "" || !slices.Contains(reasons, r.reason) {
			t.Errorf("%s at %v: %s, Retry-After %q; want only 503 with Retry-After for %v", l.host, l.since(r.at), r.verdict(), r.retryAfter, reasons)
			t.Logf("router log:\n%s", l.s.logBetween(r.at.Add(-2*time.Second), r.at.Add(r.took+time.Second)))
			break
		}
	}
	if len(failed) == 0 {
		t.Errorf("%s: no request fell into the gap: the test shows nothing", l.host)
	}
}

// TestLoadSeesFailures: the load that every other test trusts finds what it is to find.
func TestLoadSeesFailures(t *testing.T) {
	s := newSite(t)
	id := s.run("app", appLabels("app"))
	s.waitFor("app.localhost", 200, "app")
	l := s.loadPath("app.localhost", "app", "/?status=418", loadTimeout)
	foreign := s.load("app.localhost", "other")
	good := s.load("app.localhost", "app")
	for _, l := range []*load{l, foreign, good} {
		l.more(40)
		l.end()
	}
	if f := l.failed(); len(f) < 40 || f[0].verdict() != "418 " || f[0].backend != short(id) {
		t.Errorf("%s", l.summary())
	}
	if f := foreign.failed(); len(f) < 40 || f[0].verdict() != "another app's page" {
		t.Errorf("%s", foreign.summary())
	}
	if f := good.failed(); len(f) != 0 || good.backends()[short(id)] < 40 {
		t.Errorf("%s", good.summary())
	}
}
