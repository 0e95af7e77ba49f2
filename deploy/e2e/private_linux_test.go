package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// privateName begins the names of everything a private engine owns; the process id of
// the test and a number follow.
const privateName = "fairlead-engine-"

// privateEngine is a Docker daemon that a test may stop and kill. It lives in a network
// namespace of its own, which has no route out: a second daemon in the host's namespace
// would take the first one's bridge away, and requests to the address of a container
// that is gone would leave the machine.
type privateEngine struct {
	t      *testing.T
	name   string // of the namespace, the folder and the control group
	dir    string
	flags  []string
	daemon *exec.Cmd
	ended  chan struct{}
	proven bool // it has answered once: what it does not do later is a failure
}

// newPrivateEngine starts an engine that holds the workload's image. flags are more
// flags of dockerd.
func newPrivateEngine(t *testing.T, flags ...string) *privateEngine {
	t.Helper()
	if os.Getuid() != 0 {
		impossible(t, "a network namespace and a Docker daemon need root")
	}
	for _, program := range []string{"ip", "nsenter", "dockerd"} {
		if _, err := exec.LookPath(program); err != nil {
			impossible(t, err.Error())
		}
	}
	sweepOrphans(t)
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", privateName, os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	e := &privateEngine{t: t, name: filepath.Base(dir), dir: dir, flags: flags}
	t.Cleanup(e.close)
	if err := e.prepare(); err != nil {
		impossible(t, err.Error())
	}
	e.start()
	e.importImage()
	return e
}

// impossible ends a test that cannot run on this machine: a failure where an engine is required.
func impossible(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("FAIRLEAD_REQUIRE_DOCKER") == "1" {
		t.Fatalf("FAIRLEAD_REQUIRE_DOCKER=1, but no private engine is possible here: %s", reason)
	}
	t.Skipf("no private engine is possible here: %s", reason)
}

