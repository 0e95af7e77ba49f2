package api

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router"
	"fairlead/router/route"
)

// plane is a data plane without sockets: entrypoints with cells and loads whose
// counters a test moves.
type plane struct{ table atomic.Pointer[router.Table] }

// Table implements Tables.
func (p *plane) Table() *router.Table { return p.table.Load() }

// entry makes an entrypoint with n backends in rotation.
func entry(name string, n int) router.Entry {
	e := &route.Entrypoint{
		ID: "http_" + name, Name: name, Protocol: route.HTTP, Options: route.DefaultOptions(),
		Match: route.Match{Hosts: []route.HostPattern{host(name + ".example.com")}, Path: route.PathRule{Kind: route.PathPrefix, Value: "/"}},
	}
	var members []route.Member
	var placed []*route.Placement
	for i := range n {
		b := route.Backend{ID: fmt.Sprintf("b%d", i), Incarnation: fmt.Sprintf("i%d", i), Host: "192.0.2.1", Port: 80, Weight: 100, Provider: route.ProviderPresent}
		e.Backends = append(e.Backends, b)
		p := &route.Placement{Entrypoint: e.ID, Backend: b, Load: &route.Load{}}
		placed, members = append(placed, p), append(members, route.Member{Placement: p, Weight: 100})
	}
	cell := &route.RotationCell{}
	cell.Place(placed)
	cell.Store(route.NewRotation(1, route.TierVerified, members))
	return router.Entry{Entrypoint: e, Cell: cell}
}

func (p *plane) serve(entries ...router.Entry) { p.table.Store(router.Build(1, entries)) }

// load is that of the i-th backend in rotation.
func load(e router.Entry, i int) *route.Load { return e.Cell.Load().Members[i].Placement.Load }

// request counts one that a backend answered.
func request(e router.Entry, i, status int, took time.Duration) {
	load(e, i).Traffic.Note(status, took)
	e.Cell.Traffic.Note(status, took)
}

// record runs a recorder over a plane in virtual time.
func record(t *testing.T, p *plane, unrouted *route.Traffic) *TrafficRecorder {
	t.Helper()
	r := NewTrafficRecorder(p, unrouted)
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return r
}

// pass lets a number of steps go by.
func pass(steps int) {
	<-time.After(time.Duration(steps) * trafficStep)
	synctest.Wait()
}

func TestTrafficIsRecordedInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p plane
		var unrouted route.Traffic
		app, quiet := entry("app", 2), entry("quiet", 1)
		p.serve(app, quiet)
		r := record(t, &p, &unrouted)
		began := time.Now()
		for range 8 {
			request(app, 0, 200, 20*time.Millisecond)
		}
		request(app, 1, 502, 300*time.Millisecond)
		app.Cell.Traffic.Note(0, time.Second) // the client left
		app.Cell.Traffic.NoteRetry()
		app.Cell.Traffic.NoteHeld()
		app.Cell.InFlight.Store(3)
		unrouted.Note(404, time.Millisecond)
		pass(1)
		app.Cell.InFlight.Store(0)
		pass(2)

		points := r.Entrypoint("http_app")
		if len(points) != 3 || points[2].Requests != 0 || points[2].P99 != 0 || !points[2].At.Equal(began.Add(15*time.Second)) {
			t.Fatalf("points %+v", points)
		}
		first := points[0]
		want := TrafficPoint{
			At: began.Add(5 * time.Second), Step: 5 * time.Second, Requests: 10, Errors: 1, InFlight: 3, Retries: 1, Held: 1,
			Classes: [route.StatusClasses]uint64{0: 1, 2: 8, 5: 1}, P50: first.P50, P99: first.P99,
		}
		if first != want || first.P50 < 10*time.Millisecond || first.P50 > 25*time.Millisecond || first.P99 < 500*time.Millisecond || first.P99 > time.Second {
			t.Errorf("first point %+v, want %+v", first, want)
		}
		if first.Rate() != 2 || first.ErrorRatio() != 0.1 {
			t.Errorf("rate %v, errors %v", first.Rate(), first.ErrorRatio())
		}
		if total := r.Total(); !slices.Equal(total, points) {
			t.Errorf("total %+v", total)
		}
		if r.Entrypoint("http_quiet") != nil || r.Entrypoint("http_none") != nil {
			t.Error("a series without traffic")
		}
		if u := r.Unrouted(); len(u) != 3 || u[0].Requests != 1 || u[0].Classes[4] != 1 || u[0].Errors != 0 {
			t.Errorf("unrouted %+v", u)
		}
	})
}

