package cli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead/provider/label"
	"fairlead/router"
)

func TestGoldens(t *testing.T) {
	live := liveWorld(t, view(t, someVerdicts()))
	offline := offlineWorld(t)
	nobody := &world{t: t, env: []string{"FAIRLEAD_ADMIN=http://127.0.0.1:1", "CONFIG_PATH=" + empty(t)}}
	for _, c := range []struct {
		name string
		w    *world
		code int
		args string
	}{
		{"resolve-served", live, 0, "route resolve http://shop.localhost/api/v1/?token=" + canary},
		{"resolve-order", live, 0, "route resolve shop.localhost/other --client-ip 203.0.113.7"},
		{"resolve-prefix", live, 0, "route resolve shop.localhost/apix"},
		{"resolve-misspelt-host", live, 1, "route resolve http://shpo.localhots/"},
		{"resolve-panic", live, 2, "route resolve http://slow.localhost/"},
		{"resolve-closed", live, 2, "route resolve http://closed.localhost/"},
		{"resolve-refused", live, 1, "route resolve http://shop.localhost/a%00b"},
		{"resolve-offline", offline, 2, "route resolve --offline http://shop.localhost/api/v1"},
		{"resolve-offline-none", offline, 1, "route resolve --offline http://forgot.example/"},
		{"list", live, 0, "route list"},
		{"list-filtered", live, 0, "route list -q nothing-has-this"},
		{"health", live, 2, "health"},
		{"health-one", live, 1, "health http_api"},
		{"health-by-name", live, 2, "health slow"},
		{"health-unknown", live, 3, "health http_ap"},
		{"explain-id", live, 0, "explain http_slow"},
		{"explain-code", nobody, 0, "explain e104"},
		{"explain-unknown-code", nobody, 3, "explain E404"},
		{"explain-all", nobody, 0, "explain"},
		{"validate", offline, 1, "validate"},
		{"validate-skipped", offline, 1, "validate --only-skipped"},
		{"validate-errors", offline, 1, "validate --severity error"},
		{"not-reachable", nobody, 4, "health"},
		{"unknown-command", nobody, 3, "healt"},
		{"unknown-subcommand", nobody, 3, "route resolv"},
		{"unknown-flag", nobody, 3, "route resolve --ofline x"},
		{"help", nobody, 0, ""},
		{"help-resolve", nobody, 0, "route resolve --help"},
		{"help-serve", nobody, 0, "serve --help"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.w.t = t
			r := c.w.run(strings.Fields(c.args)...)
			if r.code != c.code {
				t.Errorf("exit %d, want %d", r.code, c.code)
			}
			c.w.golden(c.name, r)
		})
	}
}

func TestExplainKnowsEveryCode(t *testing.T) {
	w := &world{t: t}
	for _, e := range label.Explanations() {
		r := w.run("explain", e.Code)
		if r.code != 0 || !strings.HasPrefix(r.out, e.Code+" (") || !strings.Contains(r.out, "Fix") {
			t.Errorf("%s: exit %d\n%s", e.Code, r.code, r.all())
		}
	}
}

func TestJSONForPrograms(t *testing.T) {
	live := liveWorld(t, view(t, someVerdicts()))
	offline := offlineWorld(t)
	for _, c := range []struct {
		w    *world
		args string
		has  []string
	}{
		{live, "route list --json", []string{`"id": "http_api"`}},
		{live, "health --json", []string{`"state": "panic"`}},
		{live, "health http_api --json", []string{`"rotation_reason": "verified"`}},
		{live, "explain http_api --json", []string{`"explain"`}},
		{live, "route resolve http://shop.localhost/api --json", []string{`"outcome": "served"`, `"would_pick": true`}},
		{offline, "route resolve --offline http://shop.localhost/api --json", []string{`"offline": true`}},
		{offline, "validate --json", []string{`"errors"`, `"about"`}},
		{live, "explain E001 --json", []string{`"fix"`}},
		{live, "explain --json", []string{`"E001"`}},
		{live, "version --json", []string{`"version"`}},
	} {
		c.w.t = t
		r := c.w.run(strings.Fields(c.args)...)
		var v any
		if err := json.Unmarshal([]byte(r.out), &v); err != nil {
			t.Errorf("%s: %v\n%s", c.args, err, r.all())
		}
		for _, want := range c.has {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s has no %s:\n%s", c.args, want, r.out)
			}
		}
	}
}

