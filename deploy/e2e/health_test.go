package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// checked are the labels of a service app with an HTTP check at path.
func checked(path string) []string {
	return []string{
		"enable=true", "http.app.host=app.localhost", "http.app.port=8080",
		"http.app.healthCheck.path=" + path, "http.app.healthCheck.interval=1s", "http.app.healthCheck.initialDelay=0",
	}
}

// TestWrongPathOnBoth: a check that is wrong everywhere takes nothing out.
func TestWrongPathOnBoth(t *testing.T) {
	s := newSite(t)
	s.run("one", checked("/nope"))
	s.run("two", checked("/nope"))
	s.eventually(10*time.Second, "both are unhealthy, in rotation, panic_all", func() error {
		e, err := s.entrypoint("http_app")
		if err != nil {
			return err
		}
		if len(e.Unhealthy) != 2 || e.Health.State != "panic" {
			return fmt.Errorf("%+v", e)
		}
		for _, b := range e.Unhealthy {
			if !b.InRotation || b.RotationReason != "panic_all" || b.Kind != "bad_status" || b.Explain == "" {
				return fmt.Errorf("%+v", b)
			}
		}
		return nil
	})
	seen := map[bool]int{}
	for range 10 {
		a, err := s.get("app.localhost", "/")
		if err != nil || a.status != 200 {
			t.Fatalf("%v %d %s", err, a.status, a.reason())
		}
		seen[strings.Contains(a.body, "one")]++
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("only one of two serves in panic: %v", seen)
	}
}

