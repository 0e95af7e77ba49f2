package label

import (
	"slices"
	"strings"

	"fairlead/router/route"
)

// stream reads a tcp or udp declaration as far as the grammar goes. This version
// routes http alone, so it ends refused: with I104 where no listener can be declared, since
// no correction makes a route of it, else with its own mistake first.
func (s *scope) stream() {
	if s.cfg.Listeners == nil {
		s.decl.refuse("I104")
	} else {
		s.listener()
	}
	s.streamPort()
	b := &s.decl.Backend
	b.Weight = s.weight()
	b.Docker = route.DockerHealth(read(s, "dockerHealth", values.choice))
	b.DialTimeout = route.DefaultDialTimeout
	s.decl.Match.Priority = read(s, "priority", asInt)
	read(s, "loadBalancer", values.choice)
	read(s, "proxyProtocol", asBool)
	if e, ok := s.get("ipAllowList"); ok && len(s.networks(e)) == 0 {
		s.invalid(e, "no address or range is left")
	}
	if s.decl.Protocol == route.TCP {
		s.tcp()
	}
	s.add("I104", strings.TrimSuffix(s.prefix, "."), "", "nothing needs to be changed; the labels take effect with a version that knows them",
		"this version routes http only: the %s service %s is not routed", s.decl.Protocol, s.decl.Service)
	s.decl.refuse("I104")
}

func (s *scope) listener() {
	e, ok := s.get("entrypoint")
	declared := s.cfg.Listeners[s.decl.Protocol]
	known := "none is declared"
	if len(declared) > 0 {
		known = "declared are " + strings.Join(declared, ", ")
	}
	switch {
	case !ok || e.text == "":
		s.add("E005", s.label("entrypoint"), "", "set "+s.label("entrypoint")+" to a listener of the configuration; "+known,
			"no listener is named, so the service is not routed")
		s.decl.refuse("E005")
	case !slices.Contains(declared, e.text):
		s.add("E110", e.label, show(e.key, e.text), "declare the listener in the configuration, or correct the name; "+known,
			"no %s listener of that name is declared, so the service is not routed", s.decl.Protocol)
		s.decl.refuse("E110")
	}
}

func (s *scope) streamPort() {
	b := &s.decl.Backend
	if b.Port = s.port("port", "it counts as missing"); b.Port != 0 {
		return
	}
	if s.decl.Protocol == route.UDP {
		s.add("E006", s.label("port"), "", "set "+s.label("port")+" to the port of the backend",
			"udp has no default port, so the service is not routed")
		s.decl.refuse("E006")
		return
	}
	b.Port = 8080
	s.add("I002", s.label("port"), "", "set "+s.label("port")+" when the backend listens on another port", "no port is set: 8080 is used")
}

func (s *scope) tcp() {
	b := &s.decl.Backend
	b.CheckPort = s.port("healthCheck.port", "the backend's port is probed")
	if e, ok := s.get("tls"); ok {
		if _, err := e.key.values.choice(e.text); err != nil {
			s.badDefault(e, err)
		}
	}
	if e, ok := s.get("sni"); ok {
		s.sni(e)
	}
	c := route.DefaultCheck()
	c.Interval = read(s, "healthCheck.interval", values.duration)
	c.DownInterval = c.Interval
	c.Timeout = s.checkTimeout(c.Interval)
	c.UnhealthyThreshold = read(s, "healthCheck.unhealthyThreshold", asInt)
	c.HealthyThreshold = read(s, "healthCheck.healthyThreshold", asInt)
	c.Port = b.CheckPort
	if read(s, "healthCheck", asBool) {
		s.decl.Check = &c
	}
}

// sni reads the names of a TLS route; they are host patterns.
func (s *scope) sni(e entry) {
	for _, text := range splitHosts(e.text) {
		h, err := parseHost(text)
		if err != nil || h.Kind == route.HostRegex {
			s.add("W102", e.label, shorten(text, shownValue), "write a name such as db.example.com, *.example.com or *",
				"not a name of a TLS handshake: the entry is left out")
			continue
		}
		s.decl.Match.Hosts = append(s.decl.Match.Hosts, h)
	}
}