func TestUsageOfResolve(t *testing.T) {
	w := liveWorld(t, view(t, nil))
	for _, args := range [][]string{
		{"route", "resolve"},
		{"route", "resolve", " "},
		{"route", "resolve", "a", "b"},
		{"route", "resolve", "http://x/", "-H", "no colon " + canary},
		{"route", "resolve", "http://x/", "-H", "a: 1", "-H", "b: 1", "-H", "c: 1", "-H", ": " + canary},
		{"route", "resolve", "http://x/", "--client-ip", "nobody"},
		{"route", "resolve", "http://x/", "-f", "routes.yaml"},
		{"route", "resolve", "http://x/", "--docker", "tcp://192.0.2.1:1"},
		{"route", "resolve", "http://x/", "--config", "/nonexistent"},
		{"route", "resolve", "http://x/", "--admin", "ftp://x"},
		{"route", "resolve", "http:///path"},
		{"route", "resolve", "/path"},
		{"route", "resolve", "http://x:99999/"},
		{"route", "resolve", "http://x:port/"},
		{"route", "resolve", "ftp://x/"},
		{"route", "resolve", "http://x/", "-X", "G ET"},
		{"route", "resolve", "http://x/", "--admin", "http://user:" + canary + "@x"},
		{"validate", "--severity", "loud"},
		{"health", "a", "b"},
		{"explain", "X999"},
	} {
		if r := w.run(args...); r.code != 3 || r.out != "" || !strings.HasPrefix(r.err, "error: ") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.all())
		}
	}
}

func TestResolveWithConditions(t *testing.T) {
	w := liveWorld(t, view(t, someVerdicts()))
	r := w.run("route", "resolve", "-X", "POST", "-H", "X-Tenant: "+canary, "http://shop.localhost/api")
	if r.code != 0 || !strings.Contains(r.out, "http_post takes it") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	r = w.run("route", "resolve", "-X", "POST", "-H", "X-Tenant: other", "http://shop.localhost/api")
	if !strings.Contains(r.out, "header: header X-Tenant has another value") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	r = w.run("route", "resolve", "shop.localhost/api", "-X", "bad method")
	if r.code != 1 && r.code != 3 {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

func TestProbeConnectsAndSendsNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		all, _ := io.ReadAll(c)
		got <- all
	}()
	probes := probeAll(t.Context(), []router.ResolvedBackend{
		{Address: l.Addr().String(), WouldPick: true}, {Address: "127.0.0.1:1", WouldPick: true}, {Address: "127.0.0.1:2"},
	})
	if len(probes) != 2 || !probes[0].OK || probes[1].OK || !strings.Contains(probes[1].Message, "refused") {
		t.Errorf("%+v", probes)
	}
	if sent := <-got; len(sent) != 0 {
		t.Errorf("the probe sent %q", sent)
	}
	if p := probeOne(t.Context(), "name.invalid:80"); p.OK || !strings.Contains(p.Message, "name") {
		t.Errorf("%+v", p)
	}
	w := liveWorld(t, view(t, nil))
	if r := w.run("route", "resolve", "http://nobody.example/", "--probe", "--json"); r.code != 1 {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

func TestWhatTheRouterRefuses(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		args   string
		code   int
		want   string
	}{
		{401, `{"error":"who are you?","code":"unauthorized"}`, "health", 4, "FAIRLEAD_USER"},
		{403, `{"error":"not from there","code":"forbidden"}`, "route list", 4, "admin.hosts"},
		{404, "not found", "route list", 4, "admin listener"},
		{400, `{"error":"no such state","code":"bad_parameter"}`, "route list --state x", 3, "no such state"},
		{500, "oops\x1b[2J", "explain http_x", 4, "500"},
		{200, "<html>", "route list", 4, "not JSON"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(c.status)
			_, _ = io.WriteString(rw, c.body)
		}))
		w := &world{t: t, env: []string{"FAIRLEAD_ADMIN=" + server.URL}}
		r := w.run(strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.err, c.want) || strings.Contains(r.err, "\x1b") {
			t.Errorf("%d: exit %d\n%s", c.status, r.code, r.all())
		}
		server.Close()
	}
}

func TestCredentialsAreSent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ops" || password != canary {
			t.Errorf("%s %s", user, password)
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, "[]")
	}))
	defer server.Close()
	w := &world{t: t, env: []string{"FAIRLEAD_USER=ops", "FAIRLEAD_PASSWORD=" + canary}}
	if r := w.run("route", "list", "--json", "--admin", server.URL); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	var out, errOut buffer
	code := Main(ctx, []string{"health"}, Streams{Out: &out, Err: &errOut, Env: []string{"FAIRLEAD_ADMIN=" + server.URL}})
	if code == 0 || errOut.String() == "" {
		t.Errorf("exit %d: %s", code, errOut.String())
	}
}

