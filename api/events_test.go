package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"fairlead/router"
	"fairlead/router/route"
)

func TestEventsBeginWithHelloAndKeepTheOrder(t *testing.T) {
	onStage(t, func(s *stage) {
		s.events.Transition(wentDown(0)) // before the watcher: not told
		a := s.open("")
		defer a.close()
		hello := a.next()
		if hello.Type != "hello" || hello.Generation != 7 || hello.Boot != "b00t" || hello.Resumed {
			t.Fatalf("%+v", hello)
		}
		began := time.Now()
		for i := range 50 {
			s.events.Transition(wentDown(i))
		}
		last := hello.Rev
		for i := range 50 {
			f := a.next()
			if f.Type != "transition" || f.Rev != last+1 || f.Entrypoint != fmt.Sprintf("http_%d", i) || f.Transition.To != "down" {
				t.Fatalf("frame %d: %+v", i, f)
			}
			last = f.Rev
		}
		if late := time.Since(began); late != 0 {
			t.Errorf("transitions waited %v", late)
		}
	})
}

// TestTableFramesAreMerged: swaps in quick succession are one frame each 250 ms, and
// none is missing in them.
func TestTableFramesAreMerged(t *testing.T) {
	onStage(t, func(s *stage) {
		a := s.open("")
		defer a.close()
		a.next()
		go func() {
			ids := []string{}
			for i := range 100 { // 10 ms apart
				ids = append(ids, fmt.Sprintf("http_%03d", i))
				s.view(uint64(8+i), ids...)
				<-time.After(10 * time.Millisecond)
			}
		}()
		seen, frames, last := map[string]bool{}, 0, time.Time{}
		for f := (anyFrame{}); f.Generation < 107; frames++ {
			f = a.next()
			if f.Type != "table" || f.All || !last.IsZero() && time.Since(last) < tableEvery {
				t.Fatalf("%v after the one before: %+v", time.Since(last), f)
			}
			last = time.Now()
			for _, id := range f.Changed {
				seen[id] = true
			}
		}
		if len(seen) != 100 || frames > 6 {
			t.Errorf("%d ids in %d frames", len(seen), frames)
		}
	})
}

func TestTableFramesNameWhatChanged(t *testing.T) {
	entry := func(id string) router.EntrypointView {
		return router.EntrypointView{Entrypoint: &route.Entrypoint{ID: id}}
	}
	a, b, c := entry("a"), entry("b"), entry("c")
	shadowed, doubted, renewed := b, b, entry("b")
	shadowed.ShadowedBy = "a"
	doubted.Diagnostics = []route.Diagnostic{{Code: "W001"}}
	view := func(list ...router.EntrypointView) *router.View { return &router.View{Entrypoints: list} }
	for _, x := range []struct {
		name             string
		was, is          *router.View
		changed, removed []string
		silent           bool
	}{
		{"same", view(a, b), view(a, b), nil, nil, true},
		{"added", view(b), view(a, b, c), []string{"a", "c"}, nil, false},
		{"removed", view(a, b, c), view(b), nil, []string{"a", "c"}, false},
		{"replaced", view(a), view(c), []string{"c"}, []string{"a"}, false},
		{"another object", view(a, b), view(a, renewed), []string{"b"}, nil, false},
		{"shadowed", view(a, b), view(a, shadowed), []string{"b"}, nil, false},
		{"diagnosed", view(a, b), view(a, doubted), []string{"b"}, nil, false},
		{"refused candidate", view(), &router.View{Rejected: []route.Rejected{{CandidateID: "x"}}}, nil, nil, false},
	} {
		got, differs := compareTables(x.was, x.is)
		if differs == x.silent || !slices.Equal(got.Changed, x.changed) || !slices.Equal(got.Removed, x.removed) {
			t.Errorf("%s: %t %+v", x.name, differs, got)
		}
	}
	many := make([]router.EntrypointView, maxNamed+1)
	for i := range many {
		many[i] = entry(fmt.Sprintf("%04d", i))
	}
	if got, _ := compareTables(view(), view(many...)); !got.All || got.Changed == nil || len(got.Changed) != 0 {
		t.Errorf("too many: %+v", got)
	}
}

func TestProviderFrames(t *testing.T) {
	onStage(t, func(s *stage) {
		a := s.open("")
		defer a.close()
		a.next()
		show := func(p route.ProviderStatus) {
			p.Name, p.Enabled = "docker", true
			s.viewer.view.Store(&router.View{Providers: []route.ProviderStatus{p, {Name: "file"}, {Name: "other", Enabled: true}}})
			s.events.Changed()
		}
		show(route.ProviderStatus{Phase: route.PhaseReady, Connected: true})
		if f := a.next(); f.Type != "provider" || f.Provider.Name != "docker" || f.Provider.Phase != "ready" {
			t.Errorf("%+v", f)
		}
		if f := a.next(); f.Provider.Name != "other" {
			t.Errorf("%+v", f) // file is not enabled: no news
		}
		show(route.ProviderStatus{Phase: route.PhaseReady, Connected: true, LastSync: time.Now(), Candidates: 3}) // no news
		<-time.After(time.Second)
		show(route.ProviderStatus{Phase: route.PhaseStale})
		if f := a.next(); f.Provider.Phase != "stale" {
			t.Errorf("%+v", f)
		}
	})
}

