package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

// fixed is a viewer of one view.
type fixed struct{ view *router.View }

func (f fixed) View() *router.View { return f.view }

// view has n entrypoints as a start would show them.
func view(n int) *router.View {
	s := route.Snapshot{
		Provider: "docker", Status: route.ProviderStatus{Name: "docker", Enabled: true, Connected: true, Phase: route.PhaseReady},
		Candidates: []route.CandidateDiagnostics{{CandidateID: "c1", Diagnostics: []route.Diagnostic{route.Diagnose("W001", "set port", "not a port")}}},
		Rejected:   []route.Rejected{{CandidateID: "c2", Name: "off", Reason: "not enabled", Code: "E001"}},
	}
	for i := range n {
		h, err := route.ParseHostPattern(fmt.Sprintf("app%d.example.com", i))
		if err != nil {
			panic(err)
		}
		c := route.DefaultCheck()
		c.Port = 80
		s.Entrypoints = append(s.Entrypoints, &route.Entrypoint{
			ID: fmt.Sprintf("http_app%d", i), Name: fmt.Sprintf("app%d", i), Protocol: route.HTTP, Source: "docker",
			Match:   route.Match{Hosts: []route.HostPattern{h}, Path: route.PathRule{Kind: route.PathPrefix, Value: "/"}},
			Options: route.DefaultOptions(),
			Backends: []route.Backend{{
				ID: "[fd00::5]:80", Host: "fd00::5", Port: 80, Scheme: route.SchemeHTTP, Weight: 1,
				Incarnation: "x", Provider: route.ProviderPresent, Check: &c,
			}},
		})
	}
	return router.Offline(s)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func connect(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCallsOfARouter(t *testing.T) {
	server := api.New(api.Config{Viewer: fixed{view(5)}, Log: zerolog.Nop()})
	c := connect(t, Config{URL: serve(t, server.Handler())})
	ctx := t.Context()

	for _, f := range []Filter{{}, {PageSize: 2}, {PageSize: 5}, {Protocol: "http", Source: "docker", States: []string{"pending", "ok"}}} {
		all, err := c.Entrypoints(ctx, f)
		var got []string
		for i := range all {
			got = append(got, all[i].ID)
		}
		if want := []string{"http_app0", "http_app1", "http_app2", "http_app3", "http_app4"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v %v", f, got, err)
		}
	}
	if all, err := c.Entrypoints(ctx, Filter{Query: "app3.example"}); err != nil || len(all) != 1 || all[0].BackendHealth[0].State != "pending" {
		t.Errorf("query: %+v %v", all, err)
	}
	if all, err := c.Entrypoints(ctx, Filter{Query: "none"}); err != nil || all == nil || len(all) != 0 {
		t.Errorf("nothing found: %v %v", all, err)
	}
	e, err := c.Entrypoint(ctx, "http_app1")
	if err != nil || e.Config.Hostnames[0] != "app1.example.com" {
		t.Errorf("one: %+v %v", e, err)
	}
	if b, err := c.Backends(ctx, "http_app1"); err != nil || len(b) != 1 || b[0].Address != "[fd00::5]:80" {
		t.Errorf("backends: %+v %v", b, err)
	}
	if h, err := c.History(ctx, "http_app1", "[fd00::5]:80"); err != nil || len(h) != 0 {
		t.Errorf("history: %+v %v", h, err)
	}
	r, err := c.Resolve(ctx, router.Query{
		URL: "http://app2.example.com/a?b=c", Method: "POST", Headers: map[string][]string{"X-A": {"1", "2"}}, ClientIP: netip.MustParseAddr("10.0.0.1"),
	})
	if err != nil || r.Entrypoint == nil || *r.Entrypoint != "http_app2" || r.Request.Method != http.MethodPost || *r.Request.ClientIP != "10.0.0.1" {
		t.Errorf("resolve: %+v %v", r, err)
	}
	if r != nil && r.ExitCode() != router.ExitUnverified {
		t.Errorf("exit code %d after the way over JSON", r.ExitCode())
	}
	if checks, err := c.Checks(ctx); err != nil || checks == nil {
		t.Errorf("checks: %v %v", checks, err)
	}
	if d, err := c.Diagnostics(ctx); err != nil || d.Items[0].Diagnostics[0].Code != "W001" || d.Rejected[0].Name != "off" {
		t.Errorf("diagnostics: %+v %v", d, err)
	}
	if p, err := c.Providers(ctx); err != nil || len(p) != 1 || !p[0].Connected {
		t.Errorf("providers: %+v %v", p, err)
	}
	if r, err := c.Ready(ctx); err != nil || r.Status != api.ReadyInitializing {
		t.Errorf("ready (503): %+v %v", r, err)
	}
	if err := c.Healthy(ctx); err != nil {
		t.Errorf("healthy: %v", err)
	}
	if me, err := c.Me(ctx); err != nil || me.Role != "read-only" {
		t.Errorf("me: %+v %v", me, err)
	}
}

func TestErrorsOfARouter(t *testing.T) {
	c := connect(t, Config{URL: serve(t, api.New(api.Config{Viewer: fixed{view(1)}, Log: zerolog.Nop()}).Handler())})
	_, err := c.Entrypoint(t.Context(), "http_none")
	if !IsNotFound(err) || !strings.Contains(err.Error(), "http_none") {
		t.Errorf("unknown id: %v", err)
	}
	_, err = c.Entrypoints(t.Context(), Filter{States: []string{"broken"}})
	var status *StatusError
	if !errors.As(err, &status) || status.Status != 400 || status.Field != "state" || status.Code != api.CodeBadParameter || IsNotFound(err) {
		t.Errorf("bad filter: %+v", err)
	}
	for name, call := range map[string]func() error{
		"backends": func() error { _, err := c.Backends(t.Context(), "x"); return err },
		"history":  func() error { _, err := c.History(t.Context(), "x", "y"); return err },
		"resolve":  func() error { _, err := c.Resolve(t.Context(), router.Query{}); return err },
	} {
		if err := call(); !errors.As(err, &status) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestNobodyAnswers(t *testing.T) {
	addr := closedPort(t)
	c := connect(t, Config{URL: addr, User: "admin", Password: "c4nary"})
	_, err := c.Resolve(t.Context(), router.Query{URL: "http://a/?token=c4nary"})
	var gone *UnreachableError
	if !errors.As(err, &gone) || gone.URL != "http://"+addr || !strings.Contains(err.Error(), "FAIRLEAD_ADMIN") {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), "c4nary") {
		t.Errorf("the error shows what was asked: %v", err)
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("the cause is lost: %v", err)
	}
	for name, call := range map[string]func() error{
		"entrypoints": func() error { _, err := c.Entrypoints(t.Context(), Filter{}); return err },
		"ready":       func() error { _, err := c.Ready(t.Context()); return err },
		"diagnostics": func() error { _, err := c.Diagnostics(t.Context()); return err },
		"me":          func() error { _, err := c.Me(t.Context()); return err },
		"healthy":     func() error { return c.Healthy(t.Context()) },
	} {
		if err := call(); !errors.As(err, &gone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSilentRouter: one that accepts and says nothing is not reachable, in time.
func TestSilentRouter(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := connect(t, Config{URL: l.Addr().String(), Timeout: 50 * time.Millisecond})
	var gone *UnreachableError
	if err := c.Healthy(t.Context()); !errors.As(err, &gone) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Healthy(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestStrangeAnswers: what listens there is no router, or a broken one.
func TestStrangeAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"a web page":     {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "not JSON"},
		"other JSON":     {func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 200, `["x"]`) }, "cannot be read"},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 200, `{"name":`) }, "cannot be read"},
		"plain 502":      {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "nginx", http.StatusBadGateway) }, "bad gateway"},
		"401": {func(w http.ResponseWriter, _ *http.Request) {
			jsonAnswer(w, 401, `{"error":"log in","code":"unauthorized"}`)
		}, "log in"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		}, "not followed"},
	} {
		cl := connect(t, Config{URL: serve(t, c.answer)})
		_, err := cl.Me(t.Context())
		var status *StatusError
		if !errors.As(err, &status) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if _, err := cl.Ready(t.Context()); err == nil {
			t.Errorf("%s: /ready is believed", name)
		}
	}
}

