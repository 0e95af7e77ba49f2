package docker

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
)

// standpoint is where the router itself runs, which decides what addresses it can reach.
type standpoint uint8

const (
	// onHost: on the engine's host, or in a container on the host's network.
	onHost standpoint = iota
	// inContainer: in a container of this engine whose networks are known.
	inContainer
	// unlocated: in a container that this engine does not know or does not show.
	unlocated
)

// location is the router's standpoint and, in a container, its networks.
type location struct {
	where    standpoint
	id       string // own container, "" when not in one or not found
	networks map[string]attachment
}

// selfFinder finds the router's own container. The fields are the machine's answers.
type selfFinder struct {
	configured string // FAIRLEAD_CONTAINER_ID
	mountinfo  func() string
	hostname   func() string
	marked     func() bool // a runtime's marker file exists
}

// systemSelf asks the machine this process runs on.
func systemSelf(configured string) selfFinder {
	return selfFinder{
		configured: configured,
		mountinfo: func() string {
			data, err := os.ReadFile("/proc/self/mountinfo")
			if err != nil {
				return ""
			}
			return string(data)
		},
		hostname: func() string {
			name, err := os.Hostname()
			if err != nil {
				return ""
			}
			return name
		},
		marked: func() bool { return fileExists("/.dockerenv") || fileExists("/run/.containerenv") },
	}
}

// find locates the router. inspect asks the engine about one container. An error is
// returned only when the engine cannot be reached, so that a bad moment is not taken
// for "not in a container".
func (f selfFinder) find(ctx context.Context, inspect func(context.Context, string) (inspected, error)) (location, error) {
	ids, mounted := mountedContainers(f.mountinfo())
	if f.configured == "" && len(ids) == 0 && (!mounted || !f.marked()) {
		return location{where: onHost}, nil
	}
	host := f.hostname()
	tries := slices.Concat([]string{f.configured}, ids, []string{host})
	for i, id := range tries {
		if id == "" {
			continue
		}
		own, err := inspect(ctx, id)
		byHostname := i == len(tries)-1
		switch {
		case errors.Is(err, errNotFound), errors.Is(err, errDenied):
			continue
		case err != nil:
			return location{}, err
		case byHostname && !strings.HasPrefix(own.ID, host) && own.Hostname != host:
			continue // a container that merely has the name of this machine
		}
		return locate(ctx, own, inspect)
	}
	return location{where: unlocated}, nil
}

// locate reads the standpoint off the own container, through one shared namespace.
func locate(ctx context.Context, own inspected, inspect func(context.Context, string) (inspected, error)) (location, error) {
	nets, mode := own.Networks, own.NetworkMode
	if target, ok := strings.CutPrefix(mode, "container:"); ok {
		shared, err := inspect(ctx, target)
		if err != nil && !errors.Is(err, errNotFound) {
			return location{}, err
		}
		nets, mode = shared.Networks, shared.NetworkMode
	}
	if mode == "host" {
		return location{where: onHost, id: own.ID}, nil
	}
	return location{where: inContainer, id: own.ID, networks: nets}, nil
}

var containerID = regexp.MustCompile(`[0-9a-f]{64}`)

// mountedContainers returns the container ids that runtimes leave in the sources of
// /etc/hostname, /etc/hosts and /etc/resolv.conf, and whether any of those files is
// mounted at all. Other lines are not read: on a host they name every container.
func mountedContainers(mountinfo string) (ids []string, mounted bool) {
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		switch fields[4] {
		case "/etc/hostname", "/etc/hosts", "/etc/resolv.conf":
		default:
			continue
		}
		mounted = true
		if id := containerID.FindString(fields[3]); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, mounted
}
