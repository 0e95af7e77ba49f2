package router

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// target is a query's URL, taken apart without being repaired.
type target struct {
	scheme    string // http or https
	authority string
	path      string // raw
	query     string // raw
}

// parseTarget takes a URL apart. A missing scheme is http; a fragment, which no
// client sends, is dropped, and spaces are encoded as a browser does.
func parseTarget(raw string) (target, error) {
	t := target{scheme: "http"}
	rest, _, _ := strings.Cut(strings.TrimSpace(raw), "#")
	if scheme, after, ok := strings.Cut(rest, "://"); ok && !strings.ContainsAny(scheme, "/?") {
		switch strings.ToLower(scheme) {
		case "http", "ws":
		case "https", "wss":
			t.scheme = "https"
		default:
			return t, fmt.Errorf("the scheme %q is not one that is routed here: use http or https", scheme)
		}
		rest = after
	} else {
		rest = strings.TrimPrefix(rest, "//")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	t.authority, rest = rest[:end], rest[end:]
	if at := strings.LastIndexByte(t.authority, '@'); at >= 0 {
		t.authority = t.authority[at+1:]
	}
	t.path, t.query, _ = strings.Cut(rest, "?")
	t.path = cmp.Or(strings.ReplaceAll(t.path, " ", "%20"), "/")
	return t, nil
}

// asked is a query in the form that the table matches.
type asked struct {
	method  string
	scheme  string
	host    string
	path    Path
	query   string
	params  url.Values
	headers map[string][]string
	client  netip.Addr
}

// newAsked brings a query into canonical form; what is known so far is returned
// with an error too.
func newAsked(q *Query) (asked, error) {
	a := asked{method: cmp.Or(q.Method, "GET"), headers: q.Headers, client: q.ClientIP.Unmap()}
	t, err := parseTarget(q.URL)
	a.scheme, a.host, a.path.Forward, a.query = t.scheme, t.authority, t.path, t.query
	if err != nil {
		return a, err
	}
	if !isToken(a.method) {
		return a, errors.New("the method is not a token (RFC 9110, section 5.6.2)")
	}
	authority, err := a.authority(t.authority)
	if err != nil {
		return a, err
	}
	host, err := CanonicalHost(authority)
	if err != nil {
		return a, err
	}
	a.host = host
	path, err := CanonicalPath(t.path)
	if err != nil {
		return a, err
	}
	a.path = path
	// Pairs that cannot be decoded are left out, as they can fulfil no condition.
	a.params, _ = url.ParseQuery(t.query)
	return a, nil
}

// authority lets a Host header replace the URL's.
func (a *asked) authority(fromURL string) (string, error) {
	var hosts []string
	for name, values := range a.headers {
		if strings.EqualFold(name, "Host") {
			hosts = append(hosts, values...)
		}
	}
	switch len(hosts) {
	case 0:
		return fromURL, nil
	case 1:
		return strings.TrimSpace(hosts[0]), nil
	}
	return "", errors.New("more than one Host header")
}

func (a *asked) Method() string         { return a.method }
func (a *asked) Host() string           { return a.host }
func (a *asked) MatchPath() string      { return a.path.Match }
func (a *asked) ClientAddr() netip.Addr { return a.client }

func (a *asked) HasHeader(name, value string, bare bool) bool {
	for key, values := range a.headers {
		if !strings.EqualFold(key, name) {
			continue
		}
		for _, v := range values {
			if bare || strings.TrimSpace(v) == value {
				return true
			}
		}
	}
	return false
}

func (a *asked) HasQuery(name, value string, bare bool) bool {
	for _, v := range a.params[name] {
		if bare || v == value {
			return true
		}
	}
	return false
}

// maskedQuery is the query with its values hidden, "?" included; "" without one.
func (a *asked) maskedQuery() string {
	if a.query == "" {
		return ""
	}
	pairs := strings.Split(a.query, "&")
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); ok {
			pairs[i] = name + "=***"
		}
	}
	return "?" + strings.Join(pairs, "&")
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !unreserved(c) && !strings.ContainsRune("!#$%&'*+^`|", rune(c)) {
			return false
		}
	}
	return s != ""
}