func jsonAnswer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// TestCredentialsStay: they go to the given router alone, by no proxy and to no
// other address that an answer names.
func TestCredentialsStay(t *testing.T) {
	var leaked atomic.Bool
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(true)
		jsonAnswer(w, 200, "[]")
	}))
	t.Setenv("HTTP_PROXY", other)
	t.Setenv("http_proxy", other)
	asked := 0
	c := connect(t, Config{User: "admin", Password: "pw", UserAgent: "test/1", URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if user, pw, ok := r.BasicAuth(); !ok || user != "admin" || pw != "pw" || r.UserAgent() != "test/1" {
			t.Errorf("credentials: %s %s %t, agent %s", user, pw, ok, r.UserAgent())
		}
		w.Header().Set("Link", "<"+other+"/entrypoints?after=x>; rel=\"next\"")
		jsonAnswer(w, 200, `[{"id":"http_a"}]`)
	})) + "/prefix/"})
	all, err := c.Entrypoints(t.Context(), Filter{PageSize: 1})
	if err != nil || len(all) != 1 || asked != 1 || leaked.Load() {
		t.Errorf("%v %v, asked %d times, leaked %t", all, err, asked, leaked.Load())
	}
	if !strings.HasSuffix(c.URL(), "/prefix") {
		t.Errorf("URL %s", c.URL())
	}
}

func TestNewRefuses(t *testing.T) {
	for _, bad := range []string{"ftp://a", "http://", "http://a b", "http://u:c4nary@127.0.0.1", "http://a/%zz", "unix:///run/x"} {
		_, err := New(Config{URL: bad})
		if err == nil || strings.Contains(err.Error(), "c4nary") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	c := connect(t, Config{})
	if c.URL() != DefaultURL || c.cfg.Timeout != DefaultTimeout {
		t.Errorf("defaults: %s %v", c.URL(), c.cfg.Timeout)
	}
	if c := connect(t, Config{URL: "[::1]:3035"}); c.URL() != "http://[::1]:3035" {
		t.Errorf("without a scheme: %s", c.URL())
	}
}
