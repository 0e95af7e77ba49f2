package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// probed are the labels of the service app with a check each second that counts at once.
func probed(more ...string) []string {
	return appLabels("app", append([]string{"healthCheck.interval=1s", "healthCheck.timeout=900ms", "healthCheck.initialDelay=0"}, more...)...)
}

// backendOf is what an entrypoint's answer says of a container.
func (s *site) backendOf(entrypoint, id string) (backendHealth, error) {
	e, err := s.entrypoint(entrypoint)
	if err != nil {
		return backendHealth{}, err
	}
	for _, b := range e.Backends {
		if b.Container != nil && strings.HasPrefix(id, b.Container.ID[:12]) {
			return b, nil
		}
	}
	return backendHealth{}, fmt.Errorf("%s has no backend %s: %+v", entrypoint, short(id), e)
}

// becomes waits until a backend is in a state, with a kind, in rotation or not, and
// returns it.
func (s *site) becomes(within time.Duration, id, state, kind string, in bool) backendHealth {
	s.t.Helper()
	var b backendHealth
	s.eventually(within, fmt.Sprintf("%s is %s (%s)", short(id), state, kind), func() (err error) {
		if b, err = s.backendOf("http_app", id); err == nil && (b.State != state || b.Kind != kind || b.InRotation != in) {
			err = fmt.Errorf("%+v", b)
		}
		return err
	})
	if b.Explain == "" {
		s.t.Errorf("%+v: no explanation", b)
	}
	return b
}

// post sends a form to a container of the workload.
func (s *site) post(id, path, form string) {
	s.t.Helper()
	values, err := url.ParseQuery(form)
	if err != nil {
		s.t.Fatal(err)
	}
	addr := mustDocker(s.t, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id)
	res, err := client().PostForm("http://"+addr+":8080"+path, values)
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		s.t.Fatalf("POST %s %s: %d", path, form, res.StatusCode)
	}
}

// TestSickStopped: a process that is stopped (SIGSTOP) accepts connections and never
// answers. It is out within a few probes, and back when it goes on.
func TestSickStopped(t *testing.T) {
	s := newSite(t)
	one, two := s.run("app", probed("healthCheck.path=/health", "backendTimeout=3")), s.run("app", probed("healthCheck.path=/health", "backendTimeout=3"))
	s.verified("http_app", one, two)
	mustDocker(t, "kill", "-s", "STOP", one)
	t.Cleanup(func() { _, _ = docker("kill", "-s", "CONT", one) })
	s.becomes(6*time.Second, one, "down", "timeout", false)
	for range 10 {
		if a, err := s.get("app.localhost", "/"); err != nil || a.status != 200 {
			t.Fatalf("%v %d %s", err, a.status, a.reason())
		}
	}
	mustDocker(t, "kill", "-s", "CONT", one)
	s.verified("http_app", one, two)
}

// TestSickTraffic: an application whose health is well and whose pages fail. Traffic
// takes it out; neither a TCP probe nor one of /health that passes is asked before the
// trial, and the trial fails until the pages are well again.
func TestSickTraffic(t *testing.T) {
	s := newSite(t)
	labels := probed("passive.failures=3", "passive.ejectionTime=2s", "passive.recovery=auto")
	sick, well := s.run("app", labels, "-status", "503"), s.run("app", labels)
	s.verified("http_app", sick, well)
	failed := 0
	for range 40 {
		a, err := s.get("app.localhost", "/")
		if err != nil {
			t.Fatal(err)
		}
		if a.status != 200 {
			failed++
		}
	}
	if failed != 3 {
		t.Errorf("%d of 40 requests failed, want the 3 that took it out", failed)
	}
	b := s.becomes(time.Second, sick, "ejected", "ejected_failures", false)
	if !strings.Contains(b.Explain, "503") {
		t.Errorf("explain: %s", b.Explain)
	}
	trials, began := 0, time.Now()
	for time.Since(began) < 9*time.Second { // its TCP probes pass all the time
		a, err := s.get("app.localhost", "/")
		if err != nil {
			t.Fatal(err)
		}
		if a.status != 200 {
			trials++
		}
	}
	if trials < 1 || trials > 3 {
		t.Errorf("%d requests were trials in 9 s, want 1 to 3: the ejection grows", trials)
	}
	s.post(sick, "/status", "status=200")
	s.eventually(20*time.Second, "it is back", func() error {
		if _, err := s.get("app.localhost", "/"); err != nil {
			return err
		}
		b, err := s.backendOf("http_app", sick)
		if err == nil && (b.State != "up" || !b.InRotation) {
			err = fmt.Errorf("%+v", b)
		}
		return err
	})
}