func (e *privateEngine) prepare() error {
	if err := os.Chmod(e.dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(e.file("config.json"), []byte("{}"), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"ip", "netns", "add", e.name},
		{"nsenter", "--net=/run/netns/" + e.name, "ip", "link", "set", "lo", "up"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

func (e *privateEngine) file(name string) string { return filepath.Join(e.dir, name) }

func (e *privateEngine) socket() string { return e.file("engine.sock") }

// enter is the command that runs another one in the engine's network namespace.
func (e *privateEngine) enter() []string { return []string{"nsenter", "--net=/run/netns/" + e.name} }

// start starts the daemon and returns how long it took to answer.
func (e *privateEngine) start() time.Duration {
	e.t.Helper()
	log, err := os.OpenFile(e.file("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		e.t.Fatal(err)
	}
	defer log.Close()
	args := slices.Concat(e.enter(), []string{
		"dockerd", "--data-root", e.file("data"), "--exec-root", e.file("exec"), "--pidfile", e.file("pid"),
		"--host", "unix://" + e.socket(), "--config-file", e.file("config.json"),
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", e.name,
		"--containerd-namespace", e.name, "--containerd-plugins-namespace", e.name + "-plugins",
	}, storageFlags(), e.flags)
	e.daemon, e.ended = exec.Command(args[0], args[1:]...), make(chan struct{})
	e.daemon.Stdout, e.daemon.Stderr = log, log
	e.daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupted test run cleans up in its own order
	began := time.Now()
	if err := e.daemon.Start(); err != nil {
		impossible(e.t, err.Error())
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(e.daemon, e.ended)
	e.awaitAnswer(began.Add(30 * time.Second))
	return time.Since(began)
}

func (e *privateEngine) awaitAnswer(deadline time.Time) {
	e.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := e.ping()
		switch {
		case err == nil:
			e.proven = true
			return
		case e.proven && (!e.running() || time.Now().After(deadline)):
			e.t.Fatalf("dockerd does not come back: %v: %s", err, e.tail())
		case !e.running():
			impossible(e.t, "dockerd ended at its start: "+e.tail())
		case time.Now().After(deadline):
			impossible(e.t, fmt.Sprintf("dockerd does not answer: %v: %s", err, e.tail()))
		}
		<-tick.C
	}
}

// ping asks on the socket itself, which is faster than the CLI.
func (e *privateEngine) ping() error {
	conn, err := net.DialTimeout("unix", e.socket(), time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write([]byte("GET /_ping HTTP/1.0\r\n\r\n")); err != nil {
		return err
	}
	head := make([]byte, 12)
	if _, err := conn.Read(head); err != nil {
		return err
	}
	if !strings.HasSuffix(string(head), " 200") {
		return fmt.Errorf("/_ping: %q", head)
	}
	return nil
}

func (e *privateEngine) running() bool {
	select {
	case <-e.ended:
		return false
	default:
		return e.daemon != nil
	}
}

func (e *privateEngine) tail() string {
	data, _ := os.ReadFile(e.file("log"))
	return tail(string(data), 1500)
}

// storageFlags choose the storage of the machine's own engine: what works for one works
// for the other. The newer image store is no driver by a flag.
func storageFlags() []string {
	driver, err := docker("info", "-f", "{{.Driver}}")
	if err != nil || !slices.Contains([]string{"overlay2", "fuse-overlayfs", "vfs", "btrfs", "zfs"}, driver) {
		return nil
	}
	return []string{"--storage-driver", driver}
}

// terminate sends SIGTERM and waits for the end.
func (e *privateEngine) terminate() {
	e.t.Helper()
	e.end(syscall.SIGTERM, 40*time.Second)
}

// kill sends SIGKILL, waits for the end and removes what would keep the next daemon from
// starting: its pid file, and that of its containerd, which dies with it but counts as
// alive for as long as nobody has asked for its exit code.
func (e *privateEngine) kill() {
	e.t.Helper()
	e.end(syscall.SIGKILL, 10*time.Second)
	_ = os.Remove(e.file("pid"))
	file := e.file("exec/containerd/containerd.pid")
	text, _ := os.ReadFile(file)
	pid := strings.TrimSpace(string(text))
	if pid == "" {
		return // the machine's own containerd serves this engine too
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if args, err := os.ReadFile("/proc/" + pid + "/cmdline"); err != nil || len(args) == 0 {
			_ = os.Remove(file)
			return
		}
		<-tick.C
	}
	e.t.Fatalf("containerd %s outlives dockerd", pid)
}

func (e *privateEngine) end(sig syscall.Signal, within time.Duration) {
	e.t.Helper()
	if err := e.daemon.Process.Signal(sig); err != nil {
		e.t.Fatalf("dockerd: %v: %v: %s", sig, err, e.tail())
	}
	select {
	case <-e.ended:
	case <-time.After(within):
		e.t.Fatalf("dockerd did not end within %v of %v: %s", within, sig, e.tail())
	}
}

// restart starts a killed engine that stops its containers at its start, and undoes a
// fault that engines of version 20.10 have then, on a busy machine: the network of a
// stopped container stays plugged in, so that two answer at one address. It returns when
// the engine answered.
func (e *privateEngine) restart() (answered time.Time) {
	e.t.Helper()
	e.start()
	answered = time.Now()
	used := map[string]bool{}
	for id := range strings.FieldsSeq(e.mustRun("docker", "--host", "unix://"+e.socket(), "ps", "-q")) {
		link := e.mustRun("nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", e.pid(id)), "ip", "-o", "link", "show", "eth0")
		_, rest, _ := strings.Cut(link, "@if")
		index, _, _ := strings.Cut(rest, ":")
		used[index] = true
	}
	for line := range strings.Lines(e.mustRun("nsenter", "--net=/run/netns/"+e.name, "ip", "-o", "link", "show", "type", "veth")) {
		index, rest, _ := strings.Cut(line, ": ")
		if name, _, _ := strings.Cut(rest, "@"); !used[index] {
			e.t.Logf("the engine left the network of a stopped container plugged in: %s", name)
			e.mustRun("nsenter", "--net=/run/netns/"+e.name, "ip", "link", "del", name)
		}
	}
	return answered
}

func (e *privateEngine) mustRun(args ...string) string {
	e.t.Helper()
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		e.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func (e *privateEngine) docker(args ...string) (string, error) {
	return docker(append([]string{"--host", "unix://" + e.socket()}, args...)...)
}

func (e *privateEngine) importImage() {
	e.t.Helper()
	command := fmt.Sprintf("tar -C %s -c fairlead | docker --host unix://%s import -c 'ENTRYPOINT [\"/fairlead\"]' - %s",
		filepath.Dir(binary), e.socket(), image)
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		e.t.Fatalf("import: %v\n%s", err, out)
	}
}

// pid is the process of a container.
func (e *privateEngine) pid(container string) int {
	e.t.Helper()
	out, err := e.docker("inspect", "-f", "{{.State.Pid}}", container)
	if err != nil {
		e.t.Fatal(err)
	}
	pid, err := strconv.Atoi(out)
	if err != nil || pid < 2 {
		e.t.Fatalf("pid of %s: %q %v", container, out, err)
	}
	return pid
}

// dial connects from within the namespace. A socket belongs for good to the namespace
// in which it was made.
func (e *privateEngine) dial(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, not to be used elsewhere
		ns, err := os.Open("/run/netns/" + e.name)
		if err != nil {
			done <- result{err: err}
			return
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{err: fmt.Errorf("setns: %w", err)}
			return
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

// site starts a router in the namespace that watches the engine at the socket. flags are
// more flags of nsenter: -S and -G run it as another user.
func (e *privateEngine) site(socket string, flags ...string) *site {
	e.t.Helper()
	s := &site{
		t: e.t, log: &logBuffer{}, done: make(chan error, 1), prefix: "outage",
		http: "127.0.0.1:8000", admin: "127.0.0.1:3035", // nobody else is there
		dial: e.dial, enter: slices.Concat(e.enter(), flags), engine: []string{"--host", "unix://" + e.socket()},
	}
	s.start("FAIRLEAD_PROVIDERS_DOCKER_ENDPOINT=unix://" + socket)
	e.t.Cleanup(s.stop)
	return s
}