// TestNoLatencyAboveTheSlowest: three requests of a second are not shown as if one took
// two and a half, a backend of 700 ms not as one of a second: of a step, of a minute, of
// all entrypoints, of one backend, and when the next step is a quick one.
func TestNoLatencyAboveTheSlowest(t *testing.T) {
	for _, took := range []time.Duration{300 * time.Microsecond, 700 * time.Millisecond, 1003 * time.Millisecond, 14 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var p plane
			app := entry("app", 1)
			p.serve(app)
			r := record(t, &p, nil)
			for range 3 {
				request(app, 0, 200, took)
			}
			pass(1)
			request(app, 0, 200, 100*time.Microsecond)
			pass(1)
			point := r.Entrypoint("http_app")[0]
			of, all, backend := r.EntrypointMinute("http_app"), r.TotalMinute(), r.BackendMinute("http_app", load(app, 0))
			for _, got := range []time.Duration{point.P50, point.P99, of.P50, of.P99, all.P99, backend.P99} {
				if got > took || got < took*2/3 {
					t.Errorf("%v for requests of %v", got, took)
				}
			}
			if quick := r.Entrypoint("http_app")[1]; quick.P99 > 100*time.Microsecond {
				t.Errorf("the step after %v has %v", took, quick.P99)
			}
		})
	}
}

// TestTrafficMinute: a client that left is no error of the entrypoint, a contact
// without an answer is one of the backend.
func TestTrafficMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p plane
		app := entry("app", 2)
		p.serve(app)
		r := record(t, &p, nil)
		pass(2)
		for range 30 {
			request(app, 0, 200, 20*time.Millisecond)
		}
		app.Cell.Traffic.Note(0, time.Second)
		app.Cell.Traffic.Note(503, time.Second)
		load(app, 1).Traffic.Note(0, time.Second)
		load(app, 1).Traffic.NoteAbandoned(time.Minute)
		pass(1)
		if m := r.EntrypointMinute("http_app"); m.Span != 15*time.Second || m.Requests != 32 || m.Errors != 1 || m.P50 == 0 {
			t.Errorf("entrypoint %+v", m)
		}
		if m := r.TotalMinute(); m.Requests != 32 || m.Errors != 1 {
			t.Errorf("total %+v", m)
		}
		if m := r.BackendMinute("http_app", load(app, 0)); m.Requests != 30 || m.Errors != 0 || m.Rate() != 2 {
			t.Errorf("first backend %+v", m)
		}
		if m := r.BackendMinute("http_app", load(app, 1)); m.Requests != 2 || m.Errors != 1 || m.Abandoned != 1 || m.ErrorRatio() != 1 || m.P99 < 50*time.Second {
			t.Errorf("second backend %+v", m)
		}
		pass(11)
		if m := r.EntrypointMinute("http_app"); m.Requests != 32 || m.Span != time.Minute {
			t.Errorf("after 55 s: %+v", m)
		}
		pass(1)
		if m := r.EntrypointMinute("http_app"); m != (TrafficMinute{Span: time.Minute}) {
			t.Errorf("after 60 s: %+v", m)
		}
		if m := r.BackendMinute("http_app", load(app, 0)); m.Requests != 0 {
			t.Errorf("backend after 60 s: %+v", m)
		}
	})
}

