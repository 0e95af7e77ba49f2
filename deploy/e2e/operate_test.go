package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// operating are the settings of a router that an operator may log in to.
func operating() []string {
	sum := sha256.Sum256([]byte("s3cret"))
	return []string{"FAIRLEAD_ADMIN_USERS=op:admin:" + hex.EncodeToString(sum[:]), "FAIRLEAD_ADMIN_ANONYMOUS=read-only"}
}

// order posts an order about a backend and returns the answer.
func (s *site) order(id, action, body string) (int, string) {
	s.t.Helper()
	target := "http://" + s.admin + "/entrypoints/http_app/backends/" + short(id) + "/" + action
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth("op", "s3cret")
	res, err := s.client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(all)
}

func (s *site) mustOrder(id, action, body string) {
	s.t.Helper()
	if status, answer := s.order(id, action, body); status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", action, short(id), status, answer)
	}
}

// TestOperateDrainAndReplace: an operator drains each of two replicas in turn and
// replaces it, under load. No request fails, and once a drain is in force the drained
// one gets nothing.
func TestOperateDrainAndReplace(t *testing.T) {
	s := newSite(t, operating()...)
	run := func() string { return s.run("app", probed("healthCheck.path=/health"), finisher()...) }
	ids := []string{run(), run()}
	s.verified("http_app", ids...)
	l := s.load("app.localhost", "app")
	l.more(loadPhase / 3)
	l.action()
	for i, old := range ids {
		s.mustOrder(old, "drain", `{"reason":"replace it","for":"10m"}`)
		b, err := s.backendOf("http_app", old)
		if err != nil || b.State != "draining" || b.InRotation || !strings.Contains(b.Explain, "replace it") || !strings.Contains(b.Explain, "op") {
			t.Errorf("drained: %v %+v", err, b)
		}
		drained := time.Now()
		l.more(loadPhase / 6)
		if _, n := l.between(old, drained.Add(100*time.Millisecond), time.Now()); n > 0 {
			t.Errorf("%d requests went to a drained backend", n)
		}
		ids[i] = run()
		s.eventually(15*time.Second, "the new one serves", func() error {
			b, err := s.backendOf("http_app", ids[i])
			if err == nil && (b.State != "up" || !b.InRotation) {
				err = fmt.Errorf("%+v", b)
			}
			return err
		})
		mustDocker(t, "rm", "-f", old)
		l.more(loadPhase / 6)
	}
	l.end()
	l.wantNone()
	s.verified("http_app", ids...)
}

// TestOperateRefusesTheLast: what would leave nothing is refused unless it is forced, and
// probes do not bring back what an operator took out.
func TestOperateRefusesTheLast(t *testing.T) {
	s := newSite(t, operating()...)
	one, two := s.run("app", probed("healthCheck.path=/health")), s.run("app", probed("healthCheck.path=/health"))
	s.verified("http_app", one, two)
	s.mustOrder(one, "maintenance", `{"reason":"disk"}`)
	if status, body := s.order(two, "drain", `{}`); status != http.StatusConflict || !strings.Contains(body, "force") {
		t.Errorf("the last one: %d %s", status, body)
	}
	s.mustOrder(two, "drain", `{"force":true}`)
	if a, err := s.get("app.localhost", "/"); err != nil || a.status != 503 || a.reason() != "all_draining" && a.reason() != "all_maintenance" {
		t.Errorf("nothing is left: %v %d %s", err, a.status, a.reason())
	}
	setHealth(t, one, false)
	setHealth(t, one, true)
	if b, err := s.backendOf("http_app", one); err != nil || b.State != "maintenance" {
		t.Errorf("%v %+v", err, b)
	}
	out, code := s.cliAs("op", "s3cret", "ready", "http_app", short(one))
	if code != 0 || !strings.Contains(out, "was maintenance") {
		t.Errorf("ready: exit %d\n%s", code, out)
	}
	s.waitFor("app.localhost", 200, "app")
	if out, code := s.cli("drain", "http_app", short(one)); code == 0 || !strings.Contains(out, "FAIRLEAD_USER") {
		t.Errorf("without credentials: exit %d\n%s", code, out)
	}
	if out, code := s.cliAs("op", "s3cret", "probe", "http_app", short(one)); code != 0 || !strings.Contains(out, "200") {
		t.Errorf("probe: exit %d\n%s", code, out)
	}
}

// cliAs runs the program with the credentials of a user.
func (s *site) cliAs(user, password string, args ...string) (string, int) {
	s.t.Helper()
	s.t.Setenv("FAIRLEAD_USER", user)
	s.t.Setenv("FAIRLEAD_PASSWORD", password)
	defer func() { _, _ = os.Unsetenv("FAIRLEAD_USER"), os.Unsetenv("FAIRLEAD_PASSWORD") }()
	return s.cli(args...)
}

// TestOperateSurvivesARestart: a drain outlives the router that took it, with who, why
// and until when.
func TestOperateSurvivesARestart(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.json")
	settings := append(operating(), "FAIRLEAD_ADMIN_STATEFILE="+state)
	s := prepareSite(t)
	s.start(settings...)
	t.Cleanup(s.stop)
	one, two := s.run("app", probed("healthCheck.path=/health")), s.run("app", probed("healthCheck.path=/health"))
	s.verified("http_app", one, two)
	s.mustOrder(one, "drain", `{"reason":"night shift","for":"1h"}`)
	s.eventually(5*time.Second, "the state file is there, for its owner only", func() error {
		info, err := os.Stat(state)
		if err == nil && info.Mode().Perm() != 0o600 {
			err = fmt.Errorf("%v", info.Mode())
		}
		return err
	})
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
	s.start(settings...)
	b := s.becomes(10*time.Second, one, "draining", "admin_drain", false)
	if !strings.Contains(b.Explain, "night shift") {
		t.Errorf("explain: %s", b.Explain)
	}
	_, body, err := s.getAdmin("/entrypoints/http_app/backends/" + short(one))
	var got struct {
		Admin struct {
			State     string `json:"state"`
			Actor     string `json:"actor"`
			ExpiresAt int64  `json:"expires_at"`
		} `json:"admin"`
	}
	if err != nil || json.Unmarshal(body, &got) != nil || got.Admin.State != "drain" || got.Admin.Actor != "op" || got.Admin.ExpiresAt == 0 {
		t.Errorf("%v %s", err, body)
	}
	s.waitFor("app.localhost", 200, "app")
}
