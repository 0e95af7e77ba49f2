package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// appLabels declare one service with the host SERVICE.localhost and further keys.
func appLabels(service string, more ...string) []string {
	labels := []string{"enable=true", "http." + service + ".host=" + service + ".localhost", "http." + service + ".port=8080"}
	for _, key := range more {
		labels = append(labels, "http."+service+"."+key)
	}
	return labels
}

// standing is what must not change by itself about a backend.
type standing struct {
	State          string          `json:"state"`
	Since          int64           `json:"since"`
	InRotation     bool            `json:"in_rotation"`
	RotationReason string          `json:"rotation_reason"`
	History        json.RawMessage `json:"history"`
	Counters       struct {
		Transitions int `json:"transitions"`
		Probes      int `json:"probes"`
	} `json:"counters"`
	Container struct {
		ID string `json:"id"`
	} `json:"container"`
}

// standings are the backends of an entrypoint by the short id of their container.
func (s *site) standings(entrypoint string) (map[string]standing, error) {
	status, body, err := s.getAdmin("/entrypoints/" + entrypoint)
	if err != nil || status != 200 {
		return nil, fmt.Errorf("%d %s: %w", status, body, err)
	}
	var e struct {
		Backends []standing `json:"backend_health"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	out := map[string]standing{}
	for _, b := range e.Backends {
		out[short(b.Container.ID)] = b
	}
	return out, nil
}

// verified waits until exactly these containers are up and in rotation.
func (s *site) verified(entrypoint string, ids ...string) {
	s.t.Helper()
	s.verifiedWithin(15*time.Second, entrypoint, ids...)
}

func (s *site) verifiedWithin(within time.Duration, entrypoint string, ids ...string) {
	s.t.Helper()
	s.eventually(within, fmt.Sprintf("%d backends of %s are verified", len(ids), entrypoint), func() error {
		all, err := s.standings(entrypoint)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if b := all[short(id)]; b.State != "up" || !b.InRotation {
				return fmt.Errorf("%s: %+v", short(id), b)
			}
		}
		if len(all) != len(ids) {
			return fmt.Errorf("%d backends", len(all))
		}
		return nil
	})
}

// finisher are the flags of a backend that finishes what it accepted on TERM.
func finisher() []string { return []string{"-drain", "9s"} }

// TestDeployStopOneOfTwo: docker stop of one of two loses nothing; the upload on it
// finishes, and the tunnels on the other are not touched.
func TestDeployStopOneOfTwo(t *testing.T) {
	s := newSite(t)
	goes := s.run("app", appLabels("app"), finisher()...)
	stays := s.run("app", appLabels("app"), finisher()...)
	s.verified("http_app", goes, stays)
	l := s.load("app.localhost", "app")
	untouched := []*flow{l.on(kindWebSocket, stays, goes), l.on(kindEvents, stays, goes)}
	ending := []*flow{l.on(kindWebSocket, goes, stays), l.on(kindEvents, goes, stays)}
	l.more(loadPhase)
	uploads := []*flow{l.on(kindUpload, goes, stays), l.on(kindUpload, stays, goes)}

	l.action()
	mustDocker(t, "stop", goes)
	l.more(loadPhase)
	l.wantAlive(untouched...)
	l.wantWell(uploads...)
	l.wantWell(ending...)
	l.end()
	l.wantNone()
	if got := l.backends(); got[short(stays)] < loadPhase/2 {
		t.Errorf("the one that stays served %v", got)
	}
}

// TestDeployRollingReplace: two replicas replaced one after the other, each new one
// started first and awaited.
func TestDeployRollingReplace(t *testing.T) {
	s := newSite(t)
	old := []string{s.run("app", appLabels("app"), finisher()...), s.run("app", appLabels("app"), finisher()...)}
	s.verified("http_app", old...)
	l := s.load("app.localhost", "app")
	l.more(loadPhase / 2)
	l.action()

	first := s.run("app", appLabels("app"), finisher()...)
	s.verified("http_app", old[0], old[1], first)
	untouched := []*flow{l.on(kindWebSocket, first, old...), l.on(kindEvents, first, old...)}
	finishing := []*flow{l.on(kindUpload, old[0], old[1], first)}
	mustDocker(t, "stop", old[0])

	second := s.run("app", appLabels("app"), finisher()...)
	s.verified("http_app", old[1], first, second)
	finishing = append(finishing, l.on(kindUpload, old[1], first, second))
	mustDocker(t, "stop", old[1])

	l.more(loadPhase)
	l.wantAlive(untouched...)
	l.wantWell(finishing...)
	l.end()
	l.wantNone()
	s.verified("http_app", first, second)
}

// TestDeployScaleDown: four replicas to one, three stopped at once.
func TestDeployScaleDown(t *testing.T) {
	s := newSite(t)
	var ids []string
	for range 4 {
		ids = append(ids, s.run("app", appLabels("app"), finisher()...))
	}
	s.verified("http_app", ids...)
	l := s.load("app.localhost", "app")
	untouched := []*flow{l.on(kindWebSocket, ids[0], ids[1:]...), l.on(kindEvents, ids[0], ids[1:]...)}
	l.more(loadPhase / 2)
	var uploads []*flow
	for _, id := range ids {
		uploads = append(uploads, l.on(kindUpload, id, ids...))
	}
	l.action()
	mustDocker(t, append([]string{"stop"}, ids[1:]...)...)
	l.more(loadPhase)
	l.wantAlive(untouched...)
	l.wantWell(uploads...)
	l.end()
	l.wantNone()
	s.verified("http_app", ids[0])
}
