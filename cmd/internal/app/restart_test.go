package app

import (
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
)

// TestTheOlderClaimWinsOverARestart: the project that had a host first is recreated and
// has the youngest container from then on; a new router knows from the state file, and
// only from there, that it was first.
func TestTheOlderClaimWinsOverARestart(t *testing.T) {
	h := &harbour{t: t, e: enginetest.New(enginetest.Docker29), alive: map[string]*http.Server{}}
	t.Cleanup(func() {
		for name := range h.alive {
			h.exit(name)
		}
	})
	h.e.AddNetwork(enginetest.Network{Name: "edge", Subnet: netip.MustParsePrefix("127.84.0.0/16")})
	path := filepath.Join(t.TempDir(), "state.json")
	s := settings("")
	s.Providers.File.Path, s.Admin.StateFile = "", path
	s.Providers.Docker.Enabled, s.Providers.Docker.Endpoint = true, h.e.ServeUnix(t)
	s.HealthCheck.AllowLoopback = true
	begin := time.Now().Add(-time.Hour)
	create := func(name, project string, age time.Duration) {
		h.e.Create(enginetest.Container{Name: name, Networks: []string{"edge"}, Created: begin.Add(age), Labels: map[string]string{
			"com.docker.compose.project": project, "com.docker.compose.service": "web", "com.docker.compose.container-number": "1",
			"sozune.enable": "true", "sozune.http." + project + ".host": "shop.localhost", "sozune.http." + project + ".port": harbourPort,
		}})
		h.start(name)
	}
	shop := func(want string) {
		t.Helper()
		eventually(t, "shop.localhost is "+want, h.log, func() bool {
			status, body, err := get(h.addr.HTTP, "shop.localhost", "/")
			return err == nil && status == 200 && body == want
		})
	}
	restart := func(change func()) (stop func() error) {
		change()
		h.addr, h.log, stop = run(t, s)
		return stop
	}
	stop := restart(func() {})
	create("prod-1", "prod", 0)
	create("legacy-1", "legacy", time.Minute)
	shop("prod-1")
	h.exit("prod-1")
	h.e.Remove("prod-1")
	create("prod-2", "prod", 2*time.Minute)
	shop("prod-2")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	stop = restart(func() {})
	shop("prod-2")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "shop") || strings.Count(string(text), `"since"`) != 2 {
		t.Errorf("%v\n%s", err, text)
	}
	stop = restart(func() { _ = os.Remove(path) })
	shop("legacy-1")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
