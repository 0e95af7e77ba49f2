package e2e

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// outageTime is how long the engine is away where the length matters.
func outageTime() time.Duration {
	if os.Getenv("FAIRLEAD_E2E") == "1" {
		return 60 * time.Second
	}
	return 20 * time.Second
}

// freshWithin is the promise: so soon after the engine answers again everything is current.
const freshWithin = 5 * time.Second

// watched are the labels of a service that is probed each second.
func watched(service string, more ...string) []string {
	return appLabels(service, append(more, "healthCheck.interval=1s")...)
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal("the test was ended")
	}
}

// lost are the failed requests that began after a moment.
func (l *load) lost(from time.Time) []record {
	return slices.DeleteFunc(l.failed(), func(r record) bool { return r.at.Before(from) })
}

// wantLost reports how many requests failed since a moment, and wants at most so many.
// The load must have gone on all the time: 200 a second, half of it on a busy machine.
func (l *load) wantLost(phase string, from time.Time, most int) {
	t := l.s.t
	t.Helper()
	failed, all := l.lost(from), 0
	l.mu.Lock()
	for i := range l.records {
		if !l.records[i].at.Before(from) {
			all++
		}
	}
	l.mu.Unlock()
	t.Logf("%s: %d of %d requests failed in %v", phase, len(failed), all, time.Since(from).Round(time.Millisecond))
	if len(failed) > most {
		t.Errorf("%s: %d failed requests, want at most %d\n%s", phase, len(failed), most, l.summary())
	}
	if least := int(time.Since(from) * loadWorkers / loadPace / 2); all < least {
		t.Errorf("%s: only %d requests in %v", phase, all, time.Since(from))
	}
}

// TestOutageLiveRestore stops an engine that leaves its containers running: nothing that
// still serves is lost, what dies meanwhile costs next to nothing, and the return is noticed.
func TestOutageLiveRestore(t *testing.T) {
	e := newPrivateEngine(t, "--live-restore")
	s := e.site(e.socket())
	one, two := s.run("app", watched("app")), s.run("app", watched("app"))
	s.docker("network", "create", "apart") // so that nobody gets another one's address at the return
	back := s.runWith("back", watched("back"), []string{"--restart", "always", "--network", "apart"})
	s.verified("http_app", one, two)
	s.verified("http_back", back)
	victims := []int{e.pid(two), e.pid(back)}
	began := time.Now()
	l := s.load("app.localhost", "app")
	streams := []*flow{l.on(kindWebSocket, one), l.on(kindEvents, one)}
	l.more(loadPhase)
	l.wantLost("before", began, 0)

	gone := l.action()
	e.terminate()
	t.Logf("dockerd ended %v after SIGTERM", time.Since(gone).Round(time.Millisecond))
	s.wantStale(10*time.Second, gone, "there is no engine socket at "+e.socket())
	wait(t, outageTime()/2)
	l.wantLost("engine away", began, 0)
	killed := time.Now()
	for _, pid := range victims {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, outageTime()/2)
	l.wantLost("engine away, one of two killed", killed, 8)
	s.wantStale(time.Second, gone, e.socket())
	s.wantOneWarning(gone)

	returned := time.Now()
	took := e.start()
	t.Logf("dockerd answered %v after its start, away for %v", took.Round(time.Millisecond), time.Since(gone).Round(time.Millisecond))
	s.wantFresh(time.Now())
	s.wantNewRouted("newcomer")
	s.waitFor("back.localhost", 200, "back")
	s.verified("http_app", one)
	l.wantLost("engine back", returned, 0)
	l.wantAlive(streams...)
	l.end()
	t.Logf("%s", l.summary())
}
