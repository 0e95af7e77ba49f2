package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCompose builds the image with a builder made from the installed Go and starts docker-compose.yml:
// the router in a container finds itself, its networks and its neighbours.
func TestCompose(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	admin, web := freePort(t), freePort(t)
	project := "fairlead-e2e-compose"
	env := append(os.Environ(), "BUILDER=fairlead-e2e-builder:local", "COMPOSE_PROJECT_NAME="+project, "DOCKER_BUILDKIT=0", "COMPOSE_DOCKER_CLI_BUILD=0",
		"FAIRLEAD_HTTP_PORT="+strings.Split(web, ":")[1], "FAIRLEAD_ADMIN_PORT="+strings.Split(admin, ":")[1])
	run := func(timeout time.Duration, name string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env = root, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, tail(string(out), 4000))
		}
		return string(out)
	}
	run(5*time.Minute, "deploy/builder.sh", "fairlead-e2e-builder:local")
	t.Cleanup(func() { _, _ = docker("rmi", "-f", "fairlead-e2e-builder:local") })
	compose := append(composeTool(), "-f", filepath.Join(root, "docker-compose.yml"))
	t.Cleanup(func() {
		run(2*time.Minute, compose[0], append(compose[1:], "down", "--remove-orphans", "-t", "2")...)
		_, _ = docker("image", "prune", "-f")
	})
	run(8*time.Minute, compose[0], append(compose[1:], "up", "-d", "--build")...)

	s := &site{t: t, http: "127.0.0.1:" + strings.Split(web, ":")[1], admin: "127.0.0.1:" + strings.Split(admin, ":")[1], log: &logBuffer{}}
	s.eventually(30*time.Second, "the router is ready", func() error {
		status, body, err := s.getAdmin("/ready")
		if err == nil && status != 200 {
			err = fmt.Errorf("%d %s", status, body)
		}
		return err
	})
	s.waitFor("web.localhost", 200, "web")
	s.waitFor("sick.localhost", 200, "sick")
	hosts := map[string]bool{}
	s.eventually(20*time.Second, "both replicas of api serve", func() error {
		a, err := s.get("api.localhost", "/")
		if err != nil || a.status != 200 {
			return fmt.Errorf("%w %d %s", err, a.status, a.reason())
		}
		_, rest, _ := strings.Cut(a.body, "Hostname: ")
		host, _, _ := strings.Cut(rest, "\n")
		hosts[host] = true
		if len(hosts) != 2 {
			return fmt.Errorf("seen %v", hosts)
		}
		return nil
	})
	s.eventually(20*time.Second, "sick says panic_all", func() error {
		e, err := s.entrypoint("http_sick")
		if err == nil && (len(e.Unhealthy) != 1 || e.Unhealthy[0].RotationReason != "panic_all") {
			err = fmt.Errorf("%+v", e)
		}
		return err
	})
	checkProviders(t, s)
	id := strings.TrimSpace(run(time.Minute, compose[0], append(compose[1:], "ps", "-q", "router")...))
	s.eventually(40*time.Second, "the image's own HEALTHCHECK passes", func() error {
		out, err := docker("inspect", "-f", "{{.State.Health.Status}}", id)
		if err == nil && out != "healthy" {
			err = fmt.Errorf("%s", out)
		}
		return err
	})
	if out, err := docker("exec", id, "/fairlead", "route", "resolve", "http://api.localhost/"); err != nil || !strings.Contains(out, "http_api") {
		t.Errorf("route resolve inside the container: %v\n%s", err, out)
	}
}

func checkProviders(t *testing.T, s *site) {
	t.Helper()
	res, err := http.Get("http://" + s.admin + "/providers")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	var answer struct {
		Providers []struct {
			Name      string `json:"name"`
			Connected bool   `json:"connected"`
		} `json:"providers"`
	}
	if err != nil || json.Unmarshal(body, &answer) != nil {
		t.Fatalf("%v %s", err, body)
	}
	for _, p := range answer.Providers {
		if p.Name == "docker" && !p.Connected {
			t.Errorf("the docker provider is not connected: %s", body)
		}
	}
}
