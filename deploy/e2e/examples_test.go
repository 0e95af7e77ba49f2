package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestExampleNetworks: the address is the one on the shared network.
func TestExampleNetworks(t *testing.T) {
	ship(t)
	e := newExample(t, "networks", nil)
	showcase(t, e, func() {
		out, err := e.run("docker compose exec router /fairlead health --json http_notes")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if edge := e.attachment("app", "edge", "IPAddress"); !strings.Contains(out, `"`+edge+`:8080"`) {
			t.Errorf("the backend is not at %s on edge:\n%s", edge, out)
		}
		e.stopsInOrder("notes.localhost")
	})
}

// stopsInOrder: a request in flight ends well though the router is told to stop, and the
// router says that all was well.
func (e *example) stopsInOrder(host string) {
	e.t.Helper()
	router, app := e.container("router"), e.attachment("app", "edge", "IPAddress")
	begun := make(chan error, 1)
	go func() {
		a, err := e.get(host, "/?wait=3s&id=last")
		if err == nil && a.status != 200 {
			err = fmt.Errorf("%d %s", a.status, a.reason())
		}
		begun <- err
	}()
	e.eventually(3*time.Second, "the request is with the backend", func() error {
		res, err := client().Get("http://" + app + ":8080/stats")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil && !strings.Contains(string(body), "last") {
			err = fmt.Errorf("%s", body)
		}
		return err
	})
	e.must("docker compose stop router")
	if err := <-begun; err != nil {
		e.t.Errorf("a request in flight at the router's stop: %v", err)
	}
	if code := mustDocker(e.t, "inspect", "-f", "{{.State.ExitCode}}", router); code != "0" {
		e.t.Errorf("the router ended with %s", code)
	}
}

// TestExampleInternal: a backend on an internal network alone is served.
func TestExampleInternal(t *testing.T) {
	ship(t)
	e := newExample(t, "internal", nil)
	showcase(t, e, func() {
		id := e.container("app")
		if out := mustDocker(t, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.NetworkID}} {{end}}", id); len(strings.Fields(out)) != 1 {
			t.Fatalf("networks of the app: %s", out)
		} else if internal := mustDocker(t, "network", "inspect", "-f", "{{.Internal}}", out); internal != "true" {
			t.Errorf("its network is not internal: %s", internal)
		}
	})
}

// TestExampleHostNetwork: router and app on the host's network, and an app that is not.
func TestExampleHostNetwork(t *testing.T) {
	ship(t)
	metal := port(freePort(t))
	e := newExample(t, "host-network", nil, "METAL_PORT="+metal)
	e.standIns = []string{"127.0.0.1:8123", "127.0.0.1:" + metal}
	showcase(t, e, func() {
		a, err := e.get("metal.localhost", "/")
		if err != nil || !strings.Contains(a.body, "X-Forwarded-For: 127.0.0.1\n") {
			t.Errorf("the client's own address is not kept: %v %s", err, a.body)
		}
	})
}

// TestBridgedRouterReachesHostApp: an app on the host's network is asked at the gateway
// when the router has a bridge network.
func TestBridgedRouterReachesHostApp(t *testing.T) {
	ship(t)
	e := newExample(t, "networks", map[string]map[string]any{}, "COMPOSE_PROJECT_NAME="+strings.ReplaceAll(mark, "=", "-")+"-gateway")
	e.follow([]command{{"docker compose up -d router", ""}})
	p := port(freePort(t))
	id := mustDocker(t, "run", "-d", "--label", mark, "--network", "host", "--label", "sozune.enable=true",
		"--label", "sozune.http.byhost.host=byhost.localhost", "--label", "sozune.http.byhost.port="+p, image, "whoami", "-port", p, "-name", "byhost")
	t.Cleanup(func() { _, _ = docker("rm", "-f", id) })
	e.waitFor("byhost.localhost", 200, "Name: byhost")
	gateway := e.attachment("router", "edge", "Gateway")
	out, err := e.run("docker compose exec router /fairlead health --json http_byhost")
	if err != nil || !strings.Contains(out, `"`+gateway+":"+p+`"`) {
		t.Errorf("%v: the backend is not at the gateway %s:\n%s", err, gateway, out)
	}
}

