package api

import (
	"strings"
	"time"

	"fairlead/router/route"
)

// epoch returns whole seconds since 1970, nil for the zero time.
func epoch(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	s := max(t.Unix(), 0)
	return &s
}

// epochOrZero is epoch for fields that the contract requires to be a number.
func epochOrZero(t time.Time) int64 {
	if s := epoch(t); s != nil {
		return *s
	}
	return 0
}

// millis returns whole milliseconds, never below zero.
func millis(d time.Duration) int64 { return max(d.Milliseconds(), 0) }

// fraction returns milliseconds with microseconds behind the point.
func fraction(d time.Duration) float64 { return float64(max(d, 0).Microseconds()) / 1000 }

// known returns nil for an empty text.
func known[T ~string](s T) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

// list returns an empty list for nil, so that it is `[]` in JSON.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// redactQuery hides the values of a query. A parameter without `=` may be a token
// itself and is hidden as a whole.
func redactQuery(path string) string {
	before, query, found := strings.Cut(path, "?")
	if !found {
		return path
	}
	parts := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, p := range parts {
		name, _, pair := strings.Cut(p, "=")
		if !pair {
			parts[i] = route.Redacted
			continue
		}
		parts[i] = name + "=" + route.Redacted
	}
	return before + "?" + strings.Join(parts, "&")
}
