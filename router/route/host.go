package route

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// HostKind orders host patterns: a lower kind is more specific.
type HostKind uint8

// Kinds of host patterns, most specific first (http.md, "Choosing the route").
const (
	HostExact HostKind = iota
	HostRegex
	HostWildcard
	HostAny
)

// HostPattern is a validated host rule: an exact name, a per-label regular
// expression, a wildcard or any host. Text is the canonical form: lower case,
// A-labels, no trailing dot. Patterns are plain data and comparable with ==.
type HostPattern struct {
	Kind HostKind
	Text string
}

// String returns the pattern as a user would write it.
func (h HostPattern) String() string { return h.Text }

// Deep reports whether a wildcard matches any number of labels (`**.`).
func (h HostPattern) Deep() bool { return h.Kind == HostWildcard && strings.HasPrefix(h.Text, "**.") }

// Suffix returns what a wildcard's matches end with, dot included (".example.com").
func (h HostPattern) Suffix() string {
	if h.Kind != HostWildcard {
		return ""
	}
	return strings.TrimLeft(h.Text, "*")
}

// ParseHostPattern validates an ASCII pattern. Unicode names must be turned into
// A-labels first. Errors are sentences for people.
func ParseHostPattern(text string) (HostPattern, error) {
	labels, err := SplitHostLabels(strings.TrimSuffix(text, "."))
	if err != nil {
		return HostPattern{}, err
	}
	pattern := HostPattern{Kind: HostExact}
	for i, l := range labels {
		switch {
		case l.Regex:
			if pattern.Kind == HostWildcard {
				return HostPattern{}, errors.New("a wildcard and a regular expression cannot be combined")
			}
			pattern.Kind = HostRegex
			if _, err := CompileHostLabel(l.Text); err != nil {
				return HostPattern{}, err
			}
		case l.Text == "*" && len(labels) == 1:
			return HostPattern{Kind: HostAny, Text: "*"}, nil
		case (l.Text == "*" || l.Text == "**") && i == 0 && len(labels) > 1:
			pattern.Kind = HostWildcard
		default:
			if err := checkHostLabel(l.Text); err != nil {
				return HostPattern{}, err
			}
		}
	}
	pattern.Text = joinHostLabels(labels)
	if pattern.Kind != HostRegex && len(pattern.Text) > 253 {
		return HostPattern{}, errors.New("longer than 253 characters")
	}
	return pattern, nil
}

// HostLabel is one dot-separated part of a host pattern.
type HostLabel struct {
	Text  string // lower case unless Regex; without the slashes when Regex
	Regex bool
}

// SplitHostLabels cuts a pattern at its dots; a part in slashes is a regular
// expression and may hold dots itself.
func SplitHostLabels(text string) ([]HostLabel, error) {
	if text == "" {
		return nil, errors.New("empty host")
	}
	var labels []HostLabel
	for rest := text; ; {
		label, after, err := nextHostLabel(rest)
		if err != nil {
			return nil, err
		}
		labels = append(labels, label)
		if after == "" {
			return labels, nil
		}
		rest = after[1:]
		if rest == "" {
			return nil, errors.New("empty label")
		}
	}
}

// nextHostLabel returns the first label of s and what follows it, dot included.
func nextHostLabel(s string) (HostLabel, string, error) {
	if !strings.HasPrefix(s, "/") {
		text, _, _ := strings.Cut(s, ".")
		return HostLabel{Text: strings.ToLower(text)}, s[len(text):], nil
	}
	for end := 1; end < len(s); end++ {
		if s[end] == '/' && (end+1 == len(s) || s[end+1] == '.') {
			return HostLabel{Text: s[1:end], Regex: true}, s[end+1:], nil
		}
	}
	return HostLabel{}, "", errors.New("regular expression without a closing slash")
}

func joinHostLabels(labels []HostLabel) string {
	parts := make([]string, len(labels))
	for i, l := range labels {
		parts[i] = l.Text
		if l.Regex {
			parts[i] = "/" + l.Text + "/"
		}
	}
	return strings.Join(parts, ".")
}

// CompileHostLabel compiles a per-label expression, anchored at both ends. It is
// matched against one label in lower case.
func CompileHostLabel(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, errors.New("empty regular expression")
	}
	re, err := regexp.Compile(`^(?:` + expr + `)$`)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", expr, err)
	}
	return re, nil
}

func checkHostLabel(label string) error {
	switch {
	case label == "":
		return errors.New("empty label")
	case len(label) > 63:
		return fmt.Errorf("label %q is longer than 63 characters", label)
	case strings.Contains(label, "*"):
		return errors.New("`*` stands alone, as the first label")
	case label[0] == '-' || label[len(label)-1] == '-':
		return fmt.Errorf("label %q begins or ends with a hyphen", label)
	}
	for i := range len(label) {
		c := label[i]
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return fmt.Errorf("character %q is not allowed in a host name", c)
		}
	}
	return nil
}
