package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead/api"
)

// outageTime is how long the engine is away where the length matters.
func outageTime() time.Duration {
	if os.Getenv("FAIRLEAD_E2E") == "1" {
		return 60 * time.Second
	}
	return 20 * time.Second
}

// freshWithin is the promise: so soon after the engine answers again everything is current.
const freshWithin = 5 * time.Second

// app are the labels of a service with a host of its own.
func app(service string) []string {
	name := "http." + service
	return []string{
		"enable=true", name + ".host=" + service + ".localhost", name + ".port=8080",
		name + ".healthCheck.interval=1s", name + ".healthCheck.initialDelay=0",
	}
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal("the test was ended")
	}
}

// dockerStatus is what GET /providers says about the engine.
func (s *site) dockerStatus() (api.Provider, error) {
	var answer api.Providers
	status, body, err := s.getAdmin("/providers")
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		return api.Provider{}, fmt.Errorf("GET /providers: %d %w", status, err)
	}
	i := slices.IndexFunc(answer.Providers, func(p api.Provider) bool { return p.Name == "docker" })
	if i < 0 {
		return api.Provider{}, fmt.Errorf("no docker in %s", body)
	}
	return answer.Providers[i], nil
}

// awaitStale waits until every place says that the engine is away and since when.
func (s *site) awaitStale(within time.Duration, lost time.Time, text string) {
	s.t.Helper()
	s.eventually(within, "the engine is called away", func() error {
		p, err := s.dockerStatus()
		if err == nil && (p.Connected || p.Phase != "stale") {
			err = fmt.Errorf("connected %v, phase %s", p.Connected, p.Phase)
		}
		return err
	})
	s.t.Logf("called away %v after it was lost", time.Since(lost).Round(time.Millisecond))
	p, err := s.dockerStatus()
	if err != nil {
		s.t.Fatal(err)
	}
	if p.Since == nil || *p.Since < lost.Unix() || *p.Since > time.Now().Unix() {
		s.t.Errorf("since %v is not between %d and now", p.Since, lost.Unix())
	}
	if p.LastError == nil || !strings.Contains(*p.LastError, text) || p.Hint == nil || *p.Hint == "" {
		s.t.Errorf("error %v, hint %v: a text with %q and a fix expected", str(p.LastError), str(p.Hint), text)
	}
	s.expectReady("stale")
	if out, code := s.cli("health"); code == 4 || !strings.Contains(out, "docker is not connected") {
		s.t.Errorf("fairlead health does not say it: exit %d\n%s", code, out)
	}
}

func str(p *string) string {
	if p == nil {
		return "null"
	}
	return *p
}

// expectReady checks /ready: its status stays 200 once everything was read.
func (s *site) expectReady(phase string) {
	s.t.Helper()
	var ready api.Ready
	status, body, err := s.getAdmin("/ready")
	if err != nil || status != 200 || json.Unmarshal(body, &ready) != nil || ready.Phases["docker"] != phase {
		s.t.Errorf("/ready: %d %s %v, want 200 and docker %s", status, body, err, phase)
	}
}

// awaitFresh waits until everything was read again after the engine answered.
func (s *site) awaitFresh(answered time.Time) {
	s.t.Helper()
	s.eventually(time.Until(answered.Add(freshWithin)), "everything was read again", func() error {
		p, err := s.dockerStatus()
		if err == nil && (!p.Connected || p.Phase != "ready" || p.LastError != nil) {
			err = fmt.Errorf("connected %v, phase %s, %s", p.Connected, p.Phase, str(p.LastError))
		}
		return err
	})
	s.t.Logf("fresh %v after the engine answered", time.Since(answered).Round(time.Millisecond))
	s.expectReady("ready")
}

