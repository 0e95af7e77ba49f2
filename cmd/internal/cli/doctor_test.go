package cli

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/provider/docker/enginetest"
	"fairlead/router"
	"fairlead/router/route"
)

// ports makes a world's listeners ones that are free.
func (w *world) ports(http, admin string) {
	w.env = append(w.env, "FAIRLEAD_PROXY_HTTP_LISTEN="+http, "FAIRLEAD_ADMIN_LISTEN="+admin)
}

// TestDoctorFindsTheUsualMistakes names each with its fix, and fails only for what is
// in the way.
func TestDoctorFindsTheUsualMistakes(t *testing.T) {
	w := offlineWorld(t)
	w.ports("127.0.0.1:0", "")
	r := w.run("doctor")
	for _, text := range []string{
		"shop-forgot-1 is not routed", "(E001)", "fix: add the label sozune.enable=true",
		"shop-closed-1: sozune.http.closed.auth.basci", "(E104)", "shop-slow-1: sozune.http.slow.timout", "(W013)",
		"engine: version", "none answers at", "in the way",
	} {
		if !strings.Contains(r.out, text) {
			t.Errorf("no %q in\n%s", text, r.out)
		}
	}
	if r.code != 1 || r.err != "" {
		t.Errorf("exit %d, %q", r.code, r.err)
	}
}

// TestDoctorOnNetworksNobodyShares finds a backend that the router cannot reach, and a
// network label that compose's prefix makes wrong.
func TestDoctorOnNetworksNobodyShares(t *testing.T) {
	e := enginetest.New(enginetest.Docker29)
	e.AddNetwork(enginetest.Network{Name: "edge"})
	e.AddNetwork(enginetest.Network{Name: "shop_backend"})
	self := e.Run(enginetest.Container{Name: "router", Image: "fairlead", Networks: []string{"edge"}})
	e.Run(enginetest.Container{Name: "far", Image: "app", Networks: []string{"shop_backend"}, Expose: []string{"80/tcp"}, Labels: map[string]string{
		"sozune.enable": "true", "sozune.http.far.host": "far.localhost"}})
	e.Run(enginetest.Container{Name: "misnamed", Image: "app", Networks: []string{"edge"}, Expose: []string{"80/tcp"}, Labels: map[string]string{
		"sozune.enable": "true", "sozune.network": "backend", "sozune.http.near.host": "near.localhost"}})
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "DOCKER_HOST=" + e.ServeUnix(t), "FAIRLEAD_CONTAINER_ID=" + self, "FAIRLEAD_ADMIN=http://127.0.0.1:1"}}
	w.ports("127.0.0.1:0", "")
	r := w.run("doctor")
	for _, text := range []string{"far: ", "(E105)", "shop_backend", "misnamed: ", "(W009)"} {
		if !strings.Contains(r.out, text) {
			t.Errorf("no %q in\n%s", text, r.out)
		}
	}
	if r.code != 1 {
		t.Errorf("exit %d", r.code)
	}
}

// TestDoctorOnContainersThatWantTheSame names both, and does not say that there is no mistake.
func TestDoctorOnContainersThatWantTheSame(t *testing.T) {
	e := enginetest.New(enginetest.Docker29)
	e.AddNetwork(enginetest.Network{Name: "edge"})
	self := e.Run(enginetest.Container{Name: "router", Image: "fairlead", Networks: []string{"edge"}})
	for _, name := range []string{"one", "two"} {
		e.Run(enginetest.Container{Name: name, Image: "app", Networks: []string{"edge"}, Expose: []string{"80/tcp"}, Labels: map[string]string{
			"sozune.enable": "true", "sozune.http." + name + ".host": "same.localhost"}})
	}
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "DOCKER_HOST=" + e.ServeUnix(t), "FAIRLEAD_CONTAINER_ID=" + self, "FAIRLEAD_ADMIN=http://127.0.0.1:1"}}
	w.ports("127.0.0.1:0", "")
	r := w.run("doctor")
	for _, text := range []string{"warn  labels: http_one: ", "warn  labels: http_two: ", "(W018)"} {
		if !strings.Contains(r.out, text) {
			t.Errorf("no %q in\n%s", text, r.out)
		}
	}
	if r.code != 0 || strings.Contains(r.out, "no mistake") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

