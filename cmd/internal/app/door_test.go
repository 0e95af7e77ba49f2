package app

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead/cmd/internal/config"
)

// eventually polls until ok holds, for 20 seconds at most.
func eventually(t *testing.T, what string, log *buffer, ok func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s\n%s", what, log)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// named is a backend that answers with its name, and the settings of a router of it.
func named(t *testing.T, name string) config.Config {
	t.Helper()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
	t.Cleanup(backend.Close)
	return settings(tempFile(t, routes(backend.URL)))
}

func answers(address, want string) func() bool {
	return func() bool {
		status, body, err := get(address, "app.localhost", "/")
		return err == nil && status == 200 && body == want
	}
}

func ready(admin string) (status int, body string) {
	status, body, err := get(admin, admin, "/ready")
	if err != nil {
		return 0, err.Error()
	}
	return status, body
}

// TestARouterTakesOver: the new one is ready when it listens, then it gets every
// connection while the old one still runs.
func TestARouterTakesOver(t *testing.T) {
	s := named(t, "old")
	s.Proxy.HTTP.ReusePort = true
	old, _, stopOld := run(t, s)
	s = named(t, "new")
	s.Proxy.HTTP.ReusePort, s.Proxy.HTTP.Listen = true, old.HTTP
	next, log, stopNew := run(t, s)
	if next.HTTP != old.HTTP {
		t.Fatalf("%+v and %+v", old, next)
	}
	eventually(t, "the new one is ready", log, func() bool { status, _ := ready(next.Admin); return status == 200 })
	for range 50 {
		if !answers(old.HTTP, "new")() {
			t.Fatalf("the old one still gets new connections\n%s", log)
		}
	}
	if err := stopOld(); err != nil {
		t.Error(err)
	}
	if !answers(old.HTTP, "new")() {
		t.Error("the new one does not serve after the old one's end")
	}
	if err := stopNew(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"it goes on serving until this one is ready", `"steered":true`, "can be stopped now"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
}

// TestARouterThatIsNotReadyTakesNothing: until its engine answers, the old one serves;
// when that one ends all the same, whoever is there listens.
func TestARouterThatIsNotReadyTakesNothing(t *testing.T) {
	s := named(t, "old")
	s.Proxy.HTTP.ReusePort = true
	old, _, stopOld := run(t, s)
	s = settings("")
	s.Proxy.HTTP.ReusePort, s.Proxy.HTTP.Listen = true, old.HTTP
	s.Providers.Docker.Enabled, s.Providers.Docker.Endpoint = true, "unix://"+filepath.Join(t.TempDir(), "none.sock")
	next, log, stopNew := run(t, s)
	eventually(t, "the engine is missed", log, func() bool { _, body := ready(next.Admin); return strings.Contains(body, `"docker":"failed"`) })
	for range 50 {
		if !answers(old.HTTP, "old")() {
			t.Fatal("the old one does not serve")
		}
	}
	if status, body := ready(next.Admin); status != 503 || !strings.Contains(body, "initializing") {
		t.Errorf("%d %s", status, body)
	}
	if err := stopOld(); err != nil {
		t.Error(err)
	}
	eventually(t, "the one that is left listens", log, func() bool {
		status, _, err := get(old.HTTP, "app.localhost", "/")
		return err == nil && status == 404
	})
	if err := stopNew(); err != nil {
		t.Error(err)
	}
}

// TestNoHandOverWhileAProviderWasNeverRead: routes of a file make a router ready to start,
// not ready to take the port from one that has read the engine as well.
func TestNoHandOverWhileAProviderWasNeverRead(t *testing.T) {
	s := named(t, "old")
	s.Proxy.HTTP.ReusePort = true
	old, _, stopOld := run(t, s)
	s = named(t, "new")
	s.Proxy.HTTP.ReusePort, s.Proxy.HTTP.Listen = true, old.HTTP
	s.Providers.Docker.Enabled, s.Providers.Docker.Endpoint = true, "unix://"+filepath.Join(t.TempDir(), "none.sock")
	next, log, stopNew := run(t, s)
	eventually(t, "it says what it waits for", log, func() bool { return strings.Contains(log.String(), "was never read") })
	for range 50 {
		if !answers(old.HTTP, "old")() {
			t.Fatalf("the old one does not serve\n%s", log)
		}
	}
	if status, body := ready(next.Admin); status != 503 || !strings.Contains(body, `"docker":"failed"`) {
		t.Errorf("%d %s", status, body)
	}
	for _, want := range []string{`"provider":"docker"`, "the other process goes on serving", `--docker \"\"`, "when the other process ends"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	if n := strings.Count(log.String(), "was never read"); n != 1 {
		t.Errorf("said %d times", n)
	}
	if err := stopOld(); err != nil {
		t.Error(err)
	}
	eventually(t, "the one that is left serves what it has", log, answers(old.HTTP, "new"))
	if status, _ := ready(next.Admin); status != 200 {
		t.Errorf("alone with routes of a file: %d", status)
	}
	if err := stopNew(); err != nil {
		t.Error(err)
	}
}

// TestARouterThatWaitsCanBeStopped: it never listened, and says nothing bad about it.
func TestARouterThatWaitsCanBeStopped(t *testing.T) {
	s := named(t, "old")
	s.Proxy.HTTP.ReusePort = true
	old, _, _ := run(t, s)
	s = settings("")
	s.Proxy.HTTP.ReusePort, s.Proxy.HTTP.Listen = true, old.HTTP
	s.Providers.Docker.Enabled, s.Providers.Docker.Endpoint = true, "unix://"+filepath.Join(t.TempDir(), "none.sock")
	_, log, stop := run(t, s)
	if err := stop(); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	if !answers(old.HTTP, "old")() {
		t.Error("the old one does not serve")
	}
}

// TestASecondStartByMistakeFails unless both share the address.
func TestASecondStartByMistakeFails(t *testing.T) {
	for _, c := range []struct{ first, second bool }{{false, false}, {false, true}, {true, false}} {
		s := named(t, "first")
		s.Proxy.HTTP.ReusePort = c.first
		first, _, stop := run(t, s)
		s.Proxy.HTTP.Listen, s.Proxy.HTTP.ReusePort = first.HTTP, c.second
		a, err := New(Config{Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		var bind *BindError
		if err := a.Run(t.Context()); !errors.As(err, &bind) || !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(bind.Fix, "another program listens there") {
			t.Errorf("%+v: %v", c, err)
		} else if strings.Contains(bind.Fix, "proxy.http.reusePort") != c.second {
			t.Errorf("%+v: %s", c, bind.Fix)
		}
		_ = stop()
	}
}

// TestReadyComesWithAndWithoutAListener: one that is off is not waited for.
func TestReadyComesWithAndWithoutAListener(t *testing.T) {
	s := settings(tempFile(t, "entrypoints: []\n"))
	addresses, log, stop := run(t, s)
	eventually(t, "it is ready", log, func() bool { status, _ := ready(addresses.Admin); return status == 200 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	s.Proxy.HTTP.Listen = ""
	addresses, log, _ = run(t, s)
	eventually(t, "it is ready without an HTTP listener", log, func() bool { status, _ := ready(addresses.Admin); return status == 200 })
}
