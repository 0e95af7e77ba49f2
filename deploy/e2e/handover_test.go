package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// handOvers is how often a router takes over from another one in each test.
const handOvers = 20

// successor is another router for the same world, with an admin listener of its own;
// it is not started.
func (s *site) successor() *site {
	return &site{
		t: s.t, log: &logBuffer{}, done: make(chan error, 1), prefix: s.prefix, http: s.http, admin: freePort(s.t),
		dial: s.dial, enter: s.enter, engine: s.engine,
	}
}

func (s *site) isReady() error {
	status, body, err := s.getAdmin("/ready")
	if err == nil && status != 200 {
		err = fmt.Errorf("%d %s", status, body)
	}
	return err
}

// fresh begins traffic with a new connection for every request, at the pace of load.
func (s *site) fresh(host, app string) *load {
	l := &load{s: s, host: host, app: app, path: "/", timeout: loadTimeout, stop: make(chan struct{})}
	for i := range loadWorkers {
		l.workers.Go(func() {
			offset := time.NewTimer(time.Duration(i) * loadPace / loadWorkers)
			defer offset.Stop()
			tick := time.NewTicker(loadPace)
			defer tick.Stop()
			for next := offset.C; ; next = tick.C {
				select {
				case <-next:
				case <-l.stop:
					return
				}
				w := &wire{dial: l.dial}
				l.note(w.get(l.host, l.path, l.app, l.timeout))
				w.close()
			}
		})
	}
	s.t.Cleanup(l.end)
	return l
}

// late are the answers that came after more than limit: a connection whose first
// packet was dropped is made a second later.
func (l *load) late(limit time.Duration) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.records {
		if l.records[i].ok() && l.records[i].took > limit {
			n++
		}
	}
	return n
}

// handOver hands the address over from router to router under load and returns the last.
func handOver(t *testing.T, first *site, start func(s *site)) {
	t.Helper()
	current := first
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			current.stop()
		}
	})
	id := first.run("app", appLabels("app"))
	first.verified("http_app", id)
	kept, fresh := first.load("app.localhost", "app"), first.fresh("app.localhost", "app")
	kept.more(loadPhase / 4)
	kept.action()
	fresh.action()
	for range handOvers {
		next := current.successor()
		start(next)
		was := current
		current = next
		was.stop()
		kept.more(loadWorkers * 5)
	}
	kept.more(loadPhase / 4)
	kept.end()
	fresh.end()
	t.Logf("%d hand-overs; %d answers of kept and %d of new connections took over 500 ms", handOvers, kept.late(500*time.Millisecond), fresh.late(500*time.Millisecond))
	kept.wantNone()
	fresh.wantNone()
	if n := fresh.late(500 * time.Millisecond); n > 0 {
		t.Errorf("%d new connections waited for a repeated SYN", n)
	}
	current.stop()
	stopped = true
}

// TestHandOverSharedPort: with proxy.http.reusePort a new router takes over and the old
// one is stopped, and no request is lost.
func TestHandOverSharedPort(t *testing.T) {
	const setting = "FAIRLEAD_PROXY_HTTP_REUSEPORT=true"
	s := &site{t: t, prefix: "e2e" + fmt.Sprint(os.Getpid()) + "handover", http: freePort(t)}
	first := s.successor()
	first.start(setting)
	handOver(t, first, func(next *site) { next.start(setting) })
}

// TestHandOverTakenBack: a new router that is stopped again leaves everything to the old
// one, and loses nothing with it.
func TestHandOverTakenBack(t *testing.T) {
	const setting = "FAIRLEAD_PROXY_HTTP_REUSEPORT=true"
	s := newSite(t, setting)
	s.verified("http_app", s.run("app", appLabels("app")))
	kept, fresh := s.load("app.localhost", "app"), s.fresh("app.localhost", "app")
	for range handOvers / 4 {
		kept.more(loadWorkers * 10)
		next := s.successor()
		next.start(setting)
		kept.more(loadWorkers * 10)
		next.stop()
	}
	kept.more(loadWorkers * 10)
	kept.end()
	fresh.end()
	t.Logf("%d new connections took over 500 ms", fresh.late(500*time.Millisecond))
	kept.wantNone()
	fresh.wantNone()
}

// TestRestartRefusesAndCutsNothing: a router that is stopped and started again without
// a hand-over refuses connections between the two, and that is all: no request that was
// sent is left without an answer, on kept connections neither.
func TestRestartRefusesAndCutsNothing(t *testing.T) {
	s := newSite(t)
	s.verified("http_app", s.run("app", appLabels("app")))
	kept, fresh := s.load("app.localhost", "app"), s.fresh("app.localhost", "app")
	for range handOvers / 2 {
		kept.more(loadWorkers * 10)
		begin := time.Now()
		s.stop()
		stopped := time.Now()
		s.start()
		t.Logf("stop %v, start to ready %v", stopped.Sub(begin).Round(time.Millisecond), time.Since(stopped).Round(time.Millisecond))
	}
	kept.more(loadWorkers * 10)
	for _, l := range []*load{kept, fresh} {
		l.end()
		t.Logf("%s", l.summary())
		for _, r := range l.failed() {
			if r.failure != "router refused" {
				t.Errorf("%s after %v, connection used before: %v", r.verdict(), r.took, r.reused)
			}
		}
	}
}

