package e2e

import (
	"context"
	"maps"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// faultSettle is from when on after a fault no request may fail.
const faultSettle = time.Second

// TestDeployKillOneOfTwo: what the dead one had in its hands is lost, nothing else.
func TestDeployKillOneOfTwo(t *testing.T) {
	s := newSite(t)
	goes, stays := s.run("app", appLabels("app")), s.run("app", appLabels("app"))
	s.verified("http_app", goes, stays)
	// Requests that take a while, so that some are in the dead one's hands.
	l := s.loadPath("app.localhost", "app", "/?wait=20ms", loadTimeout)
	untouched := []*flow{l.on(kindWebSocket, stays, goes), l.on(kindEvents, stays, goes)}
	l.more(loadPhase / 2)
	l.action()
	mustDocker(t, "kill", goes)
	l.more(loadPhase)
	l.wantAlive(untouched...)
	l.end()
	l.wantAtMost(loadWorkers, faultSettle)
}

// TestDeployPauseOneOfTwo: a frozen one answers nothing; its requests end by
// backendTimeout, and no further one goes there.
func TestDeployPauseOneOfTwo(t *testing.T) {
	s := newSite(t)
	goes, stays := s.run("app", appLabels("app", "backendTimeout=2")), s.run("app", appLabels("app", "backendTimeout=2"))
	s.verified("http_app", goes, stays)
	l := s.loadPath("app.localhost", "app", "/?wait=20ms", 5*time.Second)
	untouched := []*flow{l.on(kindWebSocket, stays, goes), l.on(kindEvents, stays, goes)}
	l.more(loadPhase / 2)
	l.action()
	mustDocker(t, "pause", goes)
	t.Cleanup(func() { _, _ = docker("unpause", goes) })
	l.more(loadPhase)
	l.wantAlive(untouched...)
	for _, r := range l.failed() {
		if v := r.verdict(); v != "504 backend_timeout" {
			t.Errorf("a request in a frozen backend's hands ended with %s after %v, want 504 backend_timeout", v, r.took)
		}
	}
	mustDocker(t, "unpause", goes)
	s.verified("http_app", goes, stays)
	l.more(loadPhase / 3)
	l.end()
	l.wantAtMost(loadWorkers, faultSettle)
	if l.backends()[short(goes)] == 0 {
		t.Error("the thawed one got nothing")
	}
}

// churn starts and stops containers that have nothing to do with anybody, one change
// about each 100 ms, until ctx ends. It returns how many changes there were.
func (s *site) churn(ctx context.Context) int {
	var changes atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		var labels []string
		if i == 0 {
			labels = appLabels("unrelated") // one of ours, but of another entrypoint
		}
		id := s.create("unrelated", labels)
		wg.Go(func() {
			for ctx.Err() == nil {
				for _, verb := range []string{"start", "kill"} {
					if _, err := docker(verb, id); err != nil {
						s.t.Errorf("churn: %v", err)
						return
					}
					changes.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(changes.Load())
}

// TestDeployUnrelatedChurn: other containers come and go all the time. Nothing of it
// reaches this entrypoint: no state, no probe, no connection, no request.
func TestDeployUnrelatedChurn(t *testing.T) {
	span := 5 * time.Second
	if os.Getenv("FAIRLEAD_E2E") == "1" {
		span = time.Minute
	}
	s := newSite(t)
	checked := []string{"healthCheck.path=/health", "healthCheck.interval=2s"}
	ids := []string{s.run("app", appLabels("app", checked...)), s.run("app", appLabels("app", checked...))}
	s.verified("http_app", ids...)
	l := s.load("app.localhost", "app")
	untouched := []*flow{l.on(kindWebSocket, ids[0], ids[1]), l.on(kindEvents, ids[1], ids[0])}
	before, err := s.standings("http_app")
	if err != nil {
		t.Fatal(err)
	}
	probes, began := s.probes(ids), l.action()

	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	changes := s.churn(ctx)
	after, err := s.standings("http_app")
	if err != nil {
		t.Fatal(err)
	}
	counted := s.probes(ids)
	took := time.Since(began)
	l.wantAlive(untouched...)
	l.end()
	l.wantNone()
	t.Logf("%d changes in %v", changes, took.Round(time.Millisecond))
	if float64(changes) < took.Seconds()*2 {
		t.Errorf("only %d changes in %v: the test shows little", changes, took)
	}
	for id, n := range counted {
		n -= probes[id]
		// By the schedule one each 2 s, and one more at the border of the span. Not one for
		// each tick of 1 s, which is what probes that other containers provoke would be.
		if most := int(took.Seconds())/2 + 2; n > most || n < int(took.Seconds())/3 {
			t.Errorf("%s got %d probes in %v, want one each 2 s", short(id), n, took)
		}
		t.Logf("%s got %d probes in %v", short(id), n, took.Round(time.Millisecond))
	}
	if !reflect.DeepEqual(steady(before), steady(after)) {
		t.Errorf("the backends' states moved:\n%+v\n%+v", before, after)
	}
}

// steady are standings without the count of probes, which may go on.
func steady(all map[string]standing) map[string]standing {
	out := maps.Clone(all)
	for id, b := range out {
		b.Counters.Probes = 0
		out[id] = b
	}
	return out
}

// probes are how many probes each container has counted.
func (s *site) probes(ids []string) map[string]int {
	s.t.Helper()
	out := map[string]int{}
	for _, id := range ids {
		w, err := s.stats(id)
		if err != nil {
			s.t.Fatal(err)
		}
		out[id] = w.probes
	}
	return out
}