// expectNewRouted starts a container a second later and waits for its page.
func (s *site) expectNewRouted(service string) {
	s.t.Helper()
	wait(s.t, time.Second)
	s.run(service, app(service))
	began := time.Now()
	s.waitFor(service+".localhost", 200, service)
	if took := time.Since(began); took > 3*time.Second {
		s.t.Errorf("a container started after the outage was routed %v later", took)
	}
}

// logLine is what these tests read of a line of the router's log.
type logLine struct {
	Level    string    `json:"level"`
	Time     time.Time `json:"time"`
	Provider string    `json:"provider"`
	Message  string    `json:"msg"`
}

// lines returns the lines of warnings and above that the engine's provider logged after a moment.
func (s *site) warnings(from time.Time) []string {
	var list []string
	for text := range strings.Lines(s.log.String()) {
		var line logLine
		if json.Unmarshal([]byte(text), &line) != nil || line.Time.Before(from) || line.Provider != "docker" {
			continue
		}
		if line.Level == "warn" || line.Level == "error" {
			list = append(list, strings.TrimSpace(text))
		}
	}
	return list
}

// expectOneWarning checks that an outage is said once, not at each attempt.
func (s *site) expectOneWarning(from time.Time) {
	s.t.Helper()
	if list := s.warnings(from); len(list) != 1 {
		s.t.Errorf("%d warnings of the provider, one expected:\n%s", len(list), strings.Join(list, "\n"))
	}
}

// awaitUp waits until the number of backends of an entrypoint is up.
func (s *site) awaitUp(id string, want int) {
	s.t.Helper()
	s.eventually(20*time.Second, fmt.Sprintf("%d of %s are up", want, id), func() error {
		e, err := s.entrypoint(id)
		if err != nil {
			return err
		}
		up := 0
		for _, b := range e.Backends {
			if b.State == "up" && b.InRotation {
				up++
			}
		}
		if up != want || len(e.Backends) != want {
			return fmt.Errorf("%+v", e.Backends)
		}
		return nil
	})
}

// TestOutageLiveRestore stops an engine that leaves its containers running: nothing that
// still serves is lost, what dies meanwhile costs next to nothing, and the return is noticed.
func TestOutageLiveRestore(t *testing.T) {
	e := newPrivateEngine(t, "--live-restore")
	s := e.site(e.socket(), nil)
	s.run("app-one", app("app"))
	two := s.run("app-two", app("app"))
	s.run("long", app("long"))
	back := s.runWith("back", app("back"), []string{"--restart", "always"})
	for id, n := range map[string]int{"http_app": 2, "http_long": 1, "http_back": 1} {
		s.awaitUp(id, n)
	}
	victims := []int{e.pid(two), e.pid(back)}
	load, streams := startLoad(s, "app.localhost", "Name: app-"), startStreams(s, "long.localhost")
	began := time.Now()
	wait(t, 2*time.Second)
	load.expect(t, "before", began, 0)

	lost := time.Now()
	e.terminate()
	t.Logf("dockerd ended %v after SIGTERM", time.Since(lost).Round(time.Millisecond))
	s.awaitStale(10*time.Second, lost, e.socket())
	wait(t, outageTime()/2)
	load.expect(t, "engine away", began, 0)
	killed := time.Now()
	for _, pid := range victims {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, outageTime()/2)
	load.expect(t, "engine away, one of two killed", killed, 8)
	s.expectOneWarning(lost)
	s.awaitStale(time.Second, lost, e.socket())

	failed, _ := load.since(began)
	took := e.start()
	answered := time.Now()
	t.Logf("dockerd answered %v after its start, away for %v", took.Round(time.Millisecond), answered.Sub(lost).Round(time.Millisecond))
	s.awaitFresh(answered)
	s.expectNewRouted("newcomer")
	s.waitFor("back.localhost", 200, "back")
	s.awaitUp("http_app", 1)
	load.expect(t, "engine back", began, len(failed))
	expectAlive(t, "engine back", streams)
	load.finish()
	t.Logf("failed in all: %v", tally(failed))
}
