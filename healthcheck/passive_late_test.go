package healthcheck

import (
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestBrokenOffResponses: a response that breaks off after its head is a failure, and the
// success that its head was told as has forgotten nothing. A genuine success has.
func TestBrokenOffResponses(t *testing.T) {
	head, broke := route.Outcome{Status: 200}, route.Outcome{Status: 200, Transport: true, Kind: route.KindConnectionReset, Late: true}
	for _, tt := range []struct {
		name   string
		script string // a letter is a request: b breaks off after its head, s succeeds; A and B end as b, but break off at the end
		phase  route.PassivePhase
		fails  int
	}{
		{"in a row", "bbb", route.PhaseOpen, 3},
		{"a success between", "bbsbb", route.PhaseClosed, 2},
		{"a success after the head, before the break", "bAsb", route.PhaseClosed, 2},
		{"nothing to forget", "sAs", route.PhaseClosed, 1},
	} {
		r := passiveRules{Passive: route.DefaultPassive(), heal: 1, lease: minLease}
		r.Failures = 3
		s, now := newPassive(), time.Unix(1_000_000, 0)
		allow := word{given: true}
		var open []route.Ticket
		for i, letter := range tt.script {
			ticket := route.Ticket{Epoch: s.epoch, Serial: uint64(i + 1)}
			s, _ = s.end(&r, ticket, &head, now, allow)
			switch letter {
			case 'b':
				s, _ = s.end(&r, ticket, &broke, now, allow)
			case 'A':
				open = append(open, ticket)
			}
		}
		for _, ticket := range open {
			s, _ = s.end(&r, ticket, &broke, now, allow)
		}
		if s.phase != tt.phase || s.fails != tt.fails {
			t.Errorf("%s: %s with %d failures, want %s with %d", tt.name, s.phase, s.fails, tt.phase, tt.fails)
		}
	}
}

// TestBrokenOffResponseIsNotItsStatus: what is said of it is that it broke off, not that
// its status is a failure.
func TestBrokenOffResponseIsNotItsStatus(t *testing.T) {
	rules := route.DefaultPassive()
	f := faultOf(&rules, &route.Outcome{Status: 200, Transport: true, Kind: route.KindHTTPError, Late: true})
	if got := f.hint("LOG"); f.status != 0 || f.slow || !strings.Contains(got, "without a whole answer: LOG") {
		t.Errorf("%+v: %s", f, got)
	}
}
