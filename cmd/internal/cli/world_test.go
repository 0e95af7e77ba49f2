package cli

import (
	"bytes"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/provider/docker/enginetest"
	"fairlead/router"
	"fairlead/router/route"
)

var update = flag.Bool("update", false, "write the golden files")

// canary is in every value that must not show.
const canary = "c4nary"

// buffer is a writer that can be read while others write.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// world is where the program runs in a test.
type world struct {
	t   *testing.T
	env []string
	in  string // standard input
}

// result is what a run left.
type result struct {
	code     int
	out, err string
}

func (r result) all() string { return r.out + r.err }

func (w *world) run(args ...string) result {
	w.t.Helper()
	var out, errOut buffer
	code := Main(w.t.Context(), args, Streams{In: strings.NewReader(w.in), Out: &out, Err: &errOut, Env: w.env})
	r := result{code, out.String(), errOut.String()}
	if strings.Contains(r.all(), canary) {
		w.t.Errorf("fairlead %s shows a secret:\n%s", strings.Join(args, " "), r.all())
	}
	return r
}

// engine is a fake engine with one of everything, and a router's own container, so
// that it does not matter where the tests run.
func engine(t *testing.T) (endpoint, router string, fake *enginetest.Engine) {
	t.Helper()
	e := enginetest.New(enginetest.Docker29)
	e.AddNetwork(enginetest.Network{Name: "edge"})
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(name string, labels map[string]string) string {
		created = created.Add(time.Second)
		return e.Run(enginetest.Container{
			Name: name, Image: "app", Labels: labels, Created: created, Started: created,
			Networks: []string{"edge"}, Expose: []string{"8080/tcp"},
		})
	}
	router = add("edge-router-1", nil)
	api := map[string]string{
		"sozune.enable": "true", "sozune.http.api.host": "shop.localhost", "sozune.http.api.path": "/api", "sozune.http.api.stripPrefix": "true",
		"sozune.http.api.healthCheck.path": "/health?key=" + canary, "sozune.http.api.healthCheck.headers.Authorization": "Bearer " + canary,
		"sozune.http.api.headers.X-Key": canary, "sozune.http.api.headers.response.Server": "",
	}
	add("shop-api-1", api)
	add("shop-api-2", api)
	add("shop-all-1", map[string]string{"sozune.enable": "true", "sozune.http.all.host": "*.localhost", "sozune.http.all.path": "/"})
	add("shop-post-1", map[string]string{
		"sozune.enable": "true", "sozune.http.post.host": "shop.localhost", "sozune.http.post.path": "/api", "sozune.http.post.methods": "POST",
		"sozune.http.post.matchHeaders": "X-Tenant:" + canary,
	})
	add("shop-closed-1", map[string]string{
		"sozune.enable": "true", "sozune.http.closed.host": "closed.localhost", "sozune.http.closed.path": "/", "sozune.http.closed.auth.basci": "ops:" + canary,
	})
	add("shop-forgot-1", map[string]string{"sozune.http.forgot.host": "forgot.localhost"})
	add("shop-slow-1", map[string]string{
		"sozune.enable": "true", "sozune.http.slow.host": "slow.localhost", "sozune.http.slow.path": "/", "sozune.http.slow.timout": "5s",
	})
	add("shop-db-1", nil)
	return e.ServeUnix(t), router, e
}

// offlineWorld is one with an engine and without a router.
func offlineWorld(t *testing.T) *world {
	t.Helper()
	endpoint, self, _ := engine(t)
	return &world{t: t, env: []string{
		"CONFIG_PATH=" + empty(t), "DOCKER_HOST=" + endpoint, "FAIRLEAD_CONTAINER_ID=" + self, "FAIRLEAD_ADMIN=http://127.0.0.1:1",
	}}
}

// empty is a configuration file with nothing in it: this machine may have one of its own.
func empty(t *testing.T) string { return tempFile(t, "fairlead.yaml", "# nothing\n") }

func tempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// judgement is what a backend is made to be.
type judgement struct {
	state   route.State
	in      bool
	reason  route.RotationReason
	kind    route.Kind
	explain string
	hint    string
}

var (
	up = judgement{state: route.StateUp, in: true, reason: route.InVerified,
		explain: "In rotation: the last probe got 200 in 2 ms at 10:02:31 (GET /health). Next probe at 10:02:41."}
	down = judgement{state: route.StateDown, reason: route.OutProbeFailed, kind: route.KindConnectionRefused,
		explain: "Out of rotation: 3 probes in a row failed; last: connection refused at 10:02:31. Next probe in 4 s; 2 successes needed.",
		hint:    "Nothing listens on port 8080: is the application up?"}
	panicking = judgement{state: route.StateDown, in: true, reason: route.InPanicAll, kind: route.KindBadStatus,
		explain: "In rotation by panic: its probe got 404, and no backend is verified."}
)

