package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
	"fairlead/router/route"
)

func TestAPartThatFailsBreaksTheCrew(t *testing.T) {
	boom := errors.New("boom")
	var nothing []int
	for want, part := range map[string]func(context.Context) error{
		"engine: boom":                 func(context.Context) error { return boom },
		"engine: it ended by itself":   func(context.Context) error { return nil },
		"engine: panic: string":        func(context.Context) error { panic("secret text") },
		"engine: panic: runtime error": func(context.Context) error { return fmt.Errorf("%d", nothing[3]) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var log buffer
			c := newCrew(zerolog.New(&log))
			ctx, cancel := context.WithCancel(t.Context())
			c.start(ctx, "engine", part)
			c.start(ctx, "engine", part)
			c.start(ctx, "other", func(ctx context.Context) error { <-ctx.Done(); return nil })
			<-c.broken
			cancel()
			if err := c.wait(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			if strings.Contains(log.String(), "secret text") {
				t.Errorf("the panic's value shows: %s", log.String())
			}
			if strings.Contains(want, "panic") && !strings.Contains(log.String(), `"part":"engine"`) {
				t.Errorf("the log does not name the part: %s", log.String())
			}
		})
	}
}

func TestAPartThatEndsWithItsContextIsFine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(zerolog.Nop())
		ctx, cancel := context.WithCancel(t.Context())
		c.start(ctx, "late", func(ctx context.Context) error { <-ctx.Done(); return errors.New("cut") })
		c.start(ctx, "fine", func(ctx context.Context) error { <-ctx.Done(); return nil })
		cancel()
		if err := c.wait(); err == nil || err.Error() != "late: cut" {
			t.Errorf("%v", err)
		}
		select {
		case <-c.broken:
			t.Error("an error at the stop is not a broken router")
		default:
		}
	})
}

func TestPumpCarriesTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, out := provider.NewMailbox(), make(chan route.Snapshot)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- pump(ctx, box, out, newTeller(zerolog.Nop(), true)) }()
		box.Put(route.Snapshot{Provider: "a"})
		synctest.Wait() // it holds a and nobody takes it
		box.Put(route.Snapshot{Provider: "b"})
		box.Put(route.Snapshot{Provider: "c"})
		if first, second := <-out, <-out; first.Provider != "a" || second.Provider != "c" {
			t.Errorf("%s, then %s", first.Provider, second.Provider)
		}
		box.Put(route.Snapshot{Provider: "d"})
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAProviderThatEndsDoesNotEndTheRouter(t *testing.T) {
	var log buffer
	s := settings(tempFile(t, "entrypoints: []\n"))
	a, err := New(Config{Settings: s, Logs: NewLogs(&log, s.Log, false, false)})
	if err != nil {
		t.Fatal(err)
	}
	a.providers = append(a.providers, failing{"odd"})
	ctx, cancel := context.WithCancel(t.Context())
	c := newCrew(zerolog.New(&log))
	a.startCore(ctx, c)
	deadline := time.After(20 * time.Second)
	for !strings.Contains(log.String(), "the provider ended") {
		select {
		case <-deadline:
			t.Fatalf("nothing was said: %s", log.String())
		case <-c.broken:
			t.Fatal("the router ended")
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := c.wait(); err != nil {
		t.Error(err)
	}
}
