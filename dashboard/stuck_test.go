package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/router/route"
)

// stuckView has two entrypoints: one that is well, and one whose first probes fail.
func stuckView(now time.Time, fails bool) *world {
	w := newWorld(now)
	w.add("shop", "shop", "shop.example.com").replicas(2, 8080).done()
	s := w.add("late", "late", "late.example.com").replicas(1, 8080)
	h := &s.h.Backends[0]
	h.State, h.InRotation, h.Healthy, h.RotationReason = route.StatePending, false, nil, route.OutInitialDown
	h.LastResult = nil
	if fails {
		h.LastResult = &route.ProbeResult{At: now, Message: "no answer in 5s"}
	}
	s.is(route.EntrypointPending, 5*time.Minute, "Not serving yet: its only backend has not answered a probe for 5 min.").done()
	return w
}

// TestAPendingEntrypointWhoseProbesFailIsAProblem: in the verdict, the list, and the
// diagnosis; one whose first probe is on its way is none.
func TestAPendingEntrypointWhoseProbesFailIsAProblem(t *testing.T) {
	now := time.Now()
	d := newDashboard(stuckView(now, true).built(), nil)
	body := get(d, "").Body.String()
	wants(t, body, "1 pending with probes that fail", "The other entrypoint serves as it should.", "has not answered a probe for 5 min")
	if text := get(d, "diagnosis").Body.String(); !strings.Contains(text, ", 1 pending with probes that fail;") || !strings.Contains(text, "http_late: PENDING") {
		t.Error(text)
	}
	d = newDashboard(stuckView(now, false).built(), nil)
	if body := get(d, "").Body.String(); strings.Contains(body, "probes that fail") || !strings.Contains(body, "All well") {
		t.Error("one that has only just come is a problem")
	}
}

// TestFailuresBeforeTheFirstVerdictTakeNothingOut.
func TestFailuresBeforeTheFirstVerdictTakeNothingOut(t *testing.T) {
	b := &api.BackendHealth{State: "pending", Check: &api.Check{UnhealthyThreshold: 1}, Counters: api.Counters{ConsecutiveFail: 3}}
	if got := streakText(b); got != "3 probes failed so far, and none passed" {
		t.Error(got)
	}
	b.State = "up"
	if got := streakText(b); got != "3 of 1 failures in a row that take it out" {
		t.Error(got)
	}
}

// TestACircuitIsSpokenOfOnce: where the explanation tells of it, nothing else does.
func TestACircuitIsSpokenOfOnce(t *testing.T) {
	for _, told := range []bool{false, true} {
		v := layersView(time.Now())
		for i := range v.Entrypoints {
			if e := &v.Entrypoints[i]; told && e.Entrypoint.ID == "http_search" {
				e.Health.State, e.Health.Reason = route.EntrypointDown, route.ReasonCircuitOpen
				e.Health.Explain = "Down: the circuit breaker is open because 65 % of the last 20 requests failed; clients get 503 until 12:00:07 UTC, then one request is tried."
			}
		}
		d := newDashboard(v, nil)
		for page, rest := range map[string]string{"": `class="numbers"`, "entrypoints/http_search": `class="where big"`} {
			body, _, _ := strings.Cut(get(d, page).Body.String(), rest)
			if n := strings.Count(body, "of the last 20 requests failed"); n != 1 {
				t.Errorf("told %t: %q says it %d times", told, page, n)
			}
		}
	}
}

// TestPhasesAreThoseOfTheCheck: what a check does not do is not said to be not reached.
func TestPhasesAreThoseOfTheCheck(t *testing.T) {
	none := route.Phases{DNS: -1, Connect: -1, TLS: -1, FirstByte: -1, Body: -1}
	for _, c := range []struct {
		check route.Check
		want  string
	}{
		{route.Check{Type: route.ProbeHTTP, Scheme: route.SchemeHTTP}, "DNS connect first byte body"},
		{route.Check{Type: route.ProbeHTTP, Scheme: route.SchemeHTTPS}, "DNS connect TLS first byte body"},
		{route.Check{Type: route.ProbeGRPC, Scheme: route.SchemeHTTP}, "DNS connect first byte body"},
		{route.Check{Type: route.ProbeWebSocket, Scheme: route.SchemeHTTPS}, "DNS connect TLS first byte body"},
		{route.Check{Type: route.ProbeTCP}, "DNS connect"},
		{route.Check{Type: route.ProbeTLS}, "DNS connect TLS"},
	} {
		q := &request{now: time.Now()}
		report := q.reportOf(&route.ProbeReport{Check: route.CheckView{Check: c.check}, Result: route.ProbeResult{Phases: none}})
		var names []string
		for _, p := range report.Phases {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v %v: %q, want %q", c.check.Type, c.check.Scheme, got, c.want)
		}
	}
}

// TestWhoMayNotIsNotToldThatNothingIsThere.
func TestWhoMayNotIsNotToldThatNothingIsThere(t *testing.T) {
	k := newDesk(layersView(time.Now()))
	w := k.as("rita", k.page("http_auth", k.in("http_auth", route.StateUp), "drain"), nil)
	if body := w.Body.String(); w.Code != http.StatusForbidden || strings.Contains(body, "Not found") || !strings.Contains(body, "<h1>Not permitted</h1>") {
		t.Errorf("%d %s", w.Code, body)
	}
	wants(t, k.as("rita", "nowhere", nil).Body.String(), "<h1>Not found</h1>")
}

// TestTheWayToALogin is shown to those who read as nobody in particular, where there is
// somebody to be.
func TestTheWayToALogin(t *testing.T) {
	v := layersView(time.Now())
	for _, c := range []struct {
		logins bool
		user   string
		want   bool
	}{{true, "", true}, {true, "rita", false}, {false, "", false}} {
		d := New(Config{Viewer: still{v}, Log: zerolog.Nop(), Logins: c.logins})
		k := &desk{view: v, handler: api.New(api.Config{Viewer: still{v}, Log: zerolog.Nop(), Dashboard: d, LoginPage: d.ServeLogin, Users: staff(), Anonymous: true}).Handler()}
		body := k.as(c.user, "entrypoints/http_auth?done=x", nil).Body.String()
		if strings.Contains(body, `<a href="../../login?next=%2Fdashboard%2Fentrypoints%2Fhttp_auth%3Fdone%3Dx">Log in</a>`) != c.want || strings.Contains(body, ">Log in<") != c.want {
			t.Errorf("%+v: %s", c, body)
		}
	}
}
