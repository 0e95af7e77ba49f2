package cli

import (
	"strings"

	"fairlead/router"
)

// usable refuses a request that no client could send: it is a slip in the command, and
// no statement about routes.
func usable(url string, q *router.Query) error {
	const example = "such as http://app.example.com/v1"
	rest := strings.TrimSpace(url)
	if scheme, after, ok := strings.Cut(rest, "://"); ok && !strings.ContainsAny(scheme, "/?#") {
		switch strings.ToLower(scheme) {
		case "http", "https", "ws", "wss":
		default:
			return usage("use http or https, "+example, "the scheme %s is not one that is routed here", printable(scheme))
		}
		rest = after
	} else {
		rest = strings.TrimPrefix(rest, "//")
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	host := rest[strings.LastIndexByte(rest, '@')+1:]
	for name, values := range q.Headers {
		if strings.EqualFold(name, "Host") && len(values) == 1 {
			host = values[0] // it replaces the URL's, as in a request
		}
	}
	if _, err := router.CanonicalHost(host); err != nil {
		return usage("write one "+example, "the URL cannot be used: %s", printable(err.Error()))
	}
	if strings.ContainsFunc(q.Method, notToken) {
		return usage("such as GET or POST", "--method is not a method (a token of RFC 9110, section 5.6.2)")
	}
	return nil
}

func notToken(c rune) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}
