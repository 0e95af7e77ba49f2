package label

import (
	"strings"
	"time"

	"fairlead/router/route"
)

// bareNumbers warns of times that are hardly meant: a number without a unit is taken in
// the key's own, and the bounds of the catalog say where that cannot have been the idea.
// It comes last: a label that has no effect, or is warned of already, needs no second word.
func (s *scope) bareNumbers() {
	told := map[string]bool{}
	for _, d := range s.list {
		if d.Severity != route.SeverityInfo {
			told[d.Label] = true
		}
	}
	for _, e := range s.sortedEntries() {
		if told[shorten(e.label, shownLabel)] || !s.cfg.unlikely(e) {
			continue
		}
		if s.decl.Check == nil && hasPrefixFold(e.key.Name, "healthCheck.") {
			continue // nothing is probed
		}
		s.bareNumber(e)
	}
}

// unlikely reports whether a time is written without a unit and is hardly meant.
func (c *Config) unlikely(e entry) bool {
	if e.key == nil || e.key.Kind != KindDuration || c.UnitsInKeys || strings.Trim(e.text, "0123456789") != "" {
		return false
	}
	d, err := e.key.values.duration(e.text)
	return err == nil && d > 0 && (d < e.key.least || e.key.most > 0 && d > e.key.most)
}

func (s *scope) bareNumber(e entry) {
	d, _ := e.key.values.duration(e.text)
	unit, own, other := "milliseconds", d, d*(time.Second/time.Millisecond)
	if e.key.values.unit == time.Second {
		unit, other = "seconds", d/(time.Second/time.Millisecond)
	}
	hint := "set " + e.label + " to " + short(own) + " if that is meant"
	if int64(other) >= e.key.values.min && int64(other) <= e.key.values.max {
		hint = "set " + e.label + " to " + short(other) + ", or to " + short(own) + " if that is meant"
	}
	s.advise(e, hint, "a number without a unit is %s: this is %s", unit, short(own))
}
