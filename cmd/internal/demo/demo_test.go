package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/cmd/internal/app"
	"fairlead/cmd/internal/config"
	"fairlead/cmd/internal/whoami"
)

// output is what the demo printed.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// eventually polls until ok gives no error or half a minute is over.
func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	end := time.Now().Add(30 * time.Second)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func get(host, url string) (int, string, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	req.Host = host
	res, err := (&http.Client{Timeout: 5 * time.Second}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// TestDemo plays it as a newcomer does: every printed URL answers, the sick sites are
// seen to be sick and why, and nothing is left behind.
func TestDemo(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	out := &output{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Config{
			HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", Traffic: true, Version: "test", Program: "fairlead", Out: out,
			Logs: app.NewLogs(io.Discard, config.Log{Level: "off"}, false, false),
		})
	}()
	eventually(t, "the welcome", func() error {
		if !strings.Contains(out.String(), "The routes are in") {
			return fmt.Errorf("printed %q", out.String())
		}
		return nil
	})
	urls := regexp.MustCompile(`(?m)^  http://([a-z]+)\.localhost:(\d+)/ `).FindAllStringSubmatch(out.String(), -1)
	admin := regexp.MustCompile(`--admin (http://\S+)`).FindStringSubmatch(out.String())
	if len(urls) != 6 || admin == nil {
		t.Fatalf("%d sites in %s", len(urls), out)
	}
	for _, u := range urls {
		eventually(t, u[0], func() error {
			status, body, err := get(u[1]+".localhost", "http://127.0.0.1:"+u[2]+"/")
			if err == nil && (status != http.StatusOK || !strings.Contains(body, "Name: "+u[1]+"-")) {
				err = fmt.Errorf("%d %s", status, body)
			}
			return err
		})
	}
	eventually(t, "states", func() error { return states(admin[1]) })
	orders(t, admin[1], out.String())
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// orders gives those that the welcome prints, as the user that it names: nobody else may.
func orders(t *testing.T, admin, welcome string) {
	t.Helper()
	user := regexp.MustCompile(`(?m)^  export FAIRLEAD_USER=(\S+) FAIRLEAD_PASSWORD=([a-z2-7]{16})$`).FindStringSubmatch(welcome)
	commands := regexp.MustCompile(`(?m)^  fairlead (drain|ready) (http_shop) (127\.0\.0\.1:\d+) `).FindAllStringSubmatch(welcome, -1)
	if user == nil || len(commands) != 2 || !strings.Contains(welcome, admin+"/login, with that name and password") {
		t.Fatalf("no orders in %s", welcome)
	}
	for _, c := range commands {
		for _, as := range []struct {
			name, password string
			want           int
		}{{"", "", http.StatusUnauthorized}, {user[1], "wrong", http.StatusUnauthorized}, {user[1], user[2], http.StatusOK}} {
			if got := order(t, admin+"/entrypoints/"+c[2]+"/backends/"+c[3]+"/"+c[1], as.name, as.password); got != as.want && (as.name != "" || got != http.StatusForbidden) {
				t.Errorf("%s as %q: %d, want %d", c[1], as.name, got, as.want)
			}
		}
	}
}

func order(t *testing.T, url, name, password string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if name != "" {
		req.SetBasicAuth(name, password)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// TestTheColumnsOfTheWelcome begin at one place.
func TestTheColumnsOfTheWelcome(t *testing.T) {
	w := newWorld()
	for _, s := range w.sites {
		for i := range s.backends {
			s.backends[i].address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000 + i}
		}
	}
	text := welcome(w, app.Addresses{HTTP: "127.0.0.1:18080", Admin: "127.0.0.1:40001"}, "file", "./bin/fairlead", login{name: "demo", password: "x"})
	for block := range strings.SplitSeq(text, "\n\n") {
		at := 0
		for line := range strings.Lines(block) {
			if n := strings.Index(line, " # "); n >= 0 && at == 0 {
				at = n
			} else if n >= 0 && n != at {
				t.Errorf("not aligned:\n%s", block)
			}
		}
	}
}

// TestWhoMayRead: nobody in particular on this machine, users alone elsewhere.
func TestWhoMayRead(t *testing.T) {
	for listen, want := range map[string]string{"127.0.0.1:1": "read-only", "[::1]:1": "read-only", "localhost:1": "read-only", "0.0.0.0:1": "off", ":1": "off", "192.0.2.1:1": "off"} {
		s := settings(t.Context(), &Config{HTTP: "127.0.0.1:1", Admin: listen}, "file", login{name: "demo", hash: "x"})
		if s.Admin.Anonymous != want || len(s.Admin.Users) != 1 {
			t.Errorf("%s: %s", listen, s.Admin.Anonymous)
		}
	}
}

// states checks that the dashboard's source says what is wrong.
func states(admin string) error {
	_, body, err := get("", admin+"/entrypoints")
	if err != nil {
		return err
	}
	var list []struct {
		ID     string
		Health struct{ State string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return err
	}
	got := map[string]string{}
	for _, e := range list {
		got[e.ID] = e.Health.State
	}
	for id, want := range map[string]string{"http_shop": "ok", "http_slow": "ok", "http_half": "partial", "http_moody": "partial", "http_wiki": "panic"} {
		if got[id] != want {
			return fmt.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
	return nil
}

// TestPortsOfOthers: a taken preferred port is no reason to fail, one that was asked for is.
func TestPortsOfOthers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	taken := l.Addr().String()
	if got := choose(t.Context(), "", taken); got != "127.0.0.1:0" {
		t.Errorf("a taken port: %s", got)
	}
	if got := choose(t.Context(), taken, preferredHTTP); got != taken {
		t.Errorf("what was asked for: %s", got)
	}
	err = Run(t.Context(), Config{HTTP: taken, Admin: "127.0.0.1:0", Out: io.Discard, Logs: app.NewLogs(io.Discard, config.Log{Level: "off"}, false, false)})
	if err == nil || !strings.Contains(err.Error(), "another program listens there") && !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
}

// TestFlap: well first, then ill, then well again, each for as long.
func TestFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		health := &whoami.Switch{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			flap(ctx, health, 15*time.Second)
		}()
		for i, want := range []bool{false, true, false, true} {
			<-time.After(time.Second)
			if health.Ill() != want {
				t.Errorf("phase %d: ill is %v", i, health.Ill())
			}
			<-time.After(14 * time.Second)
		}
		cancel()
		<-done
	})
}