// setHealth flips what a container's /health answers.
func setHealth(t *testing.T, id string, ok bool) {
	t.Helper()
	addr := mustDocker(t, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id)
	value := "ok=0"
	if ok {
		value = "ok=1"
	}
	res, err := client().Post("http://"+addr+":8080/health", "application/x-www-form-urlencoded", strings.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.StatusCode >= 300 {
		t.Fatalf("flipping health: %d", res.StatusCode)
	}
}

// TestOneOfTwoFailsAndComesBack: the failing one gets nothing, and returns within the published bound.
func TestOneOfTwoFailsAndComesBack(t *testing.T) {
	s := newSite(t)
	one := s.run("one", checked("/health"))
	s.run("two", checked("/health"))
	rotation := func(want int, id string, in bool) func() error {
		return func() error {
			e, err := s.entrypoint("http_app")
			if err != nil {
				return err
			}
			n, found := 0, false
			for _, b := range e.Backends {
				if b.InRotation {
					n++
				}
				if b.Container != nil && b.Container.ID != "" && strings.HasPrefix(id, b.ID) {
					found = b.InRotation == in
				}
			}
			if n != want || !found || len(e.Backends) != 2 {
				return fmt.Errorf("%+v", e)
			}
			return nil
		}
	}
	s.eventually(10*time.Second, "both serve", rotation(2, one, true))
	e, err := s.entrypoint("http_app")
	if err != nil {
		t.Fatal(err)
	}
	bound := time.Duration(e.Health.DetectionBound) * time.Millisecond
	if bound <= 0 || bound > 20*time.Second {
		t.Fatalf("published bound %v", bound)
	}
	setHealth(t, one, false)
	s.eventually(bound+time.Second, "the failing one is out", rotation(1, one, false))
	for range 20 {
		a, err := s.get("app.localhost", "/")
		if err != nil || a.status != 200 || strings.Contains(a.body, "one") {
			t.Fatalf("%v %d %s", err, a.status, a.body)
		}
	}
	setHealth(t, one, true)
	s.eventually(bound+time.Second, "it comes back within the bound", rotation(2, one, true))
}

// TestSingleFailingKeepsTraffic: the last backend stays whatever its probes say.
func TestSingleFailingKeepsTraffic(t *testing.T) {
	s := newSite(t)
	s.run("only", checked("/nope"))
	s.eventually(10*time.Second, "it is down and serves", func() error {
		e, err := s.entrypoint("http_app")
		if err == nil && (len(e.Unhealthy) != 1 || e.Unhealthy[0].State != "down" || !e.Unhealthy[0].InRotation) {
			err = fmt.Errorf("%+v", e)
		}
		return err
	})
	s.waitFor("app.localhost", 200, "only")
	if out, code := s.cli("health", "http_app"); code != 2 || !strings.Contains(out, "panic") {
		t.Errorf("health: exit %d\n%s", code, out)
	}
	if out, code := s.cli("route", "resolve", "http://app.localhost/"); code != 2 || !strings.Contains(out, "http_app") {
		t.Errorf("route resolve: exit %d, want 2: nothing is verified\n%s", code, out)
	}
}

// TestSecretsOfAProbe: an Authorization header on a probe with its own port arrives and shows nowhere.
func TestSecretsOfAProbe(t *testing.T) {
	const canary = "Bearer c4nary-t0ken-e2e"
	s := newSite(t)
	s.run("app", append(checked("/headers?key=c4nary-query"),
		"http.app.healthCheck.port=9000", "http.app.healthCheck.headers.Authorization="+canary,
		"http.app.headers.X-Key=c4nary-header", "http.app.matchQuery=key:c4nary-match",
		"http.app.forwardAuth.address=http://bob:c4nary-user@auth.example/", "http.app.auth.basic=bob:c4nary-hash"))
	s.eventually(15*time.Second, "the probe failed once", func() error {
		e, err := s.entrypoint("http_app")
		if err == nil && (len(e.Backends) != 1 || e.Backends[0].State != "down") {
			err = fmt.Errorf("%+v", e.Backends)
		}
		return err
	})
	if _, err := s.get("app.localhost", "/?key=c4nary-match"); err != nil {
		t.Fatal(err)
	}

	var all strings.Builder
	for _, path := range []string{"/health", "/healthy", "/ready", "/me", "/entrypoints", "/entrypoints/http_app", "/entrypoints/http_app/backends",
		"/checks", "/diagnostics", "/providers", "/resolve?url=http://app.localhost/"} {
		_, body, err := s.getAdmin(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(body)
	}
	for _, args := range [][]string{{"health"}, {"health", "http_app"}, {"route", "list"}, {"route", "list", "--json"}, {"explain", "http_app"},
		{"route", "resolve", "http://app.localhost/"}, {"validate"}, {"route", "resolve", "--offline", "http://app.localhost/"}} {
		out, _ := s.cli(args...)
		all.WriteString(out)
	}
	all.WriteString(s.log.String())
	if i := strings.Index(all.String(), "c4nary"); i >= 0 {
		text := all.String()
		t.Errorf("a secret shows: ...%s...", text[max(0, i-200):min(len(text), i+100)])
	}
}

// TestProbeArrivesOnItsOwnPort asks a backend that records what it was asked.
func TestProbeArrivesOnItsOwnPort(t *testing.T) {
	s := newSite(t)
	// The workload's traffic port is 8080; a second copy in the same network namespace listens on 9000.
	main := s.run("main", []string{"enable=true", "http.app.host=app.localhost", "http.app.port=8080",
		"http.app.healthCheck.path=/require-auth", "http.app.healthCheck.status=200", "http.app.healthCheck.port=9000",
		"http.app.healthCheck.interval=1s", "http.app.healthCheck.initialDelay=0", "http.app.healthCheck.headers.Authorization=Bearer arrives"})
	side := mustDocker(t, "run", "-d", "--label", mark, "--network", "container:"+main, image, "whoami", "-port", "9000", "-name", "side", "-require-auth", "Bearer arrives")
	t.Cleanup(func() { _, _ = docker("rm", "-f", side) })
	s.eventually(10*time.Second, "the probe on port 9000 with the header succeeds", func() error {
		e, err := s.entrypoint("http_app")
		if err == nil && (len(e.Backends) != 1 || e.Backends[0].State != "up") {
			err = fmt.Errorf("%+v", e.Backends)
		}
		return err
	})
	var checks []struct {
		Target string `json:"target"`
	}
	_, body, err := s.getAdmin("/checks")
	if err != nil || json.Unmarshal(body, &checks) != nil || len(checks) != 1 || !strings.HasSuffix(checks[0].Target, ":9000") {
		t.Errorf("/checks: %v %s", err, body)
	}
}

// TestDockerUnhealthyIs503: Docker's word gates a container out with a reason, never 404.
func TestDockerUnhealthyIs503(t *testing.T) {
	s := newSite(t)
	s.runWith("sick", []string{"enable=true", "http.app.host=app.localhost", "http.app.port=8080"},
		[]string{"--health-cmd", "/fairlead nonsense", "--health-interval", "1s", "--health-retries", "1", "--health-timeout", "2s"})
	s.eventually(20*time.Second, "503 docker_unhealthy", func() error {
		a, err := s.get("app.localhost", "/")
		if err == nil && (a.status != http.StatusServiceUnavailable || a.reason() != "docker_unhealthy") {
			err = fmt.Errorf("%d %s", a.status, a.reason())
		}
		return err
	})
}
