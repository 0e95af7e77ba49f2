package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPodman: what happens to labelled containers of Podman shows as with Docker.
func TestPodman(t *testing.T) {
	p := newPodman(t)
	s := p.site("FAIRLEAD_PROVIDERS_DOCKER_RETAINSECONDS=3")
	p.engineIsNamed(s)
	// Podman's events come late: a request may still go to a container that is paused.
	id := p.run(s, "app", "--no-healthcheck", "--label", "pod.http.app.holdFor=0", "--label", "pod.http.app.backendTimeout=1")
	s.waitFor("app.localhost", 200, "Name: app")
	for _, step := range []struct {
		status int
		reason string
		args   []string
	}{
		{503, "retained", []string{"stop", "-t", "2", id}},
		{200, "", []string{"start", id}},
		{503, "retained", []string{"kill", id}},
		{200, "", []string{"start", id}},
		{200, "", []string{"restart", "-t", "2", id}},
		{503, "no_backends", []string{"pause", id}},
		{200, "", []string{"unpause", id}},
		{503, "retained", []string{"rm", "-f", id}},
		{404, "no_route", nil}, // after the retention
	} {
		if step.args != nil {
			s.docker(step.args...)
		}
		s.eventually(10*time.Second, fmt.Sprintf("%v: %d %s", step.args, step.status, step.reason), func() error {
			a, err := s.get("app.localhost", "/")
			if err == nil && (a.status != step.status || a.reason() != step.reason) {
				err = fmt.Errorf("%d %s", a.status, a.reason())
			}
			return err
		})
	}
}

// TestPodmanNetworks: the network label, EXPOSE and containers of which no port is published.
func TestPodmanNetworks(t *testing.T) {
	p := newPodman(t)
	s := p.site()
	for _, network := range []string{"edge", "other"} {
		s.docker("network", "create", network)
	}
	p.run(s, "named", "--label", "pod.network=other", "--network", "edge")
	s.waitFor("named.localhost", 200, "Name: named")
	e, err := s.entrypoint("http_named")
	if err != nil || !hasCode(e.Diagnostics, "W009") && !s.diagnosed("W009") {
		t.Errorf("%v: a network that the container is not on is not told: %+v", err, e)
	}
	id := p.create(s, "both", "--label", "pod.network=other", "--network", "edge")
	s.docker("network", "connect", "other", id)
	s.docker("start", id)
	s.waitFor("both.localhost", 200, "Name: both")
	inside := s.docker("inspect", "-f", "{{.NetworkSettings.Networks.other.IPAddress}}", id)
	if e, err := s.entrypoint("http_both"); err != nil || len(e.Backends) != 1 || e.Backends[0].Address != inside+":8080" {
		t.Errorf("network label: %v %+v, want %s", err, e.Backends, inside)
	}
	// Without systemd Podman runs no HEALTHCHECK, and the image's one is starting for ever:
	// such a backend serves while nothing verified is there.
	if e, err := s.entrypoint("http_both"); err != nil || len(e.Backends) != 1 || e.Backends[0].Kind != "docker_starting" || !e.Backends[0].InRotation {
		t.Logf("HEALTHCHECK runs here: %v %+v", err, e.Backends)
	}
	exposed := p.createPort(s, "exposed", "", "80")
	s.docker("start", exposed)
	s.waitFor("exposed.localhost", 200, "Name: exposed")
}

// TestPodmanExample starts the example with Compose against Podman's socket: the router
// runs in a container of Podman and finds itself.
func TestPodmanExample(t *testing.T) {
	p := newPodman(t)
	key, value, _ := strings.Cut(mark, "=")
	limits := map[string]any{
		"ulimits": map[string]int{"nofile": 1024, "nproc": 1024}, "cgroup_parent": "/" + p.name, "labels": map[string]string{key: value},
	}
	e := newExample(t, "podman", map[string]map[string]any{"router": limits, "app": limits})
	e.dial, e.enter, e.engine = p.dial, []string{"nsenter", "--net=" + p.namespace()}, []string{"--host", p.host()}
	socket := strings.TrimPrefix(p.host(), "unix://")
	e.standIns = []string{"/run/podman/podman.sock", socket}
	list := e.header()
	if !slices.ContainsFunc(list, func(c command) bool { return c.line == "export DOCKER_HOST=unix://$PODMAN_SOCK" }) {
		t.Fatalf("the header is %v", list)
	}
	e.follow(list[:len(list)-1])
	e.changesArrive("app", "pod")
	e.follow(list[len(list)-1:])
}

// TestPodmanHowto runs the manual's command lines, without Compose.
func TestPodmanHowto(t *testing.T) {
	p := newPodman(t)
	e := &example{
		site: &site{
			t: t, log: &logBuffer{}, prefix: "sozune", http: "127.0.0.1:8080", admin: "127.0.0.1:3035",
			dial: p.dial, enter: []string{"nsenter", "--net=" + p.namespace()}, engine: []string{"--host", p.host()},
		},
		name: "podman", dir: p.dir, env: append(os.Environ(), "PATH="+p.command()+":"+os.Getenv("PATH")),
	}
	socket := strings.TrimPrefix(p.host(), "unix://")
	// The service may serve at one path only, and the file is mounted by its name.
	e.standIns = []string{"/run/podman/podman.sock:", socket + ":"}
	list := howto(t, "podman.md")
	e.follow(list)
	if !slices.ContainsFunc(list, func(c command) bool { return strings.Contains(c.want, "Name: app") }) {
		t.Errorf("the manual does not show that it works: %v", list)
	}
	e.must("podman stop -t 2 app")
	e.eventually(5*time.Second, "the stop is known", func() error {
		out, _ := e.run("podman exec router /fairlead health http_app")
		if !strings.Contains(out, "retained") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
}

// run starts a labelled workload.
func (p *podman) run(s *site, name string, flags ...string) string {
	p.t.Helper()
	id := p.create(s, name, flags...)
	s.docker("start", id)
	return id
}

func (p *podman) create(s *site, name string, flags ...string) string {
	p.t.Helper()
	return p.createPort(s, name, "8080", "8080", flags...)
}

// createPort makes a workload that listens on one port and whose label names another,
// or none.
func (p *podman) createPort(s *site, name, label, listen string, flags ...string) string {
	p.t.Helper()
	args := slices.Concat([]string{"create", "--name", name, "--label", "pod.enable=true", "--label", "pod.http." + name + ".host=" + name + ".localhost"}, p.flags(), flags)
	if label != "" {
		args = append(args, "--label", "pod.http."+name+".port="+label)
	}
	return s.docker(append(args, "localhost/fairlead:latest", "whoami", "-port", listen, "-name", name)...)
}

// diagnosed reports whether any container got the code.
func (s *site) diagnosed(code string) bool {
	_, body, err := s.getAdmin("/diagnostics")
	return err == nil && strings.Contains(string(body), `"`+code+`"`)
}

// engineIsNamed checks that the provider knows whom it talks to.
func (p *podman) engineIsNamed(s *site) {
	p.t.Helper()
	out, err := exec.CommandContext(p.t.Context(), "podman", "--version").Output()
	if err != nil {
		p.t.Fatal(err)
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(out)), "podman version ")
	_, body, err := s.getAdmin("/providers")
	var answer struct {
		Providers []struct {
			Engine string `json:"engine_version"`
		} `json:"providers"`
	}
	if err != nil || json.Unmarshal(body, &answer) != nil || len(answer.Providers) == 0 || answer.Providers[0].Engine != version {
		p.t.Errorf("%v: the engine is not Podman %s: %s", err, version, body)
	}
}