// TestDoctorOnLabels: whatever is wrong, of everything, of one candidate or of one
// entrypoint, there is no word of no mistake beside it.
func TestDoctorOnLabels(t *testing.T) {
	wrong := []route.Diagnostic{route.Diagnose("W132", "do", "wrong"), route.Diagnose("I105", "do", "good to know")}
	for name, v := range map[string]*router.View{
		"global":     {Global: wrong},
		"candidate":  {Candidates: []route.CandidateDiagnostics{{CandidateID: "c1", Diagnostics: wrong}}},
		"entrypoint": {Entrypoints: []router.EntrypointView{{Entrypoint: &route.Entrypoint{ID: "http_x"}, Diagnostics: wrong}}},
		"rejected":   {Rejected: []route.Rejected{{CandidateID: "c1", Name: "c1", Reason: "wrong", Code: "E001"}}},
	} {
		d := &doctor{p: &program{}}
		d.labels(v)
		want := map[string]int{"global": 2}[name] // with what is good to know of everything
		if len(d.findings) != max(want, 1) || d.findings[0].Verdict != verdictWarn || !strings.Contains(d.findings[0].Message, "wrong") ||
			strings.Contains(d.findings[len(d.findings)-1].Message, "no mistake") {
			t.Errorf("%s: %+v", name, d.findings)
		}
	}
	d := &doctor{p: &program{}}
	d.labels(&router.View{Global: wrong[1:]})
	if n := len(d.findings); n != 2 || d.findings[n-1].Message != "0 entrypoints, no mistake" {
		t.Errorf("%+v", d.findings)
	}
}

// TestDoctorWithoutAnEngine says why, for a socket that is missing and one that is dead.
func TestDoctorWithoutAnEngine(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "DOCKER_HOST=unix:///nonexistent/docker.sock", "FAIRLEAD_ADMIN=http://127.0.0.1:1"}}
	w.ports("127.0.0.1:0", "")
	if r := w.run("doctor"); r.code != 1 || !strings.Contains(r.out, "fail  engine: ") || !strings.Contains(r.out, "fix: ") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	w.env = append(w.env, "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_PROVIDERS_FILE_PATH="+tempFile(t, "routes.yaml", "entrypoints: []\n"))
	if r := w.run("doctor"); r.code != 0 || !strings.Contains(r.out, "no engine is watched") || !strings.Contains(r.out, "Nothing is in the way.") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

// TestDoctorOnPorts tells another program from a running router.
func TestDoctorOnPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_PROVIDERS_FILE_PATH=" + tempFile(t, "routes.yaml", "entrypoints: []\n"), "FAIRLEAD_ADMIN=http://127.0.0.1:1"}}
	w.ports(l.Addr().String(), "")
	if r := w.run("doctor"); r.code != 1 || !strings.Contains(r.out, "is taken by another program") || !strings.Contains(r.out, "proxy.http.listen") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

// TestDoctorOnAPortBesideARouterOfOtherSettings does not take another program's port for
// the router's; a router with the admin address of these settings has the others, too.
func TestDoctorOnAPortBesideARouterOfOtherSettings(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	at := l.Addr().String()
	for own, text := range map[bool]string{
		false: "warn  ports: HTTP " + at + " is in use: by the router at http://", true: "ok    ports: HTTP " + at + " is in use, as it should be",
	} {
		w := liveWorld(t, view(t, nil))
		w.env = append(w.env, "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_PROVIDERS_FILE_PATH="+tempFile(t, "routes.yaml", "entrypoints: []\n"))
		admin := "127.0.0.1:1"
		if own {
			for _, v := range w.env {
				if url, ok := strings.CutPrefix(v, "FAIRLEAD_ADMIN=http://"); ok {
					admin = url
				}
			}
		}
		w.ports(at, admin)
		if r := w.run("doctor"); !strings.Contains(r.out, text) || strings.Contains(r.out, "as it should be") != own {
			t.Errorf("own %v\n%s", own, r.all())
		}
	}
}

// TestDoctorOnSocketsThatAreNone says ok of a socket only after the engine answered.
func TestDoctorOnSocketsThatAreNone(t *testing.T) {
	dead := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	for path, want := range map[string]string{
		"/etc/passwd": "fail  socket: /etc/passwd is a file, no socket", "/etc": "fail  socket: /etc is a folder, no socket", dead: "fail  engine: nobody listens",
	} {
		w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "DOCKER_HOST=unix://" + path, "FAIRLEAD_ADMIN=http://127.0.0.1:1"}}
		w.ports("127.0.0.1:0", "")
		r := w.run("doctor")
		if r.code != 1 || !strings.Contains(r.out, want) || strings.Contains(r.out, "ok    socket") || strings.Count(r.out, "fail  ") != 1 {
			t.Errorf("%s: exit %d\n%s", path, r.code, r.all())
		}
	}
	endpoint, _, _ := engine(t)
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "DOCKER_HOST=" + endpoint, "FAIRLEAD_ADMIN=http://127.0.0.1:1"}}
	w.ports("127.0.0.1:0", "")
	if r := w.run("doctor"); !strings.Contains(r.out, "ok    socket: "+strings.TrimPrefix(endpoint, "unix://")) {
		t.Errorf("a socket that answers\n%s", r.all())
	}
}

