package router

import (
	"fmt"
	"strings"
)

// StripPrefix takes a canonical prefix, as in Route.Prefix, off a path and checks
// the result again. What remains keeps the bytes that the client sent:
// "/a%20b/x%2Fy" without "/a%20b" is "/x%2Fy". The result begins with exactly one
// slash. A path that is not under the prefix is an error.
func StripPrefix(p Path, prefix string) (Path, error) {
	prefix = strings.TrimRight(prefix, "/")
	if prefix == "" {
		return p, nil
	}
	if !underPrefix(p.Match, prefix) {
		return Path{}, fmt.Errorf("path %s is not under the prefix %s", p.Match, prefix)
	}
	rest := p.Forward
	for range strings.Count(prefix, "/") {
		rest = afterSegment(rest)
	}
	for len(rest) > 1 && rest[1] == '/' {
		rest = rest[1:]
	}
	return CanonicalPath(rest)
}

// AddPrefix puts a prefix before a path and checks the result again. The prefix is
// as its user wrote it. An empty prefix or "/" changes nothing.
func AddPrefix(p Path, prefix string) (Path, error) {
	canonical, err := CanonicalPrefix(prefix)
	if err != nil {
		return Path{}, err
	}
	if canonical == "/" {
		return p, nil
	}
	return CanonicalPath(canonical + p.Forward)
}

// CanonicalPrefix brings a path as people write it ("/a b", "/a%20b", "/café")
// into the form in which match paths are compared. A missing leading slash is
// added, a trailing one dropped. Nothing is allocated for a canonical one.
func CanonicalPrefix(value string) (string, error) {
	path, err := canonicalRule(value)
	if err != nil || path == "/" {
		return path, err
	}
	return strings.TrimSuffix(path, "/"), nil
}

// canonicalRule is CanonicalPath for values written by people: what cannot stand
// in a path is encoded, not refused.
func canonicalRule(value string) (string, error) {
	if !strings.HasPrefix(value, "/") {
		value = "/" + value
	}
	p, err := CanonicalPath(value)
	if err != nil {
		p, err = CanonicalPath(escapeRule(value))
	}
	return p.Match, err
}

// escapeRule encodes what a person may write plainly.
func escapeRule(value string) string {
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		keep := refusedByte(c) == nil || c < 0x20 || c == 0x7f
		if c == '%' {
			keep = hexPair(value, i+1)
		}
		if keep {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

// underPrefix reports whether a match path lies under a prefix without trailing
// slash: prefixes end at segment borders.
func underPrefix(path, prefix string) bool {
	return strings.HasPrefix(path, prefix) && (len(path) == len(prefix) || path[len(prefix)] == '/')
}

// afterSegment drops the leading slashes and the first segment of a path.
func afterSegment(path string) string {
	path = strings.TrimLeft(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[i:]
	}
	return ""
}