// TestStopAnswersHeldRequests: a request that waits for its backend's successor when the
// router is told to stop still gets it: what the engine says is heard until the last
// request has ended.
func TestStopAnswersHeldRequests(t *testing.T) {
	s := prepareSite(t)
	s.start()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // when it is over long since: nothing
	id := s.run("app", appLabels("app"))
	s.verified("http_app", id)
	mustDocker(t, "stop", "-t", "1", id)
	s.eventually(5*time.Second, "the stop is known", func() error {
		e, err := s.entrypoint("http_app")
		if err == nil && len(e.Backends) > 0 {
			err = fmt.Errorf("%+v", e.Backends)
		}
		return err
	})
	held := make(chan record, 1)
	go func() {
		w := &wire{dial: func(ctx context.Context, network, _ string) (net.Conn, error) { return s.connect(ctx, network, s.http) }}
		defer w.close()
		held <- w.get("app.localhost", "/", "app", loadTimeout)
	}()
	s.eventually(5*time.Second, "the request is held", func() error {
		_, body, err := s.getAdmin("/entrypoints/http_app")
		if err == nil && !strings.Contains(string(body), `"held":1`) {
			err = fmt.Errorf("%s", tail(string(body), 2000))
		}
		return err
	})
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.eventually(5*time.Second, "it is stopping", func() error {
		status, body, err := s.getAdmin("/ready")
		if err == nil && status != 503 {
			err = fmt.Errorf("%d %s", status, body)
		}
		return err
	})
	mustDocker(t, "start", id)
	if r := <-held; !r.ok() {
		t.Errorf("the held request: %s after %v", r.verdict(), r.took)
	} else {
		t.Logf("answered after %v", r.took)
	}
	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("the router ended with %v\n%s", err, tail(s.log.String(), 4000))
		}
	case <-time.After(20 * time.Second):
		t.Error("the router did not end within 20 s")
	}
}

// inheriting is a listening socket that this process holds, as a service manager does,
// and what starts a router on it.
func inheriting(t *testing.T, name string) (s *site, start func(next *site)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	start = func(next *site) {
		cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http exec "$@"`, "sh",
			binary, "serve", "--http", "", "--admin", next.admin, "--log-level", "debug", "--log-format", "json")
		cmd.ExtraFiles = []*os.File{file} // file 3 of the process
		cmd.Dir, cmd.Stderr, cmd.Stdout = t.TempDir(), next.log, next.log
		cmd.Env = append(os.Environ(), "FAIRLEAD_LABELS_PREFIX="+next.prefix)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		next.cmd = cmd
		go func() { next.done <- cmd.Wait() }()
		next.eventually(10*time.Second, "the router is ready", next.isReady)
	}
	return &site{t: t, prefix: "e2e" + fmt.Sprint(os.Getpid()) + name, http: l.Addr().String()}, start
}

// TestHandOverInheritedSocket: routers that have one listening socket from a service
// manager lose no request either.
func TestHandOverInheritedSocket(t *testing.T) {
	s, start := inheriting(t, "inherit")
	first := s.successor()
	start(first)
	handOver(t, first, start)
}

// TestRestartOnInheritedSocketLosesNothing: a router that is stopped before the next one
// starts leaves connections in the queue of the socket, and they wait there.
func TestRestartOnInheritedSocketLosesNothing(t *testing.T) {
	s, start := inheriting(t, "inheritrestart")
	current := s.successor()
	start(current)
	t.Cleanup(func() { current.stop() })
	current.verified("http_app", current.run("app", appLabels("app")))
	kept, fresh := current.load("app.localhost", "app"), current.fresh("app.localhost", "app")
	for range handOvers {
		kept.more(loadWorkers * 5)
		next := current.successor()
		current.stop()
		start(next)
		current = next
	}
	kept.more(loadWorkers * 5)
	kept.end()
	fresh.end()
	kept.wantNone()
	fresh.wantNone()
}

// TestExampleHandOver follows the example under load, there and back again.
func TestExampleHandOver(t *testing.T) {
	ship(t)
	e := newExample(t, "hand-over", nil, "GREEN_ADMIN_PORT="+port(freePort(t)))
	list := e.header()
	first := slices.IndexFunc(list, func(c command) bool { return strings.Contains(c.line, "up -d --no-deps green") })
	if first < 1 || len(list) != first+5 {
		t.Fatalf("the header is %v", list)
	}
	for _, c := range list[first : first+3] {
		if !slices.ContainsFunc(howto(t, "upgrade-fairlead.md"), func(d command) bool { return d.line == c.line }) {
			t.Errorf("the page says nothing of %s", c.line)
		}
	}
	e.follow(list[:first])
	kept, fresh := e.load("app.localhost", "app"), e.fresh("app.localhost", "app")
	kept.more(loadPhase / 4)
	upgrade := list[first : first+4]
	back := slices.Clone(upgrade)
	for i := range back {
		back[i].line = strings.NewReplacer("green", "blue", "blue", "green").Replace(back[i].line)
	}
	for _, steps := range [][]command{upgrade, back, upgrade} {
		e.follow(steps)
		kept.more(loadPhase / 8)
	}
	kept.end()
	fresh.end()
	kept.wantNone()
	fresh.wantNone()
	e.follow(list[len(list)-1:])
}
