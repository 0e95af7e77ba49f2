package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/provider"
	"fairlead/router/route"
)

// bubble runs a provider on a memory in a bubble.
type bubble struct {
	t    *testing.T
	m    *memory
	out  *provider.Mailbox
	last route.Snapshot
	stop func()
}

func inBubble(t *testing.T, setup func(*memory), test func(*bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory() // its channels must be the bubble's
		if setup != nil {
			setup(m)
		}
		p := newProvider(t, "", nil)
		p.connect, p.knock = m.connect, nil
		ctx, cancel := context.WithCancel(t.Context())
		b := &bubble{t: t, m: m, out: provider.NewMailbox()}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Run(ctx, b.out); err != nil {
				t.Errorf("Run returned %v", err)
			}
		})
		b.stop = func() { cancel(); wg.Wait() }
		defer b.stop()
		synctest.Wait()
		test(b)
	})
}

// next returns how long the next snapshot takes, which must be at most limit.
func (b *bubble) next(limit time.Duration) time.Duration {
	b.t.Helper()
	began := time.Now()
	timer := time.NewTimer(limit + time.Nanosecond)
	defer timer.Stop()
	for {
		select {
		case <-b.out.Ready():
		case <-timer.C:
			b.t.Fatalf("no snapshot within %v; the last one is %s", limit, describeSnapshot(b.last))
		}
		if s, news := b.take(); news {
			b.last = s
			return time.Since(began)
		}
	}
}

// take returns what was put; news is false when only the time of the read differs.
func (b *bubble) take() (s route.Snapshot, news bool) {
	s, _ = b.out.Take()
	return s, !equal(b.last, s, true)
}

// none checks that no snapshot comes for a while.
func (b *bubble) none(d time.Duration) {
	b.t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-b.out.Ready():
			if s, news := b.take(); news {
				b.t.Fatalf("unexpected snapshot %s\nafter %s", describeSnapshot(s), describeSnapshot(b.last))
			}
		case <-timer.C:
			return
		}
	}
}

func (b *bubble) is(id, want string) {
	b.t.Helper()
	if got := of(b.last, id); got != want {
		b.t.Errorf("%s is %q, want %q", id, got, want)
	}
}

func TestOneStartGoesOutAfterTheQuietTimeAlone(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.next(0)
		b.m.begin("a")
		if took := b.next(time.Second); took != quietTime {
			t.Errorf("took %v, want %v", took, quietTime)
		}
		b.is("http_a", "a=10.0.0.2:80(present)")
		b.none(30 * time.Second)
	})
}

func TestAdditionsAreCollectedForASecondAtMost(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.next(0)
		began := time.Now()
		go func() {
			for i := range 30 {
				b.m.begin(fmt.Sprintf("c%d", i))
				<-time.After(50 * time.Millisecond) // virtual time
			}
		}()
		b.next(2 * time.Second)
		if took := time.Since(began); took != longestWait {
			t.Errorf("the first ones went out after %v, want %v", took, longestWait)
		}
		if n := len(b.last.Entrypoints); n < 20 {
			t.Errorf("only %d of them went out together", n)
		}
		b.next(2 * time.Second)
		if len(b.last.Entrypoints) != 30 {
			t.Errorf("%d went out in the end", len(b.last.Entrypoints))
		}
	})
}

func TestRemovalGoesOutAtOnceAndTakesAnnouncedAdditionsAlong(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("old")
		m.begin("slow")
		b.next(0)
		b.next(quietTime)
		m.slow("new", 10*time.Millisecond)
		m.slow("late", 400*time.Millisecond)
		m.begin("new")
		m.say("kill", "old", "signal", "15")
		if took := b.next(time.Second); took != 10*time.Millisecond {
			t.Errorf("took %v, want the 10 ms of the addition", took)
		}
		b.is("http_old", "old=10.0.0.2:80(leaving)")
		b.is("http_new", "new=10.0.0.4:80(present)")
		m.begin("late")
		m.say("kill", "slow", "signal", "9")
		if took := b.next(time.Second); took != removalWait {
			t.Errorf("took %v, want %v at most for an addition that is slow", took, removalWait)
		}
		b.is("http_slow", "slow=10.0.0.3:80(leaving)")
		b.is("http_late", "-")
		b.next(time.Second)
		b.is("http_late", "late=10.0.0.5:80(present)")
	})
}

