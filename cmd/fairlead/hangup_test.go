package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAHangupOpensTheAccessLogAnew as logrotate asks for it; the router goes on.
func TestAHangupOpensTheAccessLogAnew(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer backend.Close()
	path := filepath.Join(t.TempDir(), "access.log")
	p := start(t, backend.URL, "log: {access: {path: "+path+", maxSizeMB: 0}}")
	if r := p.get(); r.status != http.StatusOK {
		t.Fatalf("%+v", r)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGHUP)
	p.eventually(t, "the file is there again", func() bool { _, err := os.Stat(path); return err == nil })
	if r := p.get(); r.status != http.StatusOK {
		t.Fatalf("%+v", r)
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d\n%s", code, p.log.String())
	}
	for _, file := range []string{path, path + ".1"} {
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), `"entrypoint":"http_app"`) {
			t.Errorf("%s: %v %q", file, err, text)
		}
	}
}

// TestAHangupWithoutAnAccessLog ends nothing.
func TestAHangupWithoutAnAccessLog(t *testing.T) {
	p := start(t, "http://127.0.0.1:9")
	for range 3 {
		p.signal(t, syscall.SIGHUP)
	}
	if status, body := p.ask("/healthy"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d", code)
	}
}