// TestWhatIsThereAtTheStartIsTold: a watcher may come before the first look at the view.
func TestWhatIsThereAtTheStartIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, viewer := NewEvents(), &changing{}
		viewer.view.Store(&router.View{Entrypoints: []router.EntrypointView{{Entrypoint: &route.Entrypoint{ID: "http_early"}}}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = e.Run(ctx, viewer) }()
		synctest.Wait()
		batch, _, _ := e.after(0, keptFrames)
		if len(batch) != 1 || batch[0].table == nil || !slices.Equal(batch[0].table.Changed, []string{"http_early"}) {
			t.Errorf("%d frames", len(batch))
		}
	})
}

func TestEventsResume(t *testing.T) {
	onStage(t, func(s *stage) {
		a := s.open("")
		begin := a.next().Rev
		s.events.Transition(wentDown(1))
		seen := a.next().Rev
		a.close()
		for i := 2; i < 12; i++ {
			s.events.Transition(wentDown(i))
		}
		s.view(9, "http_new")
		synctest.Wait()
		b := s.open(fmt.Sprintf("?since=%d", seen))
		defer b.close()
		if hello := b.next(); !hello.Resumed || hello.Rev != seen || hello.Generation != 9 {
			t.Fatalf("%+v", hello)
		}
		for i := 2; i < 12; i++ {
			if f := b.next(); f.Rev != seen+uint64(i)-1 || f.Entrypoint != fmt.Sprintf("http_%d", i) {
				t.Fatalf("%d: %+v", i, f)
			}
		}
		if f := b.next(); f.Type != "table" || !slices.Equal(f.Changed, []string{"http_new"}) {
			t.Errorf("%+v", f)
		}
		all := s.open("?since=0")
		defer all.close()
		if hello, first := all.next(), all.next(); hello.Rev != begin || first.Entrypoint != "http_1" {
			t.Errorf("%+v, %+v", hello, first)
		}
	})
}

// TestResumeAcrossAHole: what the stream no longer has is said, with its number when it
// is known.
func TestResumeAcrossAHole(t *testing.T) {
	onStage(t, func(s *stage) {
		begin := s.events.start(nil).rev
		for i := range keptFrames + 10 {
			s.events.Transition(wentDown(i))
		}
		a := s.open(fmt.Sprintf("?since=%d", begin+3))
		defer a.close()
		hello, gap, first := a.next(), a.next(), a.next()
		if hello.Rev != begin+3 || gap.Type != "gap" || gap.Lost == nil || *gap.Lost != 7 || gap.Rev != begin+10 || first.Rev != begin+11 {
			t.Errorf("%+v, %+v, %+v", hello, gap, first)
		}
		for name, since := range map[string]uint64{"before this run": begin - 1000, "of a clock ahead": begin + 1e9} {
			b := s.open(fmt.Sprintf("?since=%d", since))
			hello, gap, first := b.next(), b.next(), b.next()
			if hello.Resumed || gap.Type != "gap" || gap.Lost != nil || gap.Rev != begin+10 || first.Rev != begin+11 {
				t.Errorf("%s: %+v, %+v, %+v", name, hello, gap, first)
			}
			b.close()
		}
	})
}

// TestResumeMergesTables: a watcher that comes back gets one frame about the table.
func TestResumeMergesTables(t *testing.T) {
	onStage(t, func(s *stage) {
		begin := s.events.start(nil).rev
		for i, ids := range [][]string{{"a"}, {"a", "b"}, {"b", "c"}, {"a", "b"}} {
			s.view(uint64(10+i), ids...)
			<-time.After(2 * tableEvery)
			s.events.Transition(wentDown(i))
		}
		synctest.Wait()
		a := s.open("?since=0")
		defer a.close()
		a.next()
		var tables, transitions int
		for range 5 {
			f := a.next()
			switch f.Type {
			case "transition":
				transitions++
			case "table":
				tables++
				if f.Generation != 13 || f.Rev != begin+7 || !slices.Equal(f.Changed, []string{"a", "b"}) || !slices.Equal(f.Removed, []string{"c"}) {
					t.Errorf("%+v", f)
				}
			}
		}
		if tables != 1 || transitions != 4 {
			t.Errorf("%d tables, %d transitions", tables, transitions)
		}
	})
}

func TestEventFramesKeepTheContract(t *testing.T) {
	schema := compile(t, "event.schema.json")
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents()
		tr := wentDown(1)
		frame, _ := json.Marshal(newEventTransition(e.ring.next, &tr))
		validate(t, schema, frame)
		golden(t, "event_transition", frame)
		tr = route.Transition{At: time.Now(), Rev: 4, Entrypoint: "http_api", Layer: "route", From: "ok", To: "panic", Cause: "probe", Message: "no backend is verified"}
		frame, _ = json.Marshal(newEventTransition(e.ring.next, &tr))
		validate(t, schema, frame)
		golden(t, "event_route", frame)
	})
}

