package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestTopologies: each way a container can be attached leads where labels.md says.
func TestTopologies(t *testing.T) {
	s := newSite(t)
	edge, inner := s.network("edge"), s.network("inner", "--internal")
	six := s.network("six", "--ipv6", "--subnet", "fd00:fa11:1ead::/64")
	web := func(name string) []string {
		return []string{"enable=true", "http." + name + ".host=" + name + ".localhost", "http." + name + ".port=8080"}
	}
	two := s.createWith("two", append(web("two"), "network="+inner), []string{"--network", edge})
	mustDocker(t, "network", "connect", inner, two)
	mustDocker(t, "start", two)
	s.runWith("inner", web("inner"), []string{"--network", inner})
	s.runWith("six", web("six"), []string{"--network", six})
	hostPort := freePort(t)
	port := hostPort[strings.LastIndex(hostPort, ":")+1:]
	host := []string{"enable=true", "http.hostnet.host=hostnet.localhost", "http.hostnet.port=" + port}
	s.runWith("hostnet", host, []string{"--network", "host"}, "-port", port)
	s.runWith("noport", []string{"enable=true", "http.noport.host=noport.localhost"}, []string{"--network", "host"}, "-port", strings.Split(freePort(t), ":")[1])
	lead := s.runWith("lead", nil, []string{"--network", edge}, "-port", "8081")
	s.runWith("follow", web("follow"), []string{"--network", "container:" + lead})
	s.runWith("none", web("none"), []string{"--network", "none"})
	for _, name := range []string{"two", "inner", "six", "hostnet", "follow"} {
		s.waitFor(name+".localhost", 200, name)
	}
	inside := mustDocker(t, "inspect", "-f", "{{(index .NetworkSettings.Networks \""+inner+"\").IPAddress}}", two)
	e, err := s.entrypoint("http_two")
	if err != nil || len(e.Backends) != 1 || e.Backends[0].Address != inside+":8080" {
		t.Errorf("network label: %v %+v, want %s", err, e.Backends, inside)
	}
	for _, want := range []string{"E106", "E107"} {
		s.eventually(3*time.Second, want+" in /diagnostics", func() error {
			_, body, err := s.getAdmin("/diagnostics")
			if err == nil && !strings.Contains(string(body), want) {
				err = fmt.Errorf("%s", body)
			}
			return err
		})
	}
}

// TestTwoProjectsShareAName: one service name in two projects is two entrypoints.
func TestTwoProjectsShareAName(t *testing.T) {
	s := newSite(t)
	project := func(p string) []string {
		return []string{"enable=true", "http.web.host=" + p + ".localhost", "http.web.port=8080", "com.docker.compose.project=" + p, "com.docker.compose.service=web"}
	}
	s.run("alpha", project("alpha"))
	s.waitFor("alpha.localhost", 200, "alpha")
	s.run("beta", project("beta"))
	s.waitFor("beta.localhost", 200, "beta")
	for range 10 {
		a, err := s.get("alpha.localhost", "/")
		if err != nil || !strings.Contains(a.body, "alpha") {
			t.Fatalf("%v %s", err, a.body)
		}
	}
	if _, err := s.entrypoint("http_web"); err != nil {
		t.Error(err)
	}
	e, err := s.entrypoint("http_web-beta")
	if err != nil || !hasCode(e.Diagnostics, "I105") {
		t.Errorf("%v %+v", err, e)
	}
}

func hasCode(ds []diagnostic, code string) bool {
	for _, d := range ds {
		if d.Code == code {
			return true
		}
	}
	return false
}

// TestConflictingLabels: two entrypoints for one rule; the older claim serves, both say so.
func TestConflictingLabels(t *testing.T) {
	s := newSite(t)
	s.run("old", []string{"enable=true", "http.old.host=same.localhost", "http.old.port=8080"})
	s.waitFor("same.localhost", 200, "old")
	s.run("new", []string{"enable=true", "http.new.host=same.localhost", "http.new.port=8080"})
	s.eventually(5*time.Second, "the newer one is shadowed", func() error {
		e, err := s.entrypoint("http_new")
		if err == nil && (e.ShadowedBy != "http_old" || !hasCode(e.Diagnostics, "W018")) {
			err = fmt.Errorf("%+v", e)
		}
		return err
	})
	for range 10 {
		if a, err := s.get("same.localhost", "/"); err != nil || !strings.Contains(a.body, "old") {
			t.Fatalf("%v %s", err, a.body)
		}
	}
}

