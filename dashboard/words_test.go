package dashboard

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"fairlead/api"
	"fairlead/router"
	"fairlead/router/route"
)

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		countOf(0, "backend"): "no backends", countOf(1, "backend"): "1 backend", countOf(12345, "backend"): "12\u202f345 backends",
		countOf(2, "success"): "2 successes", countOf(2, "entry"): "2 entries", countOf(1, "success"): "1 success",
		grouped(0): "0", grouped(999): "999", grouped(1000): "1\u202f000", grouped(-1234567): "-1\u202f234\u202f567",
		rateText(0): "0", rateText(0.04): "0.0", rateText(9.94): "9.9", rateText(1234.5): "1\u202f235",
		shareText(0): "0 %", shareText(.0004): "< 0.1 %", shareText(.015): "1.5 %", shareText(.05): "5 %", shareText(.996): "100 %",
		msText(0): "0 ms", msText(1500 * time.Microsecond): "1.5 ms", msText(87 * time.Millisecond): "87 ms", msText(2300 * time.Millisecond): "2.3 s", msText(30 * time.Second): "30 s",
		durationText(0): "0", durationText(500): "500ms", durationText(10000): "10s", durationText(90000): "1m30s", durationText(120000): "2m", durationText(3600000): "1h",
		words("docker_unhealthy"): "docker unhealthy", shortID(strings.Repeat("ab", 32)): "abababababab", shortID("http_x"): "http_x",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMoments(t *testing.T) {
	past, ahead := momentOf(noon.Add(-72*time.Second), noon), momentOf(noon.Add(3500*time.Millisecond), noon)
	if past.For != "1 min 12 s" || past.Ahead || past.Clock != "11:41:19 UTC" || past.Full != "2027-03-17 11:41:19 UTC" {
		t.Errorf("%+v", past)
	}
	if !ahead.Ahead || ahead.For != "4 s" {
		t.Errorf("a time ahead is rounded up: %+v", ahead)
	}
	if momentOf(time.Time{}, noon).Known() || epochMoment(0, noon).Known() || epochMaybe(nil, noon).Known() {
		t.Error("a time that is not known is shown")
	}
}

// TestEveryStateHasAMark: no state of the vocabulary is a question mark.
func TestEveryStateHasAMark(t *testing.T) {
	levels := map[string]string{}
	for _, s := range []string{"ok", "partial", "panic", "down", "pending", "unchecked", "up", "gated", "leaving", "ready", "stale", "failed", "error", "warn", "info",
		"served", "redirected", "refused", "unavailable", "no_route", "pass", "rewrite", "refuse", "draining", "maintenance", "ejected"} {
		m := markOf(s)
		if m.Sign == "unknown" || m.Level == "" || m.Word == "" {
			t.Errorf("%s: %+v", s, m)
		}
		levels[s] = m.Level
	}
	for s, want := range map[string]string{"ok": levelCalm, "unchecked": levelCalm, "partial": levelWatch, "pending": levelWatch, "panic": levelAlarm, "down": levelAlarm, "gated": levelAlarm} {
		if levels[s] != want {
			t.Errorf("%s is %s, want %s", s, levels[s], want)
		}
	}
	if m := markOf("of_a_later_version"); m.Sign != "unknown" || m.Word != "of a later version" {
		t.Errorf("%+v", m)
	}
}

// TestEverySignIsDrawn holds the words to the drawings.
func TestEverySignIsDrawn(t *testing.T) {
	text, err := templateFiles.ReadFile("templates/shared/signs.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, sign := range []string{"ball", "ring", "dots", "half", "triangle", "cross", "gate", "out", "broken", "bang", "info", "turn", "none", "unknown"} {
		if !strings.Contains(string(text), `id="s-`+sign+`"`) {
			t.Errorf("no drawing of %s", sign)
		}
	}
	bars := map[string]route.State{}
	for _, state := range []route.State{route.StateUp, route.StateUnchecked, route.StatePending, route.StateDown, route.StateGated, route.StateLeaving, "later"} {
		sign := markOf(state).Sign
		path := barPath(sign, 13) + map[bool]string{true: " dashed"}[sign == "dots"]
		if other, taken := bars[path]; taken {
			t.Errorf("%s and %s have one bar", state, other)
		}
		bars[path] = state
	}
}

func TestStrip(t *testing.T) {
	if s := newStrip(nil); s.Words != "" || len(s.Ticks) != 0 {
		t.Errorf("%+v", s)
	}
	probes := []route.ProbeTick{
		{At: noon, OK: true, Duration: 100 * time.Microsecond}, {At: noon, OK: true, Duration: 10 * time.Second}, {At: noon, Duration: time.Second, Kind: route.KindTimeout},
	}
	s := newStrip(probes)
	if s.Words != "2 of the last 3 probes passed, the slowest in 10 s" {
		t.Error(s.Words)
	}
	fast, slow, failed := s.Ticks[0], s.Ticks[1], s.Ticks[2]
	if fast.Y+fast.Len != stripUp || fast.Len != stripLowest || slow.Y != 0 || slow.Len != stripUp || failed.Y != stripUp || failed.Len != stripDown {
		t.Errorf("%+v", s.Ticks)
	}
	if failed.X != (stripSlots-1)*stripStep || !strings.Contains(failed.Words, "failed after 1.0 s, timeout") {
		t.Errorf("the newest stands on the right: %+v", failed)
	}
	if strings.Count(s.Passed(), "M") != 2 || strings.Count(s.Failed(), "M") != 1 {
		t.Errorf("%s %s", s.Passed(), s.Failed())
	}
	if many := newStrip(make([]route.ProbeTick, 50)); len(many.Ticks) != stripSlots || many.Ticks[0].X != 0 {
		t.Errorf("%d ticks", len(many.Ticks))
	}
}

