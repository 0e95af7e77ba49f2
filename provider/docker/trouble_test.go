package docker

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"fairlead/provider"
	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

func TestEngineAwayKeepsEverything(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	e.Run(web("app"))
	up := "app=" + e.Address("app", "bridge") + ":80(present)"
	r.until("the start", shows("http_web", up))
	e.Down()
	s := r.until("the loss", func(s route.Snapshot) bool { return !s.Status.Connected })
	if s.Status.Phase != route.PhaseStale || s.Status.LastError == "" || s.Status.Hint == "" || of(s, "http_web") != up {
		t.Errorf("after the loss: %s, %+v", describeSnapshot(s), s.Status)
	}
	e.Stop("app")
	e.Run(web("next"))
	e.Up(t)
	r.until("the return", func(s route.Snapshot) bool {
		return s.Status.Connected && s.Status.LastError == "" && of(s, "http_web") == "next="+e.Address("next", "bridge")+":80(present) app(retained)"
	})
}

func TestEngineNeverThere(t *testing.T) {
	r := start(t, newProvider(t, "unix:///nonexistent/docker.sock", nil))
	s := r.next("the failure", func(s route.Snapshot) bool { return s.Status.Phase == route.PhaseFailed })
	if s.Status.Connected || !strings.Contains(s.Status.LastError, "no engine socket") || s.Status.Hint == "" {
		t.Errorf("status %+v", s.Status)
	}
}

// TestTheHintSaysHowToDoWithoutAnEngine where other routes are, and only as long as the
// engine was never read.
func TestTheHintSaysHowToDoWithoutAnEngine(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		without, hint, never, later string
	}{
		{"", "start it", "start it", "start it"},
		{"turn it off", "start it", "start it; or turn it off", "start it"},
		{"turn it off", "", "turn it off", ""},
	} {
		s := newState(Config{Without: c.without})
		s.disconnected(problem(nil, c.hint, "text"), now)
		if s.status.Hint != c.never || s.status.LastError != "text" {
			t.Errorf("%+v: %+v", c, s.status)
		}
		s.synced(now, nil)
		s.disconnected(problem(nil, c.hint, "text"), now)
		if s.status.Hint != c.later {
			t.Errorf("%+v, once read: %+v", c, s.status)
		}
	}
}

func TestFailedListIsNotAnEmptyOne(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusInternalServerError, http.StatusBadGateway} {
		e := enginetest.New(enginetest.Docker20)
		r := start(t, newProvider(t, e.ServeUnix(t), nil))
		e.Run(web("app"))
		up := "app=" + e.Address("app", "bridge") + ":80(present)"
		r.until("the start", shows("http_web", up))
		e.Fail(enginetest.List, status)
		lists := e.Requests(enginetest.List)
		e.Cut(false)
		eventually(t, "the list is asked for again", func() bool { return e.Requests(enginetest.List) >= lists+2 })
		e.Rename("app", "renamed")
		r.until("the stream to work", func(s route.Snapshot) bool {
			if got := of(s, "http_web"); got != up && !strings.HasPrefix(got, "renamed=") || !s.Status.Connected {
				t.Errorf("status %d on a list led to %s", status, describeSnapshot(s))
			}
			return strings.HasPrefix(of(s, "http_web"), "renamed=")
		})
	}
}

func TestListThatLiesRemovesNothing(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	e.Run(web("app"))
	r.until("the start", func(s route.Snapshot) bool { return of(s, "http_web") != "-" })
	e.LieAboutList(1)
	lists := e.Requests(enginetest.List)
	e.Cut(true)
	eventually(t, "the list is asked for again", func() bool { return e.Requests(enginetest.List) > lists })
	e.Run(web("next"))
	r.next("the next one", func(s route.Snapshot) bool {
		return strings.Contains(of(s, "http_web"), "next=") && strings.Contains(of(s, "http_web"), "app=")
	})
}

func TestStreamThatIsCutAllTheTime(t *testing.T) {
	for _, broken := range []bool{false, true} {
		e := enginetest.New(enginetest.Docker20)
		r := start(t, newProvider(t, e.ServeUnix(t), nil))
		e.Run(web("app"))
		r.until("the start", func(s route.Snapshot) bool { return of(s, "http_web") != "-" })
		e.CutEvery(3 * time.Millisecond)
		e.Cut(broken)
		streams := e.Requests(enginetest.Events)
		eventually(t, "several reconnects", func() bool { return e.Requests(enginetest.Events) > streams+3 })
		e.Run(web("next"))
		r.next("a container that starts meanwhile", func(s route.Snapshot) bool {
			return s.Status.Connected && strings.Contains(of(s, "http_web"), "next=")
		})
	}
}

func TestContainerGoneBetweenListAndInspect(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.Haunt("ghost")
	s, err := newProvider(t, e.ServeUnix(t), nil).Collect(t.Context())
	if err != nil || len(s.Entrypoints) != 0 || len(s.Rejected) != 0 {
		t.Errorf("%v %s", err, describeSnapshot(s))
	}
}

// A socket proxy answers 404 in a bad moment: those are not the engine's words.
func TestNotFoundByAProxyIsNoEndOfAContainer(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	id := e.Run(web("app"))
	up := "app=" + e.Address("app", "bridge") + ":80(present)"
	r.until("the start", shows("http_web", up))
	e.Fail(enginetest.Inspect, http.StatusNotFound)
	e.Rename(id, "next")
	r.until("the rename", func(s route.Snapshot) bool {
		if got := of(s, "http_web"); !strings.HasSuffix(got, "(present)") {
			t.Fatalf("a 404 of a proxy led to %s", got)
		}
		return strings.HasPrefix(of(s, "http_web"), "next=")
	})
}

