package cli

import (
	"reflect"
	"testing"
	"time"

	"fairlead/api"
)

// TestLayerNotes: what a layer says beside the state, and nothing where it says nothing.
func TestLayerNotes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	at := func(d time.Duration) *int64 { return new(now.Add(d).Unix()) }
	ready := api.Admin{State: "ready"}
	for _, c := range []struct {
		name string
		b    api.BackendHealth
		want []string
	}{
		{"nothing", api.BackendHealth{Admin: ready}, nil},
		{"quiet", api.BackendHealth{Admin: ready, Passive: &api.Passive{State: "closed", Threshold: 5}, Load: api.Load{InFlight: 3}}, nil},
		{"was ejected", api.BackendHealth{Admin: ready, Passive: &api.Passive{State: "closed", Threshold: 5, Ejections: 1}}, []string{"Traffic: ejected 1 time so far"}},
		{"failing", api.BackendHealth{Admin: ready, Passive: &api.Passive{State: "closed", Threshold: 5, ConsecutiveFailures: 2}}, []string{"Traffic: 2 of 5 failures that eject it"}},
		{"the last", api.BackendHealth{Admin: ready, Passive: &api.Passive{State: "closed", Threshold: 5, ConsecutiveFailures: 5, BlockedBy: new("last")}},
			[]string{"Traffic: 5 of 5 failures that eject it; it stays, because nothing verified would be left"}},
		{"the cap", api.BackendHealth{Admin: ready, Passive: &api.Passive{State: "closed", Threshold: 5, ConsecutiveFailures: 5, BlockedBy: new("cap")}},
			[]string{"Traffic: 5 of 5 failures that eject it; it stays, because as many are ejected as passive.maxEjectionPercent permits"}},
		{"ejected", api.BackendHealth{Admin: ready, Passive: &api.Passive{State: "open", Ejections: 3, Until: at(48 * time.Second)}}, []string{"Traffic: ejected for another 48s, ejected 3 times so far"}},
		{"on trial", api.BackendHealth{Admin: ready, Passive: &api.Passive{State: "half_open", TrialInProgress: true}}, []string{"Traffic: on trial, and one request is trying it"}},
		{"trial free", api.BackendHealth{Admin: ready, Passive: &api.Passive{State: "half_open"}}, []string{"Traffic: on trial: the next request tries it"}},
		{"drained", api.BackendHealth{Admin: api.Admin{State: "drain", Actor: new("ops"), Reason: new("new kernel"), Since: at(-time.Minute), ExpiresAt: at(29 * time.Minute)}},
			[]string{"Operator: drain by ops (new kernel) for 1m 0s; ready again in 29m 0s"}},
		{"the service", api.BackendHealth{Admin: api.Admin{State: "maintenance", Scope: new("service")}}, []string{"Operator: maintenance, for every backend of the entrypoint; until another order"}},
		{"warming", api.BackendHealth{Admin: ready, Warmup: &api.Warmup{Percent: 25, EndsAt: *at(45 * time.Second)}}, []string{"Slow start: 25 % of its weight, all of it in 45s"}},
		{"busy", api.BackendHealth{Admin: ready, Load: api.Load{InFlight: 9, Max: new(int64(10))}}, []string{"Load: 9 of 10 requests (maxConnections)"}},
		{"full", api.BackendHealth{Admin: ready, Load: api.Load{InFlight: 10, Max: new(int64(10)), Full: true}}, []string{"Load: 10 of 10 requests (maxConnections), full"}},
	} {
		if got := layerNotes(&c.b, now); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLineNotes: what keeps requests from the backends of an entrypoint.
func TestLineNotes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	at := now.Add(4 * time.Second).Unix()
	for _, c := range []struct {
		name string
		e    api.Entrypoint
		want []string
	}{
		{"nothing", api.Entrypoint{Health: api.EntrypointHealth{Breaker: &api.Breaker{State: "closed", Samples: 20}}}, nil},
		{"open", api.Entrypoint{Health: api.EntrypointHealth{Breaker: &api.Breaker{State: "open", FailureRatio: 0.75, Samples: 20, RetryAt: &at}}},
			[]string{"circuit breaker open: 75 % of the last 20 requests failed, one is tried in 4s"}},
		{"half open", api.Entrypoint{Health: api.EntrypointHealth{Breaker: &api.Breaker{State: "half_open", FailureRatio: 1, Samples: 1}}},
			[]string{"circuit breaker half open: 100 % of the last 1 request failed"}},
		{"idle", api.Entrypoint{Traffic: &api.Traffic{Waiting: new(int64), Queued: new(int64), TurnedAway: new(uint64)}}, nil},
		{"held", api.Entrypoint{Traffic: &api.Traffic{Waiting: new(int64(2)), Queued: new(int64(1)), TurnedAway: new(uint64(7))}}, []string{
			"2 requests held until a backend is there (holdFor)",
			"1 request in line, because every backend is full; 7 requests turned away so far, because every backend was full"}},
	} {
		if got := lineNotes(&c.e, now); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAbsentOnce: several predecessors of one name are one line, with the last end.
func TestAbsentOnce(t *testing.T) {
	early, late := new(int64(10)), new(int64(20))
	in := []api.Absence{
		{CandidateID: "a", Name: "api-1", Reason: "retained", Until: early}, {CandidateID: "b", Name: "api-1", Reason: "retained", Until: late},
		{CandidateID: "c", Name: "api-2", Reason: "retained", Until: early}, {CandidateID: "d", Name: "api-1", Reason: "paused"},
		{CandidateID: "e", Name: "api-1", Reason: "retained", Until: early},
	}
	if got, want := absentOnce(in), []api.Absence{in[1], in[2], in[3]}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestEventsNameOrders: who ordered it and why stand in a line once.
func TestEventsNameOrders(t *testing.T) {
	event := api.EventTransition{Entrypoint: "http_api", Backend: new("id"), Container: new("api-1"), Address: new("10.0.0.1:80")}
	for _, c := range []struct {
		tr   api.Transition
		want string
	}{
		{api.Transition{From: "up", To: "draining", Kind: new("admin_drain"), Message: "drained by ops (new kernel)", Actor: new("ops"), Reason: new("new kernel")},
			"http_api  api-1 10.0.0.1:80  up > draining  admin_drain: drained by ops (new kernel)  (out of rotation)"},
		{api.Transition{From: "ejected", To: "up", Message: "back", Actor: new("ops"), Reason: new("a test")},
			"http_api  api-1 10.0.0.1:80  ejected > up  back  by ops (a test)  (out of rotation)"},
		{api.Transition{From: "up", To: "ejected", Kind: new("ejected_failures"), Message: "5 requests in a row failed"},
			"http_api  api-1 10.0.0.1:80  up > ejected  ejected_failures: 5 requests in a row failed  (out of rotation)"},
		{api.Transition{From: "ejected", To: "trial"}, "http_api  api-1 10.0.0.1:80  ejected > trial  (out of rotation)"},
	} {
		event.Transition = c.tr
		if got := transitionLine(&event, style{}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	breaker := api.EventTransition{Entrypoint: "http_api", Transition: api.Transition{From: "closed", To: "open", Message: "15 of the last 20 requests failed"}}
	if got, want := transitionLine(&breaker, style{}), "http_api  closed > open  15 of the last 20 requests failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
