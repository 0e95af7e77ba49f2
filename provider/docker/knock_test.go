package docker

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
)

// TestReturnIsToldBeforeItIsRead: an engine that accepts connections again is doubted at
// once, a quarter of a second later at most; one that never answers is doubted once.
func TestReturnIsToldBeforeItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var accepting, hanging atomic.Bool
		begin := time.Now()
		var told []string
		p := &Provider{
			cfg:   Config{Log: zerolog.Nop(), Retain: DefaultRetain},
			knock: func(context.Context) bool { return accepting.Load() },
		}
		p.connect = func(ctx context.Context) (engine, error) {
			if accepting.Load() && hanging.Load() {
				sleep(ctx, 4*time.Second)
			}
			return nil, errors.New("no answer")
		}
		box := provider.NewMailbox()
		w := p.newWatcher(box)
		w.state.synced(begin, nil)
		w.put(begin, true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.run(ctx) }()
		go func() {
			last := false
			for {
				select {
				case <-ctx.Done():
					return
				case <-box.Ready():
				}
				if s, ok := box.Take(); ok && s.Status.Returning != last {
					last = s.Status.Returning
					told = append(told, map[bool]string{true: "doubt", false: "none"}[last]+" at "+time.Since(begin).Truncate(time.Second).String())
				}
			}
		}()
		accepting.Store(false)
		<-time.After(20 * time.Second)
		accepting.Store(true)
		hanging.Store(true)
		<-time.After(30 * time.Second) // hangs: one doubt, not one for each attempt
		accepting.Store(false)
		<-time.After(10 * time.Second)
		accepting.Store(true) // another return
		<-time.After(2 * time.Second)
		cancel()
		<-done
		synctest.Wait()
		if want := []string{"doubt at 20s", "none at 24s", "doubt at 1m0s"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// TestKnock tells a socket that accepts from one that nobody listens on.
func TestKnock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	knock := knocker(endpoint{network: "unix", address: path})
	if knock(t.Context()) {
		t.Error("no socket accepts")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if !knock(t.Context()) {
		t.Error("a socket that listens does not")
	}
	_ = l.Close()
	if knock(t.Context()) {
		t.Error("a closed one does")
	}
}
