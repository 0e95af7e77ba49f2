package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// podman is a Podman service that a test started: in namespaces of its own for the
// network, mounts and processes, so that all of it ends with one process.
type podman struct {
	t     *testing.T
	dir   string
	name  string // of the control group
	outer *exec.Cmd
	ended chan struct{}
}

// podmanService is what runs in the namespaces. What Podman keeps in fixed places is
// hidden behind empty file systems. The shell stays, to reap what loses its parent.
const podmanService = `
set -e
ip link set lo up
for dir in /dev/shm /var/lib/cni /run/containers /run/libpod; do
  if [ -d $dir ]; then mount -t tmpfs none $dir; fi
done
trap 'kill $service' TERM
podman --root "$1/root" --runroot "$1/run" --tmpdir "$1/tmp" --network-config-dir "$1/net" --storage-driver vfs \
  --cgroup-manager cgroupfs --events-backend file system service --time=0 "unix://$1/podman.sock" &
service=$!
wait
`

// noPodman ends a test that needs Podman: a failure where FAIRLEAD_REQUIRE_PODMAN=1 says
// that it is there.
func noPodman(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("FAIRLEAD_REQUIRE_PODMAN") == "1" {
		t.Fatalf("FAIRLEAD_REQUIRE_PODMAN=1, but Podman cannot run here: %s", reason)
	}
	t.Skipf("Podman cannot run here: %s (.ci/setup installs it)", reason)
}

// newPodman starts the service and gives it the shipped image.
func newPodman(t *testing.T) *podman {
	t.Helper()
	if os.Getuid() != 0 {
		noPodman(t, "network and mount namespaces need root")
	}
	for _, program := range []string{"podman", "unshare", "nsenter", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			noPodman(t, err.Error())
		}
	}
	p := &podman{t: t, dir: t.TempDir(), ended: make(chan struct{}), name: "fairlead-podman-" + strings.TrimPrefix(mark, markKey+"=")}
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.outer = exec.Command("unshare", "--net", "--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc", "--kill-child",
		"sh", "-c", podmanService, "sh", p.dir)
	p.outer.Stdout, p.outer.Stderr = log, log
	if err := p.outer.Start(); err != nil {
		noPodman(t, err.Error())
	}
	t.Cleanup(p.close)
	go func() { _ = p.outer.Wait(); close(p.ended) }()
	p.await()
	p.ship()
	return p
}

// ship builds the image as a user would, but from the binary: Podman's import knows no
// HEALTHCHECK.
func (p *podman) ship() {
	p.t.Helper()
	file := "FROM scratch\nCOPY fairlead /fairlead\n" + strings.Join(shippedAs(p.t), "\n") + "\n"
	build := exec.CommandContext(p.t.Context(), "docker", "--host", p.host(), "build", "-q", "-t", "localhost/fairlead:latest", "-f", "-", filepath.Dir(binary))
	build.Stdin = strings.NewReader(file)
	build.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if out, err := build.CombinedOutput(); err != nil {
		p.t.Fatalf("build: %v\n%s", err, out)
	}
}

func (p *podman) host() string { return "unix://" + filepath.Join(p.dir, "podman.sock") }

// namespace is the file of the service's network namespace.
func (p *podman) namespace() string { return fmt.Sprintf("/proc/%d/ns/net", p.outer.Process.Pid) }

func (p *podman) log() string {
	data, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	return tail(string(data), 3000)
}

func (p *podman) await() {
	p.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 400 {
		if _, err := docker("--host", p.host(), "version"); err == nil {
			return
		}
		select {
		case <-p.ended:
			noPodman(p.t, "its service ended at its start: "+p.log())
		case <-tick.C:
		}
	}
	noPodman(p.t, "its service does not answer: "+p.log())
}

// close ends the service, and with it the namespaces and every process in them.
func (p *podman) close() {
	if p.t.Failed() {
		p.t.Logf("Podman's log:\n%s", p.log())
	}
	if ids, err := docker("--host", p.host(), "ps", "-aq"); err == nil && ids != "" {
		_, _ = docker(append([]string{"--host", p.host(), "rm", "-f"}, strings.Fields(ids)...)...)
	}
	_ = p.outer.Process.Kill() // the child gets it too, and is the namespace's first process
	<-p.ended
	removeEmptyGroups("libpod_parent") // Podman's own, which another service may be using
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 { // the kernel takes its time to end the last processes
		if removeEmptyGroups(p.name); len(controlGroups(p.name)) == 0 {
			return
		}
		<-tick.C
	}
	p.t.Errorf("left behind: %v", controlGroups(p.name))
}

// controlGroups are the folders of a group, one for each hierarchy.
func controlGroups(name string) []string {
	roots, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
	if _, err := os.Stat("/sys/fs/cgroup/" + name); err == nil {
		roots = append(roots, "/sys/fs/cgroup/"+name)
	}
	return roots
}

// removeEmptyGroups removes control groups without processes, from the inside out.
func removeEmptyGroups(name string) {
	for _, root := range controlGroups(name) {
		var dirs []string
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		slices.Reverse(dirs)
		for _, dir := range dirs {
			_ = os.Remove(dir)
		}
	}
}

// flags of every container: the machine may not let a container have more, and its
// control group is the test's.
func (p *podman) flags() []string {
	return []string{"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--cgroup-parent", "/" + p.name}
}

// command makes a directory with a podman that talks to the service, and gives new
// containers the flags that they need on this machine.
func (p *podman) command() string {
	p.t.Helper()
	program, err := exec.LookPath("podman")
	if err != nil {
		p.t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = run ]; then shift; set -- run %s \"$@\"; fi\nexec %s --remote --url %s \"$@\"\n",
		strings.Join(p.flags(), " "), program, p.host())
	dir := p.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "podman"), []byte(script), 0o700); err != nil {
		p.t.Fatal(err)
	}
	return dir
}

// dial connects in the service's network namespace, where its sockets then stay.
func (p *podman) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		ns, err := os.Open(p.namespace())
		if err != nil {
			done <- err
			return
		}
		defer ns.Close()
		err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			conn, err = new(net.Dialer).DialContext(ctx, network, address)
		}
		done <- err
	}()
	err := <-done
	return conn, err
}

// site starts a router beside the service.
func (p *podman) site(extra ...string) *site {
	p.t.Helper()
	s := &site{
		t: p.t, log: &logBuffer{}, done: make(chan error, 1), prefix: "pod",
		http: "127.0.0.1:8000", admin: "127.0.0.1:3000", // nobody else is there
		dial: p.dial, enter: []string{"nsenter", "--net=" + p.namespace()}, engine: []string{"--host", p.host()},
	}
	s.start(append([]string{"DOCKER_HOST=" + p.host()}, extra...)...)
	p.t.Cleanup(s.stop)
	return s
}
