package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFirstRequest measures docker start returning to the first 200: median of 10 within 300 ms.
func TestFirstRequest(t *testing.T) {
	s := newSite(t)
	var took []time.Duration
	for i := range 10 {
		host := fmt.Sprintf("n%d.localhost", i)
		id := s.create("app", []string{"enable=true", "http.n" + fmt.Sprint(i) + ".host=" + host, "http.n" + fmt.Sprint(i) + ".port=8080"})
		mustDocker(t, "start", id)
		begin := time.Now()
		s.eventually(5*time.Second, "first 200", func() error {
			a, err := s.get(host, "/")
			if err == nil && a.status != 200 {
				err = fmt.Errorf("%d %s", a.status, a.reason())
			}
			return err
		})
		took = append(took, time.Since(begin))
		mustDocker(t, "rm", "-f", id)
	}
	slices.Sort(took)
	median := took[len(took)/2]
	t.Logf("docker start to first 200: median %v, all %v", median, took)
	// A loaded machine says nothing about the router: the promise is about a quiet engine.
	if median > 300*time.Millisecond && os.Getenv("FAIRLEAD_E2E") == "1" {
		t.Errorf("median %v, want at most 300 ms: %v", median, took)
	}
	if median > 3*time.Second {
		t.Errorf("median %v even for a loaded machine", median)
	}
}

// TestStoppedIsRetained: a stopped container answers 503 retained, and 404 after the retention.
func TestStoppedIsRetained(t *testing.T) {
	s := newSite(t, "FAIRLEAD_PROVIDERS_DOCKER_RETAINSECONDS=4")
	id := s.run("app", []string{"enable=true", "http.app.host=app.localhost", "http.app.port=8080", "http.app.holdFor=0"})
	s.waitFor("app.localhost", 200, "app")
	mustDocker(t, "stop", "-t", "1", id)
	s.eventually(3*time.Second, "503 retained", func() error {
		a, err := s.get("app.localhost", "/")
		if err == nil && (a.status != 503 || a.reason() != "retained" || a.header.Get("Retry-After") == "") {
			err = fmt.Errorf("%d %s %q", a.status, a.reason(), a.header.Get("Retry-After"))
		}
		return err
	})
	s.eventually(10*time.Second, "404 after the retention", func() error {
		a, err := s.get("app.localhost", "/")
		if err == nil && (a.status != 404 || a.reason() != "no_route") {
			err = fmt.Errorf("%d %s", a.status, a.reason())
		}
		return err
	})
}

// TestAddressReuse: the address of a stopped container taken by another app at once never shows that app.
func TestAddressReuse(t *testing.T) {
	s := newSite(t)
	net := s.network("reuse")
	for i := range 5 {
		one := s.runWith("one", []string{"enable=true", "http.one.host=one.localhost", "http.one.port=8080", "http.one.holdFor=0"}, []string{"--network", net})
		s.waitFor("one.localhost", 200, "one")
		two := s.createWith("two", []string{"enable=true", "http.two.host=two.localhost", "http.two.port=8080"}, []string{"--network", net})
		stop := make(chan struct{})
		wrong := make(chan string, 1)
		go func() {
			defer close(wrong)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if a, err := s.get("one.localhost", "/"); err == nil && a.status == 200 && !strings.Contains(a.body, "one") {
					wrong <- a.body
					return
				}
			}
		}()
		mustDocker(t, "kill", one)
		mustDocker(t, "start", two)
		s.waitFor("two.localhost", 200, "two")
		close(stop)
		if body, bad := <-wrong; bad {
			t.Fatalf("round %d: one.localhost showed another app: %s", i, body)
		}
		mustDocker(t, "rm", "-f", one, two)
	}
}

// TestOneOffRenamedAndPaused covers the rows of "Which containers" that need no second container.
func TestOneOffRenamedAndPaused(t *testing.T) {
	s := newSite(t)
	labels := []string{"enable=true", "http.app.host=app.localhost", "http.app.port=8080", "com.docker.compose.project=shop", "com.docker.compose.service=app"}
	id := s.run("app", labels)
	s.waitFor("app.localhost", 200, "app")
	s.run("oneoff", append(slices.Clone(labels), "com.docker.compose.oneoff=True"))
	mustDocker(t, "rename", id, s.prefix+"-renamed")
	s.eventually(3*time.Second, "the new name and the one-off are known", func() error {
		e, err := s.entrypoint("http_app")
		if err != nil {
			return err
		}
		if len(e.Backends) != 1 || e.Backends[0].Container == nil || e.Backends[0].Container.Name != s.prefix+"-renamed" {
			return fmt.Errorf("backends %+v", e.Backends)
		}
		_, body, err := s.getAdmin("/diagnostics")
		if err == nil && !strings.Contains(string(body), "one-off") {
			err = fmt.Errorf("no one-off in %s", body)
		}
		return err
	})
	mustDocker(t, "pause", id)
	s.eventually(3*time.Second, "a paused one answers 503", func() error {
		a, err := s.get("app.localhost", "/")
		if err == nil && a.status != 503 {
			err = fmt.Errorf("%d %s", a.status, a.reason())
		}
		return err
	})
	mustDocker(t, "unpause", id)
	s.waitFor("app.localhost", 200, "app")
}
