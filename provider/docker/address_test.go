package docker

import (
	"strings"
	"testing"

	"fairlead/router/route"
)

// nets makes attachments out of name=address pairs; the network id is the name with
// "id-" in front. An address with a colon is IPv6; both are separated by a comma.
func nets(pairs ...string) map[string]attachment {
	out := map[string]attachment{}
	for _, pair := range pairs {
		name, addresses, _ := strings.Cut(pair, "=")
		a := attachment{NetworkID: "id-" + name, Gateway: "192.168.0.1"}
		for address := range strings.SplitSeq(addresses, ",") {
			if strings.Contains(address, ":") {
				a.IPv6 = address
			} else {
				a.IPv4 = address
			}
		}
		out[name] = a
	}
	return out
}

// known makes the engine's networks out of name=driver pairs.
func known(pairs ...string) map[string]network {
	out := map[string]network{}
	for _, pair := range pairs {
		name, driver, _ := strings.Cut(pair, "=")
		n := network{ID: "id-" + name, Name: name, Driver: strings.TrimSuffix(driver, "!"), Gateways: []string{"172.17.0.1"}}
		n.Internal = strings.HasSuffix(driver, "!")
		out[n.ID] = n
	}
	return out
}

func TestPlace(t *testing.T) {
	host := location{where: onHost}
	in := func(pairs ...string) location {
		return location{where: inContainer, id: "self", networks: nets(pairs...)}
	}
	lost := location{where: unlocated}
	for name, c := range map[string]struct {
		self     location
		networks map[string]network
		standard string // provider default network
		mode     string
		nets     map[string]attachment
		project  string
		wanted   string
		want     string // address, "waiting" or "-"
		codes    string
	}{
		"the only network":                     {self: host, nets: nets("edge=10.0.0.2"), want: "10.0.0.2"},
		"alphabetical, never map order":        {self: host, nets: nets("c=10.0.0.3", "b=10.0.0.2", "d=10.0.0.4"), want: "10.0.0.2"},
		"compose default first":                {self: host, nets: nets("a=10.0.0.2", "shop_default=10.0.0.3"), project: "shop", want: "10.0.0.3"},
		"provider default before compose":      {self: host, standard: "z", nets: nets("z=10.0.0.2", "shop_default=10.0.0.3"), project: "shop", want: "10.0.0.2"},
		"label wins":                           {self: host, standard: "a", nets: nets("a=10.0.0.2", "b=10.0.0.3"), wanted: "b", want: "10.0.0.3"},
		"label with project in front":          {self: host, nets: nets("a=10.0.0.2", "shop_edge=10.0.0.3"), project: "shop", wanted: "edge", want: "10.0.0.3"},
		"label exact before project":           {self: host, nets: nets("edge=10.0.0.2", "shop_edge=10.0.0.3"), project: "shop", wanted: "edge", want: "10.0.0.2"},
		"label not attached":                   {self: host, nets: nets("a=10.0.0.2"), wanted: "edge", want: "10.0.0.2", codes: "W009"},
		"label names no network to serve on":   {self: host, nets: nets("ingress=10.0.0.2", "a=10.0.0.3"), wanted: "ingress", want: "10.0.0.3", codes: "W009"},
		"label waits for its network":          {self: host, nets: nets("a=10.0.0.2", "b="), wanted: "b", want: "waiting"},
		"label not shared":                     {self: in("a=10.0.0.9"), nets: nets("a=10.0.0.2", "b=10.0.1.2"), wanted: "b", want: "10.0.1.2", codes: "W009"},
		"never ingress":                        {self: host, nets: nets("docker_gwbridge=10.0.0.2", "ingress=10.0.0.3", "x=10.0.0.4"), want: "10.0.0.4"},
		"overlay from the host":                {self: host, networks: known("a=overlay", "b=bridge"), nets: nets("a=10.0.0.2", "b=10.0.0.3"), want: "10.0.0.3"},
		"only macvlan from the host":           {self: host, networks: known("lan=macvlan"), nets: nets("lan=10.0.0.2"), want: "-", codes: "E107"},
		"only ipvlan from the host":            {self: host, networks: known("lan=ipvlan"), nets: nets("lan=10.0.0.2"), want: "-", codes: "E107"},
		"judged by name without /networks":     {self: host, nets: nets("my-macvlan=10.0.0.2", "zz=10.0.0.3"), want: "10.0.0.3"},
		"internal from the host":               {self: host, networks: known("inner=bridge!"), nets: nets("inner=10.0.0.2"), want: "10.0.0.2"},
		"overlay shared in a container":        {self: in("a=10.0.0.9"), networks: known("a=overlay"), nets: nets("a=10.0.0.2"), want: "10.0.0.2"},
		"only shared networks":                 {self: in("edge=10.0.0.9"), nets: nets("db=10.0.1.2", "edge=10.0.0.2"), want: "10.0.0.2"},
		"nothing shared":                       {self: in("edge=10.0.0.9"), nets: nets("db=10.0.1.2"), want: "-", codes: "E105"},
		"nothing shared and a wrong label":     {self: in("edge=10.0.0.9"), nets: nets("db=10.0.1.2"), wanted: "x", want: "-", codes: "E105,W009"},
		"in a container that was not found":    {self: lost, networks: known("a=overlay"), nets: nets("a=10.0.0.2"), want: "10.0.0.2"},
		"IPv4 before IPv6":                     {self: host, nets: nets("six=fd00::5,10.0.0.2"), want: "10.0.0.2"},
		"IPv6 only":                            {self: host, nets: nets("six=fd00::5"), want: "fd00::5"},
		"IPv4-mapped":                          {self: host, nets: nets("six=::ffff:10.0.0.2"), want: "10.0.0.2"},
		"no address yet":                       {self: host, nets: nets("edge="), want: "waiting"},
		"nonsense for an address":              {self: host, nets: nets("edge=oops"), want: "waiting"},
		"the one with an address":              {self: host, nets: nets("a=", "b=10.0.0.2"), want: "10.0.0.2"},
		"no network yet":                       {self: host, mode: "edge", nets: nets(), want: "waiting", codes: "E107"},
		"none":                                 {self: host, mode: "none", nets: nets("none="), want: "-", codes: "E107"},
		"none, left for a network":             {self: host, mode: "none", nets: nets("edge=10.0.0.2"), want: "10.0.0.2"},
		"none, left for one not shared":        {self: in("edge=10.0.0.9"), mode: "none", nets: nets("db=10.0.1.2"), want: "-", codes: "E105"},
		"none, left for one without address":   {self: host, mode: "none", nets: nets("edge="), want: "waiting"},
		"none, left for nothing":               {self: host, mode: "none", nets: nets(), want: "-", codes: "E107"},
		"host network on the host":             {self: host, mode: "host", nets: nets("host="), want: "127.0.0.1 loopback"},
		"host network from a container":        {self: in("edge=10.0.0.9"), mode: "host", nets: nets("host="), want: "192.168.0.1"},
		"host network from an internal one":    {self: in("inner=10.0.0.9"), networks: known("inner=bridge!"), mode: "host", nets: nets("host="), want: "-", codes: "E107"},
		"host network from an unknown place":   {self: lost, networks: known("bridge=bridge"), mode: "host", nets: nets("host="), want: "172.17.0.1"},
		"host network from nowhere":            {self: lost, mode: "host", nets: nets("host="), want: "-", codes: "E107"},
		"follows a container":                  {self: host, mode: "container:target", want: "10.9.9.9"},
		"follows on the host network":          {self: host, mode: "container:hosted", want: "127.0.0.1 loopback"},
		"follows one that is gone":             {self: host, mode: "container:0000000000000000000000000000000000000000000000000000000000000000", want: "-", codes: "E107"},
		"follows one that is stopped":          {self: host, mode: "container:stopped", want: "waiting"},
		"follows one that has left none":       {self: host, mode: "container:freed", want: "10.8.8.8"},
		"follows in a circle":                  {self: host, mode: "container:circle", want: "-", codes: "E107"},
		"a network that carries the null type": {self: host, networks: known("void=null", "b=bridge"), nets: nets("void=10.0.0.2", "b=10.0.0.3"), want: "10.0.0.3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := site{self: c.self, networks: c.networks, defaultNetwork: c.standard, prefix: "sozune", lookup: lookupTable}
			got := s.place(inspected{NetworkMode: c.mode, Networks: c.nets}, c.project, c.wanted, choice{})
			text := got.host
			switch {
			case got.waiting:
				text = "waiting"
			case got.host == "":
				text = "-"
			case got.loopback:
				text += " loopback"
			}
			if text != c.want || codes(got.diagnostics) != c.codes {
				t.Errorf("placed at %q with %q, want %q with %q", text, codes(got.diagnostics), c.want, c.codes)
			}
			for _, d := range got.diagnostics {
				if d.Hint == "" || d.Message == "" {
					t.Errorf("%s lacks a message or a hint: %+v", d.Code, d)
				}
			}
		})
	}
}

