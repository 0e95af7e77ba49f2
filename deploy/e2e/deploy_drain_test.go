package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestDeployDrainTimeout: what a leaving container still has in its hands is cut when
// drain.timeout is over, and nothing of anybody else's. A GET without an answer goes to
// the other one; what may not be sent twice is told that it was cut.
func TestDeployDrainTimeout(t *testing.T) {
	const drain = 2 * time.Second
	s := newSite(t)
	labels := appLabels("app", "drain.timeout="+drain.String())
	goes := s.runWith("app", labels, []string{"--stop-timeout", "8"}, "-ignore-term")
	stays := s.run("app", labels)
	s.verified("http_app", goes, stays)
	l := s.load("app.localhost", "app")
	untouched := []*flow{l.on(kindWebSocket, stays, goes), l.on(kindEvents, stays, goes), l.on(kindGet, stays, goes)}
	cut := []*flow{l.on(kindWebSocket, goes, stays), l.on(kindEvents, goes, stays), l.on(kindPost, goes, stays)}
	moved := l.on(kindGet, goes, stays)
	l.more(loadPhase / 4)
	cut = append(cut, l.on(kindUpload, goes, stays)) // needs longer than the drain
	began := l.action()
	stopped := make(chan error, 1)
	go func() {
		_, err := docker("stop", goes)
		stopped <- err
	}()
	for _, f := range cut {
		select {
		case <-f.ended:
		case <-time.After(2*drain + time.Second):
			t.Errorf("%s is alive %v after the stop signal, drain.timeout is %v", f.describe(began), time.Since(began), drain)
			continue
		}
		if took := f.at.Sub(began); took < drain-200*time.Millisecond || took > drain+time.Second || f.err == nil {
			t.Errorf("%s, want it cut at about %v", f.describe(began), drain)
		}
	}
	for _, f := range cut {
		if (f.kind == kindPost || f.kind == kindUpload) && (f.status != 502 || f.reason != "backend_closed") {
			t.Errorf("%s, want 502 backend_closed", f.describe(began))
		}
	}
	s.eventually(time.Second, "the GET is at the other one", func() error {
		w, err := s.stats(stays)
		if err == nil && !slices.Contains(w.inFlight, moved.id) {
			err = fmt.Errorf("%v, %s", w.inFlight, moved.describe(began))
		}
		return err
	})
	for _, f := range append(untouched, moved) {
		if !f.alive() {
			t.Errorf("%s, want it untouched", f.describe(began))
		}
	}
	l.wantAlive(untouched[:2]...)
	l.more(loadPhase / 4)
	l.end()
	l.wantNone()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestDeployTermIgnored: a container that got its stop signal and goes on running is
// out for StopTimeout + 5 s, then it serves again. Its WebSocket lives all along.
func TestDeployTermIgnored(t *testing.T) {
	const back = 6 * time.Second
	s := newSite(t)
	deaf := s.runWith("app", appLabels("app"), []string{"--stop-timeout", "1"}, "-ignore-term")
	other := s.run("app", appLabels("app"))
	s.verified("http_app", deaf, other)
	l := s.load("app.localhost", "app")
	sockets := []*flow{l.on(kindWebSocket, deaf, other), l.on(kindWebSocket, other, deaf)}
	l.more(loadPhase / 4)
	began := l.action()
	mustDocker(t, "kill", "-s", "TERM", deaf)
	s.eventually(time.Second, "it is leaving", func() error {
		all, err := s.standings("http_app")
		if b := all[short(deaf)]; err == nil && (b.InRotation || b.State != "leaving") {
			err = fmt.Errorf("%+v", b)
		}
		return err
	})
	s.verifiedWithin(back+3*time.Second, "http_app", deaf, other)
	returned := time.Since(began)
	l.more(loadPhase / 4)
	l.wantAlive(sockets...)
	l.end()
	l.wantNone()
	t.Logf("it is back %v after the signal", returned.Round(time.Millisecond))
	if returned < back-time.Second || returned > back+2*time.Second {
		t.Errorf("it is back after %v, want about %v", returned, back)
	}
	first, n := l.between(deaf, began.Add(500*time.Millisecond), began.Add(back-time.Second))
	if n > 0 {
		t.Errorf("%d requests went to it while it was leaving, the first at %v", n, first.Sub(began))
	}
	if _, n := l.between(deaf, began.Add(back), time.Now()); n == 0 {
		t.Error("it got nothing once it was back")
	}
}