func TestNoEntrypoints(t *testing.T) {
	w := liveWorld(t, router.Offline())
	if r := w.run("health"); r.code != 0 || !strings.Contains(r.out, "no entrypoints") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	v := view(t, nil)
	v.Entrypoints, v.Providers[0].Rejected = nil, 1
	if r := liveWorld(t, v).run("route", "list"); r.code != 0 || !strings.Contains(r.out, "fairlead validate says why") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	v.Providers[0].Connected, v.Providers[0].LastError, v.Providers[0].Hint = false, "no socket", "mount it"
	if r := liveWorld(t, v).run("route", "list"); !strings.Contains(r.out, "not connected") || !strings.Contains(r.out, ": no socket (mount it)") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

func TestOfflineFromAFile(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	routes := tempFile(t, "routes.yaml", "entrypoints:\n- name: app\n  protocol: Http\n  backends: [{address: 127.0.0.1, port: 8080}]\n  config: {hostnames: [app.localhost]}\n")
	if r := w.run("route", "resolve", "--offline", "-f", routes, "http://app.localhost/"); r.code != 2 || !strings.Contains(r.out, "not probed (offline)") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	if r := w.run("validate", "-f", routes); r.code != 0 || !strings.Contains(r.out, "1 entrypoint,") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	w.env = append(w.env, "FAIRLEAD_PROVIDERS_DOCKER_ENABLED=false", "FAIRLEAD_PROVIDERS_FILE_PATH="+routes)
	if r := w.run("validate"); r.code != 0 || !strings.Contains(r.out, "1 entrypoint,") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
	if r := w.run("validate", "-f", routes+".none"); r.code != 4 {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

func TestEngineNotReachable(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + empty(t)}}
	for _, endpoint := range []string{"unix:///nonexistent/docker.sock", "tcp://127.0.0.1:1"} {
		for _, args := range [][]string{{"validate"}, {"route", "resolve", "--offline", "http://x/"}} {
			if r := w.run(append(args, "--docker", endpoint)...); r.code != 4 || strings.Count(r.err, "\n") != 2 {
				t.Errorf("%v %s: exit %d\n%s", args, endpoint, r.code, r.all())
			}
		}
	}
	for _, endpoint := range []string{"ssh://host", "ftp://x"} {
		if r := w.run("validate", "--docker", endpoint); r.code != 3 || !strings.Contains(r.err, endpoint[:3]) {
			t.Errorf("exit %d\n%s", r.code, r.all())
		}
	}
}

func TestConfigurationMistakesStopEveryCommandThatReadsIt(t *testing.T) {
	w := &world{t: t, env: []string{"CONFIG_PATH=" + tempFile(t, "bad.yaml", "labels: {prefx: a}\nadmin: {listen: 3035}\n")}}
	for _, args := range [][]string{{"serve"}, {"validate"}, {"healthcheck"}, {"route", "resolve", "--offline", "http://x/"}} {
		r := w.run(args...)
		code := 3
		if len(args) == 1 && args[0] != "validate" {
			code = 1 // a router that cannot start, or is not well
		}
		if r.code != code || !strings.Contains(r.err, "bad.yaml:1:10: labels.prefx is not a setting\n       did you mean labels.prefix?") ||
			!strings.Contains(r.err, "bad.yaml:2:17") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.all())
		}
	}
	w = &world{t: t, env: []string{"CONFIG_PATH=/nonexistent/fairlead.yaml"}}
	if r := w.run("validate"); r.code != 3 || !strings.Contains(r.err, "CONFIG_PATH") {
		t.Errorf("exit %d\n%s", r.code, r.all())
	}
}

func TestHealthcheck(t *testing.T) {
	live := liveWorld(t, view(t, nil))
	address := strings.TrimPrefix(strings.Split(live.env[0], "=")[1], "http://")
	for _, c := range []struct {
		env  []string
		args []string
		code int
		want string
	}{
		{[]string{"FAIRLEAD_ADMIN_LISTEN=" + address}, nil, 0, "ok"},
		{[]string{"FAIRLEAD_ADMIN_LISTEN=" + address, "HTTP_PROXY=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1"}, nil, 0, "ok"},
		{[]string{"FAIRLEAD_ADMIN_LISTEN=0.0.0.0:" + strings.Split(address, ":")[1], "FAIRLEAD_ADMIN_ANONYMOUS=read-only"}, nil, 0, "ok"},
		{[]string{"FAIRLEAD_ADMIN=http://" + address}, nil, 0, "ok"},
		{nil, []string{"--admin", "http://" + address}, 0, "ok"},
		{[]string{"FAIRLEAD_ADMIN_LISTEN=127.0.0.1:1"}, nil, 1, "FAIRLEAD_ADMIN_LISTEN"},
		{[]string{"FAIRLEAD_ADMIN_LISTEN="}, nil, 1, "off"},
		{nil, []string{"--admin", "ftp://x"}, 3, "admin URL"},
	} {
		w := &world{t: t, env: append([]string{"CONFIG_PATH=" + empty(t)}, c.env...)}
		if r := w.run(append([]string{"healthcheck"}, c.args...)...); r.code != c.code || !strings.Contains(r.all(), c.want) {
			t.Errorf("%v %v: exit %d\n%s", c.env, c.args, r.code, r.all())
		}
	}
	for listen, want := range map[string]string{
		":3035": "127.0.0.1:3035", "0.0.0.0:1": "127.0.0.1:1", "[::]:1": "[::1]:1", "10.0.0.1:1": "10.0.0.1:1", "localhost:1": "localhost:1", "odd": "odd",
	} {
		if got := reachable(listen); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}
