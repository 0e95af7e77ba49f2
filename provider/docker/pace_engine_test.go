package docker

import (
	"errors"
	"testing"
	"time"

	"fairlead/provider"
	"fairlead/router/route"
)

func TestResyncFindsWhatWasNotAnnouncedAndReopensTheStream(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		b.next(0)
		m.set("a")
		if took := b.next(2 * time.Minute); took != resyncInterval {
			t.Errorf("found after %v, want %v", took, resyncInterval)
		}
		b.is("http_a", "a=10.0.0.2:80(present)")
		<-time.After(time.Second) // virtual time
		if m.dialed() != 2 {
			t.Errorf("the silent stream was not reopened: %d connections", m.dialed())
		}
		b.none(10 * time.Minute)
		if m.dialed() != 2 {
			t.Errorf("a healthy stream was reopened: %d connections", m.dialed())
		}
	})
}

func TestWatchdogNoticesADeadEngine(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a")
		b.next(0)
		b.next(quietTime)
		m.mu.Lock()
		m.pingErr, m.dialErr = errors.New("hung"), problem(nil, "do this", "no engine")
		m.mu.Unlock()
		b.next(watchdogInterval + time.Second)
		if s := b.last.Status; s.Connected || s.Phase != route.PhaseStale || s.LastError != "no engine" || s.Hint != "do this" {
			t.Errorf("status %+v", s)
		}
		b.is("http_a", "a=10.0.0.2:80(present)")
		before := m.dialed()
		b.none(10 * time.Minute)
		if tries := m.dialed() - before; tries < 150 || tries > 400 {
			t.Errorf("tried %d times in ten minutes", tries)
		}
		m.mu.Lock()
		m.pingErr, m.dialErr = nil, nil
		m.mu.Unlock()
		b.next(provider.DefaultBackoffMax)
		if s := b.last.Status; !s.Connected || s.Phase != route.PhaseReady || s.LastError != "" {
			t.Errorf("status after the return %+v", s)
		}
	})
}

func TestRetentionStandsStillWhileTheEngineIsAway(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a")
		b.next(0)
		b.next(quietTime)
		m.drop("a")
		m.say("destroy", "a")
		b.next(0)
		<-time.After(10 * time.Second) // virtual time
		m.mu.Lock()
		m.dialErr = errors.New("gone")
		m.mu.Unlock()
		m.end <- errors.New("unexpected EOF")
		b.next(time.Second)
		b.is("http_a", "a(retained)")
		b.none(5 * time.Minute)
		m.mu.Lock()
		m.dialErr = nil
		m.mu.Unlock()
		b.next(5 * time.Second)
		b.is("http_a", "a(retained)")
		if took := b.next(time.Hour); took < 45*time.Second || took > 55*time.Second {
			t.Errorf("gone %v after the return, want about 50 s", took)
		}
		b.is("http_a", "-")
	})
}

func TestFirstSnapshotWaitsForSlowContainersOnlySoLong(t *testing.T) {
	inBubble(t, func(m *memory) {
		m.set("a")
		m.set("stuck")
		m.slow("stuck", time.Hour)
	}, func(b *bubble) {
		if took := b.next(time.Minute); took != firstSyncWait {
			t.Errorf("took %v, want %v", took, firstSyncWait)
		}
		b.is("http_a", "a=10.0.0.2:80(present)")
		b.is("http_stuck", "-")
	})
}

func TestSlowContainersHoldUpALaterReadForASecond(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		b.next(0)
		m.set("a")
		m.set("stuck")
		m.slow("stuck", time.Hour)
		m.end <- errors.New("cut")
		b.next(2 * longestWait)
		b.is("http_a", "a=10.0.0.2:80(present)")
		b.is("http_stuck", "-")
	})
}

func TestOrderOfSurveysAndAnswersDoesNotMatter(t *testing.T) {
	inBubble(t, func(m *memory) { m.networks = []network{{ID: "id-edge", Name: "edge", Driver: "bridge"}} }, func(b *bubble) {
		m := b.m
		b.next(0)
		m.mu.Lock()
		m.networks = append(m.networks, network{ID: "id-lan", Name: "lan", Driver: "macvlan"})
		m.mu.Unlock()
		m.begin("a", func(c *inspected) { c.Networks = nets("lan=10.0.0.2") })
		b.next(quietTime)
		b.is("http_a", "a(refused)")
		m.begin("b", func(c *inspected) { c.Networks = nets("never-listed=10.0.0.3") })
		b.next(quietTime)
		b.is("http_b", "b=10.0.0.3:80(present)")
	})
}

func TestReadsOfAQuietEngineAreSaid(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.next(time.Second)
		first := b.last.Status.LastSync
		timer := time.NewTimer(resyncInterval + time.Second)
		defer timer.Stop()
		<-timer.C
		s, news := b.take()
		if news || !s.Status.LastSync.After(first) {
			t.Errorf("after a minute without news: last read at %v, the first one at %v", s.Status.LastSync, first)
		}
	})
}
