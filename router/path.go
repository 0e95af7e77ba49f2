package router

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Path is a request path in its two forms.
type Path struct {
	// Match is the canonical path: unreserved characters decoded, everything else
	// that needs it encoded with upper-case digits, slashes merged, dot segments
	// removed. It is what rules are compared with and prefixes stripped from.
	Match string
	// Forward is what the backend gets: the bytes that the client sent, or Match
	// when the client's path held dot segments.
	Forward string
}

// CanonicalPath brings a raw request path, without its query, into its two forms.
// An empty path is "/". An error means 400 and says why in words that may be
// logged; the path is never repaired. Nothing is allocated for a path that is
// canonical already.
func CanonicalPath(raw string) (Path, error) {
	if raw == "" {
		return Path{Match: "/", Forward: "/"}, nil
	}
	if raw[0] != '/' {
		return Path{}, errors.New("the path does not begin with a slash")
	}
	scan, err := scanPath(raw)
	if err != nil {
		return Path{}, err
	}
	p := Path{Match: raw, Forward: raw}
	if !scan.canonical {
		var dots bool
		if p.Match, dots = normalizePath(raw); dots {
			p.Forward = p.Match
		}
	}
	if scan.divided {
		if err := checkParts(p.Match); err != nil {
			return Path{}, err
		}
	}
	return p, nil
}

// pathScan is what one pass over a raw path finds out.
type pathScan struct {
	canonical bool // the match path is the raw path
	divided   bool // some backend may see more segments than we do
}

// scanPath refuses what must not be in a path and finds out what is left to do.
func scanPath(raw string) (pathScan, error) {
	s := pathScan{canonical: true}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '/':
			s.canonical = s.canonical && !unclean(raw[i+1:])
		case c == '%':
			v, err := escapedByte(raw, i)
			if err != nil {
				return s, err
			}
			s.canonical = s.canonical && !unreserved(v) && upperHex(raw[i+1]) && upperHex(raw[i+2])
			s.divided = s.divided || v == '/' || v == '\\'
			i += 2
		case c == ';':
			s.divided = true
		case plain(c):
		default:
			if err := refusedByte(c); err != nil {
				return s, err
			}
			s.canonical = false
		}
	}
	return s, nil
}

// unclean reports whether the segment that begins here is empty but not the last,
// or a dot segment.
func unclean(rest string) bool {
	if rest == "" {
		return false
	}
	if rest[0] == '/' {
		return true
	}
	if rest[0] != '.' {
		return false
	}
	rest = strings.TrimPrefix(rest[1:], ".")
	return rest == "" || rest[0] == '/'
}

func escapedByte(raw string, i int) (byte, error) {
	if !hexPair(raw, i+1) {
		return 0, fmt.Errorf("invalid %% at byte %d of the path: two hexadecimal digits must follow", i)
	}
	v := unhex(raw[i+1])<<4 | unhex(raw[i+2])
	if v < 0x20 || v == 0x7f {
		return 0, fmt.Errorf("encoded control character %%%02X in the path", v)
	}
	return v, nil
}

// refusedByte judges the bytes that no URL may hold; some are common enough in the
// field to be let through and encoded in the match path.
func refusedByte(c byte) error {
	switch {
	case c == ' ':
		return errors.New("a space in the path: it must be sent as %20")
	case c < 0x20 || c == 0x7f:
		return fmt.Errorf("control character 0x%02x in the path", c)
	case c == '\\':
		return errors.New("a backslash in the path: it must be sent as %5C")
	case c == '#' || c == '?':
		return fmt.Errorf("a raw %q in the path", c)
	}
	return nil
}

// normalizePath decodes, encodes, merges slashes and removes dot segments; dots
// reports whether there were any.
func normalizePath(raw string) (match string, dots bool) {
	out := make([]byte, 0, len(raw)+16)
	for pos, last := 1, false; !last; {
		end := strings.IndexByte(raw[pos:], '/') + pos
		if last = end < pos; last {
			end = len(raw)
		}
		mark := len(out)
		out = appendSegment(append(out, '/'), raw[pos:end])
		segment := string(out[mark+1:])
		switch segment {
		case "", ".", "..":
			dots = dots || segment != ""
			out = out[:mark]
			if segment == ".." {
				out = out[:max(bytes.LastIndexByte(out, '/'), 0)]
			}
			if last {
				out = append(out, '/')
			}
		}
		pos = end + 1
	}
	return string(out), dots
}

func appendSegment(out []byte, segment string) []byte {
	for i := 0; i < len(segment); i++ {
		c, encoded := segment[i], false
		if c == '%' {
			c, encoded = unhex(segment[i+1])<<4|unhex(segment[i+2]), true
			i += 2
		}
		if unreserved(c) || plain(c) && !encoded {
			out = append(out, c)
		} else {
			out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return out
}

// checkParts refuses segments that a backend could split into dot segments: at a
// path parameter, an encoded slash or an encoded backslash.
func checkParts(match string) error {
	start := 0
	for i := 0; i <= len(match); i++ {
		width := partBorder(match, i)
		if width == 0 {
			continue
		}
		if part := match[start:i]; part == "." || part == ".." {
			return fmt.Errorf("a segment of the path hides %q before or after ; %%2F or %%5C", part)
		}
		start = i + width
	}
	return nil
}

// partBorder is the width of the border at i, 0 where there is none.
func partBorder(match string, i int) int {
	if i == len(match) || match[i] == '/' || match[i] == ';' {
		return 1
	}
	if match[i] == '%' && (match[i+1:i+3] == "2F" || match[i+1:i+3] == "5C") {
		return 3
	}
	return 0
}

const hexDigits = "0123456789ABCDEF"

// Bit sets of the characters that stand for themselves, by word of 64 (RFC 3986,
// sections 2.2, 2.3 and 3.3).
const (
	unreservedLow  uint64 = (1<<10-1)<<'0' | 1<<'-' | 1<<'.'
	unreservedHigh uint64 = (1<<26-1)<<('A'-64) | (1<<26-1)<<('a'-64) | 1<<('_'-64) | 1<<('~'-64)
	plainLow       uint64 = unreservedLow | 1<<'/' | 1<<':' | 1<<'!' | 1<<'$' | 1<<'&' | 1<<'\'' |
		1<<'(' | 1<<')' | 1<<'*' | 1<<'+' | 1<<',' | 1<<';' | 1<<'='
	plainHigh uint64 = unreservedHigh | 1<<('@'-64)
)

func unreserved(c byte) bool {
	return c < 64 && unreservedLow>>c&1 == 1 || c >= 64 && c < 128 && unreservedHigh>>(c-64)&1 == 1
}

// plain reports whether c may stand unencoded in a path.
func plain(c byte) bool {
	return c < 64 && plainLow>>c&1 == 1 || c >= 64 && c < 128 && plainHigh>>(c-64)&1 == 1
}

func upperHex(c byte) bool { return c < 'a' }

// hexPair reports whether two hexadecimal digits stand at i.
func hexPair(s string, i int) bool {
	return i+1 < len(s) && unhex(s[i]) < 16 && unhex(s[i+1]) < 16
}

// unhex returns the value of a hexadecimal digit, or 255.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}