// TestExampleSocketProxy: the filter refuses everything that the manual does not name,
// and the provider says what it does without.
func TestExampleSocketProxy(t *testing.T) {
	ship(t)
	filter := strings.TrimSuffix(image, ":latest") + "-filter:latest"
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "socketfilter"), "./testdata/socketfilter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	importImage(t, dir, filter, `ENTRYPOINT ["/socketfilter"]`, "LABEL "+mark)
	e := newExample(t, "socket-proxy", map[string]map[string]any{"socket-proxy": {"image": filter}})
	showcase(t, e, func() {
		_, body, err := e.getAdmin("/providers")
		var answer struct {
			Providers []struct {
				Name      string   `json:"name"`
				Connected bool     `json:"connected"`
				Notes     []string `json:"notes"`
			} `json:"providers"`
		}
		if err != nil || json.Unmarshal(body, &answer) != nil || len(answer.Providers) == 0 {
			t.Fatalf("%v %s", err, body)
		}
		p := answer.Providers[0]
		if !p.Connected || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "GET /networks is denied") || !strings.Contains(p.Notes[0], "NETWORKS=1") {
			t.Errorf("the status does not say what is missing: %+v", p)
		}
		e.eventually(10*time.Second, "the log says it too", func() error {
			out, err := e.run("docker compose logs router")
			if err == nil && !strings.Contains(out, "GET /networks is denied") {
				err = fmt.Errorf("%s", tail(out, 2000))
			}
			return err
		})
		e.changesArrive("app", "wiki")
		out, _ := e.run("docker compose logs socket-proxy")
		for line := range strings.Lines(out) {
			if strings.Contains(line, "refused:") && !strings.HasSuffix(strings.TrimSpace(line), "/networks") {
				t.Errorf("the router asked for more than the manual says: %s", line)
			}
		}
	})
}

// TestExampleRootless: the file is valid and takes the socket of the user's engine. The
// engine itself needs a user session, which no test makes.
func TestExampleRootless(t *testing.T) {
	ship(t)
	// The socket of this machine's engine under the name that a rootless one has.
	run := t.TempDir()
	if err := os.Symlink("/var/run/docker.sock", filepath.Join(run, "docker.sock")); err != nil {
		t.Fatal(err)
	}
	e := newExample(t, "rootless", nil, "XDG_RUNTIME_DIR="+run)
	out, err := e.run("docker compose config")
	if err != nil || !strings.Contains(out, filepath.Join(run, "docker.sock")) {
		t.Fatalf("XDG_RUNTIME_DIR is not used: %v\n%s", err, out)
	}
	showcase(t, e, func() {
		// What a rootless engine does to every client, the userland proxy does to one on this machine.
		a, err := e.get("blog.localhost", "/")
		gateway := e.attachment("router", "edge", "Gateway")
		if err != nil || !strings.Contains(a.body, "X-Forwarded-For: "+gateway+"\n") {
			t.Errorf("%v: the client is not the gateway %s in\n%s", err, gateway, a.body)
		}
		e.follow(howto(t, "rootless.md"))
	})
}

// TestExampleRolling: the header's recreate and every deploy of the manual lose nothing
// under load.
func TestExampleRolling(t *testing.T) {
	ship(t)
	e := newExample(t, "rolling", nil)
	list := slices.Concat(e.header(), howto(t, "deploy-without-loss.md"))
	list = slices.DeleteFunc(list, func(c command) bool { return c.line == "docker compose down" })
	ready := slices.IndexFunc(list, func(c command) bool { return strings.Contains(c.want, "2 backends in rotation") })
	deploys := 0
	for _, c := range list[ready+1:] {
		if strings.Contains(c.line, "--force-recreate") || strings.Contains(c.line, "--scale") || strings.HasPrefix(c.line, "docker stop") {
			deploys++
		}
	}
	if ready < 0 || deploys != 5 {
		t.Fatalf("%d deploys in %v", deploys, list)
	}
	e.follow(list[:ready+1])
	l := e.loadPath("shop.localhost", "shop", "/", 40*time.Second)
	l.more(100)
	l.action()
	e.follow(list[ready+1:])
	l.more(100)
	l.end()
	if bad := l.failed(); len(bad) > 0 {
		t.Errorf("%d requests failed: %s", len(bad), l.summary())
	}
}
