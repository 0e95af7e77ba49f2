package enginetest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

func (e *Engine) versionJSON() any {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recorded != nil {
		return e.recorded.version
	}
	return object{"Version": e.version, "ApiVersion": e.maxAPI, "MinAPIVersion": e.minAPI, "Os": "linux"}
}

func (e *Engine) listJSON(all bool) any {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.faults.emptyLists > 0 {
		e.faults.emptyLists--
		return []object{}
	}
	if e.recorded != nil {
		return e.recorded.list
	}
	list := []object{}
	for _, id := range slices.Sorted(maps.Keys(e.containers)) {
		c := e.containers[id]
		if !all && c.Status != "running" && c.Status != "paused" && c.Status != "restarting" {
			continue
		}
		list = append(list, object{
			"Id": c.ID, "Names": []string{"/" + c.Name}, "Image": e.image(c), "Labels": c.Labels,
			"Created": c.Created.Unix(), "State": c.Status, "Status": statusText(c),
			"HostConfig":      e.hostConfig(c),
			"NetworkSettings": object{"Networks": c.networksJSON()},
		})
	}
	for _, name := range e.faults.ghosts {
		list = append(list, object{
			"Id": HexID("ghost " + name), "Names": []string{"/" + name}, "Image": "ghost", "State": "running", "Status": "Up 2 seconds",
			"Labels": map[string]string{"sozune.enable": "true", "sozune.http." + name + ".host": name + ".example"},
		})
	}
	return list
}

// hostConfig is what lists say about it; Podman says nothing useful.
func (e *Engine) hostConfig(c *Container) object {
	if e.style == Podman {
		return object{}
	}
	return object{"NetworkMode": c.NetworkMode}
}

// image is the name by which the engine knows an image.
func (e *Engine) image(c *Container) string {
	if e.style == Podman && !strings.Contains(c.Image, "/") {
		return "docker.io/library/" + c.Image
	}
	return c.Image
}

func statusText(c *Container) string {
	switch c.Status {
	case "running":
		if c.Health == "" {
			return "Up 2 seconds"
		}
		return "Up 2 seconds (" + c.Health + ")"
	case "paused":
		return "Up 2 seconds (Paused)"
	case "exited":
		return fmt.Sprintf("Exited (%d) 1 second ago", c.ExitCode)
	}
	return strings.ToUpper(c.Status[:1]) + c.Status[1:]
}

// inspectJSON returns nil when there is no such container.
func (e *Engine) inspectJSON(ref string) any {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recorded != nil {
		if raw, ok := e.recorded.inspect[ref]; ok {
			return raw
		}
		return nil
	}
	c := e.find(ref)
	if c == nil {
		return nil
	}
	nets := c.networksJSON()
	if owner, ok := strings.CutPrefix(c.NetworkMode, "container:"); ok && e.style == Podman {
		if o := e.find(owner); o != nil { // Docker says none
			nets = o.networksJSON()
		}
	}
	if c.hidden > 0 {
		c.hidden--
		for _, n := range nets {
			n["IPAddress"], n["GlobalIPv6Address"] = "", ""
		}
	}
	return object{
		"Id": c.ID, "Name": "/" + c.Name, "Created": stamp(c.Created), "RestartCount": c.Restarts,
		"State": c.stateJSON(),
		"Config": object{
			"Image": e.image(c), "Labels": c.Labels, "Hostname": c.Hostname,
			"StopSignal": c.StopSignal, "StopTimeout": c.StopTimeout, "ExposedPorts": portSet(c.Expose, object{}),
		},
		"HostConfig":      object{"NetworkMode": c.NetworkMode},
		"NetworkSettings": object{"Networks": nets, "Ports": c.portsJSON()},
	}
}

func (c *Container) stateJSON() object {
	state := object{
		"Status": c.Status, "Running": c.Status == "running" || c.Status == "paused" || c.Status == "restarting",
		"Paused": c.Status == "paused", "Restarting": c.Status == "restarting",
		"StartedAt": stamp(c.Started), "FinishedAt": stamp(c.Finished), "ExitCode": c.ExitCode,
		"OOMKilled": c.OOMKilled, "Error": c.Error,
	}
	if c.Health != "" {
		state["Health"] = object{"Status": c.Health, "FailingStreak": 0, "Log": []object{}}
	}
	return state
}

// portsJSON lists ports only while there is a network that may publish them.
func (c *Container) portsJSON() object {
	ports := object{}
	if c.Status != "running" {
		return ports
	}
	for i, p := range c.Publish {
		ports[p] = []object{{"HostIp": "127.0.0.1", "HostPort": strconv.Itoa(18000 + i)}}
	}
	return ports
}

func portSet(ports []string, value any) object {
	set := object{}
	for _, p := range ports {
		set[p] = value
	}
	return set
}

func (c *Container) networksJSON() map[string]object {
	nets := map[string]object{}
	for name, ep := range c.endpoints {
		nets[name] = object{
			"NetworkID": ep.NetworkID, "IPAddress": ep.IPv4, "GlobalIPv6Address": ep.IPv6, "Gateway": ep.Gateway,
		}
	}
	return nets
}

func (e *Engine) networksJSON() any {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recorded != nil {
		return e.recorded.networks
	}
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(e.networks)) {
		n := e.networks[name]
		config := []object{}
		if n.Subnet.IsValid() {
			config = append(config, object{"Subnet": n.Subnet.String(), "Gateway": n.Subnet.Addr().Next().String()})
		}
		list = append(list, object{
			"Id": n.ID, "Name": n.Name, "Driver": n.Driver, "Internal": n.Internal, "Scope": "local",
			"IPAM": object{"Driver": "default", "Config": config},
		})
	}
	return list
}

// occupantsJSON describes one network with the containers that have an address there,
// those that are only starting included. It returns nil when there is no such network.
func (e *Engine) occupantsJSON(ref string) any {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.networks {
		if n.ID != ref && n.Name != ref {
			continue
		}
		containers := object{}
		swapped := e.faults.swapped > 0
		e.faults.swapped = max(0, e.faults.swapped-1)
		for id, c := range e.containers {
			ep := c.endpoints[n.Name]
			if ep.IPv4 == "" && ep.IPv6 == "" {
				continue
			}
			if swapped {
				id = HexID("not " + id)
			}
			containers[id] = object{"Name": c.Name, "IPv4Address": cidr(ep.IPv4, n.Subnet), "IPv6Address": cidr(ep.IPv6, n.Subnet6)}
		}
		return object{"Id": n.ID, "Name": n.Name, "Driver": n.Driver, "Containers": containers}
	}
	return nil
}

func cidr(address string, subnet netip.Prefix) string {
	if address == "" {
		return ""
	}
	return address + "/" + strconv.Itoa(subnet.Bits())
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