// TestTrafficGoesWithItsEntrypoint: the series ends, the total keeps what was counted
// last, and a newcomer of the same name begins anew.
func TestTrafficGoesWithItsEntrypoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p plane
		app, other := entry("app", 1), entry("other", 1)
		p.serve(app, other)
		r := record(t, &p, nil)
		request(app, 0, 200, time.Millisecond)
		request(other, 0, 200, time.Millisecond)
		pass(1)
		request(app, 0, 200, time.Millisecond)
		app.Cell.Line.Tire()
		p.serve(other)
		pass(1)
		if r.TurnedAway() != 1 {
			t.Errorf("%d turned away in the total, want 1", r.TurnedAway())
		}
		if r.Entrypoint("http_app") != nil {
			t.Error("the series outlives its entrypoint")
		}
		again := entry("app", 1)
		p.serve(again, other)
		request(again, 0, 500, time.Millisecond)
		pass(1)
		replaced := entry("app", 1)
		request(again, 0, 200, time.Millisecond)
		request(replaced, 0, 404, time.Millisecond)
		p.serve(replaced, other)
		pass(1)
		if points := r.Entrypoint("http_app"); len(points) != 4 || points[3].Classes != [route.StatusClasses]uint64{4: 1} || points[2].Requests != 0 {
			t.Errorf("the newcomer: %+v", points)
		}
		var sum uint64
		for _, point := range r.Total() {
			sum += point.Requests
		}
		if sum != 6 {
			t.Errorf("%d requests in the total, want 6", sum)
		}
		if r.TurnedAway() != 1 {
			t.Errorf("%d turned away in the total, want 1", r.TurnedAway())
		}
	})
}

// TestTrafficOfABackendThatComesBack: what it had counted before is not counted again.
func TestTrafficOfABackendThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p plane
		app := entry("app", 2)
		p.serve(app)
		r := record(t, &p, nil)
		gone := app.Cell.Load().Members[1].Placement
		for range 50 {
			request(app, 1, 200, time.Millisecond)
		}
		pass(1)
		app.Cell.Store(route.NewRotation(2, route.TierVerified, app.Cell.Load().Members[:1]))
		request(app, 0, 200, time.Millisecond)
		pass(200)
		app.Cell.Store(route.NewRotation(3, route.TierVerified, append(app.Cell.Load().Members, route.Member{Placement: gone, Weight: 100})))
		request(app, 1, 200, time.Millisecond)
		pass(1)
		if m := r.BackendMinute("http_app", gone.Load); m.Requests != 1 {
			t.Errorf("%d requests, want 1", m.Requests)
		}
		app.Entrypoint.Backends = app.Entrypoint.Backends[:1]
		request(app, 0, 200, time.Millisecond)
		pass(1)
		if r.entries["http_app"].backends[gone.Load] != nil {
			t.Error("a backend that left its entrypoint is kept")
		}
	})
}

// TestTrafficOfABackendThatIsEjectedAtOnce: what it answered before the first step ended is
// told, although it is out of rotation by then, and so is what it answers when it comes back.
func TestTrafficOfABackendThatIsEjectedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p plane
		app := entry("app", 2)
		p.serve(app)
		r := record(t, &p, nil)
		ejected := load(app, 1)
		for range 5 {
			request(app, 1, 503, time.Millisecond)
		}
		app.Cell.Store(route.NewRotation(2, route.TierVerified, app.Cell.Load().Members[:1]))
		request(app, 0, 200, time.Millisecond)
		pass(1)
		if m := r.BackendMinute("http_app", ejected); m.Requests != 5 || m.Errors != 5 {
			t.Errorf("%d requests, %d errors, want 5 of 5", m.Requests, m.Errors)
		}
	})
}

