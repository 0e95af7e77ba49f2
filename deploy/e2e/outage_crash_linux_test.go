package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// always are the flags of a container that the engine starts again whatever happened.
func always() []string { return []string{"--restart", "always"} }

// TestOutageCrashLiveRestore kills an engine with live-restore: nothing is lost at all.
func TestOutageCrashLiveRestore(t *testing.T) {
	e := newPrivateEngine(t, "--live-restore")
	s := e.site(e.socket())
	one, two := s.run("app", watched("app")), s.run("app", watched("app"))
	s.verified("http_app", one, two)
	l := s.load("app.localhost", "app")
	streams := []*flow{l.on(kindWebSocket, one), l.on(kindEvents, two)}
	l.more(loadPhase / 2)

	gone := l.action()
	e.kill()
	s.wantStale(10*time.Second, gone, "nobody listens on the engine's socket "+e.socket())
	wait(t, 4*time.Second)
	l.wantLost("engine away", gone, 0)
	s.wantOneWarning(gone)
	e.start()
	s.wantFresh(time.Now())
	s.wantNewRouted("newcomer")
	s.verified("http_app", one, two)
	l.wantLost("engine back", gone, 0)
	l.wantAlive(streams...)
	l.end()
}

// TestOutageCrash kills an engine that stops its containers when it starts again: they
// serve while it is away, requests fail only with an answer that says why, and what is to
// start always is back.
func TestOutageCrash(t *testing.T) {
	e := newPrivateEngine(t)
	s := e.site(e.socket())
	one := s.runWith("app", watched("app"), always())
	two := s.runWith("app", watched("app"), always())
	once := s.run("once", watched("once", "holdFor=1s"))
	s.verified("http_app", one, two)
	s.verified("http_once", once)
	l := s.load("app.localhost", "app")
	l.more(loadPhase / 2)

	gone := l.action()
	e.kill()
	s.wantStale(10*time.Second, gone, "nobody listens on the engine's socket "+e.socket())
	wait(t, 4*time.Second)
	l.wantLost("engine away", gone, 0)
	returned := time.Now()
	s.wantFresh(e.restart())
	fresh := time.Now()
	s.wantRetained("http_once", "once.localhost")
	s.verified("http_app", one, two)
	l.more(loadPhase / 2)
	l.end()
	t.Logf("%s", l.summary())
	t.Logf("no good answer for %v", l.longestGap().Round(time.Millisecond))
	s.wantAnswered(l, returned, fresh)
	s.wantNewRouted("newcomer")
}

// TestOutageStop stops an engine that takes its containers down with it: what it said
// before it went counts, nothing is forgotten, and what its policies start again is back.
func TestOutageStop(t *testing.T) {
	e := newPrivateEngine(t)
	s := e.site(e.socket())
	one := s.runWith("app", watched("app", "holdFor=2s"), always())
	two := s.runWith("app", watched("app", "holdFor=2s"), []string{"--restart", "unless-stopped"})
	once := s.run("once", watched("once", "holdFor=1s"))
	s.verified("http_app", one, two)
	s.verified("http_once", once)
	l := s.load("app.localhost", "app")
	l.more(loadPhase / 2)

	gone := l.action()
	e.terminate()
	s.wantStale(10*time.Second, gone, "there is no engine socket at "+e.socket())
	for _, id := range []string{"app", "once"} {
		s.wantRetained("http_"+id, id+".localhost")
	}
	wait(t, 4*time.Second) // longer than requests are held
	s.wantRetained("http_app", "app.localhost")
	e.start()
	s.wantFresh(time.Now())
	fresh := time.Now()
	s.verified("http_app", one, two)
	s.wantRetained("http_once", "once.localhost")
	l.more(loadPhase / 2)
	l.end()
	t.Logf("no good answer for %v", l.longestGap().Round(time.Millisecond))
	l.wantOnly503("retained", "leaving", "no_backends")
	if late := l.lost(fresh.Add(time.Second)); len(late) > 0 {
		t.Errorf("%d requests failed more than a second after everything was read again: %s", len(late), l.summary())
	}
}

// wantRetained wants an entrypoint without backends that is still listed with its reason.
func (s *site) wantRetained(id, host string) {
	s.t.Helper()
	s.eventually(3*time.Second, id+" is retained", func() error {
		e, err := s.entrypoint(id)
		if err == nil && (len(e.Backends) != 0 || e.Health.State != "down" || e.Health.Reason != "retained") {
			err = fmt.Errorf("%+v", e)
		}
		return err
	})
	a, err := s.get(host, "/no-such-page")
	if err != nil || a.status != 503 || a.reason() != "retained" || a.header.Get("Retry-After") == "" {
		s.t.Errorf("%s: %d %s %v, want 503 retained with Retry-After", host, a.status, a.reason(), err)
	}
}

// wantAnswered wants every failed request to have begun between two moments and to have
// got an answer that says why: never 404, a cut connection or another app's page.
func (s *site) wantAnswered(l *load, from, to time.Time) {
	s.t.Helper()
	for _, r := range l.failed() {
		answered := r.failure == "" && r.foreign == "" && slices.Contains([]int{502, 503, 504}, r.status) && r.reason != ""
		if !answered || r.at.Before(from) || r.at.After(to.Add(time.Second)) {
			s.t.Errorf("%s at %v: %s; want only 502, 503 or 504 with a reason between %v and %v", l.host, l.since(r.at), r.verdict(), l.since(from), l.since(to))
			s.t.Logf("router log:\n%s", s.logBetween(r.at.Add(-2*time.Second), r.at.Add(r.took+time.Second)))
			return
		}
	}
}

// longestGap is the longest time without a good answer.
func (l *load) longestGap() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ends []time.Time
	for i := range l.records {
		if r := &l.records[i]; r.ok() {
			ends = append(ends, r.at.Add(r.took))
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	var gap time.Duration
	for i := 1; i < len(ends); i++ {
		gap = max(gap, ends[i].Sub(ends[i-1]))
	}
	return gap
}
