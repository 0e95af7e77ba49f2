package docker

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	apinetwork "github.com/docker/docker/api/types/network"
	"github.com/docker/go-connections/nat"
)

func convertInspect(c container.InspectResponse) inspected {
	in := inspected{
		ID: c.ID, Name: strings.TrimPrefix(c.Name, "/"), Image: c.Config.Image, Labels: c.Config.Labels,
		Created: parseTime(c.Created), Status: dockerStatus(c.State.Status),
		Started: parseTime(c.State.StartedAt), Finished: parseTime(c.State.FinishedAt),
		StopSignal: c.Config.StopSignal, StopTimeout: defaultStopTimeout, Hostname: c.Config.Hostname,
		ExitCode: c.State.ExitCode, OOMKilled: c.State.OOMKilled, Error: c.State.Error, Restarts: c.RestartCount,
		Networks: map[string]attachment{},
	}
	if c.State.Health != nil {
		in.Health = c.State.Health.Status
	}
	if c.Config.StopTimeout != nil {
		in.StopTimeout = time.Duration(*c.Config.StopTimeout) * time.Second
	}
	if c.HostConfig != nil {
		in.NetworkMode = string(c.HostConfig.NetworkMode)
	}
	for port := range c.Config.ExposedPorts {
		in.Exposed = append(in.Exposed, string(port))
	}
	if c.NetworkSettings != nil {
		for port, bindings := range c.NetworkSettings.Ports {
			in.Exposed = append(in.Exposed, string(port))
			in.Published = append(in.Published, convertBindings(port, bindings)...)
		}
		for name, n := range c.NetworkSettings.Networks {
			if !strings.HasPrefix(in.NetworkMode, "container:") { // Podman shows those of the one it shares
				in.Networks[name] = convertEndpoint(n)
			}
		}
	}
	slices.Sort(in.Exposed)
	in.Exposed = slices.Compact(in.Exposed)
	slices.SortFunc(in.Published, func(a, b Published) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Container, b.Container), strings.Compare(a.Protocol, b.Protocol))
	})
	in.Published = slices.Compact(in.Published) // one for each family of addresses
	return in
}

func convertBindings(port nat.Port, bindings []nat.PortBinding) []Published {
	var list []Published
	inside, err := strconv.ParseUint(port.Port(), 10, 16)
	for _, b := range bindings {
		host, bad := strconv.ParseUint(b.HostPort, 10, 16)
		if err == nil && bad == nil {
			list = append(list, Published{Host: uint16(host), Container: uint16(inside), Protocol: port.Proto()})
		}
	}
	return list
}

// dockerStatus is Docker's word for a state; Podman 4 answers with its own ones.
func dockerStatus(status string) string {
	switch status {
	case "configured", "initialized":
		return statusCreated
	case "stopping":
		return statusRunning
	case "stopped":
		return statusExited
	}
	return status
}

func convertEndpoint(n *apinetwork.EndpointSettings) attachment {
	if n == nil {
		return attachment{}
	}
	return attachment{NetworkID: n.NetworkID, IPv4: n.IPAddress, IPv6: n.GlobalIPv6Address, Gateway: n.Gateway}
}

// parseTime reads the engine's stamps; "0001-01-01T00:00:00Z" is the zero time.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
