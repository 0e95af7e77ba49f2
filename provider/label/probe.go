package label

import (
	"cmp"
	"net/textproto"
	"slices"
	"strings"

	"fairlead/router/route"
)

// purposes lists, for the keys that not every kind of probe has a use for, those that
// have one. Keys about TLS are judged by speaksTLS.
var purposes = map[string][]route.ProbeType{
	"healthCheck.path":            {route.ProbeHTTP, route.ProbeWebSocket},
	"healthCheck.scheme":          {route.ProbeHTTP, route.ProbeGRPC, route.ProbeWebSocket},
	"healthCheck.host":            {route.ProbeHTTP, route.ProbeTLS, route.ProbeGRPC, route.ProbeWebSocket},
	"healthCheck.method":          {route.ProbeHTTP},
	"healthCheck.headers.<Name>":  {route.ProbeHTTP, route.ProbeWebSocket},
	"healthCheck.status":          {route.ProbeHTTP},
	"healthCheck.followRedirects": {route.ProbeHTTP},
	"healthCheck.body.contains":   {route.ProbeHTTP},
	"healthCheck.body.regex":      {route.ProbeHTTP},
	"healthCheck.grpcService":     {route.ProbeGRPC},
}

// probe reads what is asked, and which answers pass. A key that the kind of probe has
// no use for is named and ignored.
func (s *scope) probe(c *route.Check) {
	path := s.checkPath()
	c.Type = s.probeType(path)
	c.Path = s.probePath(c.Type, path)
	readProbe(s, c, "healthCheck.scheme", asScheme, &c.Scheme)
	readProbe(s, c, "healthCheck.method", values.choice, &c.Method)
	readProbe(s, c, "healthCheck.status", asStatuses, &c.Status)
	readProbe(s, c, "healthCheck.followRedirects", asBool, &c.FollowRedirects)
	readProbe(s, c, "healthCheck.body.contains", asText, &c.BodyContains)
	readProbe(s, c, "healthCheck.body.regex", asText, &c.BodyRegex)
	readProbe(s, c, "healthCheck.grpcService", asText, &c.GRPCService)
	readProbe(s, c, "healthCheck.sni", asServerName, &c.SNI)
	c.Headers, c.Host = s.checkHeaders(c)
	s.bodyOfHead(c)
	s.skipVerify(c)
}

// probeType is the kind of probe: what a label says, else http with a path.
func (s *scope) probeType(path string) route.ProbeType {
	if t := read(s, "healthCheck.type", values.choice); t != "" {
		return route.ProbeType(t)
	}
	if path != "" {
		return route.ProbeHTTP
	}
	return route.ProbeTCP
}

// checkPath returns the path of the probe, "" without a usable one.
func (s *scope) checkPath() string {
	e, ok := s.get("healthCheck.path")
	if !ok {
		return ""
	}
	p, err := requestPath(e.text)
	if err != nil {
		otherwise := "backends are probed by TCP connect"
		if s.set("healthCheck.type") {
			otherwise = "it is as if there were no path"
		}
		s.bad(e, err.Error(), otherwise)
	}
	return p
}

// probePath is / where a kind of probe needs a path and no label gives one.
func (s *scope) probePath(kind route.ProbeType, path string) string {
	c := route.Check{Type: kind}
	e, ok := s.get("healthCheck.path")
	switch {
	case path != "" && !s.useful(e, &c):
		s.useless(e, &c)
		return ""
	case path != "" || !slices.Contains(purposes["healthCheck.path"], kind):
		return path
	case !ok:
		s.add("I001", s.label("healthCheck.path"), "", "set "+s.label("healthCheck.path")+" to a path that tells whether the application is well",
			"no healthCheck.path is set: the probe of type %s asks for /", kind)
	}
	return "/"
}

func asScheme(v values, text string) (route.Scheme, error) {
	scheme, err := v.choice(text)
	return route.Scheme(scheme), err
}

// readProbe sets target from a label that the kind of probe has a use for.
func readProbe[T any](s *scope, c *route.Check, name string, parse func(values, string) (T, error), target *T) {
	e, ok := s.get(name)
	switch {
	case !ok:
	case !s.useful(e, c):
		s.useless(e, c)
	default:
		*target = read(s, name, parse)
	}
}

// useful reports whether a kind of probe looks at a key.
func (s *scope) useful(e entry, c *route.Check) bool {
	if kinds, ok := purposes[e.key.Name]; ok {
		return slices.Contains(kinds, c.Type)
	}
	return s.speaksTLS(c)
}

// speaksTLS reports whether a probe of this container's backend begins with a handshake.
func (s *scope) speaksTLS(c *route.Check) bool {
	switch c.Type {
	case route.ProbeTLS:
		return true
	case route.ProbeHTTP, route.ProbeGRPC, route.ProbeWebSocket:
		return probeScheme(c.Scheme, s.decl.Backend.Scheme) == route.SchemeHTTPS
	case route.ProbeTCP:
	}
	return false
}

// probeScheme is the scheme of a probe: what a label says, else as traffic.
func probeScheme(check, backend route.Scheme) route.Scheme {
	if check == "" && backend == route.SchemeHTTPS {
		return route.SchemeHTTPS
	}
	return cmp.Or(check, route.SchemeHTTP)
}