// TestEveryLabelWrong: one container with every label wrong harms nobody, and each mistake is named.
func TestEveryLabelWrong(t *testing.T) {
	s := newSite(t)
	s.run("good", []string{"enable=true", "http.good.host=good.localhost", "http.good.port=8080"})
	s.eventually(10*time.Second, "good is verified", func() error {
		e, err := s.entrypoint("http_good")
		if err == nil && (len(e.Backends) != 1 || e.Backends[0].State != "up") {
			err = fmt.Errorf("%+v", e.Backends)
		}
		return err
	})
	before, err := s.entrypoint("http_good")
	if err != nil {
		t.Fatal(err)
	}
	wrong := []string{"enable=true", "http.bad.host=bad.localhost,-x-.example,good.localhost:99", "http.bad.port=99999", "http.bad.scheme=gopher",
		"http.bad.pathregex=(", "http.bad.methods=G@T", "http.bad.matchClientIP=nobody", "http.bad.priority=high", "http.bad.weight=-1",
		"http.bad.loadBalancer=best", "http.bad.stripPrefix=maybe", "http.bad.backendTimeout=soon", "http.bad.timout=3", "http.bad.headers.Host=x",
		"http.bad.healthCheck.status=abc", "http.bad.healthCheck.interval=never", "http.bad.panic=sometimes", "http.bad.retry.attempts=x",
		"http.bad.dockerHealth=perhaps", "htpp.bad.host=x", "http.worse.host=worse.localhost", "http.worse.port=8080", "http.worse.auth.basci=a:b",
		"http.nohost.port=80", "http.bad.\x01=1"}
	s.run("bad", wrong)
	s.eventually(5*time.Second, "a misspelt protection answers 503", func() error {
		a, err := s.get("worse.localhost", "/")
		if err == nil && (a.status != 503 || a.reason() != "misconfigured_protection") {
			err = fmt.Errorf("%d %s", a.status, a.reason())
		}
		return err
	})
	s.waitFor("good.localhost", 200, "good")
	after, err := s.entrypoint("http_good")
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("the neighbour changed: %v\n%+v\n%+v", err, before, after)
	}
	var report struct {
		Items []struct {
			Diagnostics []diagnostic `json:"diagnostics"`
		} `json:"items"`
	}
	_, body, err := s.getAdmin("/diagnostics")
	if err != nil || json.Unmarshal(body, &report) != nil {
		t.Fatalf("%v %s", err, body)
	}
	byCode := map[string]diagnostic{}
	for _, item := range report.Items {
		for _, d := range item.Diagnostics {
			byCode[d.Code] = d
			if d.Message == "" || d.Hint == "" && !strings.HasPrefix(d.Code, "I") {
				t.Errorf("%s without message or fix: %+v", d.Code, d)
			}
		}
	}
	for _, code := range []string{"W001", "W109", "E109", "W014", "E112", "W002", "W027", "W022", "W101", "W003", "W013", "W008", "W021", "W129", "W023", "W012", "E104", "E002", "W102"} {
		if _, ok := byCode[code]; !ok {
			t.Errorf("no %s among %v", code, keys(byCode))
		}
	}
	if !strings.Contains(string(body), "backendTimeout") {
		t.Errorf("timout does not suggest backendTimeout: %s", body)
	}
	if out, code := s.cli("validate"); code != 1 || !strings.Contains(out, "E104") {
		t.Errorf("validate: exit %d\n%s", code, out)
	}
}

func keys(m map[string]diagnostic) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestResolveTellsWinnerAndLosers runs the command on overlapping rules.
func TestResolveTellsWinnerAndLosers(t *testing.T) {
	s := newSite(t)
	s.run("api", []string{"enable=true", "http.api.host=shop.localhost", "http.api.path=/api", "http.api.port=8080"})
	s.run("all", []string{"enable=true", "http.all.host=*.localhost", "http.all.port=8080"})
	s.run("post", []string{"enable=true", "http.post.host=shop.localhost", "http.post.path=/api", "http.post.methods=POST", "http.post.port=8080"})
	s.eventually(10*time.Second, "all are verified", func() error {
		for _, id := range []string{"http_api", "http_all", "http_post"} {
			e, err := s.entrypoint(id)
			if err != nil {
				return err
			}
			if len(e.Backends) != 1 || e.Backends[0].State != "up" {
				return fmt.Errorf("%s: %+v", id, e.Backends)
			}
		}
		return nil
	})
	out, code := s.cli("route", "resolve", "http://shop.localhost/api/x")
	for _, want := range []string{"http_api", "http_all", "http_post", "method"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, out)
		}
	}
	out, _ = s.cli("route", "resolve", "http://shop.localhost/apix")
	if !strings.Contains(out, "segment") {
		t.Errorf("the segment rule is not named:\n%s", out)
	}
	out, code = s.cli("route", "resolve", "http://shpo.locallhost/")
	if code != 1 || !strings.Contains(out, "shop.localhost") {
		t.Errorf("misspelt host: exit %d\n%s", code, out)
	}
	out, code = s.cli("route", "resolve", "--offline", "http://shop.localhost/api/x")
	if code != 2 || !strings.Contains(out, "http_api") {
		t.Errorf("offline: exit %d\n%s", code, out)
	}
}

// TestHostilePage: a rebound name, a cross-origin write and an unguarded public bind are refused.
func TestHostilePage(t *testing.T) {
	s := newSite(t)
	curl := func(args ...string) string {
		out, err := exec.Command("curl", append([]string{"-s", "-o", "/dev/null", "-m", "5", "-w", "%{http_code}"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("curl %v: %v %s", args, err, out)
		}
		return string(out)
	}
	url := "http://" + s.admin + "/entrypoints"
	for want, args := range map[string][]string{
		"200": {url},
		"403": {"-H", "Host: evil.example:3035", url},
	} {
		if got := curl(args...); got != want {
			t.Errorf("%v: %s, want %s", args, got, want)
		}
	}
	if got := curl("-X", "POST", "-H", "Origin: https://evil.example", "-H", "Content-Type: text/plain", "-d", "{}", url); got != "403" {
		t.Errorf("cross-origin write: %s, want 403", got)
	}
	cmd := exec.Command(binary, "serve", "--http", freePort(t), "--admin", "0.0.0.0:0")
	cmd.Env = append(os.Environ(), "FAIRLEAD_LABELS_PREFIX="+s.prefix)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "admin.anonymous") {
		t.Errorf("a public bind without users started: %v\n%s", err, out)
	}
}
