package label

import (
	"cmp"
	"errors"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"fairlead/router/route"
)

func (s *scope) options() {
	o := &s.decl.Options
	o.AddPrefix = s.addPrefix()
	o.StripPrefix = read(s, "stripPrefix", asBool)
	if e, _ := s.get("stripPrefix"); o.StripPrefix && o.AddPrefix != "" {
		s.add("W110", e.label, show(e.key, e.text), "remove one of stripPrefix and addPrefix",
			"stripPrefix and addPrefix exclude each other: %s is used", s.label("addPrefix"))
		o.StripPrefix = false
	}
	o.Headers = s.headers()
	o.LoadBalancer = s.loadBalancer()
	o.BackendTimeout = read(s, "backendTimeout", values.duration)
}

// plainSegments undoes the ways in which a dot segment can hide in a path in lower case.
var plainSegments = strings.NewReplacer("%2e", ".", "%2f", "/", "%5c", "/", ";", "/")

// addPrefix returns a path that can be put in front of any other, or "".
func (s *scope) addPrefix() string {
	e, ok := s.get("addPrefix")
	if !ok || e.text == "" || e.text == "/" {
		return ""
	}
	p, err := requestPath(e.text)
	if strings.ContainsAny(p, `?\`) {
		err = cmp.Or(err, errors.New("a prefix holds neither ? nor a backslash"))
	}
	// The router refuses every request whose path has such a segment after rewriting.
	for segment := range strings.SplitSeq(plainSegments.Replace(fold(p)), "/") {
		if segment == "." || segment == ".." {
			err = cmp.Or(err, errors.New("the prefix has a dot segment"))
		}
	}
	if err != nil {
		s.bad(e, err.Error(), "no prefix is added")
		return ""
	}
	return p
}

func (s *scope) loadBalancer() route.LoadBalancer {
	lb := read(s, "loadBalancer", values.choice)
	if lb == "hrw" {
		e, _ := s.get("loadBalancer")
		s.notYet(e, "round_robin is used")
		return route.RoundRobin
	}
	return route.LoadBalancer(lb)
}

// notYet notes a value that is right but has no effect in this version.
func (s *scope) notYet(e entry, used string) {
	s.add("I104", e.label, show(e.key, e.text), "nothing needs to be changed; the label takes effect with a version that knows it",
		"known, but not in this version: %s", used)
}

// blockedHeaders belong to the router, or decide how messages are framed and who
// the client is: a label must not set them.
var blockedHeaders = strings.Fields(`host transfer-encoding content-length connection upgrade x-real-ip forwarded
	cookie authorization proxy-authorization proxy-connection te trailer`)

func (s *scope) headers() []route.HeaderRule {
	var out []route.HeaderRule
	for _, e := range s.sortedEntries() {
		if e.key == nil || !strings.HasPrefix(e.key.Name, "headers.") {
			continue
		}
		if !s.goodHeader(e, "the header is left alone") {
			continue
		}
		if name := fold(e.param); slices.Contains(blockedHeaders, name) || strings.HasPrefix(name, "x-forwarded-") {
			s.add("W008", e.label, show(e.key, e.text), "remove the label; the router sets this header itself or passes it on as it is",
				"%s cannot be set by a label: the header is left alone", e.param)
			continue
		}
		out = append(out, route.HeaderRule{
			Name:      textproto.CanonicalMIMEHeaderKey(e.param),
			Value:     route.Secret(e.text),
			Direction: directionOf(e.key.Name),
		})
	}
	slices.SortFunc(out, func(a, b route.HeaderRule) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Direction), string(b.Direction)))
	})
	return out
}

func directionOf(key string) route.HeaderDirection {
	switch key {
	case "headers.response.<Name>":
		return route.OnResponse
	case "headers.both.<Name>":
		return route.OnBoth
	}
	return route.OnRequest
}

// goodHeader checks a field name (RFC 9110, section 5.1) and its value, and reports
// what is wrong with them.
func (s *scope) goodHeader(e entry, otherwise string) bool {
	switch {
	case e.spoilt() && e.joined():
		s.add(e.key.BadValue, e.label, e.redacted(), e.mendSpoilt(), "%s: %s", e.whySpoilt(), otherwise)
		return false
	case e.spoilt() || !isToken(e.param) || len(e.param) > 128:
		s.add(e.key.BadValue, e.label, e.redacted(), "rename the label: header names are made of letters, digits and hyphens",
			"not a header name: %s", otherwise)
		return false
	}
	if err := e.key.values.problem(e.text); err != nil {
		s.bad(e, err.Error(), otherwise)
		return false
	}
	return true
}

func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// backend reads what belongs to this container alone.
func (s *scope) backend() {
	b := &s.decl.Backend
	b.Port = s.port("port", "the port is derived from the image")
	b.CheckPort = s.port("healthCheck.port", "the backend's port is probed")
	b.Scheme = route.Scheme(read(s, "scheme", values.choice))
	b.TLS = s.backendTLS(b.Scheme)
	b.DialTimeout = read(s, "dialTimeout", values.duration)
	b.Weight = s.weight()
	b.MaxConnections = read(s, "maxConnections", asInt)
	b.SlowStart = read(s, "slowStart", values.duration)
	b.SlowStartMin = read(s, "slowStart.min", asInt)
	s.dependents("slowStart.", "slowStart", b.SlowStart > 0)
	b.Docker = route.DockerHealth(read(s, "dockerHealth", values.choice))
}

func (s *scope) port(name, otherwise string) uint16 {
	e, ok := s.get(name)
	if !ok {
		return 0
	}
	n, err := e.key.values.integer(e.text)
	if err != nil {
		s.bad(e, "not a port", otherwise)
		return 0
	}
	return uint16(n)
}

func (s *scope) weight() int {
	w := read(s, "weight", asInt)
	if !read(s, "backup", asBool) {
		return w
	}
	if e, ok := s.get("weight"); ok && w != 0 {
		s.add("W110", e.label, show(e.key, e.text), "remove one of weight and backup",
			"weight and backup exclude each other: the backend is a backup")
	}
	return 0
}

func (s *scope) backendTLS(scheme route.Scheme) route.BackendTLS {
	t := route.BackendTLS{
		ServerName:         s.serverName(),
		InsecureSkipVerify: read(s, "backendTLS.insecureSkipVerify", asBool),
		CA:                 s.declared("backendTLS.ca", s.cfg.CAs, "CA", "the system's CAs are used"),
		ClientCert:         s.declared("backendTLS.clientCert", s.cfg.ClientCerts, "client certificate", "none is shown to the backend"),
	}
	if scheme == route.SchemeHTTPS {
		if e, _ := s.get("backendTLS.insecureSkipVerify"); t.InsecureSkipVerify {
			s.add("I103", e.label, show(e.key, e.text), "name the backend's CA with "+s.label("backendTLS.ca")+" instead",
				"the backend's certificate is not verified")
		}
		return t
	}
	for _, e := range s.sortedEntries() {
		if e.key != nil && strings.HasPrefix(e.key.Name, "backendTLS.") {
			s.add("W109", e.label, show(e.key, e.text), "set "+s.label("scheme")+"=https, or remove the label",
				"the backend is spoken to without TLS (scheme %s): the label has no effect", scheme)
		}
	}
	return route.BackendTLS{}
}

func (s *scope) serverName() string {
	e, ok := s.get("backendTLS.serverName")
	if !ok || e.text == "" {
		return ""
	}
	h, err := parseHost(e.text)
	if err != nil || h.Kind != route.HostExact {
		s.bad(e, "not a name", "the backend's host is used")
		return ""
	}
	return h.Text
}

// declared returns the name in a label when the configuration has something of that
// name, else "".
func (s *scope) declared(key string, names []string, what, otherwise string) string {
	e, ok := s.get(key)
	if !ok || e.text == "" {
		return ""
	}
	if !slices.Contains(names, e.text) {
		known := "none is declared"
		if len(names) > 0 {
			known = "declared are " + strings.Join(names, ", ")
		}
		s.add("W109", e.label, show(e.key, e.text), "declare the "+what+" in the configuration, or correct its name; "+known,
			"no %s of that name: %s", what, otherwise)
		return ""
	}
	return e.text
}

// tick is the pace of the health scheduler.
func (c *Config) tick() time.Duration {
	if c.Tick > 0 {
		return c.Tick
	}
	return time.Second
}