// useless names a label that the kind of probe does not look at.
func (s *scope) useless(e entry, c *route.Check) {
	kinds := purposes[e.key.Name]
	switch {
	case kinds == nil:
		s.add("W021", e.label, show(e.key, e.text), "set "+s.label("healthCheck.scheme")+"=https or "+s.label("healthCheck.type")+"=tls, or remove the label",
			"the probe does not speak TLS: the label is ignored")
	case c.Type == route.ProbeTCP && kinds[0] == route.ProbeHTTP && !s.set("healthCheck.type"):
		s.add("W021", e.label, show(e.key, e.text), "add "+s.label("healthCheck.path")+"=/health to probe by HTTP, or remove the label",
			"there is no usable healthCheck.path, and a TCP probe sends and reads nothing: the label is ignored")
	default:
		var words []string
		for _, k := range kinds {
			words = append(words, string(k))
		}
		s.add("W021", e.label, show(e.key, e.text), "set "+s.label("healthCheck.type")+" to "+orList(words)+", or remove the label",
			"a probe of type %s has no use for it: the label is ignored", c.Type)
	}
}

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// set reports whether there is a label for a key, right or wrong.
func (s *scope) set(name string) bool {
	_, ok := s.get(name)
	return ok
}

// bodyOfHead drops what would look into a body that never comes (RFC 9110, section
// 9.3.2).
func (s *scope) bodyOfHead(c *route.Check) {
	const head = "HEAD"
	if c.Method != head {
		return
	}
	for _, name := range []string{"healthCheck.body.contains", "healthCheck.body.regex"} {
		if e, ok := s.get(name); ok && (c.BodyContains != "" || c.BodyRegex != "") {
			s.add("W021", e.label, show(e.key, e.text), "set "+s.label("healthCheck.method")+" to GET, or remove the label",
				"the answer to HEAD has no body: the label is ignored")
		}
	}
	c.BodyContains, c.BodyRegex = "", ""
}

// skipVerify reads healthCheck.insecureSkipVerify, which is as traffic without a label.
func (s *scope) skipVerify(c *route.Check) {
	e, ok := s.get("healthCheck.insecureSkipVerify")
	if !ok {
		return
	}
	if !s.useful(e, c) {
		s.useless(e, c)
		return
	}
	skip, err := parseBool(e.text)
	if err != nil {
		s.bad(e, err.Error(), "certificates are judged as for traffic")
		return
	}
	s.decl.CheckSkipVerify = &skip
	if skip {
		s.add("I103", e.label, show(e.key, e.text), "name the backend's CA with "+s.label("backendTLS.ca")+" instead",
			"the probe does not verify the backend's certificate: one that clients of the backend would refuse passes")
	}
}

// checkHeaders returns the probe's headers and its Host. A header named Host is
// another way to write healthCheck.host, which wins over it.
func (s *scope) checkHeaders(c *route.Check) (out []route.CheckHeader, host string) {
	for _, e := range s.sortedEntries() {
		if e.key == nil || e.key.Name != "healthCheck.headers.<Name>" {
			continue
		}
		if !s.useful(e, c) {
			s.useless(e, c)
			continue
		}
		if !s.goodHeader(e, "the header is not sent") {
			continue
		}
		switch name := fold(e.param); {
		case name == "host":
			host = s.checkHost(e)
		case slices.Contains(refusedProbeHeaders, name), strings.HasPrefix(name, "sec-websocket-"):
			s.add("W021", e.label, show(e.key, e.text), "remove the label", "%s belongs to the connection: the header is not sent", e.param)
		default:
			out = append(out, route.CheckHeader{Name: textproto.CanonicalMIMEHeaderKey(e.param), Value: route.Secret(e.text)})
		}
	}
	slices.SortFunc(out, func(a, b route.CheckHeader) int { return strings.Compare(a.Name, b.Name) })
	e, ok := s.get("healthCheck.host")
	switch {
	case !ok:
	case !s.useful(e, c):
		s.useless(e, c)
	default:
		host = cmp.Or(s.checkHost(e), host)
	}
	return out, host
}

// plaintextProbe says that a probe does not speak TLS though the backend does. One
// that goes to a port of its own is left alone.
func (s *scope) plaintextProbe(c *route.Check) {
	b := &s.decl.Backend
	if b.Scheme != route.SchemeHTTPS || s.speaksTLS(c) || b.CheckPort != 0 && b.CheckPort != b.Port {
		return
	}
	if e, ok := s.get("healthCheck.scheme"); ok && c.Scheme == route.SchemeHTTP {
		s.add("I109", e.label, show(e.key, e.text), "remove the label to probe by HTTPS", "the backend speaks TLS but its probe does not")
		return
	}
	const text = "the backend speaks TLS but its probe is a plain TCP connect: it proves less, and some servers log each one as a failed handshake"
	if e, ok := s.get("healthCheck.type"); ok && c.Type == route.ProbeTCP && e.key.values.problem(e.text) == nil {
		s.add("I109", e.label, show(e.key, e.text), "set "+e.label+" to tls, or to http with "+s.label("healthCheck.path"), text)
		return
	}
	e, _ := s.get("scheme")
	s.add("I109", e.label, show(e.key, e.text), "add "+s.label("healthCheck.path")+"=/health to probe by HTTPS", text)
}