// TestSickFlapping: thresholds 3 and 2 keep a backend in that fails every other probe,
// without a transition, and take one out that fails for good.
func TestSickFlapping(t *testing.T) {
	s := newSite(t)
	labels := probed("healthCheck.path=/health", "healthCheck.unhealthyThreshold=3", "healthCheck.healthyThreshold=2", "healthCheck.fastInterval=1s")
	flaps, steady := s.run("app", labels), s.run("app", labels)
	s.verified("http_app", flaps, steady)
	before, err := s.standings("http_app")
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(1100 * time.Millisecond)
	defer tick.Stop()
	for i := range 8 {
		setHealth(t, flaps, i%2 == 1)
		<-tick.C
	}
	after, err := s.standings("http_app")
	if err != nil {
		t.Fatal(err)
	}
	was, is := before[short(flaps)], after[short(flaps)]
	if is.Counters.Transitions != was.Counters.Transitions || !is.InRotation || is.Counters.Probes < was.Counters.Probes+6 {
		t.Errorf("a flapping backend: %+v, before %+v", is, was)
	}
	setHealth(t, flaps, false)
	s.becomes(7*time.Second, flaps, "down", "bad_status", false)
	setHealth(t, flaps, true)
	s.verified("http_app", flaps, steady)
}

// TestSickGRPC: a gRPC server that says NOT_SERVING is out, and back when it serves; one
// that does not know the service says so.
func TestSickGRPC(t *testing.T) {
	s := newSite(t)
	labels := probed("scheme=h2c", "healthCheck.type=grpc", "healthCheck.grpcService=whoami")
	one, two := s.run("app", labels), s.run("app", labels)
	s.verified("http_app", one, two)
	setHealth(t, one, false)
	b := s.becomes(5*time.Second, one, "down", "grpc_not_serving", false)
	if !strings.Contains(b.Explain, "NOT_SERVING") {
		t.Errorf("explain: %s", b.Explain)
	}
	setHealth(t, one, true)
	s.verified("http_app", one, two)
	odd := s.run("odd", appLabels("odd", "scheme=h2c", "healthCheck.type=grpc", "healthCheck.grpcService=billing", "healthCheck.interval=1s", "healthCheck.initialDelay=0"))
	s.eventually(8*time.Second, "an unknown service is down", func() error {
		b, err := s.backendOf("http_odd", odd)
		if err == nil && (b.State != "down" || !strings.Contains(b.Explain, "billing")) {
			err = fmt.Errorf("%+v", b)
		}
		return err
	})
}

// TestSickCertificate: an expired certificate is a failure with its own words, in the
// API, in the CLI and for the probe on the command line; the last backend serves on only
// as far as its certificate lets it.
func TestSickCertificate(t *testing.T) {
	s := newSite(t)
	labels := probed("scheme=https", "healthCheck.path=/health")
	expired := s.run("app", labels, "-tls", "expired")
	b := s.becomes(8*time.Second, expired, "down", "tls_failure", true)
	if !strings.Contains(b.Explain, "expired") {
		t.Errorf("explain: %s", b.Explain)
	}
	if out, code := s.cli("health", "http_app"); code != 2 || !strings.Contains(out, "expired") || !strings.Contains(out, "renew") {
		t.Errorf("health: exit %d\n%s", code, out)
	}
	host, _, _ := strings.Cut(b.Address, ":")
	out, code := s.cli("probe", "https://"+host+":8080/health")
	if code != 1 || !strings.Contains(out, "expired") || !strings.Contains(out, "app") {
		t.Errorf("probe: exit %d\n%s", code, out)
	}
	if a, err := s.get("app.localhost", "/"); err != nil || a.status != 502 || a.reason() != "tls_failed" {
		t.Errorf("a request: %v %d %s", err, a.status, a.reason())
	}
}

// TestSickDockerHealth: Docker's word alone takes one of two out, with its own reason,
// and no request fails.
func TestSickDockerHealth(t *testing.T) {
	s := newSite(t)
	steady := s.run("app", probed("healthCheck.path=/health"))
	// The image has no shell, so that Docker calls every check of it failed.
	sick := s.runWith("app", probed("healthCheck.path=/health"),
		[]string{"--health-cmd", "true", "--health-interval", "1s", "--health-retries", "1", "--health-timeout", "2s"})
	s.becomes(20*time.Second, sick, "gated", "docker_unhealthy", false)
	l := s.load("app.localhost", "app")
	l.action()
	l.more(loadPhase / 3)
	l.end()
	l.wantNone()
	if got := l.backends(); got[short(sick)] != 0 || got[short(steady)] == 0 {
		t.Errorf("who answered: %v", got)
	}
}
