package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// close ends the engine and everything it made, and fails the test when anything stays.
func (e *privateEngine) close() {
	if e.t.Failed() {
		e.t.Logf("dockerd's log:\n%s", e.tail())
	}
	if e.daemon != nil && e.running() {
		if ids, err := e.docker("ps", "-aq"); err == nil && ids != "" {
			_, _ = e.docker(append([]string{"rm", "-f"}, strings.Fields(ids)...)...)
		}
		_ = e.daemon.Process.Signal(syscall.SIGTERM)
		select {
		case <-e.ended:
		case <-time.After(20 * time.Second):
			_ = e.daemon.Process.Kill()
			<-e.ended
		}
	}
	if left := sweep(e.name, e.dir); left != nil {
		e.t.Errorf("left behind by %s: %v", e.name, left)
	}
}

// sweepOrphans removes what a test run that was interrupted left behind.
func sweepOrphans(t *testing.T) {
	t.Helper()
	pattern := regexp.MustCompile(`^` + privateName + `([0-9]+)-[0-9]+$`)
	var names []string
	for _, dir := range []string{"/run/netns", os.TempDir()} {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			m := pattern.FindStringSubmatch(entry.Name())
			if m == nil || slices.Contains(names, entry.Name()) {
				continue
			}
			if pid, err := strconv.Atoi(m[1]); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				names = append(names, entry.Name())
			}
		}
	}
	for _, name := range names {
		t.Logf("removing %s, which an interrupted run left behind", name)
		if left := sweep(name, filepath.Join(os.TempDir(), name)); left != nil {
			t.Logf("still there: %v", left)
		}
	}
}

// sweep removes the processes, mounts, control groups, namespace and folder of a private
// engine whose daemon may or may not be alive, and returns what it could not remove.
func sweep(name, dir string) error {
	inside := insider("/run/netns/" + name)
	// The daemon first, so that it starts nothing again; then what the shims hold: the
	// containers' processes are in namespaces of their own.
	endProcesses(func(p process) bool { return inside(p) && p.program == "dockerd" })
	shims := processes(func(p process) bool { return inside(p) && strings.HasPrefix(p.program, "containerd-shim") })
	sockets := shimSockets(shims)
	endProcesses(func(p process) bool {
		return slices.ContainsFunc(shims, func(s process) bool { return s.pid == p.parent })
	})
	unmountAll(dir) // ends the processes of file systems
	endProcesses(inside)
	for _, socket := range sockets {
		_ = os.Remove(socket)
	}
	removeGroups(name)
	if left := processes(inside); len(left) > 0 {
		return fmt.Errorf("processes %v", left)
	}
	if _, err := os.Stat("/run/netns/" + name); err == nil {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			return fmt.Errorf("ip netns del %s: %w: %s", name, err, out)
		}
	}
	return os.RemoveAll(dir)
}

// insider tells the processes in a network namespace from others. This one never counts,
// though a thread of it may be there.
func insider(namespace string) func(process) bool {
	want, err := os.Stat(namespace)
	return func(p process) bool {
		if err != nil || p.pid == os.Getpid() {
			return false
		}
		got, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", p.pid))
		return err == nil && os.SameFile(want, got)
	}
}

// process is a line of the process table.
type process struct {
	pid, parent int
	program     string
}

func processes(wanted func(process) bool) []process {
	var list []process
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		stat, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		first, _, _ := strings.Cut(string(args), "\x00")
		p := process{pid: pid, program: filepath.Base(first)}
		// The name in parentheses may hold anything; state and parent follow the last one.
		if fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])); len(fields) > 1 {
			p.parent, _ = strconv.Atoi(fields[1])
		}
		if len(args) > 0 && wanted(p) {
			list = append(list, p)
		}
	}
	return list
}

// endProcesses kills every process that is wanted, by its id, and waits for their end.
func endProcesses(wanted func(process) bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		list := processes(wanted)
		if len(list) == 0 {
			return
		}
		for _, p := range list {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		<-tick.C
	}
}

// shimSockets are the sockets on which containerd speaks with its shims. Their names are
// hashes; those of the engine's namespace are its own.
func shimSockets(shims []process) []string {
	var list []string
	for _, shim := range shims {
		table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", shim.pid))
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line)
			if path := fields[len(fields)-1]; strings.HasPrefix(path, "/run/containerd/s/") && !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
	}
	return list
}

// unmountAll takes down every mount below a folder, the newest first.
func unmountAll(dir string) {
	table, _ := os.ReadFile("/proc/self/mountinfo")
	lines := strings.Split(string(table), "\n")
	slices.Reverse(lines)
	for _, line := range lines {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			_ = syscall.Unmount(fields[4], syscall.MNT_DETACH)
		}
	}
}

// removeGroups removes the engine's control groups of both versions; a group is removed
// as a folder, from the inside out.
func removeGroups(name string) {
	roots, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
	for _, root := range append(roots, "/sys/fs/cgroup/"+name) {
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
