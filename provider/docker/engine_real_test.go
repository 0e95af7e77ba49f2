package docker

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// realEngine is the engine of this machine, driven by its command line.
type realEngine struct {
	t      *testing.T
	prefix string // of all names
	image  string
}

// needEngine skips without an engine, unless FAIRLEAD_REQUIRE_DOCKER=1 makes one
// mandatory. It makes an image that needs no registry.
func needEngine(t *testing.T) *realEngine {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "docker", "version").CombinedOutput(); err != nil {
		text := fmt.Sprintf("no Docker engine here (docker version: %v %s)", err, bytes.TrimSpace(out))
		if os.Getenv("FAIRLEAD_REQUIRE_DOCKER") == "1" {
			t.Fatal(text)
		}
		t.Skip(text + "; FAIRLEAD_REQUIRE_DOCKER=1 makes this a failure")
	}
	e := &realEngine{t: t, prefix: fmt.Sprintf("fairlead-test-%d-", os.Getpid())}
	e.image = e.prefix + "app:test"
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "app"), "./testdata/app")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the app: %v\n%s", err, out)
	}
	e.shell("tar -C " + dir + " -c app | docker import -c 'ENTRYPOINT [\"/app\"]' -c 'EXPOSE 80' - " + e.image)
	t.Cleanup(func() { e.clean("rmi", "-f", e.image) })
	return e
}