func TestEventsRefuse(t *testing.T) {
	onStage(t, func(s *stage) {
		origin := func(text string) http.Header { return http.Header{"Origin": {text}} }
		for _, c := range []struct {
			name, query string
			header      http.Header
			status      int
			code, field string
		}{
			{"same origin", "", origin("http://127.0.0.1:3035"), 101, "", ""},
			{"program", "", nil, 101, "", ""},
			{"evil page", "", origin("https://evil.example"), 403, CodeCrossOrigin, ""},
			{"other port", "", origin("http://127.0.0.1:8080"), 403, CodeCrossOrigin, ""},
			{"sandbox", "", origin("null"), 403, CodeCrossOrigin, ""},
			{"sister site", "", http.Header{"Sec-Fetch-Site": {"same-site"}}, 403, CodeCrossOrigin, ""},
			{"rebound", "", http.Header{"Host": {"evil.example"}, "Origin": {"http://evil.example"}}, 403, CodeBadHost, ""},
			{"since is no number", "?since=x", nil, 400, CodeBadParameter, "since"},
			{"since is negative", "?since=-1", nil, 400, CodeBadParameter, "since"},
			{"misspelt", "?sinc=1", nil, 400, CodeBadParameter, "sinc"},
		} {
			status, e := s.refused(c.query, c.header)
			if status != c.status || e.Code != c.code || e.Field != c.field {
				t.Errorf("%s: %d %+v", c.name, status, e)
			}
		}
		w := get(s.server, "/events")
		if e := decodeError(t, w.Body.Bytes()); w.Code != http.StatusUpgradeRequired || e.Code != CodeUpgradeRequired || w.Header().Get("Upgrade") != "websocket" {
			t.Errorf("no WebSocket: %d %s", w.Code, w.Body)
		}
		w = get(s.server, "/events", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "8")
		if e := decodeError(t, w.Body.Bytes()); w.Code != http.StatusBadRequest || e.Code != CodeUpgradeRequired {
			t.Errorf("old version: %d %s", w.Code, w.Body)
		}
		if w := ask(s.server, http.MethodPost, "/events"); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", w.Code)
		}
	})
}

func TestTooManyWatchers(t *testing.T) {
	onStage(t, func(s *stage) {
		list := make([]*audience, maxWatchers)
		for i := range list {
			list[i] = s.open("")
			list[i].next()
		}
		if status, e := s.refused("", nil); status != http.StatusServiceUnavailable || e.Code != CodeTooMany {
			t.Errorf("%d %+v", status, e)
		}
		list[0].close()
		synctest.Wait()
		list[0] = s.open("")
		for _, a := range list {
			a.close()
		}
	})
}

func TestShutdownSaysGoingAway(t *testing.T) {
	onStage(t, func(s *stage) {
		a, stuck := s.open(""), s.open("")
		defer stuck.close()
		a.next()
		closed := make(chan error, 1)
		go func() {
			_, _, err := a.conn.ReadMessage()
			closed <- err
			a.close()
		}()
		s.events.Transition(wentDown(1)) // which the stuck one never reads
		began := time.Now()
		if err := s.stop(); err != nil || time.Since(began) > closeTimeout*3/4 {
			t.Errorf("Serve: %v after %v", err, time.Since(began))
		}
		// The transition may come first.
		if err := <-closed; err != nil && !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("closed with %v", err)
		}
	})
}

func TestRevisionsAreExactInJavaScript(t *testing.T) {
	rev := NewEvents().start(nil).rev
	if text := strconv.FormatFloat(float64(rev), 'f', 0, 64); text != strconv.FormatUint(rev, 10) || rev > 1<<53/4 {
		t.Errorf("%d is %s as a double", rev, text)
	}
}

// TestChangesFarApartAreNotMerged: who asks for everything that is kept gets changes of
// the table that are far apart each with its own time and its own ids.
func TestChangesFarApartAreNotMerged(t *testing.T) {
	table := func(rev uint64, at time.Duration, ids ...string) *frame {
		f, err := newFrame(FrameTable, rev, &EventTable{Type: FrameTable, Rev: rev, AtMS: 1_800_000_000_000 + at.Milliseconds(), Changed: ids, Removed: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	got := merged([]*frame{
		table(1, 0, "a", "b", "c"), table(2, time.Hour, "a"), {rev: 3}, table(4, time.Hour+mergeWithin, "b"), table(5, time.Hour+mergeWithin+time.Second, "c"),
	})
	if len(got) != 4 || got[0].rev != 1 || got[1].rev != 3 || got[2].rev != 4 || got[3].rev != 5 {
		t.Fatalf("%+v", got)
	}
	if first, last := got[0].table, got[3].table; len(first.Changed) != 3 || !slices.Equal(last.Changed, []string{"c"}) {
		t.Errorf("%+v %+v", first, last)
	}
	if sum := got[2].table; !slices.Equal(sum.Changed, []string{"a", "b"}) {
		t.Errorf("%+v", sum)
	}
}