func lookupTable(ref string) (inspected, bool) {
	switch ref {
	case "target":
		return inspected{Status: statusRunning, NetworkMode: "edge", Networks: nets("edge=10.9.9.9")}, true
	case "freed":
		return inspected{Status: statusRunning, NetworkMode: "none", Networks: nets("edge=10.8.8.8")}, true
	case "hosted":
		return inspected{Status: statusPaused, NetworkMode: "host"}, true
	case "stopped":
		return inspected{Status: statusExited, NetworkMode: "edge", Networks: nets("edge=")}, true
	case "circle":
		return inspected{Status: statusRunning, NetworkMode: "container:circle"}, true
	}
	return inspected{}, false
}

func TestNetworkFindingsNameBothLists(t *testing.T) {
	s := site{self: location{where: inContainer, networks: nets("edge=10.0.0.9", "ops=10.0.1.9")}, prefix: "sozune"}
	got := s.place(inspected{Networks: nets("db=10.2.0.2", "cache=10.3.0.2")}, "shop", "front", choice{})
	for _, d := range got.diagnostics {
		for _, want := range []string{"cache, db", "edge, ops"} {
			if !strings.Contains(d.Message, want) {
				t.Errorf("%s does not name %q: %s", d.Code, want, d.Message)
			}
		}
	}
	w := got.diagnostics[0]
	if w.Code != "W009" || w.Label != "sozune.network" || w.Value != "front" || !strings.Contains(w.Message, "front or shop_front") {
		t.Errorf("W009 says %+v", w)
	}
	if bridge := (site{self: location{where: inContainer, networks: map[string]attachment{
		"a": {NetworkID: "1", Gateway: "10.1.0.1"}, "bridge": {NetworkID: "2", Gateway: "172.17.0.1"},
	}}}).hostGateway(); bridge != "172.17.0.1" {
		t.Errorf("the host's gateway is %s, want the default bridge's", bridge)
	}
	if unknown := (site{self: location{where: unlocated}}).ownList(); unknown != "unknown" {
		t.Errorf("own networks of an unlocated router: %s", unknown)
	}
	if none := (site{self: location{where: inContainer}}).ownList(); none != "none" {
		t.Errorf("own networks of a router without any: %s", none)
	}
}

