package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHowtoEngineOutage runs the manual's commands while the engine is away and after
// its return.
func TestHowtoEngineOutage(t *testing.T) {
	r := newRelay(t, filepath.Join(t.TempDir(), "docker.sock"), "/var/run/docker.sock")
	s := newSite(t, "FAIRLEAD_PROVIDERS_DOCKER_ENDPOINT=unix://"+r.path)
	s.run("app", []string{"enable=true", "http.app.host=app.localhost", "http.app.port=8080"})
	s.waitFor("app.localhost", 200, "Name: app")
	e := &example{site: s, name: "outage", dir: t.TempDir(), env: append(os.Environ(), "FAIRLEAD_ADMIN=http://"+s.admin)}
	e.standIns = []string{"fairlead health", binary + " health"}
	list := howto(t, "engine-outage.md")
	back := slices.IndexFunc(list, func(c command) bool { return strings.Contains(c.want, `"ready"`) })
	if back < 3 {
		t.Fatalf("the manual's commands are %v", list)
	}
	r.away()
	e.follow(list[:back])
	s.waitFor("app.localhost", 200, "Name: app")
	for _, want := range []string{"engine is not reachable"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	r.listen(t)
	e.follow(list[back:])
}

// TestHowtoSocketMounts: a container that mounts the socket as a file holds on to the old
// one when the engine makes a new one; with the directory it sees the new one.
func TestHowtoSocketMounts(t *testing.T) {
	ship(t)
	dir := t.TempDir()
	r := newRelay(t, filepath.Join(dir, "docker.sock"), "/var/run/docker.sock")
	admin := map[string]any{"environment": map[string]string{"FAIRLEAD_ADMIN_LISTEN": ":3035", "FAIRLEAD_ADMIN_ANONYMOUS": "read-only"}}
	file := newMounted(t, "file", r.path+":/var/run/docker.sock:ro", admin)
	folder := newMounted(t, "folder", dir+":/var/run:ro", admin)
	r.away()
	r.listen(t)
	file.eventually(30*time.Second, "the dead socket is named with the fix", func() error {
		p, err := file.dockerStatus()
		if err == nil && (p.Phase != "stale" || p.Hint == nil || !strings.Contains(*p.Hint, "mount the directory")) {
			err = fmt.Errorf("phase %s, %s, hint %s", p.Phase, str(p.LastError), str(p.Hint))
		}
		return err
	})
	folder.connected()
	file.must("docker compose restart router")
	file.connected()
}

// newMounted starts the router of the networks example with another mount of the socket.
func newMounted(t *testing.T, name, mount string, more map[string]any) *example {
	t.Helper()
	e := newExample(t, "networks", map[string]map[string]any{"router": {
		"volumes": []string{mount}, "environment": more["environment"],
		"ports": []string{"127.0.0.1:${FAIRLEAD_ADMIN_PORT}:3035"},
	}})
	e.env = append(e.env, "COMPOSE_PROJECT_NAME="+e.project()+"-"+name)
	e.must("docker compose up -d router")
	e.connected()
	return e
}

func (e *example) connected() {
	e.t.Helper()
	e.eventually(20*time.Second, "the engine is read", func() error {
		p, err := e.dockerStatus()
		if err == nil && (!p.Connected || p.Phase != "ready") {
			err = fmt.Errorf("phase %s, %s", p.Phase, str(p.LastError))
		}
		return err
	})
}

// away ends the relay's listener, whose file goes with it, and every connection.
func (r *relay) away() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener.Close()
	for _, p := range r.pairs {
		p.client.Close()
		p.engine.Close()
	}
	r.pairs = nil
}
