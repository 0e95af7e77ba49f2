package docker

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fairlead/router/route"
)

// site is everything besides the container itself that decides its address.
type site struct {
	self location
	// networks by id; nil when the engine hides them, names then have to do.
	networks       map[string]network
	defaultNetwork string
	prefix         string // of labels, for texts
	// lookup finds the container that another one shares its network with.
	lookup func(ref string) (inspected, bool)
}

// spot is where a container can be reached.
type spot struct {
	host     string // IP literal, "" when there is none
	loopback bool   // derived from network_mode: host
	// hostMode is set for containers on the host's network: their port must be named.
	hostMode bool
	// waiting is set when the engine has given no address yet: ask again.
	waiting     bool
	diagnostics []route.Diagnostic
	// exposed and published are those of the container whose network it is.
	exposed   []string
	published []Published
	// choice says where the address comes from.
	choice choice
}

// choice is an address that was taken on one of a container's networks. It holds for
// one run of the container whose address it is.
type choice struct {
	network string
	host    string
	started time.Time
}

// maxFollow bounds chains of containers that share one another's network.
const maxFollow = 4

// place chooses a container's address (labels.md, "Address"). wanted is the value of
// the network label, project the compose project, before what was chosen last time:
// an address that still works is kept when other networks come and go, because a
// change of address ends connections. It is a pure function.
func (s site) place(c inspected, project, wanted string, before choice) spot {
	for range maxFollow {
		target, follows := strings.CutPrefix(c.NetworkMode, "container:")
		if !follows {
			sp := s.placeOwn(c, project, wanted, before)
			sp.exposed, sp.published = c.Exposed, c.Published
			return sp
		}
		next, found := s.lookup(target)
		if !found {
			return nowhere("recreate this container, so that it joins the network of the new one",
				"shares the network of container %s, which does not exist any more", shortID(target))
		}
		if next.Status != statusRunning && next.Status != statusPaused {
			return spot{waiting: true}
		}
		c = next
	}
	return nowhere("let the containers join one network instead", "shares its network through a chain that is too long")
}

func (s site) placeOwn(c inspected, project, wanted string, before choice) spot {
	switch c.NetworkMode {
	case "host":
		return s.placeOnHost()
	case "none": // the mode it was made with: it may have been moved to a network since
		if onNone(c.Networks) {
			return nowhere("docker network disconnect none "+c.Name+"; docker network connect NETWORK "+c.Name+
				" (in compose: remove network_mode, list networks)", "has network_mode none, so nothing can reach it")
		}
	}
	if len(c.Networks) == 0 {
		sp := nowhere("attach the container to a network", "is attached to no network")
		sp.waiting = true // the attachment may follow the start by a moment
		return sp
	}
	named, diagnostics := s.named(c, project, wanted)
	if named != "" {
		sp := reach(c.Networks[named])
		sp.diagnostics = diagnostics
		sp.choice = choice{network: named, host: sp.host, started: c.Started}
		return sp
	}
	names := s.usable(c.Networks)
	if len(names) == 0 {
		sp := s.unusable(c.Networks)
		sp.diagnostics = append(diagnostics, sp.diagnostics...)
		return sp
	}
	s.prefer(names, project)
	sp := s.choose(c, names, before)
	sp.diagnostics = diagnostics
	return sp
}

// onNone reports whether a container has no network but none.
func onNone(nets map[string]attachment) bool {
	for name := range nets {
		if name != "none" {
			return false
		}
	}
	return true
}

// choose takes the first network in order that has an address, but stays with the
// choice made before unless the provider's default network is there now.
func (s site) choose(c inspected, names []string, before choice) spot {
	for _, name := range names {
		sp := reach(c.Networks[name])
		if sp.waiting {
			continue
		}
		if name != s.defaultNetwork && before.stands(c, names) {
			return spot{host: before.host, choice: before}
		}
		sp.choice = choice{network: name, host: sp.host, started: c.Started}
		return sp
	}
	return spot{waiting: true}
}

// stands reports whether the container has the chosen address still, in the same run
// and on a network that may be used.
func (c choice) stands(in inspected, usable []string) bool {
	return c.host != "" && c.started.Equal(in.Started) && slices.Contains(usable, c.network) &&
		reach(in.Networks[c.network]).host == c.host
}

// named resolves the network label: as written, then with the compose project's name
// in front. It returns "" with W009 when the container is on neither.
func (s site) named(c inspected, project, wanted string) (string, []route.Diagnostic) {
	if wanted == "" {
		return "", nil
	}
	tries := []string{wanted}
	if project != "" {
		tries = append(tries, project+"_"+wanted)
	}
	for _, name := range tries {
		a, attached := c.Networks[name]
		if !attached || neverUsed(name) {
			continue
		}
		if s.self.where == inContainer && !s.shared(name, a) {
			return name, []route.Diagnostic{s.networkDiagnostic("W009", wanted,
				"attach the router to "+name+", or name a network that both are on",
				"network "+name+" is not one of the router's networks, so requests may get no answer", c.Networks)}
		}
		return name, nil
	}
	return "", []route.Diagnostic{s.networkDiagnostic("W009", wanted,
		"name one of the container's networks as `docker network ls` shows it; compose puts <project>_ in front",
		"the container is not attached to network "+strings.Join(tries, " or ")+"; another one is used", c.Networks)}
}