func TestChoosePort(t *testing.T) {
	for name, c := range map[string]struct {
		protocol route.Protocol
		labelled uint16
		hostMode bool
		exposed  string
		want     uint16
		code     string
		says     string
	}{
		"label":                 {labelled: 9000, exposed: "80/tcp", want: 9000},
		"label in host mode":    {labelled: 9000, hostMode: true, want: 9000},
		"host mode without":     {hostMode: true, exposed: "80/tcp", code: "E106", says: "port label"},
		"the only one":          {exposed: "3000/tcp", want: 3000},
		"the only TCP one":      {exposed: "53/udp 3000/tcp", want: 3000},
		"80 among several":      {exposed: "443/tcp 80/tcp 8080/tcp", want: 80, code: "I002", says: "80, 443, 8080"},
		"8080 among several":    {exposed: "443/tcp 8080/tcp", want: 8080, code: "I002", says: "EXPOSE"},
		"ambiguous":             {exposed: "3000/tcp 4000/tcp", code: "E108", says: "3000, 4000"},
		"nothing exposed":       {want: 80, code: "I002", says: "published"},
		"nothing exposed, tcp":  {protocol: route.TCP, want: 8080, code: "I002"},
		"udp has no default":    {protocol: route.UDP, exposed: "53/udp"},
		"udp by label":          {protocol: route.UDP, labelled: 53, want: 53},
		"a range":               {exposed: "8080-8082/tcp", want: 8080, code: "I002", says: "8080, 8081, 8082"},
		"no protocol is TCP":    {exposed: "3000", want: 3000},
		"nonsense is left out":  {exposed: "x/tcp 0/tcp 99999/tcp 1-65535/tcp 3000/tcp", want: 3000},
		"duplicates count once": {exposed: "3000/tcp 3000/tcp", want: 3000},
	} {
		t.Run(name, func(t *testing.T) {
			if c.protocol == "" {
				c.protocol = route.HTTP
			}
			port, d := ChoosePort(c.protocol, "sozune.http.web.port", c.labelled, c.hostMode, strings.Fields(c.exposed))
			var code, message string
			if d != nil {
				code, message = d.Code, d.Message
				if d.Label != "sozune.http.web.port" || d.Hint == "" {
					t.Errorf("the diagnostic lacks label or hint: %+v", d)
				}
			}
			if port != c.want || code != c.code || !strings.Contains(message, c.says) {
				t.Errorf("port %d, %s %q; want %d, %s with %q", port, code, message, c.want, c.code, c.says)
			}
		})
	}
}

