package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/route"
)

// TestReadinessPolicies: with any, an entrypoint that serves nothing verified makes the
// router unready; what is not known yet, and what lost some backends, does not.
func TestReadinessPolicies(t *testing.T) {
	schema := compile(t, "ready.schema.json")
	for name, c := range map[string]struct {
		views  []router.EntrypointView
		status string
		code   int // with the policy any
	}{
		"no entrypoints": {nil, ReadyOK, 200},
		"all well":       {[]router.EntrypointView{okView(), uncheckedView()}, ReadyOK, 200},
		"partial":        {[]router.EntrypointView{partialView(), shakenView(), servicedView(), busyView()}, ReadyOK, 200},
		"newcomer":       {[]router.EntrypointView{okView(), pendingView()}, ReadyOK, 200},
		"panic":          {[]router.EntrypointView{okView(), panicView()}, ReadyDegraded, 503},
		"too few":        {[]router.EntrypointView{scarceView()}, ReadyDegraded, 503},
		"down":           {[]router.EntrypointView{okView(), gatedView()}, ReadyDegraded, 503},
		"retained":       {[]router.EntrypointView{okView(), retainedView()}, ReadyDegraded, 503},
		"fails closed":   {[]router.EntrypointView{okView(), closedView("E104")}, ReadyDegraded, 503},
	} {
		for policy, code := range map[Readiness]int{"": 200, ReadinessProcess: 200, ReadinessAny: c.code} {
			s := New(Config{Readiness: policy, Log: zerolog.Nop(), Viewer: fixed{&router.View{
				Providers: []route.ProviderStatus{provider("docker", route.PhaseReady)}, Entrypoints: c.views, Health: &route.HealthView{Settled: true},
			}}})
			w := get(s, "/ready")
			validate(t, schema, w.Body.Bytes())
			var got Ready
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			want := string(policy)
			if policy == "" {
				want = "process"
			}
			if w.Code != code || got.Status != c.status || got.Policy != want {
				t.Errorf("%s, policy %q: %d %s", name, policy, w.Code, w.Body)
			}
			if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Retry-After") != "" {
				t.Errorf("%s, policy %q: %v", name, policy, w.Header())
			}
		}
	}
}

// TestReadyNamesEntrypointsToUsersOnly: names are for users, and for everybody with
// admin.verbose; wrong credentials cost the names, not the answer.
func TestReadyNamesEntrypointsToUsersOnly(t *testing.T) {
	for _, c := range []struct {
		name    string
		verbose bool
		named   bool
		header  []string
	}{
		{"nobody", false, false, nil},
		{"nobody, verbose", true, true, nil},
		{"a reader", false, true, basic("watch", canary)},
		{"a wrong password", false, false, basic("watch", "x")},
		{"a token", false, false, []string{"Authorization", "Bearer " + canary}},
		{"a forged session", false, false, []string{"Cookie", cookieName + "=AAAA"}},
	} {
		for _, anonymous := range []bool{false, true} {
			h := newHouse(func(cfg *Config) { cfg.Verbose, cfg.Anonymous, cfg.Viewer = c.verbose, anonymous, fixed{richView()} })
			w := h.from(far, http.MethodGet, "/ready", "", c.header...)
			if named := strings.Contains(w.Body.String(), "http_api"); w.Code != http.StatusOK || named != c.named {
				t.Errorf("%s (anonymous %t): %d, names %t: %s", c.name, anonymous, w.Code, named, w.Body)
			}
		}
	}
	// Without users nobody is one, whatever is sent.
	if w := get(newServer(richView()), "/ready", basic("watch", canary)...); strings.Contains(w.Body.String(), "http_api") {
		t.Errorf("names for a user that does not exist: %s", w.Body)
	}
	if w := get(newHouse(nil).Server, "/ready", append(basic("watch", canary), "Host", "rebound.example")...); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "http_api") {
		t.Errorf("names under a host that is not ours: %d %s", w.Code, w.Body)
	}
	h := newHouse(nil)
	session := h.enter(t, "watch")
	if w := h.from(far, http.MethodGet, "/ready", "", "Cookie", session.Name+"="+session.Value); !strings.Contains(w.Body.String(), "http_api") {
		t.Errorf("no names for a session: %s", w.Body)
	}
}

// TestReadyMethods: HEAD is GET without a body, other methods are refused.
func TestReadyMethods(t *testing.T) {
	s := newServer(richView())
	full := get(s, "/ready")
	if w := ask(s, http.MethodHead, "/ready"); w.Code != full.Code || w.Body.Len() != 0 || w.Header().Get("Content-Length") != full.Header().Get("Content-Length") {
		t.Errorf("HEAD: %d %v %q", w.Code, w.Header(), w.Body)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		if w := ask(s, method, "/ready"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
}

// slow is a viewer whose views are always new and take a while.
type slow struct {
	takes time.Duration
	made  atomic.Int64
	view  func() *router.View
}

func (s *slow) View() *router.View {
	s.made.Add(1)
	<-time.After(s.takes)
	return s.view()
}

// TestReadyUnderLoad: views that are costly are made for one twentieth of the time at
// most, however many ask, and nobody waits longer than for one; where they cost nothing
// every answer is of its own moment.
func TestReadyUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		views := &slow{takes: 4 * time.Millisecond, view: richView}
		s := New(Config{Viewer: views, Log: zerolog.Nop()})
		begin, asked := time.Now(), 0
		var longest atomic.Int64
		for time.Since(begin) < time.Second {
			for range 20 {
				asked++
				go func() {
					sent := time.Now()
					if w := get(s, "/ready"); w.Code != http.StatusOK {
						t.Errorf("%d %s", w.Code, w.Body)
					}
					if took := int64(time.Since(sent)); took > longest.Load() {
						longest.Store(took)
					}
				}()
			}
			<-time.After(10 * time.Millisecond)
		}
		synctest.Wait()
		if n, most := views.made.Load(), int64(time.Second/(glanceShare*views.takes))+1; n > most || n < most/2 {
			t.Errorf("%d views for %d questions, at most %d expected", n, asked, most)
		}
		if took := time.Duration(longest.Load()); took > 50*time.Millisecond {
			t.Errorf("an answer took %s", took)
		}

		// An age of a tenth of a second is the most, whatever a view costs.
		views.takes = time.Second
		<-time.After(time.Second)
		get(s, "/ready")
		<-time.After(oldestGlance + time.Millisecond)
		before := views.made.Load()
		if get(s, "/ready"); views.made.Load() != before+1 {
			t.Error("an answer is older than a tenth of a second")
		}

		healthy := true
		free := New(Config{Log: zerolog.Nop(), Viewer: &slow{view: func() *router.View {
			one := okView()
			if !healthy {
				one = panicView()
			}
			return &router.View{Entrypoints: []router.EntrypointView{one}}
		}}})
		for range 3 {
			want := map[bool]string{true: ReadyOK, false: ReadyDegraded}[healthy]
			if w := get(free, "/ready"); !strings.Contains(w.Body.String(), `"status":"`+want+`"`) {
				t.Errorf("want %s: %s", want, w.Body)
			}
			healthy = !healthy
		}
	})
}
