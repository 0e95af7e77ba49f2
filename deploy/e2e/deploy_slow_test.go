package e2e

import (
	"fmt"
	"testing"
	"time"
)

// slowApp is an app that listens 5 s after its start.
const slowApp = 5 * time.Second

func slowly() []string { return append(finisher(), "-start-delay", slowApp.String()) }

// listed waits until an entrypoint has n backends, whatever their state.
func (s *site) listed(entrypoint string, n int) {
	s.t.Helper()
	s.eventually(5*time.Second, entrypoint+" is listed", func() error {
		all, err := s.standings(entrypoint)
		if err == nil && len(all) != n {
			err = fmt.Errorf("%d backends", len(all))
		}
		return err
	})
}

// TestDeploySlowStart: a new app alone, its recreation, and a new replica beside an
// old one, each of which listens 5 s after its start: nobody sees an error.
func TestDeploySlowStart(t *testing.T) {
	s := newSite(t)
	old := s.run("beside", appLabels("beside"), finisher()...)
	again := s.run("again", appLabels("again"), finisher()...)
	s.verified("http_beside", old)
	s.verified("http_again", again)
	beside, recreated := s.load("beside.localhost", "beside"), s.load("again.localhost", "again")
	recreated.more(loadPhase / 4)

	beside.action()
	young := s.run("beside", appLabels("beside"), slowly()...)
	fresh := s.run("fresh", appLabels("fresh"), slowly()...)
	s.listed("http_fresh", 1)
	first := s.load("fresh.localhost", "fresh")
	first.action()
	began := recreated.action()
	mustDocker(t, "stop", again)
	mustDocker(t, "rm", again)
	again = s.run("again", appLabels("again"), slowly()...)
	gap := time.Since(began) + slowApp

	first.more(loadPhase / 3)
	recreated.more(loadPhase / 3)
	s.verified("http_beside", old, young)
	s.verified("http_fresh", fresh)
	s.verified("http_again", again)
	beside.more(loadPhase / 3)
	for _, l := range []*load{first, recreated, beside} {
		l.end()
	}
	first.wantNone()
	recreated.wantHeld(gap)
	beside.wantNone()
	if got := beside.backends()[short(young)]; got == 0 {
		t.Error("the new replica got nothing once it listened")
	}
	// Requests that came at once are the ones that had to wait, for about as long as the
	// app took; with an app that listens at once this test would show nothing.
	for _, l := range []*load{first, recreated} {
		if longest := l.slowest(); longest < slowApp/2 {
			t.Errorf("%s: the longest wait was %v: the app was not slow", l.host, longest)
		}
	}
}

// TestDeploySlowStartRouterLast: the router starts after an old replica and one that
// does not listen yet.
func TestDeploySlowStartRouterLast(t *testing.T) {
	s := prepareSite(t)
	old := s.run("app", appLabels("app"), finisher()...)
	young := s.run("app", appLabels("app"), slowly()...)
	s.launch()
	t.Cleanup(s.stop)
	s.listed("http_app", 2)
	l := s.load("app.localhost", "app")
	l.action()
	l.more(loadPhase)
	s.verified("http_app", old, young)
	l.more(loadPhase / 3)
	l.end()
	l.wantNone()
	if got := l.backends(); got[short(young)] == 0 || got[short(old)] == 0 {
		t.Errorf("both serve in the end: %v", got)
	}
}
