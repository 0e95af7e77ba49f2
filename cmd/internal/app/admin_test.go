package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"fairlead/api"
	"fairlead/api/client"
	"fairlead/router/route"
)

// password is what the hash below is of.
const password = "c4nary-s3cret"

func withUsers(t *testing.T) (Addresses, *buffer, func() error) {
	t.Helper()
	s := settings(tempFile(t, routes("http://127.0.0.1:1")))
	const hash = route.Secret("0de6e984350f90c6ba8655ebd22f171f996d77b104dc83f2e1b9d0b3f803e886")
	s.Admin.Users = []api.User{{Name: "ops", Role: api.RoleAdmin, PasswordHash: hash}, {Name: "watch", Role: api.RoleReadOnly, PasswordHash: hash}}
	return run(t, s)
}

// TestEventsOfARunningRouter: health, tables and providers reach a watcher, and a stop
// is said.
func TestEventsOfARunningRouter(t *testing.T) {
	addresses, log, stop := withUsers(t)
	c, err := client.New(client.Config{URL: addresses.Admin, User: "watch", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	seen := map[string]bool{}
	err = c.Watch(ctx, new(uint64), func(e client.Event) error {
		switch {
		case e.Transition != nil && e.Transition.Transition.To == "down":
			seen["down"] = true
		case e.Table != nil && len(e.Table.Changed) > 0:
			seen["table"] = true
		case e.Provider != nil && e.Provider.Provider.Phase == "ready":
			seen["provider"] = true
		}
		if len(seen) == 3 {
			go func() { _ = stop() }()
		}
		return nil
	})
	if !errors.Is(err, client.ErrStopped) {
		t.Errorf("%v, seen %v\n%s", err, seen, log)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestAPersonLogsIn goes the way of a browser: to the form, in, to a page, and out.
func TestAPersonLogsIn(t *testing.T) {
	addresses, log, _ := withUsers(t)
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	visit := func(method, path string, form url.Values) (int, string, string) {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), method, "http://"+addresses.Admin+path, strings.NewReader(form.Encode()))
		req.Header.Set("Accept", "text/html")
		if method == http.MethodPost {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Origin", "http://"+addresses.Admin)
		}
		res, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, _ := io.ReadAll(res.Body)
		if bytes.Contains(body, []byte(password)) {
			t.Errorf("%s shows the password", path)
		}
		return res.StatusCode, res.Request.URL.RequestURI(), string(body)
	}
	status, at, body := visit(http.MethodGet, "/dashboard/entrypoints?q=app", nil)
	if status != http.StatusOK || !strings.HasPrefix(at, "/login?next=") || !strings.Contains(body, `name="password"`) {
		t.Fatalf("%d at %s: %.200s", status, at, body)
	}
	next := "/dashboard/entrypoints?q=app"
	status, at, body = visit(http.MethodPost, "/login", url.Values{"name": {"ops"}, "password": {"wrong"}, "next": {next}})
	if status != http.StatusUnauthorized || at != "/login" || !strings.Contains(body, "is wrong") || !strings.Contains(body, `value="/dashboard/entrypoints?q=app"`) {
		t.Errorf("%d at %s: %s", status, at, body)
	}
	status, at, body = visit(http.MethodPost, "/login", url.Values{"name": {"ops"}, "password": {password}, "next": {next}})
	if status != http.StatusOK || at != next || !strings.Contains(body, "ops") {
		t.Errorf("%d at %s: %.200s", status, at, body)
	}
	if status, _, body = visit(http.MethodGet, "/config", nil); status != http.StatusOK || strings.Contains(body, "0de6e984") {
		t.Errorf("%d %s", status, body)
	}
	if _, at, _ = visit(http.MethodPost, "/logout", nil); at != "/login" {
		t.Errorf("logged out at %s", at)
	}
	if _, at, _ = visit(http.MethodGet, "/dashboard/", nil); !strings.HasPrefix(at, "/login") {
		t.Errorf("at %s without a session", at)
	}
	if all := log.String(); strings.Contains(all, password) || strings.Contains(all, "0de6e984") || !strings.Contains(all, "login failed") {
		t.Errorf("log: %s", all)
	}
}

// TestPublicBindNeedsUsersOrAWord: a port that others reach is not open by accident.
func TestPublicBindNeedsUsersOrAWord(t *testing.T) {
	s := settings(tempFile(t, routes("http://127.0.0.1:1")))
	s.Admin.Listen = "0.0.0.0:0"
	if _, err := New(Config{Settings: s}); err == nil || !strings.Contains(err.Error(), "admin.users") {
		t.Errorf("nobody was asked: %v", err)
	}
	s.Admin.Users = []api.User{{Name: "ops", Role: api.RoleAdmin, PasswordHash: "x"}}
	if _, err := New(Config{Settings: s}); err != nil {
		t.Errorf("with users: %v", err)
	}
	s.Admin.Users, s.Admin.Anonymous = nil, "read-only"
	if _, err := New(Config{Settings: s}); err != nil {
		t.Errorf("anonymous: %v", err)
	}
}