func TestStopSignals(t *testing.T) {
	for _, c := range []struct {
		signal, stop string
		want         bool
	}{
		{"15", "", true}, {"9", "", true}, {"1", "", false}, {"3", "", false}, {"3", "SIGQUIT", true},
		{"15", "QUIT", false}, {"9", "QUIT", true}, {"SIGTERM", "", true}, {"term", "15", true},
		{"37", "SIGRTMIN+3", true}, {"61", "RTMAX-3", true}, {"34", "RTMIN", true}, {"15", "SIGRTMIN+3", false},
		{"15", "nonsense", true}, {"", "", false}, {"nonsense", "", false}, {"0", "", false}, {"99", "", false},
		{"15", "RTMIN+99", true}, {"15", "RTMIN+x", true},
		{"2", "SIGINT", true}, {"10", "USR1", true}, {"12", "USR2", true}, {"28", "SIGWINCH", true},
		{"1", "HUP", true}, {"6", "ABRT", true}, {"13", "PIPE", true}, {"14", "ALRM", true}, {"30", "PWR", true}, {"KILL", "HUP", true},
	} {
		if got := stops(c.signal, c.stop); got != c.want {
			t.Errorf("stops(%q, %q) = %v", c.signal, c.stop, got)
		}
	}
}

// TestAPortOfTheHostIsNoPortOfTheContainer: the label counts, and W136 says what it names.
func TestAPortOfTheHostIsNoPortOfTheContainer(t *testing.T) {
	const tcp, udp = "tcp", "udp"
	for name, c := range map[string]struct {
		protocol  route.Protocol
		labelled  uint16
		exposed   string
		published []Published
		says      string // "" for nothing
	}{
		"the host's":                        {labelled: 8081, exposed: "3000/tcp", published: []Published{{8081, 3000, tcp}}, says: "8081 is the port on the host; the container's is 3000"},
		"of two":                            {labelled: 8081, published: []Published{{8081, 3001, tcp}, {8081, 3000, tcp}, {8081, 3000, tcp}}, says: "the container's is 3000, 3001"},
		"the container's":                   {labelled: 3000, exposed: "3000/tcp", published: []Published{{8081, 3000, tcp}}},
		"both":                              {labelled: 8081, exposed: "3000/tcp 8081/tcp", published: []Published{{8081, 3000, tcp}, {9000, 8081, tcp}}},
		"both, in a range":                  {labelled: 8081, exposed: "8080-8090/tcp", published: []Published{{8081, 3000, tcp}}},
		"the same":                          {labelled: 8081, published: []Published{{8081, 8081, tcp}}},
		"no label":                          {exposed: "3000/tcp", published: []Published{{8081, 3000, tcp}}},
		"nothing published":                 {labelled: 8081, exposed: "3000/tcp"},
		"another protocol":                  {labelled: 8081, exposed: "3000/udp", published: []Published{{8081, 3000, udp}}},
		"udp":                               {protocol: route.UDP, labelled: 8081, published: []Published{{8081, 3000, udp}}, says: "3000"},
		"exposed of another protocol alone": {labelled: 8081, exposed: "8081/udp", published: []Published{{8081, 3000, tcp}}, says: "3000"},
	} {
		if c.protocol == "" {
			c.protocol = route.HTTP
		}
		d := HostPort(c.protocol, "sozune.http.web.port", c.labelled, strings.Fields(c.exposed), c.published)
		if (d != nil) != (c.says != "") || d != nil && (d.Code != "W136" || d.Label != "sozune.http.web.port" || !strings.Contains(d.Message, c.says)) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
