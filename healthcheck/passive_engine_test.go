package healthcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// ejecting makes an entrypoint whose backends are ejected by 3 failures in a row.
func ejecting(edit ...func(*route.Options)) *route.Entrypoint {
	e := &route.Entrypoint{ID: "http_api", Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions()}
	e.Options.Passive.Failures = 3
	for _, f := range edit {
		f(&e.Options)
	}
	return e
}

// member is a backend in the published rotation.
func (r *rig) member(id string) *route.Member {
	r.t.Helper()
	rot := r.cells["http_api"].Load()
	for i := range rot.Members {
		if rot.Members[i].Placement.Backend.ID == id {
			return &rot.Members[i]
		}
	}
	r.t.Fatalf("at %s: %s is not in rotation", time.Since(r.start), id)
	return nil
}

// request sends one to a backend in rotation, which answers with a status; 0 is a
// refused connection, and a negative one a client that left.
func (r *rig) request(id string, status int) {
	r.t.Helper()
	t, ok := r.member(id).Judge.Begin(time.Now())
	if !ok {
		r.t.Fatalf("at %s: %s takes no request", time.Since(r.start), id)
	}
	r.member(id).Judge.End(t, outcome(status), time.Now())
}

func (r *rig) requests(id string, statuses ...int) {
	r.t.Helper()
	for _, s := range statuses {
		r.request(id, s)
	}
}

func outcome(status int) route.Outcome {
	switch {
	case status == 0:
		return route.Outcome{Transport: true, Kind: route.KindConnectionRefused}
	case status < 0:
		return route.Outcome{Void: true}
	}
	return route.Outcome{Status: status, Latency: time.Millisecond}
}

// still is the chance that adds nothing, so that times are exact.
func (r *rig) still() {
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	for _, en := range r.engine.entries {
		for _, p := range en.placements {
			if p.passive != nil {
				p.passive.chance = func() float64 { return 0 }
			}
		}
	}
}

// trio runs an entrypoint of three backends that pass TCP probes, until they are up.
func trio(r *rig, e *route.Entrypoint, edit ...func(*route.Backend)) {
	r.t.Helper()
	var backends []route.Backend
	for i := range 3 {
		b := backend(fmt.Sprintf("b%d", i), fmt.Sprintf("10.0.0.%d", i+1), edit...)
		r.net.set(b.Address(), accept)
		if b.Check != nil && b.Check.Type == route.ProbeHTTP {
			r.net.set(b.Address(), answer(ok200))
		}
		backends = append(backends, b)
	}
	r.run()
	r.apply(r.setOf(e, backends...))
	r.still()
	r.at(2 * time.Second)
	r.wantServing("http_api", "b0 b1 b2")
}

// TestEjected goes through the life of an ejection: what is published, logged and told.
func TestEjected(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting())
		r.requests("b0", 503, 503, 0)
		r.wantState("http_api", "b0", route.StateEjected, route.OutEjected)
		r.wantServing("http_api", "b1 b2")
		h := r.health("http_api", "b0")
		if h.Kind != route.KindEjectedFailures || h.Message != "3 requests in a row failed; last: connection refused" || h.Source != "passive" {
			t.Errorf("%s by %s: %s", h.Kind, h.Source, h.Message)
		}
		checkRules(t, &h)
		r.at(31 * time.Second)
		r.wantState("http_api", "b0", route.StateEjected, "")
		r.at(32 * time.Second)
		r.wantState("http_api", "b0", route.StateTrial, route.InTrial)
		r.wantServing("http_api", "b0 b1 b2")
		h = r.health("http_api", "b0")
		checkRules(t, &h)
		r.request("b0", 200)
		r.wantState("http_api", "b0", route.StateUp, route.InVerified)
		r.stop()
		want := []string{
			`"level":"warn" up>ejected traffic backend ejected`,
			`"level":"info" ejected>trial timer backend trial`,
			`"level":"info" trial>up traffic backend readmitted`,
		}
		if got := r.lifeOf("b0"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("lines:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestEjectedUnchecked: traffic ejects what is not probed, too, and the way back is as
// loud as that of others.
func TestEjectedUnchecked(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		trio(r, ejecting(), func(b *route.Backend) { b.Check = nil })
		before := len(r.seen.loud(r.start))
		r.requests("b0", 503, 503, 503)
		h := r.health("http_api", "b0")
		checkRules(t, &h)
		r.at(32 * time.Second)
		r.request("b0", 200)
		r.wantState("http_api", "b0", route.StateUnchecked, route.InUnchecked)
		r.stop()
		want := []string{"2s http_api/b0 unchecked>ejected", "32s http_api/b0 ejected>trial", "32s http_api/b0 trial>unchecked"}
		if got := r.seen.loud(r.start)[before:]; !slices.Equal(got, want) {
			t.Errorf("%s", strings.Join(got, "\n"))
		}
		if lines := strings.Join(r.lifeOf("b0"), "\n"); !strings.HasSuffix(lines, "trial>unchecked traffic backend readmitted") {
			t.Error(lines)
		}
	})
}

// TestEjectedAndDown: probes speak on while traffic has ejected a backend; each layer says
// its own, once, and what several say at once is one transition.
func TestEjectedAndDown(t *testing.T) {
	bubble(t, Config{StartupSpread: 1}, func(r *rig) {
		many(r, 3, ejecting(), func(_ int, b *route.Backend) { httpCheck("/health")(b) })
		for i := range 3 {
			r.net.set(fmt.Sprintf("10.0.0.%d:80", i+1), answer(ok200))
		}
		r.at(21 * time.Second)
		r.requests("b0", 503, 503, 503)
		r.net.set("10.0.0.1:80", refuse)
		r.at(31 * time.Second)
		r.wantState("http_api", "b0", route.StateDown, route.OutProbeFailed)
		if h := r.health("http_api", "b0"); h.Source != "active" || !strings.Contains(h.Explain, "Traffic ejected it, too: 3 requests in a row failed") {
			t.Errorf("%s: %s", h.Source, h.Explain)
		}
		r.net.set("10.0.0.1:80", answer(ok200))
		r.at(41 * time.Second)
		r.wantState("http_api", "b0", route.StateUp, route.InVerified)
		r.stop()
		want := []string{"up>ejected traffic backend ejected", "ejected>down probe backend down", "down>up probe backend up"}
		lines := r.lifeOf("b0")
		lines = lines[max(0, len(lines)-3):]
		for i, line := range lines {
			if !strings.HasSuffix(line, want[i]) {
				t.Errorf("%s, want %s", line, want[i])
			}
		}
	})
}