func TestCurves(t *testing.T) {
	nan := math.NaN()
	for got, want := range map[string]string{
		curve([]float64{0, 5, 10}, 10):                     "M0 100L300 50L600 0",
		curve([]float64{nan, 5, nan, 10}, 10):              "M200 50h1M600 0h1",
		curve([]float64{1, 1, nan, 2, 2}, 2):               "M0 50L150 50M450 0L600 0",
		curve([]float64{3}, 3):                             "M0 0h1",
		area([]float64{0, 10}, 10):                         "M0 100L0 100L600 0L600 100Z",
		bars([]float64{0, 0.001, .5}, 1):                   "M200 100v-2h160V100ZM400 100v-50h160V100Z",
		fmt.Sprint(roundUp(0), roundUp(.0123)):             "1 0.015",
		fmt.Sprint(roundUp(1), roundUp(411), roundUp(999)): "1 500 1000",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestChartsSayWhatTheyShow(t *testing.T) {
	points := make([]api.TrafficPoint, 30)
	for i := range points {
		points[i] = api.TrafficPoint{At: noon.Add(time.Duration(i-29) * 5 * time.Second), Step: 5 * time.Second}
	}
	quiet := charts(points, figuresOf(api.TrafficMinute{Span: time.Minute}))
	if quiet[2].Words != "No request in the last minute." || quiet[0].Now != "0" || quiet[1].Level != levelCalm || quiet[2].Rows[0].Values[0] != "–" {
		t.Errorf("%+v", quiet)
	}
	points[29].Requests, points[29].Errors, points[29].P50, points[29].P99 = 50, 5, 10*time.Millisecond, 2*time.Second
	busy := charts(points, figuresOf(api.TrafficMinute{Span: time.Minute, Requests: 50, Errors: 5, P50: 10 * time.Millisecond, P99: 2 * time.Second}))
	if busy[0].Max != "15" || busy[0].Now != "0.8" || busy[1].Now != "10 %" || busy[1].Level != levelAlarm || busy[2].Now != "10 ms / 2.0 s" || busy[2].Max != "3.0 s" {
		t.Errorf("%+v", busy)
	}
	last := busy[0].Rows[len(busy[0].Rows)-1]
	if len(busy[0].Rows) > mostRows || last.Clock != "11:42:31" || last.Values[0] != "10" || busy[0].From != "11:40" {
		t.Errorf("the table lacks the latest: %+v", busy[0])
	}
	if charts(nil, figures{}) != nil {
		t.Error("charts of nothing")
	}
}

// TestManyBackendsShowTheWorstFirst: a strip has room for some, and what is broken must
// be among them.
func TestManyBackendsShowTheWorstFirst(t *testing.T) {
	w := newWorld(noon)
	s := w.add("big", "big", "big.example.com").replicas(60, 80)
	s.fail(57, route.KindTimeout, "no answer", "", time.Minute, route.OutProbeFailed)
	s.done()
	e := (&request{d: newDashboard(w.built(), nil), view: &w.view, now: noon}).entryOf(&w.view.Entrypoints[0])
	if len(e.Segments) != mostSegments || e.Hidden != 40 || e.Segments[0].Mark.State != "down" || e.Segments[0].In || e.Words() != "59 of 60 in rotation. big-big-58: down, not in rotation." {
		t.Errorf("%d %d %+v %s", len(e.Segments), e.Hidden, e.Segments[0], e.Words())
	}
}

func TestBackendsSayWhatIsNext(t *testing.T) {
	for _, c := range []struct {
		b    api.BackendHealth
		want string
	}{
		{api.BackendHealth{State: "up", Check: &api.Check{UnhealthyThreshold: 3}, Counters: api.Counters{ConsecutiveFail: 1}}, "1 of 3 failures in a row that take it out"},
		{api.BackendHealth{State: "down", Check: &api.Check{HealthyThreshold: 2}, Counters: api.Counters{ConsecutiveOK: 1}}, "1 of 2 successes in a row that bring it back"},
		{api.BackendHealth{State: "down", Check: &api.Check{HealthyThreshold: 2}, Counters: api.Counters{ConsecutiveFail: 4}}, "back after 2 successes in a row"},
		{api.BackendHealth{State: "up", Check: &api.Check{}}, ""},
	} {
		if got := streakText(&c.b); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for _, c := range []struct {
		b    api.BackendHealth
		want string
	}{
		{api.BackendHealth{InRotation: true}, "backup, serving"}, {api.BackendHealth{}, "backup"},
		{api.BackendHealth{Weight: api.Weight{Configured: 5}}, "5, now 0"}, {api.BackendHealth{Weight: api.Weight{Configured: 5, Effective: 5}, InRotation: true}, "5"},
		{api.BackendHealth{Weight: api.Weight{Configured: 5, Effective: 2.5}, InRotation: true}, "5, now 2.5"},
	} {
		if got := weightText(&c.b); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestAdviceIsGivenOnce(t *testing.T) {
	var a advice
	a.add("look at the log - all fail alike")
	a.add("look at another log - all fail alike")
	a.add("")
	a.add("a fourth piece")
	if got := strings.Join(a.list, "|"); got != "look at the log|all fail alike|look at another log" {
		t.Error(got)
	}
	known := advice{said: "both fail alike, so suspect the configuration first"}
	known.add("correct the path - all backends of the route fail alike, so suspect the configuration first")
	if got := strings.Join(known.list, "|"); got != "correct the path" {
		t.Errorf("what is said already is said again: %s", got)
	}
	for why, want := range map[route.AbsenceReason]string{
		route.AbsentPaused: "docker unpause x", route.AbsentRestarting: "docker logs", route.AbsentNoAddress: "docker network connect", route.AbsentRetained: "docker start x", route.AbsentRefused: "",
	} {
		if got := adviceForAbsent(&api.Absence{Name: "x", Reason: string(why)}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", why, got)
		}
	}
	plain := api.BackendHealth{State: "down", Container: &api.Container{Name: "x"}}
	if got := adviceFor(&plain); got != "docker logs --tail 50 x" {
		t.Error(got)
	}
	if got := adviceFor(&api.BackendHealth{State: "down"}); got != "" {
		t.Errorf("a backend of a file has no container: %q", got)
	}
}

func TestBanners(t *testing.T) {
	v := wellView(noon)
	for _, c := range []struct {
		name   string
		change func(p *route.ProviderStatus)
		lead   string
		says   string
	}{
		{"well", func(*route.ProviderStatus) {}, "", ""},
		{"off", func(p *route.ProviderStatus) { p.Enabled, p.Connected, p.Phase = false, false, route.PhaseStale }, "", ""},
		{"not yet", func(p *route.ProviderStatus) { p.Connected, p.Phase = false, route.PhasePending }, "", ""},
		{"never", func(p *route.ProviderStatus) {
			p.Connected, p.Phase, p.LastError = false, route.PhaseFailed, "no such socket."
		}, "docker could not be read yet", "Last error: no such socket."},
		{"lost", func(p *route.ProviderStatus) { p.Connected, p.Phase = false, route.PhaseStale }, "docker is not connected", "The table is frozen"},
		{"lost, never read", func(p *route.ProviderStatus) { p.Connected, p.LastSync = false, time.Time{} }, "docker is not connected", "as they were last read. Traffic"},
		{"refused text", func(p *route.ProviderStatus) { p.Phase, p.StaleSince = route.PhaseStale, noon.Add(-time.Minute) }, "docker is stale", "What it holds now is not used"},
	} {
		p := v.Providers[0]
		c.change(&p)
		view := router.View{Providers: []route.ProviderStatus{p}}
		got := (&request{view: &view, now: noon}).banners()
		switch {
		case c.lead == "" && len(got) > 0:
			t.Errorf("%s: %+v", c.name, got)
		case c.lead != "" && (len(got) != 1 || got[0].Lead != c.lead || !strings.Contains(got[0].Text, c.says) || got[0].Next == ""):
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	view := router.View{Health: &route.HealthView{Global: []route.Diagnostic{route.Diagnose("W131", "raise the limit", "no more files")}}}
	if got := (&request{view: &view, now: noon}).banners(); len(got) != 1 || got[0].Next != "raise the limit" {
		t.Errorf("%+v", got)
	}
}

func TestAPageIsAFunctionOfViewAndClock(t *testing.T) {
	// A page is a function of view and clock: the same twice.
	atNoon(t, func(t *testing.T) {
		d := newDashboard(brokenView(noon), series{now: noon})
		for _, page := range somePages() {
			first := get(d, page).Body.String()
			if again := get(d, page).Body.String(); first != again {
				t.Errorf("%s differs from itself", page)
			}
		}
	})
}

// TestAbandonedContactsAreShown: they are neither nothing nor errors.
func TestAbandonedContactsAreShown(t *testing.T) {
	m := api.TrafficMinute{Span: time.Minute, Requests: 60, Abandoned: 60, P50: time.Second, P99: 2 * time.Second}
	if f := figuresOf(m); !f.Any || f.Abandoned != 60 || f.Share != "" || f.Rate != rateText(1) || f.P99 != "2.0 s" || f.Level != levelCalm {
		t.Errorf("%+v", f)
	}
	m.Requests, m.Errors = 80, 10
	if f := figuresOf(m); f.Share != "50 %" || f.Level != levelAlarm {
		t.Errorf("%+v", f)
	}
}