// networkDiagnostic tells a finding about networks together with both lists.
func (s site) networkDiagnostic(code, wanted, hint, text string, nets map[string]attachment) route.Diagnostic {
	d := route.Diagnose(code, hint, "%s; container's networks: %s; router's networks: %s",
		text, nameList(nets), s.ownList())
	if wanted != "" {
		d.Label, d.Value = s.prefix+".network", wanted
	}
	return d
}

func (s site) ownList() string {
	switch s.self.where {
	case onHost:
		return "all of the host"
	case unlocated:
		return "unknown"
	case inContainer:
	}
	return nameList(s.self.networks)
}

func nameList(nets map[string]attachment) string {
	if len(nets) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(nets)), ", ")
}

// usable returns the names of the networks on which the router can reach the container.
func (s site) usable(nets map[string]attachment) []string {
	var names []string
	for name, a := range nets {
		if neverUsed(name) || s.network(name, a).Driver == "null" {
			continue
		}
		if s.self.where == onHost && hiddenFromHost(s.network(name, a)) {
			continue
		}
		if s.self.where == inContainer && !s.shared(name, a) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// neverUsed names the engine's own networks, on which nothing is served.
func neverUsed(name string) bool {
	switch name {
	case "ingress", "docker_gwbridge", "none":
		return true
	}
	return false
}

// network returns what is known about a network; only its name when the engine
// hides the rest.
func (s site) network(name string, a attachment) network {
	if n, ok := s.networks[a.NetworkID]; ok {
		return n
	}
	return network{Name: name}
}

// hiddenFromHost reports networks whose addresses the host itself cannot reach.
func hiddenFromHost(n network) bool {
	switch n.Driver {
	case "overlay", "macvlan", "ipvlan":
		return true
	case "":
		name := strings.ToLower(n.Name)
		return strings.Contains(name, "overlay") || strings.Contains(name, "macvlan") || strings.Contains(name, "ipvlan")
	}
	return false
}

func (s site) shared(name string, a attachment) bool {
	for ownName, own := range s.self.networks {
		if own.NetworkID == a.NetworkID && a.NetworkID != "" {
			return true
		}
		if ownName == name && (own.NetworkID == "" || a.NetworkID == "") {
			return true
		}
	}
	return false
}

func (s site) unusable(nets map[string]attachment) spot {
	if s.self.where == inContainer {
		return spot{diagnostics: []route.Diagnostic{s.networkDiagnostic("E105", "",
			"attach the router and the container to one common network",
			"the router shares no network with the container", nets)}}
	}
	return nowhere("attach it to a bridge network as well", "is only on networks the router cannot reach: %s", nameList(nets))
}

// prefer sorts names: the provider's default network, the compose project's own, then
// by the alphabet. Never by the order of a map.
func (s site) prefer(names []string, project string) {
	rank := func(name string) int {
		switch {
		case s.defaultNetwork != "" && name == s.defaultNetwork:
			return 0
		case project != "" && name == project+"_default":
			return 1
		}
		return 2
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

// reach takes an address of one network, IPv4 first.
func reach(a attachment) spot {
	for _, text := range []string{a.IPv4, a.IPv6} {
		if addr, err := netip.ParseAddr(text); err == nil && !addr.IsUnspecified() {
			return spot{host: addr.Unmap().String()}
		}
	}
	return spot{waiting: true}
}

// placeOnHost handles network_mode: host.
func (s site) placeOnHost() spot {
	if s.self.where == onHost {
		return spot{host: "127.0.0.1", loopback: true, hostMode: true}
	}
	gateway := s.hostGateway()
	if gateway == "" {
		sp := nowhere("run the router with network_mode host as well, or attach it to a network that is not internal",
			"has network_mode host, and the host's address is not known from the router's networks")
		sp.hostMode = true
		return sp
	}
	return spot{host: gateway, hostMode: true}
}

// hostGateway is the host's address on a network of the router, the default bridge
// first; an internal network does not lead to the host's services.
func (s site) hostGateway() string {
	names := slices.Sorted(maps.Keys(s.self.networks))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(btoi(a != "bridge"), btoi(b != "bridge"))
	})
	for _, name := range names {
		a := s.self.networks[name]
		if _, err := netip.ParseAddr(a.Gateway); err == nil && !s.network(name, a).Internal && !neverUsed(name) {
			return a.Gateway
		}
	}
	if s.self.where != unlocated {
		return ""
	}
	for _, n := range s.networks {
		if n.Name == "bridge" && len(n.Gateways) > 0 {
			return n.Gateways[0]
		}
	}
	return ""
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// nowhere is a spot without any address: E107.
func nowhere(hint, format string, args ...any) spot {
	return spot{diagnostics: []route.Diagnostic{route.Diagnose("E107", hint, "the container "+format, args...)}}
}

func shortID(id string) string {
	if len(id) > 12 && containerID.MatchString(id) {
		return id[:12]
	}
	return id
}
