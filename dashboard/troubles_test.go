package dashboard

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestRequestsThatFailAreSaid where the state is a problem, and by no more than a colour
// where few fail; with most of them failing it comes right after what is down.
func TestRequestsThatFailAreSaid(t *testing.T) {
	atNoon(t, func(t *testing.T) {
		for _, c := range []struct {
			share float64
			said  bool
			first string // of what is not down
		}{{0, false, "http_wiki"}, {.02, false, "http_wiki"}, {.2, true, "http_wiki"}, {.93, true, "http_payments"}} {
			d := newDashboard(brokenView(noon), series{now: noon, broken: map[string]float64{"http_payments": c.share}})
			overview, diagnosis := get(d, "").Body.String(), get(d, "diagnosis").Body.String()
			for page, text := range map[string]string{"": overview, "entrypoints/http_payments": get(d, "entrypoints/http_payments").Body.String(), "diagnosis": diagnosis} {
				if strings.Contains(text, " failed in the last minute") != c.said {
					t.Errorf("share %v: %q says otherwise", c.share, page)
				}
			}
			if mostly := c.share > .5; strings.Contains(overview, "Most requests of http_payments fail. ") != mostly {
				t.Errorf("share %v: the verdict says otherwise", c.share)
			}
			after := overview[strings.LastIndex(overview, `<span class="word" data-level="alarm">down</span>`):]
			_, after, _ = strings.Cut(after, `<li class="problem" data-key="`)
			if first, _, _ := strings.Cut(after, `"`); c.share > .5 && first != c.first {
				t.Errorf("share %v: %s comes after what is down", c.share, first)
			}
		}
	})
}

// flappingView has an entrypoint that is well since ten seconds ago, after n changes.
func flappingView(now time.Time, n int) *world {
	w := newWorld(now)
	w.add("shop", "shop", "shop.example.com").replicas(2, 8080).done()
	s := w.add("moody", "moody", "moody.example.com").replicas(1, 8080)
	s.flap(n, 10*time.Second).done()
	return w
}

// TestFlappingIsSeen in its good half: among the problems, in the verdict, on rows and
// cards, in the diagnosis; and no more once it is over.
func TestFlappingIsSeen(t *testing.T) {
	atNoon(t, func(t *testing.T) {
		for _, c := range []struct {
			changes int
			later   time.Duration
			said    bool
		}{{6, 0, true}, {4, 0, true}, {3, 0, false}, {6, 11 * time.Minute, false}} {
			d := newDashboard(flappingView(noon.Add(-c.later), c.changes).built(), nil)
			for _, page := range []string{"", "entrypoints", "entrypoints/http_moody", "diagnosis", "entrypoints/http_moody/diagnosis"} {
				text := get(d, page).Body.String()
				said := strings.Contains(text, "changed "+map[int]string{3: "3", 4: "4", 6: "6"}[c.changes]+" times in 10 min")
				if page == "diagnosis" {
					said = said && strings.Contains(text, ", 1 flapping;") && strings.Contains(text, "http_moody: FLAPPING since")
				}
				if said != c.said {
					t.Errorf("%d changes, %v later: %q says %t", c.changes, c.later, page, said)
				}
			}
			body := get(d, "").Body.String()
			if strings.Contains(body, "All well") == c.said || strings.Contains(body, "1 flapping") != c.said {
				t.Errorf("%d changes, %v later: the verdict is wrong", c.changes, c.later)
			}
		}
	})
}

// TestFlappingComesLast, after what is not well now.
func TestFlappingComesLast(t *testing.T) {
	atNoon(t, func(t *testing.T) {
		w := flappingView(noon, 6)
		w.degraded()
		var ranks []int
		for _, f := range (&request{d: newDashboard(w.built(), nil), view: w.built(), now: noon}).troubles() {
			ranks = append(ranks, f.rank)
		}
		if n := len(ranks); n < 3 || ranks[n-1] != rankFlapping || ranks[n-2] == rankFlapping {
			t.Errorf("ranks %v", ranks)
		}
	})
}

// TestWhatIsRefusedHasANextStep: that of the container's own diagnostic, on the overview and
// on the page; and so has an entrypoint of a file without backends.
func TestWhatIsRefusedHasANextStep(t *testing.T) {
	atNoon(t, func(t *testing.T) {
		w := newWorld(noon)
		refused := w.add("home", "tv", "tv.example.com")
		port := route.Diagnose("E106", "set sozune.http.tv.port to the port that the app listens on", "a container with network_mode host needs a port label")
		refused.e.Absent = []route.Absence{{CandidateID: "c1", Name: "home-tv-1", Why: route.AbsentRefused}}
		refused.e.Diagnostics = []route.Diagnostic{route.Diagnose("E105", "another hint", "another container"), port}
		w.view.Candidates = append(w.view.Candidates, route.CandidateDiagnostics{CandidateID: "c1", Diagnostics: []route.Diagnostic{port}})
		void := w.add("", "void", "void.example.com")
		void.e.Diagnostics = []route.Diagnostic{route.Diagnose("E107", "name one", "there is no backend")}
		for _, s := range []*service{refused, void} {
			s.h.Reason = route.ReasonNoBackends
			s.is(route.EntrypointDown, time.Minute, "Down.").done()
		}
		d := newDashboard(w.built(), nil)
		for page, hint := range map[string]string{"entrypoints/http_tv": port.Hint, "entrypoints/http_void": "name one"} {
			for _, at := range []string{"", page} {
				if body := get(d, at).Body.String(); !strings.Contains(body, `<p class="do"><b>Next</b> <bdi>`+hint) {
					t.Errorf("%q does not say %q", at, hint)
				}
			}
		}
	})
}

// flap gives backend 0 and the entrypoint a history of n changes, 20 s apart, the last of
// them to what is well.
func (s *service) flap(n int, since time.Duration) *service {
	h := &s.h.Backends[0]
	h.Since, s.h.Since = s.w.ago(since), s.w.ago(since)
	for i := n - 1; i >= 0; i-- {
		back, at := i%2 == 0, s.w.ago(since+time.Duration(i)*20*time.Second)
		one := route.Transition{At: at, Rev: uint64(90000 - i), Backend: h.Backend.ID, Layer: "active", From: "up", To: "down", Cause: "probe", Kind: route.KindBadStatus, Message: "answered 503, wanted 2xx,3xx"}
		all := route.Transition{At: at, Rev: uint64(90000 - i), Layer: "route", From: "ok", To: "panic", Cause: "probe"}
		if back {
			one.From, one.To, one.Kind, one.Message, all.From, all.To = one.To, one.From, route.KindNone, "200", all.To, all.From
		}
		h.History, s.h.History = append(h.History, one), append(s.h.History, all)
	}
	return s
}
