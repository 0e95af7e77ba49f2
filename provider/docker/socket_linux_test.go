package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fls") // short: sockets allow 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// An engine that is started anew makes a new socket; the connections to the old one may
// live on, silent.
func TestReplacedSocketIsNoticedAndReopened(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	first := enginetest.New(enginetest.Docker20)
	first.Run(web("app"))
	r := start(t, newProvider(t, first.ServeUnixAt(t, path), nil))
	r.until("the first engine", func(s route.Snapshot) bool { return of(s, "http_web") != "-" && s.Status.APIVersion == "1.41" })
	first.Stall(true)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	second := enginetest.New(enginetest.Docker29)
	second.Run(web("app"))
	second.Run(web("next"))
	second.ServeUnixAt(t, path)
	began := time.Now()
	r.until("the second engine", func(s route.Snapshot) bool {
		if !s.Status.Connected {
			t.Errorf("said to be lost: %+v", s.Status)
		}
		return strings.Contains(of(s, "http_web"), "next=") && s.Status.APIVersion == "1.51"
	})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("noticed after %v", took)
	}
	if first.Subscribers() != 0 {
		eventually(t, "the old stream is closed", func() bool { return first.Subscribers() == 0 })
	}
}

// mounted returns a path that goes on leading to the socket at path whatever happens to
// its name, as a bind mount of the file does.
func mounted(t *testing.T, path string) string {
	t.Helper()
	const oPath = 0x200000 // O_PATH, which syscall does not name
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	return fmt.Sprintf("/proc/self/fd/%d", fd)
}

func TestDeadSocketThatIsMountedAsAFileIsToldWithTheFix(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	e := enginetest.New(enginetest.Docker20)
	e.Run(web("app"))
	e.ServeUnixAt(t, path)
	r := start(t, newProvider(t, "unix://"+mounted(t, path), nil))
	s := r.until("the engine", func(s route.Snapshot) bool { return s.Status.Connected })
	up := of(s, "http_web")
	e.Down() // removes the socket, as an engine that is stopped does
	e.Up(t)  // with a new one, which nobody sees through the mount
	s = r.until("the loss", func(s route.Snapshot) bool { return !s.Status.Connected })
	if s.Status.Phase != route.PhaseStale || s.Status.Since.IsZero() || of(s, "http_web") != up {
		t.Errorf("after the loss: %s, %+v", describeSnapshot(s), s.Status)
	}
	if !strings.Contains(s.Status.LastError, "mounted as a file") ||
		!strings.Contains(s.Status.Hint, "mount the directory") || !strings.Contains(s.Status.Hint, "restart") {
		t.Errorf("%q, hint %q", s.Status.LastError, s.Status.Hint)
	}
}

func TestSocketFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if f := statSocket(path); f.replaced() || f.dead() {
		t.Errorf("nothing at the path is %+v", f)
	}
	write := func(name string) {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path)
	f := statSocket(path)
	if f.replaced() || f.dead() {
		t.Errorf("the file itself is %+v", f)
	}
	write(path + "2")
	if err := os.Remove(path); err != nil || f.replaced() {
		t.Errorf("a file that is away for a moment is replaced (%v)", err)
	}
	if err := os.Rename(path+"2", path); err != nil || !f.replaced() {
		t.Errorf("another file at the path is not noticed (%v)", err)
	}
}
