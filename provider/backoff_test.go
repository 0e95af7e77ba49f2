package provider

import (
	"testing"
	"time"
)

func TestBackoffGrowsToItsCapAndResets(t *testing.T) {
	b := Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for _, want := range []time.Duration{100, 200, 400, 800, 1000, 1000, 1000} {
		want *= time.Millisecond
		if got := b.Next(); got > want || got < want*3/4 {
			t.Fatalf("wait %v, want within a quarter below %v", got, want)
		}
	}
	b.Reset()
	if got := b.Next(); got > 100*time.Millisecond {
		t.Fatalf("after Reset the wait is %v", got)
	}
}

func TestBackoffZeroValueUsesTheDefaults(t *testing.T) {
	var b Backoff
	var got time.Duration
	for range 20 {
		got = b.Next()
	}
	if got > DefaultBackoffMax || got < DefaultBackoffMax*3/4 {
		t.Fatalf("the cap of the zero value is %v", got)
	}
	if odd := (&Backoff{Min: time.Minute, Max: time.Second}).Next(); odd > time.Minute || odd < 45*time.Second {
		t.Fatalf("a cap below the minimum gave %v", odd)
	}
}
