package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// relay passes connections on to the engine's socket, as a socket proxy does.
type relay struct {
	path, target string

	mu       sync.Mutex
	listener net.Listener
	pairs    []*relayed
	wg       sync.WaitGroup
}

// relayed is one connection through a relay. A silent one takes what the client sends
// and brings nothing.
type relayed struct {
	client, engine net.Conn
	silent         atomic.Bool
}

func newRelay(t *testing.T, path, target string) *relay {
	t.Helper()
	r := &relay{path: path, target: target}
	r.listen(t)
	t.Cleanup(func() {
		r.mu.Lock()
		r.listener.Close()
		for _, p := range r.pairs {
			p.client.Close()
			p.engine.Close()
		}
		r.mu.Unlock()
		r.wg.Wait()
	})
	return r
}

func (r *relay) listen(t *testing.T) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.listener = l
	r.mu.Unlock()
	r.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			r.pass(client)
		}
	})
}

func (r *relay) pass(client net.Conn) {
	engine, err := net.Dial("unix", r.target)
	if err != nil {
		client.Close()
		return
	}
	p := &relayed{client: client, engine: engine}
	r.mu.Lock()
	r.pairs = append(r.pairs, p)
	r.mu.Unlock()
	r.wg.Go(func() {
		_, _ = io.Copy(client, engine)
		if !p.silent.Load() {
			client.Close()
		}
	})
	r.wg.Go(func() {
		_, err := io.Copy(engine, client)
		if err != nil && p.silent.Load() {
			_, _ = io.Copy(io.Discard, client)
		}
		client.Close()
		engine.Close()
	})
}

// replace puts a new socket in the place of the old one. What was connected stays so,
// but nothing comes any more: nobody is told.
func (r *relay) replace(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	for _, p := range r.pairs {
		p.silent.Store(true)
		p.engine.Close()
	}
	r.listener.Close() // removes the file
	r.mu.Unlock()
	r.listen(t)
}

// TestOutageSocketReplaced: a new socket in the place of the old one is noticed, though
// the connections made through the old one stay open and silent.
func TestOutageSocketReplaced(t *testing.T) {
	e := newPrivateEngine(t)
	r := newRelay(t, e.file("relay.sock"), e.socket())
	s := e.site(r.path)
	one := s.run("app", watched("app"))
	s.verified("http_app", one)
	l := s.load("app.localhost", "app")
	l.more(loadPhase / 2)
	replaced := l.action()
	r.replace(t)
	two := s.run("app", watched("app"))
	s.eventually(10*time.Second, "the container started behind the new socket is there", func() error {
		all, err := s.standings("http_app")
		if err == nil && len(all) != 2 {
			err = fmt.Errorf("%d backends", len(all))
		}
		return err
	})
	t.Logf("noticed %v after the socket was replaced", time.Since(replaced).Round(time.Millisecond))
	s.verified("http_app", one, two)
	l.wantLost("socket replaced", replaced, 0)
	l.end()
}

// TestOutageSocketMountedAsFile: a socket that is mounted as a file is dead after the
// engine's restart; the status says so and how to mount it, and a new mount is noticed.
func TestOutageSocketMountedAsFile(t *testing.T) {
	e := newPrivateEngine(t, "--live-restore")
	path := e.file("mounted.sock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mount := func() {
		if err := syscall.Mount(e.socket(), path, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
	}
	mount()
	s := e.site(path)
	one := s.run("app", watched("app"))
	s.verified("http_app", one)
	gone := time.Now()
	e.terminate()
	e.start()
	s.wantStale(10*time.Second, gone, "the engine's socket "+path+" is dead")
	p, err := s.dockerStatus()
	if err != nil || p.Hint == nil || !strings.Contains(*p.Hint, "mount the directory") {
		t.Errorf("%v: hint %q does not say how to mount it", err, str(p.Hint))
	}
	s.waitFor("app.localhost", 200, "app")
	if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	mount()
	s.wantFresh(time.Now())
	s.wantOneWarning(gone)
	s.wantNewRouted("newcomer")
}

// TestOutagePermissionLost: an engine whose socket belongs to another group after its
// restart is told with the user and the group; nothing that serves stops.
func TestOutagePermissionLost(t *testing.T) {
	const nobody = "65534"
	e := newPrivateEngine(t, "--live-restore", "--group", nobody)
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil {
		t.Fatal(err)
	}
	s := e.site(e.socket(), "-S", nobody, "-G", nobody)
	one := s.run("app", watched("app"))
	s.verified("http_app", one)
	l := s.load("app.localhost", "app")
	gone := l.action()
	e.terminate()
	e.flags = []string{"--live-restore", "--group", "0"}
	e.start()
	denied := "no permission to open the engine's socket " + e.socket() + " as uid " + nobody
	s.eventually(10*time.Second, "the missing permission is said", func() error {
		p, err := s.dockerStatus()
		if err == nil && (p.LastError == nil || *p.LastError != denied) {
			err = errors.New(str(p.LastError))
		}
		return err
	})
	s.wantStale(time.Second, gone, denied)
	p, err := s.dockerStatus()
	if err != nil || p.Hint == nil || !strings.Contains(*p.Hint, "group 0") {
		t.Errorf("%v: hint %q does not name the group", err, str(p.Hint))
	}
	wait(t, 3*time.Second)
	if err := os.Chown(e.socket(), 0, 65534); err != nil {
		t.Fatal(err)
	}
	s.wantFresh(time.Now())
	s.wantNewRouted("newcomer")
	l.wantLost("no permission for a while", gone, 0)
	l.end()
	if list := s.warnings(gone); len(list) == 0 || len(list) > 2 {
		t.Errorf("%d warnings of the provider, one for each cause expected:\n%s", len(list), strings.Join(list, "\n"))
	}
}