func TestInspectThatFailsIsToldAndTriedAgain(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.Run(web("app"))
	e.Fail(enginetest.Inspect, 500, 500)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	s := r.until("the failure", func(s route.Snapshot) bool { return len(s.Rejected) == 1 })
	if s.Rejected[0].Code != "E003" || s.Rejected[0].Name != "app" {
		t.Errorf("rejected %+v", s.Rejected)
	}
	r.until("the container", func(s route.Snapshot) bool { return of(s, "http_web") != "-" && len(s.Rejected) == 0 })
}

func TestSocketProxyThatDeniesNetworks(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	e.Run(web("app"))
	e.Deny(enginetest.Networks, enginetest.Info, enginetest.Version)
	s, err := newProvider(t, e.ServeTCP(t), nil).Collect(t.Context())
	if err != nil || of(s, "http_web") == "-" {
		t.Fatalf("%v %s", err, describeSnapshot(s))
	}
	if len(s.Status.Notes) != 1 || !strings.Contains(s.Status.Notes[0], "GET /networks") {
		t.Errorf("notes %q", s.Status.Notes)
	}
	if e.Requests(enginetest.Info) != 0 {
		t.Error("GET /info is not needed, so it must not be asked for")
	}
}

func TestFailedNetworksKeepTheOldOnes(t *testing.T) {
	s := newState(Config{})
	s.surveyedAs(survey{networks: known("a=overlay")})
	s.surveyedAs(survey{failed: true})
	if len(s.site.networks) != 1 {
		t.Error("one failed answer made all networks unknown")
	}
}

func TestDeniedEndpointIsNamed(t *testing.T) {
	for _, endpoint := range []string{enginetest.List, enginetest.Ping} {
		e := enginetest.New(enginetest.Docker20)
		e.Deny(endpoint)
		_, err := newProvider(t, e.ServeUnix(t), nil).Collect(t.Context())
		if !errors.Is(err, errDenied) || !strings.Contains(err.Error(), "GET "+endpoint) {
			t.Errorf("%s denied: %v", endpoint, err)
		}
		if _, hint := describe(err); !strings.Contains(hint, "EVENTS=1") {
			t.Errorf("hint %q", hint)
		}
	}
	e := enginetest.New(enginetest.Docker20)
	e.Run(web("app"))
	e.Deny(enginetest.Events)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	r.until("the containers all the same, and the name of what is denied", func(s route.Snapshot) bool {
		return of(s, "http_web") != "-" && strings.Contains(s.Status.LastError, "GET /events") && s.Status.Connected
	})
	e.Run(web("next"))
	r.until("a container that starts later", func(s route.Snapshot) bool { return strings.Contains(of(s, "http_web"), "next=") })
}

func TestAPIVersions(t *testing.T) {
	for name, c := range map[string]struct {
		minimum, maximum string
		hide             bool
		api              string // negotiated
		says             string // or the error
	}{
		"20.10":                                {"1.12", "1.41", false, "1.41", ""},
		"29.0":                                 {"1.44", "1.52", false, "1.51", ""},
		"newest":                               {"1.40", "1.55", false, "1.51", ""},
		"just one version":                     {"1.40", "1.40", false, "1.40", ""},
		"ping without a version, new engine":   {"1.44", "1.52", true, "1.44", ""},
		"too new":                              {"1.60", "1.70", false, "", "wants API version at least 1.60, Fairlead offered 1.51"},
		"ping without a version, ancient ones": {"1.12", "1.20", true, "", "wants API version at most 1.20, Fairlead offered 1.24"},
	} {
		t.Run(name, func(t *testing.T) {
			e := enginetest.New(enginetest.Docker29)
			e.SetAPI(c.minimum, c.maximum)
			if c.hide {
				e.HideVersion()
			}
			s, err := newProvider(t, e.ServeUnix(t), nil).Collect(t.Context())
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("error %v, want %q", err, c.says)
				}
				if _, hint := describe(err); !strings.Contains(hint, "update") {
					t.Errorf("hint %q", hint)
				}
				return
			}
			if err != nil || s.Status.APIVersion != c.api {
				t.Errorf("negotiated %s, %v; want %s", s.Status.APIVersion, err, c.api)
			}
		})
	}
}

func TestEngineThatIsReplacedIsNegotiatedWithAgain(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	r := start(t, newProvider(t, e.ServeUnix(t), nil))
	r.until("the old engine", func(s route.Snapshot) bool { return s.Status.APIVersion == "1.41" })
	e.Down()
	e.SetAPI("1.44", "1.55")
	e.Up(t)
	r.until("the new engine", func(s route.Snapshot) bool { return s.Status.APIVersion == "1.51" })
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	e := enginetest.New(enginetest.Docker20)
	endpoint := e.ServeUnix(t)
	e.Run(web("app"))
	before := runtime.NumGoroutine()
	for range 5 {
		p := newProvider(t, endpoint, nil)
		ctx, cancel := context.WithCancel(t.Context())
		out := provider.NewMailbox()
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, out) }()
		<-out.Ready()
		e.Probe("app")
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if _, err := p.Collect(t.Context()); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "all goroutines and streams end", func() bool {
		return runtime.NumGoroutine() <= before && e.Subscribers() == 0
	})
}
