package docker

import (
	"strconv"
	"time"

	"github.com/docker/go-connections/nat"
)

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

// parseTime reads the engine's stamps; "0001-01-01T00:00:00Z" is the zero time.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