// TestTrafficWindow: ten minutes are kept, an hour of silence leaves nothing.
func TestTrafficWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p plane
		app := entry("app", 1)
		p.serve(app)
		r := record(t, &p, nil)
		for i := range 300 {
			for range i {
				request(app, 0, 200, time.Millisecond)
			}
			pass(1)
		}
		points := r.Entrypoint("http_app")
		if len(points) != trafficSteps || points[0].Requests != 180 || points[119].Requests != 299 {
			t.Errorf("%d points, from %d to %d", len(points), points[0].Requests, points[len(points)-1].Requests)
		}
		pass(119)
		if points := r.Entrypoint("http_app"); points[0].Requests != 299 {
			t.Errorf("the last step with traffic has %d requests", points[0].Requests)
		}
		pass(1)
		if r.Entrypoint("http_app") != nil || r.Total() != nil {
			t.Error("a series without traffic in its window")
		}
		request(app, 0, 200, time.Millisecond)
		pass(1)
		if points := r.Entrypoint("http_app"); len(points) != trafficSteps || points[119].Requests != 1 || points[0].At.IsZero() {
			t.Error("the series that begins again is wrong")
		}
	})
}

// TestSeriesUnpackToWhatWasPacked compares with a plain list.
func TestSeriesUnpackToWhatWasPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, keep := range []int{trafficSteps, trafficMinutes} {
		s := series{keep: keep}
		var plain []measure
		for range 500 {
			var values [measureFields]uint64
			for i := range values {
				if random.IntN(3) == 0 {
					values[i] = random.Uint64() >> (17 + random.UintN(47))
				}
			}
			var m measure
			m.set(&values)
			s.add(&m)
			plain = append(plain, m)
			plain = plain[max(0, len(plain)-keep):]
		}
		i := 0
		s.each(func(m *measure) {
			if *m != plain[i] {
				t.Fatalf("step %d is %+v, want %+v", i, m, plain[i])
			}
			i++
		})
		var minute measure
		for _, m := range plain[len(plain)-trafficMinutes:] {
			minute.counts, minute.slowest = plus(&minute.counts, &m.counts), max(minute.slowest, m.slowest)
			minute.inFlight += m.inFlight
		}
		if i != keep || s.minute() != minute {
			t.Errorf("%d steps, minute %+v, want %+v", i, s.minute(), minute)
		}
	}
}

// TestTrafficMemoryIsBounded: entrypoints that all have traffic for more than the window
// cost little each, and nothing when they are gone.
func TestTrafficMemoryIsBounded(t *testing.T) {
	const n = 1000
	var p plane
	entries := make([]router.Entry, n)
	for i := range entries {
		entries[i] = entry(fmt.Sprintf("app%d", i), 1)
	}
	p.serve(entries...)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r := NewTrafficRecorder(&p, nil)
	before, now := heap(), time.Unix(1_800_000_000, 0)
	for step := range trafficSteps + 10 {
		for i := range entries {
			for j := range 1 + (i+step)%5 {
				request(entries[i], 0, 200, time.Duration(j*7)*time.Millisecond)
			}
		}
		now = now.Add(trafficStep)
		r.sample(now)
	}
	each := (heap() - before) / n
	t.Logf("%d bytes for an entrypoint with one backend", each)
	if each > 5000 {
		t.Errorf("%d bytes for an entrypoint, want 5000 at most", each)
	}
	p.serve()
	r.sample(now.Add(trafficStep))
	if len(r.entries) != 0 {
		t.Errorf("%d entrypoints are kept", len(r.entries))
	}
	runtime.KeepAlive(entries)
}

// BenchmarkTrafficSample is the cost of one step with 10,000 entrypoints, without
// traffic and with traffic on all of them.
func BenchmarkTrafficSample(b *testing.B) {
	for name, busy := range map[string]bool{"idle": false, "busy": true} {
		b.Run(name, func(b *testing.B) {
			var p plane
			entries := make([]router.Entry, 10000)
			for i := range entries {
				entries[i] = entry(fmt.Sprintf("app%d", i), 1)
			}
			p.serve(entries...)
			r, now := NewTrafficRecorder(&p, nil), time.Unix(1_800_000_000, 0)
			for b.Loop() {
				if busy {
					for i := range entries {
						request(entries[i], 0, 200, time.Millisecond)
					}
				}
				now = now.Add(trafficStep)
				r.sample(now)
			}
		})
	}
}
