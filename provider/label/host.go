package label

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"fairlead/router/route"
)

// Sizes of lists. What is beyond is reported and left out, which can only narrow.
const (
	maxHosts     = 256
	maxHostBytes = 512
)

// hosts reads the host label: at least one entry must be usable, else nothing is
// routed (E002).
func (s *scope) hosts() []route.HostPattern {
	e, ok := s.get("host")
	if !ok {
		s.noHost("", "", s.missingHost())
		return nil
	}
	entries := splitHosts(e.text)
	var out []route.HostPattern
	for i, text := range entries {
		if i == maxHosts {
			s.add("W102", e.label, "", "split the service", "more than %d hosts: the rest is left out", maxHosts)
			break
		}
		h, err := parseHost(text)
		if err != nil {
			hint := cmp.Or(hostHint(s, text), "correct the entry, or remove it from the list")
			s.add("W102", e.label, show(e.key, text), hint, "not a host: %s; the entry is left out", err)
			continue
		}
		out = append(out, h)
	}
	if len(out) == 0 {
		s.noHost(e.label, show(e.key, e.text), "set "+e.label+" to a name such as app.example.com")
	}
	slices.SortFunc(out, func(a, b route.HostPattern) int { return strings.Compare(a.Text, b.Text) })
	return slices.Compact(out)
}

func (s *scope) noHost(label, value, hint string) {
	s.add("E002", cmp.Or(label, s.label("host")), value, hint, "service %s has no host, so it is not routed", s.decl.Service)
	s.decl.refuse("E002")
}

// missingHost makes the hint for a service without any host label. A service that
// is named like a key is most likely a key whose service was forgotten.
func (s *scope) missingHost() string {
	name := s.decl.Service
	for i := range catalog.keys {
		first, _, _ := strings.Cut(catalog.keys[i].Name, ".")
		if fold(first) == fold(name) {
			return fmt.Sprintf("%s is a key: was the service left out? Write %s<service>.%s...", name,
				strings.TrimSuffix(s.prefix, name+"."), name)
		}
	}
	return fmt.Sprintf("add the label %s=app.example.com, or correct the service name %s in the other labels", s.label("host"), name)
}

// splitHosts cuts the list at commas that do not stand inside a /regular expression/.
func splitHosts(text string) []string {
	var out []string
	start := 0
	flush := func(end int) {
		if entry := strings.TrimSpace(text[start:end]); entry != "" {
			out = append(out, entry)
		}
		start = end + 1
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ',':
			flush(i)
		case text[i] == '/' && (strings.TrimSpace(text[start:i]) == "" || text[i-1] == '.'):
			i = closingSlash(text, i)
		}
	}
	flush(len(text))
	return out
}

// closingSlash returns where the expression that opens at i ends, or i when it does
// not. It looks no further than an entry may be long.
func closingSlash(text string, i int) int {
	for end := i + 1; end < min(len(text), i+maxHostBytes); end++ {
		if text[end] == '/' && (end+1 == len(text) || strings.IndexByte("., \t", text[end+1]) >= 0) {
			return end
		}
	}
	return i
}

// parseHost reads one entry of a host list: Unicode becomes A-labels.
func parseHost(text string) (route.HostPattern, error) {
	if len(text) > maxHostBytes {
		return route.HostPattern{}, fmt.Errorf("longer than %d bytes", maxHostBytes)
	}
	ascii, err := toASCII(text)
	if err != nil {
		return route.HostPattern{}, err
	}
	return route.ParseHostPattern(ascii)
}

// toASCII turns the labels of a pattern that are not expressions into A-labels, and
// lets expressions match in any case, as everything about hosts does.
func toASCII(text string) (string, error) {
	if !strings.Contains(text, "/") {
		text = strings.NewReplacer("\u3002", ".", "\uFF0E", ".", "\uFF61", ".").Replace(text)
	}
	labels, err := route.SplitHostLabels(strings.TrimSuffix(text, "."))
	if err != nil {
		return "", err
	}
	parts := make([]string, len(labels))
	for i, l := range labels {
		switch {
		case l.Regex && l.Text != fold(l.Text):
			parts[i] = "/(?i:" + l.Text + ")/"
		case l.Regex:
			parts[i] = "/" + l.Text + "/"
		default:
			if parts[i], err = labelToASCII(l.Text); err != nil {
				return "", err
			}
		}
	}
	return strings.Join(parts, "."), nil
}

// labelToASCII leaves ASCII alone: names of compose services hold underscores,
// which no profile for the public DNS allows.
func labelToASCII(label string) (string, error) {
	switch {
	case strings.ContainsAny(label, "@?#"):
		return "", errors.New("a host has no user, query or fragment")
	case strings.Contains(label, "://"):
		return "", errors.New("a host has no scheme")
	}
	if !strings.ContainsFunc(label, func(r rune) bool { return r >= 0x80 }) {
		return label, nil
	}
	profile := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
		idna.CheckHyphens(true), idna.CheckJoiners(true), idna.StrictDomainName(false))
	ascii, err := profile.ToASCII(label)
	if err != nil || strings.Contains(ascii, ".") {
		return "", fmt.Errorf("%s is not a valid internationalised name", shorten(label, 63))
	}
	return ascii, nil
}

// hostHint recognises what people write instead of a host.
func hostHint(s *scope, text string) string {
	_, rest, scheme := strings.Cut(text, "://")
	if scheme {
		host, _, _ := strings.Cut(rest, "/")
		if bare, _, ok := strings.Cut(host, ":"); ok {
			host = bare
		}
		if _, err := parseHost(host); err == nil {
			return "write the host alone: " + host
		}
		return "write the host alone, without a scheme"
	}
	if host, port, ok := strings.Cut(text, ":"); ok {
		if _, err := catalog.must(route.HTTP, "port").values.integer(port); err == nil {
			return fmt.Sprintf("write %s; hosts match on any port. The backend's port is set with %s=%s",
				shorten(host, shownValue), s.label("port"), port)
		}
	}
	if host, path, ok := strings.Cut(text, "/"); ok && host != "" {
		return fmt.Sprintf("write the path with %s=/%s", s.label("path"), shorten(redactURL(path), 60))
	}
	return ""
}