// TestDoctorAsksARunningRouter finds that it has lost its engine.
func TestDoctorAsksARunningRouter(t *testing.T) {
	v := view(t, nil)
	v.Providers[0].Connected, v.Providers[0].LastError, v.Providers[0].Hint = false, "no socket", "mount it"
	w := liveWorld(t, v)
	w.env = append(w.env, "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_PROVIDERS_FILE_PATH="+tempFile(t, "routes.yaml", "entrypoints: []\n"))
	w.ports("127.0.0.1:0", "")
	r := w.run("doctor", "--json")
	var out struct{ Findings []checkup }
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatalf("%v in %s", err, r.all())
	}
	found := false
	for _, f := range out.Findings {
		found = found || f.Verdict == verdictFail && strings.Contains(f.Message, "(no socket)") && f.Fix == "mount it"
	}
	if r.code != 1 || !found {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
}

// TestDoctorOnProvidersThatAreBehind says what is the matter with each, once: an engine
// that is away, a file that is refused, an engine that was never read, one without events.
func TestDoctorOnProvidersThatAreBehind(t *testing.T) {
	v := away(t)
	const refused = "routes.yaml:3:5: unknown key \"confg\""
	v.Providers[1].LastError = refused + "\nroutes.yaml:4:5: unknown key \"hots\""
	v.Global = []route.Diagnostic{route.Diagnose("E114", "did you mean config?", "%s", refused)}
	v.Providers[2] = route.ProviderStatus{Name: "podman", Enabled: true, Phase: route.PhaseFailed, LastError: "no socket"}
	v.Providers = append(v.Providers, route.ProviderStatus{Name: "swarm", Enabled: true, Connected: true, Phase: route.PhaseReady, LastError: "no events"})
	w := liveWorld(t, v)
	w.env = append(w.env, "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_PROVIDERS_FILE_PATH="+tempFile(t, "routes.yaml", "entrypoints: []\n"))
	w.ports("127.0.0.1:0", "")
	r := w.run("doctor")
	for _, want := range []string{
		"router: docker engine unreachable since ", "routes are those of then (connection refused at unix:///var/run/docker.sock)",
		"router: file refused since ", "(1h 0m): routes are those of then\n", refused + " (E114)\n      fix: did you mean config?",
		"router: podman engine unreachable, and never read: its routes are missing (no socket)",
		"router: its provider swarm is connected, but not all is well (no events)",
	} {
		if strings.Count(r.out, want) != 1 {
			t.Errorf("not once: %q in\n%s", want, r.out)
		}
	}
	if r.code != 1 || strings.Count(r.out, "unknown key") != 1 || strings.Contains(r.out, "not connected") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

// TestDoctorFindsWhatServeRefuses: a public bind without users, an authority that is not
// there, a file of entrypoints that is missing or wrong.
func TestDoctorFindsWhatServeRefuses(t *testing.T) {
	routes := tempFile(t, "routes.yaml", "entrypoints: []\n")
	for _, tt := range []struct{ env, want string }{
		{"FAIRLEAD_ADMIN_LISTEN=0.0.0.0:0", "fail  settings: "},
		{"FAIRLEAD_CERTIFICATES_AUTHORITIES=x=/nonexistent.pem", "fail  settings: certificates.authorities.x"},
		{"FAIRLEAD_PROVIDERS_FILE_PATH=/nonexistent.yaml", "fail  file: /nonexistent.yaml does not exist"},
		{"FAIRLEAD_PROVIDERS_FILE_PATH=" + tempFile(t, "wrong.yaml", "entrypoints: ["), "fail  file: "},
	} {
		w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t), "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_ADMIN=http://127.0.0.1:1",
			"FAIRLEAD_PROVIDERS_FILE_PATH=" + routes}}
		w.ports("127.0.0.1:0", "")
		w.env = append(w.env, tt.env)
		if r := w.run("doctor"); r.code != 1 || !strings.Contains(r.out, tt.want) {
			t.Errorf("%s: exit %d\n%s", tt.env, r.code, r.all())
		}
	}
}

func TestDoctorOnAWrongConfiguration(t *testing.T) {
	bad := tempFile(t, "fairlead.yaml", "admin:\n  listne: x\n")
	w := &world{t: t, env: []string{"CONFIG_PATH=" + bad}}
	if r := w.run("doctor"); r.code != 1 || !strings.Contains(r.out, "fail  configuration: ") || !strings.Contains(r.out, "listne") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

func TestIsMountPoint(t *testing.T) {
	const text = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n37 35 0:22 /docker.sock /run/docker.sock ro - tmpfs tmpfs rw\nshort\n"
	got := []bool{isMountPoint(text, "/run/docker.sock"), isMountPoint(text, "/run"), isMountPoint("", "/run/docker.sock")}
	if diff := cmp.Diff([]bool{true, false, false}, got); diff != "" {
		t.Error(diff)
	}
	d := &doctor{p: &program{}}
	path := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if sound, usable := d.socket("unix://" + path); sound != path || !usable {
		t.Errorf("a socket: %q, %v", sound, usable)
	}
	if sound, usable := d.socket("tcp://127.0.0.1:2375"); sound != "" || !usable {
		t.Errorf("no socket's address: %q, %v", sound, usable)
	}
	if len(d.findings) != 0 {
		t.Errorf("%+v", d.findings) // ok is said when the engine has answered
	}
}
