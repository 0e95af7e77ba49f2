package docker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker/go-connections/nat"

	"fairlead/router/route"
)

// Ports that are taken when no label names one.
const (
	webPort    = 80
	webAltPort = 8080
)

// ChoosePort chooses the port of one declaration (labels.md, "Port"). label is the
// full name of its port label, labelled its value or 0. A diagnostic says what was
// defaulted (I002) or why there is no port (E106, E108). UDP has no default; the
// parser has said so (E006).
func ChoosePort(protocol route.Protocol, label string, labelled uint16, hostMode bool, exposed []string) (uint16, *route.Diagnostic) {
	switch {
	case labelled != 0:
		return labelled, nil
	case protocol == route.UDP:
		return 0, nil
	case hostMode:
		return 0, portDiagnostic("E106", label, "set "+label+" to the port that the app listens on",
			"a container with network_mode host needs a port label: nothing says which of the host's ports is its own")
	}
	ports := portsOf(exposed, "tcp")
	switch {
	case len(ports) == 0:
		port := uint16(webPort)
		if protocol == route.TCP {
			port = webAltPort
		}
		return port, portDiagnostic("I002", label, "set "+label+" if the app listens on another port",
			"port %d is assumed: neither the image's EXPOSE nor the published ports name a TCP port", port)
	case len(ports) == 1:
		return ports[0], nil
	}
	for _, port := range []uint16{webPort, webAltPort} {
		if slices.Contains(ports, port) {
			return port, portDiagnostic("I002", label, "set "+label+" if another port is meant",
				"port %d is taken from the ports %s, which the image's EXPOSE and the published ports name", port, portList(ports))
		}
	}
	return 0, portDiagnostic("E108", label, "set "+label+" to one of "+portList(ports),
		"the port is ambiguous: EXPOSE and the published ports name %s, and neither 80 nor 8080 is among them", portList(ports))
}

// Published is a port of a container that its host offers as another one.
type Published struct {
	Host, Container uint16
	Protocol        string // tcp, udp
}

// HostPort finds a port label that names a port on the host (W136): requests go to the
// container itself, which listens on its own. It is nil for a port that the container has
// as well.
func HostPort(protocol route.Protocol, label string, labelled uint16, exposed []string, published []Published) *route.Diagnostic {
	if labelled == 0 || len(published) == 0 {
		return nil
	}
	transport := "tcp"
	if protocol == route.UDP {
		transport = "udp"
	}
	var inside []uint16
	for _, p := range published {
		if p.Host == labelled && strings.EqualFold(p.Protocol, transport) {
			inside = append(inside, p.Container)
		}
	}
	if len(inside) == 0 || slices.Contains(inside, labelled) || slices.Contains(portsOf(exposed, transport), labelled) {
		return nil
	}
	slices.Sort(inside)
	text := portList(slices.Compact(inside))
	return portDiagnostic("W136", label, "set "+label+" to "+text+", unless the app does listen on "+fmt.Sprint(labelled),
		"%d is the port on the host; the container's is %s", labelled, text)
}

func portDiagnostic(code, label, hint, format string, args ...any) *route.Diagnostic {
	d := route.Diagnose(code, hint, format, args...)
	d.Label = label
	return &d
}

// maxPortRange bounds how many ports of one exposed range are looked at.
const maxPortRange = 256

// portsOf returns the ports of a protocol in the engine's notation ("80/tcp"), sorted and
// without duplicates. What cannot be parsed is left out.
func portsOf(exposed []string, protocol string) []uint16 {
	var ports []uint16
	for _, text := range exposed {
		proto, number := nat.SplitProtoPort(text)
		if !strings.EqualFold(proto, protocol) {
			continue
		}
		first, last, err := nat.ParsePortRangeToInt(number)
		if err != nil || first < 1 || last > 65535 || last-first >= maxPortRange {
			continue
		}
		for p := first; p <= last; p++ {
			ports = append(ports, uint16(p)) // within 1-65535
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

func portList(ports []uint16) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = fmt.Sprint(p)
	}
	return strings.Join(words, ", ")
}
