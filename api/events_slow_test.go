package api

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// TestStuckWatcherHarmsNobody: the others get everything at once, telling never waits,
// and the stuck one is dropped when its write deadline is over.
func TestStuckWatcherHarmsNobody(t *testing.T) {
	onStage(t, func(s *stage) {
		stuck := s.open("")
		defer stuck.close()
		const readers = 49
		got := make(chan int, readers)
		for range readers {
			a := s.open("")
			a.next()
			go func() {
				defer a.close()
				n := 0
				for ; n < 100; n++ {
					a.next()
				}
				got <- n
			}()
		}
		began := time.Now()
		for i := range 100 {
			s.events.Transition(wentDown(i))
			synctest.Wait()
		}
		for range readers {
			<-got
		}
		if late := time.Since(began); late != 0 {
			t.Errorf("the others waited %v for a stuck watcher", late)
		}
		synctest.Wait()
		if n := s.count(); n != 1 {
			t.Errorf("%d watchers, want the stuck one", n)
		}
		<-time.After(watchWrite + time.Second)
		synctest.Wait()
		if n := s.count(); n != 0 {
			t.Errorf("the stuck watcher is still there after %v", watchWrite)
		}
	})
}

func (s *stage) count() int {
	s.server.watchers.mu.Lock()
	defer s.server.watchers.mu.Unlock()
	return s.server.watchers.count
}

// TestSlowWatcherIsToldOfItsGap: a watcher that pauses for less than the write deadline
// hears how many frames it lost, and then the rest in order.
func TestSlowWatcherIsToldOfItsGap(t *testing.T) {
	onStage(t, func(s *stage) {
		a := s.open("")
		defer a.close()
		last := a.next().Rev
		const told = 3 * keptFrames
		for i := range told {
			s.events.Transition(wentDown(i))
			if i == 0 {
				synctest.Wait() // the first is being written, and nobody reads
			}
		}
		<-time.After(watchWrite / 2)
		frames, gaps := 0, uint64(0)
		for uint64(frames)+gaps < told {
			f := a.next()
			if f.Type == "gap" {
				gaps += *f.Lost
				if f.Rev != last+*f.Lost {
					t.Fatalf("gap %+v after %d", f, last)
				}
			} else {
				frames++
				if f.Rev != last+1 {
					t.Fatalf("%d after %d without a gap", f.Rev, last)
				}
			}
			last = f.Rev
		}
		if gaps < told-keptFrames-2*watchBatch || gaps == 0 {
			t.Errorf("%d frames and %d lost", frames, gaps)
		}
	})
}

func TestRingIsBoundedInBytes(t *testing.T) {
	r := newRing(5)
	for rev := uint64(5); rev < 505; rev++ {
		r.add(&frame{rev: rev, size: 10 << 10})
	}
	kept, lost := r.after(4, keptFrames)
	if r.bytes > keptBytes || len(kept) != keptBytes/(10<<10) || kept[len(kept)-1].rev != 504 || lost != uint64(500-len(kept)) {
		t.Errorf("%d bytes, %d frames, %d lost", r.bytes, len(kept), lost)
	}
	r.add(&frame{rev: 505, size: 2 * keptBytes})
	if kept, _ := r.after(0, keptFrames); len(kept) != 1 || kept[0].rev != 505 {
		t.Errorf("a frame larger than everything: %d kept", len(kept))
	}
}

// TestSilentWatcherIsDropped: a watcher that answers no ping is gone; one that does stays.
func TestSilentWatcherIsDropped(t *testing.T) {
	onStage(t, func(s *stage) {
		alive, mute := s.open(""), s.open("")
		defer alive.close()
		defer mute.close()
		alive.next()
		mute.next()
		mute.conn.SetPingHandler(func(string) error { return nil })
		pings := 0
		answer := alive.conn.PingHandler()
		alive.conn.SetPingHandler(func(text string) error {
			pings++
			return answer(text)
		})
		muted := make(chan struct{})
		go func() {
			_, _, _ = mute.conn.ReadMessage()
			close(muted)
		}()
		done := make(chan struct{})
		go func() {
			alive.silent(10 * time.Minute)
			close(done)
		}()
		<-time.After(watchSilence + time.Second)
		synctest.Wait()
		if n := s.count(); n != 1 {
			t.Errorf("%d watchers, want 1", n)
		}
		<-muted
		<-done
		if pings < 19 {
			t.Errorf("%d pings in 10 minutes", pings)
		}
	})
}

// TestQuietStreamGoesOn: a frame after a long time comes like the first one.
func TestQuietStreamGoesOn(t *testing.T) {
	onStage(t, func(s *stage) {
		a := s.open("")
		defer a.close()
		a.next()
		for i := range 3 {
			go func() {
				<-time.After(10 * time.Minute)
				s.events.Transition(wentDown(i))
			}()
			if f := a.next(); f.Type != "transition" {
				t.Fatalf("%+v", f)
			}
		}
	})
}

// TestTalkingWatcherIsDropped: nothing is expected of a watcher, so nobody can make the
// router read.
func TestTalkingWatcherIsDropped(t *testing.T) {
	for _, text := range []string{"hello", string(make([]byte, 1<<20))} {
		onStage(t, func(s *stage) {
			a := s.open("")
			defer a.close()
			a.next()
			go func() { _ = a.conn.WriteMessage(websocket.TextMessage, []byte(text)) }()
			_, _, err := a.conn.ReadMessage()
			if !websocket.IsCloseError(err, websocket.CloseUnsupportedData) {
				t.Errorf("%d bytes: %v", len(text), err)
			}
			a.close()
			synctest.Wait()
			if n := s.count(); n != 0 {
				t.Errorf("%d watchers", n)
			}
		})
	}
}
