package file

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	labels "fairlead/provider/label"
)

// labelPrefix is the prefix of the labels that an entry is judged by. It is in no
// text: wording puts the keys of the file in its place.
const labelPrefix = "file"

// translation is an entry as labels, and where in the file each label came from.
type translation struct {
	prefix  string // "file.http.api."
	base    string // "entrypoints[0]"
	backend string // "backends[2].", "" without one
	labels  map[string]string
	places  map[string]string // label -> key in the file
}

// put says that a label has the value of a key, relative to the entry.
func (t *translation) put(label, key, value string) {
	t.labels[t.prefix+label] = value
	t.places[labels.ShownName(labels.Config{Prefix: labelPrefix}, t.prefix+label)] = t.base + "." + key
}

// maybe is put for a value that may be missing.
func maybe[T int | bool | string | textOrNumber | number](t *translation, label string, value *T) {
	if value != nil {
		t.put(label, t.keyOf(label), written(*value))
	}
}

// keyOf is the key of a label, in the backend that the translation is about if it is one
// of those.
func (t *translation) keyOf(label string) string {
	if key, ok := places[label]; ok {
		return key
	}
	key, ok := backendPlaces[label]
	if !ok {
		panic("file: no key for the label " + label) // a programming error, found by any test
	}
	return t.backend + key
}

// written is a value as a label has it.
func written[T int | bool | string | textOrNumber | number](value T) string {
	switch v := any(value).(type) {
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return fmt.Sprint(value)
}

// flag is put for a boolean that is on; off is the default of all of them.
func (t *translation) flag(label string, on bool) {
	if on {
		maybe(t, label, &on)
	}
}

// joined is put for a list that is not empty.
func joined[T string | textOrNumber](t *translation, label string, values []T) {
	if len(values) == 0 {
		return
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	t.put(label, t.keyOf(label), strings.Join(texts, ","))
}

// guarding is put for a list that is there, also when it is empty: then nobody is on it.
func (t *translation) guarding(label string, values []string) {
	if values != nil {
		t.put(label, t.keyOf(label), strings.Join(values, ","))
	}
}

// translate puts an entry's settings into labels. Conditions on headers and query
// are not among them: their values may hold what separates entries in a label.
func translate(base, service string, protocol string, s *settings) *translation {
	t := &translation{
		prefix: labelPrefix + "." + protocol + "." + service + ".", base: base,
		labels: map[string]string{labelPrefix + ".enable": "true"}, places: map[string]string{},
	}
	for label := range places {
		t.places[t.prefix+label] = t.base + "." + places[label]
	}
	for label, key := range backendPlaces {
		t.places[t.prefix+label] = t.base + ".backends[]." + key
	}
	if s == nil {
		s = &settings{}
	}
	if s.Priority == nil {
		s.Priority = new(int) // names the service even when nothing else does
	}
	t.matching(s)
	t.serving(s)
	t.failing(s)
	t.protecting(s)
	if s.HealthCheck != nil {
		t.checking(s.HealthCheck)
	}
	return t
}

func (t *translation) matching(s *settings) {
	joined(t, "host", s.Hostnames)
	if s.Path != nil {
		t.put(pathLabel(s.Path.RuleType), "config.path", s.Path.Value)
	}
	joined(t, "methods", s.Methods)
	t.guarding("matchClientIP", s.MatchClientIP)
	maybe(t, "priority", s.Priority)
	maybe(t, "entrypoint", s.Entrypoint)
}

// pathLabel is the label for a rule type, "" for one that is not known.
func pathLabel(ruleType string) string {
	switch strings.ToLower(ruleType) {
	case "prefix":
		return "path"
	case "exact":
		return "pathExact"
	case "regex":
		return "pathRegex"
	}
	return ""
}

func (t *translation) serving(s *settings) {
	t.flag("tls", s.TLS)
	t.flag("stripPrefix", s.StripPrefix)
	maybe(t, "addPrefix", s.AddPrefix)
	t.flag("httpsRedirect", s.HTTPSRedirect)
	maybe(t, "httpsRedirectPort", s.HTTPSRedirectPort)
	maybe(t, "redirect", s.Redirect)
	maybe(t, "redirectScheme", s.RedirectScheme)
	maybe(t, "redirectTemplate", s.RedirectTemplate)
	for i, h := range s.Headers {
		if label := headerLabel(h); label != "" {
			t.put(label, "config.headers["+strconv.Itoa(i)+"]", h.Value)
		}
	}
	maybe(t, "backendTimeout", s.BackendTimeout)
	maybe(t, "loadBalancer", s.LoadBalancer)
	t.flag("compress", s.Compress)
	for _, status := range slices.Sorted(maps.Keys(s.ErrorPages)) {
		t.put("errorPages."+status, "config.error_pages."+shown(status), s.ErrorPages[status])
	}
}

// headerLabel is the label of a header rule. It is "" when there is none: an unknown
// direction, no name, or a name that would be taken for a direction.
func headerLabel(h header) string {
	name, direction := strings.TrimSpace(h.Name), "request"
	if h.Direction != nil {
		direction = strings.ToLower(*h.Direction)
	}
	if name == "" || strings.Contains(name, ".") {
		return ""
	}
	switch direction {
	case "request":
		return "headers." + name
	case "response", "both":
		return "headers." + direction + "." + name
	}
	return ""
}

// protecting translates what restricts access. A key that is there but empty is a
// label with an empty value, which closes the route.
func (t *translation) protecting(s *settings) {
	if s.Auth != nil {
		users := make([]string, len(s.Auth.Basic))
		for i, u := range s.Auth.Basic {
			users[i] = u.Username + ":" + u.PasswordHash
		}
		t.put("auth.basic", "config.auth.basic", strings.Join(users, ","))
	}
	maybe(t, "wwwAuthenticate", s.WWWAuthenticate)
	if f := s.ForwardAuth; f != nil {
		t.put("forwardAuth.address", "config.forward_auth.address", f.Address)
		joined(t, "forwardAuth.responseHeaders", f.ResponseHeaders)
		t.flag("forwardAuth.trustForwardHeader", f.TrustForwardHeader)
	}
	if r := s.RateLimit; r != nil {
		maybe(t, "ratelimit.average", r.Average)
		maybe(t, "ratelimit.burst", r.Burst)
	}
	maybe(t, "inFlightReq", s.InFlightReq)
	t.guarding("ipAllowList", s.IPAllowList)
}

// shown is a key that the user chose, safe to be printed.
func shown(key string) string {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || len(key) > 60 {
		return quoted(key)
	}
	return key
}
