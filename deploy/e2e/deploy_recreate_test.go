package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// gapReasons are what a request in the gap of a replacement may be told.
var gapReasons = []string{"leaving", "retained", "initializing"}

// composeTool is how Compose is called here: its plugin, or docker-compose.
func composeTool() []string {
	if exec.Command("docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}
	}
	return []string{"docker-compose"}
}

// project is a Compose project of the site.
type project struct {
	s    *site
	file string
}

// composed writes a file with these services and starts it. keys are further labels of
// every service.
func (s *site) composed(replicas map[string]int, keys ...string) *project {
	s.t.Helper()
	type object = map[string]any
	services := object{}
	for name, n := range replicas {
		labels := map[string]string{markKey: strings.TrimPrefix(mark, markKey+"=")}
		for _, l := range appLabels(name, keys...) {
			key, value, _ := strings.Cut(l, "=")
			labels[s.prefix+"."+key] = value
		}
		services[name] = object{
			"image": image, "labels": labels, "deploy": object{"replicas": n},
			"command": append([]string{"whoami", "-port", "8080", "-name", name}, finisher()...),
		}
	}
	networks := object{"default": object{"labels": object{markKey: strings.TrimPrefix(mark, markKey+"=")}}}
	text, err := json.Marshal(object{"services": services, "networks": networks})
	if err != nil {
		s.t.Fatal(err)
	}
	p := &project{s: s, file: filepath.Join(s.t.TempDir(), "compose.yml")}
	if err := os.WriteFile(p.file, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { p.compose("down", "-t", "1") })
	p.compose("up", "-d")
	return p
}

func (p *project) compose(args ...string) {
	p.s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.s.t.Context()), time.Minute)
	defer cancel()
	all := slices.Concat(composeTool(), []string{"-p", p.s.prefix, "-f", p.file}, args)
	if out, err := exec.CommandContext(ctx, all[0], all[1:]...).CombinedOutput(); err != nil {
		p.s.t.Fatalf("%v: %v\n%s", all, err, tail(string(out), 4000))
	}
}

// ids are the running containers of a service.
func (p *project) ids(service string) []string {
	p.s.t.Helper()
	return strings.Fields(mustDocker(p.s.t, "ps", "-q", "--no-trunc", "--filter", "label=com.docker.compose.project="+p.s.prefix,
		"--filter", "label=com.docker.compose.service="+service))
}

// recreate replaces every container under load. It returns the loads of the services
// and how long nobody may have served.
func (p *project) recreate(services []string, meanwhile func(l *load)) (map[string]*load, time.Duration) {
	t := p.s.t
	t.Helper()
	loads, old := map[string]*load{}, map[string][]string{}
	for _, name := range services {
		old[name] = p.ids(name)
		p.s.verified("http_"+name, old[name]...)
		loads[name] = p.s.load(name+".localhost", name)
	}
	for _, name := range services {
		loads[name].more(loadPhase / 2)
		meanwhile(loads[name])
	}
	for _, name := range services {
		loads[name].action()
	}
	began := time.Now()
	p.compose("up", "-d", "--force-recreate")
	took := time.Since(began)
	t.Logf("compose up --force-recreate took %v", took.Round(time.Millisecond))
	for _, name := range services {
		loads[name].more(loadPhase)
		ids := p.ids(name)
		p.s.verified("http_"+name, ids...)
		for _, id := range ids {
			if slices.Contains(old[name], id) || loads[name].backends()[short(id)] == 0 {
				t.Errorf("%s: %s is not new, or served nothing: %v", name, short(id), loads[name].backends())
			}
		}
		loads[name].end()
	}
	return loads, took
}

// TestDeployForceRecreate: all replicas are replaced at once and nobody notices; an
// upload that is under way finishes first.
func TestDeployForceRecreate(t *testing.T) {
	s := newSite(t)
	p := s.composed(map[string]int{"solo": 1, "pair": 2})
	var uploads []*flow
	loads, gap := p.recreate([]string{"solo", "pair"}, func(l *load) {
		if l.app == "solo" {
			uploads = append(uploads, l.on(kindUpload, p.ids("solo")[0]))
		}
	})
	for _, l := range loads {
		l.wantHeld(gap)
	}
	loads["solo"].wantWell(uploads...)
}

// TestDeployForceRecreateWithoutHold: with holdFor=0 every answer in the gap says when
// to come back.
func TestDeployForceRecreateWithoutHold(t *testing.T) {
	s := newSite(t)
	p := s.composed(map[string]int{"solo": 1, "pair": 2}, "holdFor=0")
	loads, _ := p.recreate([]string{"solo", "pair"}, func(*load) {})
	for _, l := range loads {
		l.wantOnly503(gapReasons...)
	}
}

// TestDeployStopRemoveRun replaces containers by hand, and another app takes the old
// one's address in between.
func TestDeployStopRemoveRun(t *testing.T) {
	s := newSite(t)
	net := []string{"--network", s.network("shared")}
	services := []struct {
		name   string
		n      int
		labels []string
	}{{"solo", 1, nil}, {"pair", 2, nil}, {"now", 1, []string{"holdFor=0"}}}
	loads, ids, addresses := map[string]*load{}, map[string][]string{}, map[string]bool{}
	start := func(i int) {
		sv := services[i]
		ids[sv.name] = nil
		for range sv.n {
			ids[sv.name] = append(ids[sv.name], s.runWith(sv.name, appLabels(sv.name, sv.labels...), net, finisher()...))
		}
	}
	address := func(id string) string {
		return mustDocker(t, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id)
	}
	for i, sv := range services {
		start(i)
		s.verified("http_"+sv.name, ids[sv.name]...)
		for _, id := range ids[sv.name] {
			addresses[address(id)] = true
		}
		loads[sv.name] = s.load(sv.name+".localhost", sv.name)
	}
	loads["now"].more(loadPhase / 2)
	taken, gaps := 0, map[string]time.Duration{}
	for i, sv := range services {
		began := loads[sv.name].action()
		mustDocker(t, append([]string{"stop"}, ids[sv.name]...)...)
		if addresses[address(s.runWith("intruder", appLabels("intruder"), net))] {
			taken++
		}
		mustDocker(t, append([]string{"rm"}, ids[sv.name]...)...)
		start(i)
		gaps[sv.name] = time.Since(began)
	}
	t.Logf("%d of %d intruders got an address that a backend had", taken, len(services))
	for _, sv := range services {
		loads[sv.name].more(loadPhase / 2)
		s.verified("http_"+sv.name, ids[sv.name]...)
		loads[sv.name].end()
	}
	loads["solo"].wantHeld(gaps["solo"])
	loads["pair"].wantHeld(gaps["pair"])
	loads["now"].wantOnly503(gapReasons...)
}