func TestLeavingEndsWhenTheContainerGoesOnRunning(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a", func(c *inspected) { c.StopTimeout = 2 * time.Minute })
		b.next(0)
		b.next(quietTime)
		m.say("kill", "a", "signal", "TERM")
		b.next(0)
		b.is("http_a", "a=10.0.0.2:80(leaving)")
		// Two resyncs pass and end nothing.
		if took := b.next(time.Hour); took != 2*time.Minute+leaveGrace {
			t.Errorf("taken back after %v, want %v", took, 2*time.Minute+leaveGrace)
		}
		b.is("http_a", "a=10.0.0.2:80(present)")
		if m.dialed() != 1 {
			t.Errorf("connected %d times", m.dialed())
		}
	})
}

func TestRestartEndsLeaving(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a")
		b.next(0)
		b.next(quietTime)
		m.say("kill", "a", "signal", "15")
		b.next(0)
		<-time.After(time.Second) // virtual time
		m.begin("a", func(c *inspected) { c.Started = time.Now() })
		b.next(quietTime)
		b.is("http_a", "a=10.0.0.2:80(present)")
	})
}

func TestEventsOfAnEarlierLifeChangeNothing(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a")
		b.next(0)
		b.next(quietTime)
		for _, action := range []string{"die", "stop"} {
			m.events <- event{Type: "container", Action: action, ID: "a", Attrs: map[string]string{}, At: time.Now().Add(-time.Hour)}
		}
		m.events <- event{Type: "container", Action: "kill", ID: "a", Attrs: map[string]string{"signal": "15"}, At: time.Now().Add(-time.Hour)}
		b.none(time.Minute / 2)
	})
}

func TestOnlyTheStopSignalIsTheBeginningOfTheEnd(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a", func(c *inspected) { c.StopSignal = "SIGQUIT" })
		b.next(0)
		b.next(quietTime)
		m.say("kill", "a", "signal", "1")
		m.say("kill", "a", "signal", "15")
		b.none(time.Second)
		m.say("kill", "a", "signal", "3")
		b.next(0)
		b.is("http_a", "a=10.0.0.2:80(leaving)")
	})
}

func TestRetentionEnds(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a")
		m.begin("b")
		b.next(0)
		b.next(quietTime)
		m.drop("a")
		m.say("destroy", "a")
		b.next(0)
		b.is("http_a", "a(retained)")
		if took := b.next(time.Hour); took != DefaultRetain {
			t.Errorf("retained for %v", took)
		}
		b.is("http_a", "-")
		b.is("http_b", "b=10.0.0.3:80(present)")
		m.set("b", func(c *inspected) { c.Status, c.Finished, c.Networks = statusExited, time.Now(), nets("edge=") })
		m.say("die", "b")
		b.next(time.Second)
		if of(b.last, "http_b") != "b(retained)" {
			b.next(time.Second)
		}
		b.is("http_b", "b(retained)")
		b.next(time.Hour)
		b.is("http_b", "-")
		b.none(10 * time.Minute)
	})
}

func TestNoAddressIsAskedForWithBackoff(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a", func(c *inspected) { c.Networks = nets("edge=") })
		b.next(0)
		b.next(quietTime)
		b.is("http_a", "a(no_address)")
		<-time.After(time.Minute) // virtual time
		if n := m.count("a"); n < 15 || n > 40 {
			t.Errorf("asked %d times in a minute, want about 18", n)
		}
		m.set("a", func(c *inspected) { c.Networks = nets("edge=10.0.0.9") })
		b.next(maxInspectBackoff)
		b.is("http_a", "a=10.0.0.9:80(present)")
	})
}

func TestRemovalDuringAReadGoesOut(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a")
		m.begin("b")
		b.next(0)
		b.next(quietTime)
		m.slow("a", 3*time.Second)
		m.slow("b", 3*time.Second)
		m.end <- errors.New("cut")
		<-time.After(time.Second) // virtual time
		m.say("kill", "a", "signal", "15")
		if took := b.next(time.Second); took != removalWait {
			t.Errorf("took %v", took)
		}
		b.is("http_a", "a=10.0.0.2:80(leaving)")
	})
}

func TestLastWordsBeforeTheStreamEndsCount(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		m := b.m
		m.begin("a")
		b.next(0)
		b.next(quietTime)
		m.mu.Lock()
		m.dialErr = errors.New("shut down")
		m.mu.Unlock()
		m.slow("a", time.Minute)
		m.say("die", "a")
		synctest.Wait()
		m.end <- errors.New("unexpected EOF")
		b.next(0)
		b.is("http_a", "a=10.0.0.2:80(leaving)")
	})
}
