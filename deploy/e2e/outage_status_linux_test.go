package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/api"
)

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

// wantStale waits until every place says that the engine is away and since when.
func (s *site) wantStale(within time.Duration, lost time.Time, text string) {
	s.t.Helper()
	s.eventually(within, "the engine is called away", func() error {
		p, err := s.dockerStatus()
		if err == nil && (p.Connected || p.Phase != "stale") {
			err = fmt.Errorf("connected %v, phase %s", p.Connected, p.Phase)
		}
		return err
	})
	s.t.Logf("called away, seen %v after it was lost", time.Since(lost).Round(time.Millisecond))
	p, err := s.dockerStatus()
	if err != nil {
		s.t.Fatal(err)
	}
	for name, since := range map[string]*int64{"since": p.Since, "stale_since": p.StaleSince} {
		if since == nil || *since < lost.Unix() || *since > time.Now().Unix() {
			s.t.Errorf("%s is null or not between %d and now: %+v", name, lost.Unix(), p)
		}
	}
	if p.LastError == nil || !strings.Contains(*p.LastError, text) || p.Hint == nil || *p.Hint == "" {
		s.t.Errorf("error %v, hint %v: a text with %q and a fix expected", str(p.LastError), str(p.Hint), text)
	}
	s.wantReady("stale")
	if out, code := s.cli("health"); code == 4 || !strings.Contains(out, "docker engine unreachable since") {
		s.t.Errorf("fairlead health does not say it: exit %d\n%s", code, out)
	}
}

func str(p *string) string {
	if p == nil {
		return "null"
	}
	return *p
}

// wantReady checks /ready: its status stays 200 once everything was read.
func (s *site) wantReady(phase string) {
	s.t.Helper()
	var ready api.Ready
	status, body, err := s.getAdmin("/ready")
	if err != nil || status != 200 || json.Unmarshal(body, &ready) != nil || ready.Phases["docker"] != phase {
		s.t.Errorf("/ready: %d %s %v, want 200 and docker %s", status, body, err, phase)
	}
}

// wantFresh waits until everything was read again after the engine answered.
func (s *site) wantFresh(answered time.Time) {
	s.t.Helper()
	s.eventually(time.Until(answered.Add(freshWithin)), "everything was read again", func() error {
		p, err := s.dockerStatus()
		if err == nil && (!p.Connected || p.Phase != "ready" || p.LastError != nil) {
			err = fmt.Errorf("connected %v, phase %s, %s", p.Connected, p.Phase, str(p.LastError))
		}
		return err
	})
	s.t.Logf("fresh %v after the engine answered", time.Since(answered).Round(time.Millisecond))
	s.wantReady("ready")
}

// wantNewRouted starts a container a second later and waits for its page.
func (s *site) wantNewRouted(service string) {
	s.t.Helper()
	wait(s.t, time.Second)
	s.run(service, watched(service))
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

// warnings returns the lines of warnings and above that the engine's provider logged after a moment.
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

// wantOneWarning checks that an outage is said once, not at each attempt.
func (s *site) wantOneWarning(from time.Time) {
	s.t.Helper()
	if list := s.warnings(from); len(list) != 1 {
		s.t.Errorf("%d warnings of the provider, one expected:\n%s", len(list), strings.Join(list, "\n"))
	}
}