// fixedView is a view that never changes.
type fixedView struct{ v *router.View }

func (f fixedView) View() *router.View { return f.v }

// view is what a router would show of the engine, with verdicts in place of probes.
func view(t *testing.T, verdicts map[string][]judgement) *router.View {
	t.Helper()
	p := &program{Streams: Streams{Env: offlineWorld(t).env}}
	v, err := p.offline(t.Context(), &sourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	health := *v.Health
	health.Settled = true
	v.Health = &health
	for i := range v.Entrypoints {
		if list, ok := verdicts[v.Entrypoints[i].Entrypoint.ID]; ok {
			judge(v, &v.Entrypoints[i], list)
		}
	}
	return v
}

// judge gives an entrypoint's backends their states, and its rotation its members.
func judge(v *router.View, e *router.EntrypointView, list []judgement) {
	since := time.Now().Add(-(time.Hour + 2*time.Minute + 30*time.Second))
	h := &e.Health
	*h = route.EntrypointHealth{State: route.EntrypointOK, Total: len(list), Since: since, Backends: h.Backends, Panic: h.Panic}
	var members []route.Member
	for i, j := range list {
		b := &h.Backends[i]
		b.State, b.InRotation, b.RotationReason, b.Kind, b.Explain, b.Hint, b.Since = j.state, j.in, j.reason, j.kind, j.explain, j.hint, since
		if j.state == route.StateUp {
			h.Healthy++
		} else {
			h.Unhealthy++
		}
		if j.in {
			h.InRotation++
			members = append(members, route.Member{
				Placement: &route.Placement{Entrypoint: e.Entrypoint.ID, Backend: b.Backend, Load: &route.Load{}}, Weight: 100, Reason: j.reason,
			})
		}
	}
	tier := route.TierVerified
	switch {
	case h.Healthy == 0 && h.InRotation > 0:
		h.State, h.Panic.Active, tier = route.EntrypointPanic, true, route.TierPanic
		h.Explain = "Panic: no backend is verified, so all of them serve."
	case h.InRotation == 0:
		h.State, h.Reason, h.ServesWhenDown, tier = route.EntrypointDown, route.ReasonAllUnhealthy, 503, route.TierNone
		h.Explain = "Down: nothing serves."
	case h.Unhealthy > 0:
		h.State, h.Explain = route.EntrypointPartial, "Degraded: 1 of 2 backends in rotation."
	default:
		h.Explain = "Healthy: every backend is verified."
	}
	if e.Entrypoint.FailClosed != nil {
		h.Explain = "Closed by " + e.Entrypoint.FailClosed.Code + ": answers 503 whatever the backends do."
	}
	rot := route.NewRotation(2, tier, members)
	rot.Panic, rot.Reason = h.Panic.Active, h.Reason
	m := &e.Entrypoint.Match
	a := asking{method: strings.Join(append(m.Methods, "GET")[:1], ""), host: strings.Replace(m.Hosts[0].Text, "*", "any", 1), path: m.Path.Value}
	if rt := v.Table.Match(&a); rt != nil {
		rt.Cell.Store(rot)
	}
}

// liveWorld is one with a running admin listener that shows a fixed view.
func liveWorld(t *testing.T, v *router.View) *world {
	t.Helper()
	server := httptest.NewServer(api.New(api.Config{Viewer: fixedView{v}, Log: zerolog.Nop(), Version: "test"}).Handler())
	t.Cleanup(server.Close)
	return &world{t: t, env: []string{"FAIRLEAD_ADMIN=" + server.URL, "CONFIG_PATH=" + empty(t)}}
}

// someVerdicts are those of the goldens.
func someVerdicts() map[string][]judgement {
	return map[string][]judgement{"http_api": {up, down}, "http_all": {up}, "http_post": {up}, "http_slow": {panicking}, "http_closed": {up}}
}

var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`127\.0\.0\.1:[0-9]{4,5}`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`[^ "]*/fairlead-?[A-Za-z]*[0-9]+[^ ":]*`), "PATH"},
	{regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `[^ ":]*`), "TMP"},
	{regexp.MustCompile(`\([0-9.]+ ms\)`), "(N ms)"},
	{regexp.MustCompile(`since ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}|[0-9]{2}:[0-9]{2}:[0-9]{2})`), "since THEN"},
}

// golden compares what a run wrote with testdata/<name>.txt.
func (w *world) golden(name string, r result) {
	w.t.Helper()
	got := r.out
	if r.err != "" {
		got += "--- standard error\n" + r.err
	}
	got += "--- exit " + string(rune('0'+r.code)) + "\n"
	for _, v := range volatile {
		got = v.pattern.ReplaceAllString(got, v.with)
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		w.t.Errorf("%s (-update writes it): %s", path, diff)
	}
}
