package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// An engine that starts brings its containers back, with other addresses than before if
// it comes to that, before it answers who is who: until it was asked, nothing tells the
// router that an address has another owner. These tests hold that moment short: once
// everything was read again, no request gets another app's page.

// TestOutageAddressTaken: two backends died while the engine was away; at its return one
// of them is started with the address of the other.
func TestOutageAddressTaken(t *testing.T) {
	e := newPrivateEngine(t, "--live-restore")
	s := e.site(e.socket())
	one, two := s.run("app", watched("app")), s.run("app", watched("app"))
	back := s.runWith("back", watched("back"), always())
	s.verified("http_app", one, two)
	s.verified("http_back", back)
	victims := []int{e.pid(two), e.pid(back)}
	l := s.load("app.localhost", "app")
	l.more(loadPhase / 2)
	gone := l.action()
	e.terminate()
	for _, pid := range victims {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	s.wantStale(10*time.Second, gone, e.socket())
	wait(t, 3*time.Second)
	e.start()
	s.wantFresh(time.Now())
	fresh := time.Now()
	s.waitFor("back.localhost", 200, "back")
	s.verified("http_app", one)
	l.end()
	t.Logf("%s", l.summary())
	l.wantNoForeign(fresh)
}

// TestOutageAddressesSwapped: an engine that was killed starts its containers again in
// another order, so that they have each other's addresses.
func TestOutageAddressesSwapped(t *testing.T) {
	e := newPrivateEngine(t)
	s := e.site(e.socket())
	var loads []*load
	for i := range 4 {
		name := fmt.Sprintf("app%d", i)
		s.verified("http_"+name, s.runWith(name, watched(name), always()))
		loads = append(loads, s.load(name+".localhost", name))
	}
	gone := time.Now()
	for _, l := range loads {
		l.more(loadPhase / 4)
		l.action()
	}
	e.kill()
	s.wantStale(10*time.Second, gone, e.socket())
	s.wantFresh(e.restart())
	fresh := time.Now()
	for i, l := range loads {
		s.waitFor(l.host, 200, fmt.Sprintf("app%d", i))
		l.more(loadPhase / 4)
		l.end()
		t.Logf("%s", l.summary())
		l.wantNoForeign(fresh)
	}
}

// wantNoForeign wants no page of another app, neither while the engine comes back nor
// after it was read again.
func (l *load) wantNoForeign(read time.Time) {
	t := l.s.t
	t.Helper()
	var foreign []record
	for _, r := range l.failed() {
		if r.foreign != "" {
			foreign = append(foreign, r)
		}
	}
	if len(foreign) == 0 {
		return
	}
	first, last := foreign[0], foreign[len(foreign)-1]
	t.Errorf("%s: another app's page %d times from %v to %v; everything was read again at %v; the last one:\n%s",
		l.host, len(foreign), l.since(first.at), l.since(last.at), l.since(read), last.foreign)
}
