package cli

import (
	"strings"
	"testing"
	"time"

	"fairlead/api"
)

// TestFailingRequestsAreSaid from one in twenty on, and never as all of them while one
// succeeds.
func TestFailingRequestsAreSaid(t *testing.T) {
	if failing(nil) != "" || failing(&api.Traffic{}) != "" {
		t.Error("requests that nobody counted fail")
	}
	for share, want := range map[float64]string{
		0: "", 0.049: "", 0.05: "5.0 % of the requests of the last minute failed", 0.96: "96 % of the requests of the last minute failed",
		0.999: "99 % of the requests of the last minute failed", 1: "every request of the last minute failed",
	} {
		if got := failing(&api.Traffic{ErrorRatio: &share}); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
}

// sickness is one of everything that can be wrong, the worst last.
func sickness(now time.Time) []api.Entrypoint {
	entry := func(id, state string) api.Entrypoint {
		return api.Entrypoint{ID: id, Health: api.EntrypointHealth{State: state}}
	}
	failed := func(e api.Entrypoint, share float64) api.Entrypoint {
		e.Traffic = &api.Traffic{ErrorRatio: &share, RatePerS: &share, P99MS: &share}
		return e
	}
	well := failed(entry("http_well", "ok"), 0.9)
	flaps := entry("http_flaps", "ok")
	flaps.Health.Flapping = &api.Flapping{Changes: 6, Until: now.Add(time.Minute).Unix()}
	steady := entry("http_steady", "ok")
	steady.Health.Flapping = &api.Flapping{Changes: 6, Until: now.Unix()}
	shadowed, tripped := entry("http_shadowed", "ok"), entry("http_tripped", "ok")
	shadowed.ShadowedBy, tripped.Health.Breaker = new("http_well"), &api.Breaker{State: "open"}
	return []api.Entrypoint{
		steady, well, flaps, shadowed, entry("http_waits", "pending"), failed(entry("http_partial", "partial"), 0.3),
		entry("http_panic", "panic"), tripped, failed(entry("http_dead", "panic"), 1), entry("http_down", "down"),
	}
}

// TestTheWorstComesFirst after a line that sums all up; JSON stays as the API has it.
func TestTheWorstComesFirst(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	list := sickness(now)
	worstFirst(list, now)
	var ids []string
	for i := range list {
		ids = append(ids, strings.TrimPrefix(list[i].ID, "http_"))
	}
	if got := strings.Join(ids, " "); got != "down dead tripped panic partial waits shadowed flaps steady well" {
		t.Errorf("order %s", got)
	}
	var out buffer
	p := &program{Streams: Streams{Out: &out}}
	if got := p.summary(list, now); got != "10 entrypoints: 1 down, 2 panic, 1 partial, 1 pending, 5 ok; 1 flapping" {
		t.Error(got)
	}
	p.printHealth(list, now)
	p.printRoutes(list, now)
	for _, want := range []string{
		"http_dead  panic  1.0 requests/s, 100 % errors, p99 1.0 ms\n  every request of the last minute failed\n",
		"http_flaps  ok\n  flapping: changed 6 times in 10 min\n", "30 % of the requests of the last minute failed\n", "http_steady  ok\n\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "every request of the last minute failed"); n != 2 {
		t.Errorf("it is said %d times, want once in each list", n)
	}
}
