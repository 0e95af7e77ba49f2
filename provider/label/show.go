package label

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairlead/router/route"
)

// Runes that a diagnostic shows of what others wrote.
const (
	shownValue   = 120
	shownLabel   = 160
	shownMessage = 500
)

// shorten makes hostile text safe to show: what cannot be printed is escaped, and
// no more than limit runes are kept.
func shorten(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n == limit {
			fmt.Fprintf(&b, "… (%d bytes)", len(s))
			break
		}
		n++
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// show renders the value of a key for a diagnostic: redacted where it may be secret.
func show(k *Key, value string) string {
	switch {
	case k == nil || k.Secret:
		return route.Redacted
	case k.Kind == KindURL && value != "" && k.values.problem(value) != nil:
		return route.Redacted // where no URL is, anything may be the password
	case k.Query:
		return shorten(redactURL(value), shownValue)
	}
	return shorten(value, shownValue)
}

// redactURL hides user information and everything behind `?` or `#`. It does not
// parse: a malformed URL must not show its password either, so when it is not
// certain where the secret ends nothing is shown.
func redactURL(s string) string {
	at := strings.LastIndexByte(s, '@')
	query := strings.IndexAny(s, "?#")
	switch {
	case at >= 0 && query >= 0:
		return route.Redacted
	case at >= 0:
		return route.Redacted + s[at:]
	case query >= 0:
		return s[:query+1] + route.Redacted
	}
	return s
}
