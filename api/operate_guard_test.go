package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// patient is a desk that notes how long a probe may take.
type patient struct {
	desk
	left time.Duration
}

func (p *patient) ProbeNow(ctx context.Context, entrypoint, backend string, count bool) (route.ProbeReport, error) {
	if until, ok := ctx.Deadline(); ok {
		p.left = time.Until(until)
	}
	return p.desk.ProbeNow(ctx, entrypoint, backend, count)
}

// TestProbeNowMayTakeTwoProbes: one that is in flight, and the one that was asked for.
func TestProbeNowMayTakeTwoProbes(t *testing.T) {
	p := &patient{}
	h := newHouse(func(cfg *Config) { cfg.Operator = p })
	h.routes = h.endpoints()
	if w := h.tell(orderPath("probe"), ""); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := probeSlack + 2*panicView().Entrypoint.Backends[0].Check.Timeout
	if want == probeSlack || p.left > want || p.left < want-time.Second {
		t.Errorf("it may take %s, want %s", p.left, want)
	}
}

// TestReasonsAreCountedInCharacters, whatever bytes they take.
func TestReasonsAreCountedInCharacters(t *testing.T) {
	d := &desk{}
	if w := office(d).tell(orderPath("drain"), `{"reason":"`+strings.Repeat("é", maxOrderReason)+`"}`); w.Code != http.StatusOK || len(d.orders) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