func (e *realEngine) shell(command string) {
	e.t.Helper()
	if out, err := exec.CommandContext(e.t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
		e.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// label puts a label prefix of our own in front, so that other people's containers on
// this engine do not count.
func (e *realEngine) label(rest string) string { return strings.TrimSuffix(e.prefix, "-") + "." + rest }

// watch starts a provider that reads these labels.
func (e *realEngine) watch() *running {
	e.t.Helper()
	return start(e.t, newProvider(e.t, os.Getenv("DOCKER_HOST"), func(c *Config) { c.Label.Prefix = strings.TrimSuffix(e.prefix, "-") }))
}

// do runs docker; "%" in front of an argument stands for the prefix of our names.
func (e *realEngine) do(args ...string) string {
	e.t.Helper()
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "%", e.prefix)
	}
	out, err := exec.CommandContext(e.t.Context(), "docker", args...).CombinedOutput()
	if err != nil {
		e.t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// clean removes something at the end, whatever became of the test's context.
func (e *realEngine) clean(args ...string) {
	if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
		e.t.Logf("docker %s: %v %s", strings.Join(args, " "), err, out)
	}
}

// create makes a container with a route to its own name and removes it at the end.
func (e *realEngine) create(name string, flags ...string) {
	e.t.Helper()
	e.t.Cleanup(func() { e.clean("rm", "-f", e.prefix+name) })
	args := []string{"create", "--name", "%" + name, "-l", e.label("enable=true"), "-l", e.label("http." + name + ".host=" + name + ".example")}
	var command []string
	if i := slices.Index(flags, "--"); i >= 0 {
		flags, command = flags[:i], flags[i+1:]
	}
	e.do(slices.Concat(args, flags, []string{e.image}, command)...)
}

func (e *realEngine) run(name string, flags ...string) {
	e.t.Helper()
	e.create(name, flags...)
	e.do("start", "%"+name)
}

func (e *realEngine) network(name string, flags ...string) {
	e.t.Helper()
	e.do(slices.Concat([]string{"network", "create"}, flags, []string{"%" + name})...)
	e.t.Cleanup(func() { e.clean("network", "rm", e.prefix+name) })
}

func (e *realEngine) address(name, network string) string {
	e.t.Helper()
	return e.do("inspect", "-f", `{{with index .NetworkSettings.Networks "`+network+`"}}{{if .IPAddress}}{{.IPAddress}}{{else}}{{.GlobalIPv6Address}}{{end}}{{end}}`, "%"+name)
}

func (e *realEngine) present(name, network string) func(route.Snapshot) bool {
	e.t.Helper()
	return shows("http_"+name, e.prefix+name+"="+route.JoinHostPort(e.address(name, network), 80)+"(present)")
}

func (e *realEngine) absent(name, why string) func(route.Snapshot) bool {
	return shows("http_"+name, e.prefix+name+"("+why+")")
}

func TestRealEngineLifeOfAContainer(t *testing.T) {
	e := needEngine(t)
	r := e.watch()
	r.until("the first read", func(s route.Snapshot) bool { return s.Status.Phase == route.PhaseReady })
	e.run("a")
	r.until("start", e.present("a", "bridge"))
	addr := r.last.Entrypoints[slices.IndexFunc(r.last.Entrypoints, func(p *route.Entrypoint) bool { return p.ID == "http_a" })].Backends[0].Address()
	conn, err := net.DialTimeout("tcp", addr, 2*time.Second)
	if err != nil {
		t.Errorf("the address does not answer: %v", err)
	} else {
		_ = conn.Close()
	}
	e.do("kill", "-s", "HUP", "%a")
	e.do("pause", "%a")
	r.until("pause", e.absent("a", "paused"))
	e.do("unpause", "%a")
	r.until("unpause", e.present("a", "bridge"))
	e.do("rename", "%a", "%a2")
	r.until("rename", func(s route.Snapshot) bool { return strings.HasPrefix(of(s, "http_a"), e.prefix+"a2=") })
	e.do("rename", "%a2", "%a")
	r.until("rename back", e.present("a", "bridge"))
	e.do("restart", "%a")
	r.until("restart", e.present("a", "bridge"))
	e.do("stop", "%a")
	r.until("stop", e.absent("a", "retained"))
	e.do("start", "%a")
	r.until("start again", e.present("a", "bridge"))
	e.do("rm", "-f", "%a")
	r.until("rm -f", e.absent("a", "retained"))
	e.run("loop", "--restart", "always", "--", "crash")
	r.until("a restart loop", e.absent("loop", "restarting"))
	e.create("a")
	e.do("start", "%a")
	r.until("recreate", e.present("a", "bridge"))
}

func TestRealEngineNetworks(t *testing.T) {
	e := needEngine(t)
	e.network("inner", "--internal")
	e.network("six", "--ipv6", "--subnet", "fd00:fa1e:1ead::/64")
	r := e.watch()
	e.run("in", "--network", "%inner")
	r.until("an internal network", e.present("in", e.prefix+"inner"))
	e.run("v6", "--network", "%six", "-l", e.label("network=six"), "-l", "com.docker.compose.project="+strings.TrimSuffix(e.prefix, "-"))
	s := r.until("a network with IPv6", func(s route.Snapshot) bool { return strings.Contains(of(s, "http_v6"), "(present)") })
	if !strings.Contains(of(s, "http_v6"), e.prefix+"v6=") {
		t.Errorf("got %s", describeSnapshot(s))
	}
	e.do("network", "connect", "bridge", "%in")
	e.do("network", "disconnect", "%inner", "%in")
	r.until("another network", e.present("in", "bridge"))
	e.do("network", "connect", "%inner", "%in")
	e.do("network", "disconnect", "bridge", "%in")
	r.until("one network again", e.present("in", e.prefix+"inner"))
	e.run("host", "--network", "host", "-e", "PORT=18947", "-l", e.label("http.host.port=18947"))
	r.until("the host's network", shows("http_host", e.prefix+"host=127.0.0.1:18947(present)"))
	e.run("join", "--network", "container:%in", "-e", "PORT=8081", "-l", e.label("http.join.port=8081"))
	r.until("another one's network", shows("http_join", e.prefix+"join="+e.address("in", e.prefix+"inner")+":8081(present)"))
	e.run("none", "--network", "none")
	r.until("no network", e.absent("none", "refused"))
	e.do("network", "disconnect", "none", "%none")
	e.do("network", "connect", "%inner", "%none")
	r.until("a network after all", e.present("none", e.prefix+"inner"))
	e.run("once", "-l", "com.docker.compose.oneoff=True")
	r.until("compose run", func(s route.Snapshot) bool {
		return slices.ContainsFunc(s.Rejected, func(x route.Rejected) bool { return x.Name == e.prefix+"once" })
	})
}

func TestRealEngineStartIsSeenQuickly(t *testing.T) {
	e := needEngine(t)
	r := e.watch()
	r.until("the first read", func(s route.Snapshot) bool { return s.Status.Connected })
	var took []time.Duration
	e.create("quick")
	for range 5 {
		e.do("start", "%quick")
		began := time.Now()
		r.until("start", func(s route.Snapshot) bool { return strings.Contains(of(s, "http_quick"), "(present)") })
		took = append(took, time.Since(began))
		e.do("kill", "%quick")
		r.until("kill", e.absent("quick", "retained"))
	}
	slices.Sort(took)
	if median := took[len(took)/2]; median > 300*time.Millisecond {
		t.Errorf("a start is seen after %v (all: %v), want 300 ms at most", median, took)
	} else {
		t.Logf("a start is seen after %v (all: %v)", median, took)
	}
}
