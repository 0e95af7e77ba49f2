package route

import (
	"testing"
	"time"
)

// turns makes a history of changes between two states at these seconds.
func turns(states [2]string, seconds ...int) []Transition {
	var list []Transition
	for i, s := range seconds {
		list = append(list, Transition{At: time.Unix(int64(s), 0), From: states[i%2], To: states[(i+1)%2]})
	}
	return list
}

func TestFlapping(t *testing.T) {
	probes := [2]string{"up", "down"}
	for name, tt := range map[string]struct {
		history                      []Transition
		changes, atLeast, since, end int
	}{
		"nothing":                       {},
		"three changes":                 {history: turns(probes, 1, 2, 3)},
		"four changes":                  {history: turns(probes, 10, 20, 30, 40), changes: 4, since: 10, end: 610},
		"four in ten minutes, barely":   {history: turns(probes, 10, 20, 30, 609), changes: 4, since: 10, end: 610},
		"four in a bit more":            {history: turns(probes, 10, 20, 30, 610)},
		"five, the first one long ago":  {history: turns(probes, 0, 1000, 1010, 1020, 1030), changes: 4, since: 1000, end: 1600},
		"six":                           {history: turns(probes, 0, 10, 20, 30, 40, 50), changes: 6, since: 0, end: 620},
		"an entrypoint":                 {history: turns([2]string{"ok", "panic"}, 1, 2, 3, 4), changes: 4, since: 1, end: 601},
		"one that is partly well":       {history: turns([2]string{"partial", "ok"}, 1, 2, 3, 4), changes: 4, since: 1, end: 601},
		"by traffic":                    {history: turns([2]string{"up", "ejected"}, 1, 2, 3, 4), changes: 4, since: 1, end: 601},
		"by Docker":                     {history: turns([2]string{"up", "gated"}, 1, 2, 3, 4), changes: 4, since: 1, end: 601},
		"it fails in several ways":      {history: turns([2]string{"ejected", "trial"}, 1, 2, 3, 4, 5)},
		"it is worse and less bad":      {history: turns([2]string{"panic", "partial"}, 1, 2, 3, 4, 5)},
		"somebody drains it":            {history: turns([2]string{"up", "draining"}, 1, 2, 3, 4, 5)},
		"first verdicts of newcomers":   {history: turns([2]string{"pending", "up"}, 1, 2, 3, 4, 5)},
		"breaker":                       {history: turns([2]string{"closed", "open"}, 1, 2, 3, 4, 5)},
		"more than the history can say": {history: turns(probes, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20), changes: 20, atLeast: 1, since: 1, end: 617},
	} {
		f := FlappingOf(tt.history)
		if tt.changes == 0 {
			if f != nil || f.At(time.Unix(1, 0)) {
				t.Errorf("%s: %+v", name, f)
			}
			continue
		}
		if f == nil || f.Changes != tt.changes || f.AtLeast != (tt.atLeast > 0) || f.Since.Unix() != int64(tt.since) || f.Until.Unix() != int64(tt.end) {
			t.Errorf("%s: %+v, want %+v", name, f, tt)
			continue
		}
		if end := time.Unix(int64(tt.end), 0); !f.At(end.Add(-1)) || f.At(end) {
			t.Errorf("%s: it does not end at %d s", name, tt.end)
		}
	}
}

// TestFlappingOfAnEntrypoint is that of a backend as well, the one that goes on longest.
func TestFlappingOfAnEntrypoint(t *testing.T) {
	probes := [2]string{"up", "down"}
	h := EntrypointHealth{Backends: []BackendHealth{{}, {History: turns(probes, 1, 2, 3, 4)}, {History: turns(probes, 11, 12, 13, 14, 15)}}}
	f := h.Flapping()
	if f == nil || f.Changes != 5 || f.Words() != "changed 5 times in 10 min" {
		t.Errorf("%+v", f)
	}
	if f := (&Flapping{Changes: 20, AtLeast: true}).Words(); f != "changed 20 times or more in 10 min" {
		t.Error(f)
	}
	if f := (&EntrypointHealth{Backends: []BackendHealth{{History: turns(probes, 1)}}}).Flapping(); f != nil {
		t.Errorf("%+v", f)
	}
}
