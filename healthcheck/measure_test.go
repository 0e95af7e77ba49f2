package healthcheck

import (
	"testing"
	"time"

	"fairlead/router/route"
)

// TestMeasures: results are counted by what they saw, durations by the type of the probe,
// and what is handed out does not change any more.
func TestMeasures(t *testing.T) {
	e := New(Config{})
	e.measures.note(route.ProbeHTTP, &Result{OK: true, Status: 200}, 3*time.Millisecond)
	e.measures.note(route.ProbeHTTP, &Result{OK: true, Status: 204, Kind: route.KindOther}, time.Hour)
	e.measures.note(route.ProbeTCP, &Result{Kind: route.KindTimeout}, 5*time.Second)
	e.measures.note(route.ProbeTCP, &Result{}, time.Millisecond)
	results, took := e.Measures()
	e.measures.note(route.ProbeTCP, &Result{OK: true}, time.Millisecond)
	if len(results) != 3 || results[route.KindNone] != 2 || results[route.KindTimeout] != 1 || results[route.KindOther] != 1 {
		t.Errorf("%v", results)
	}
	http, tcp := took[route.ProbeHTTP], took[route.ProbeTCP]
	h := http.Histogram()
	if len(took) != 2 || http.Sum != time.Hour+3*time.Millisecond || h[2] != 1 || h[len(route.LatencyBounds)] != 1 || tcp.Requests() != 2 {
		t.Errorf("%v", took)
	}
}
