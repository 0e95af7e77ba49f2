// Package enginetest is a Docker engine for tests: an HTTP server on a unix socket or
// a TCP port that speaks the part of the Engine API that routers use, from containers
// in memory or from recorded answers of real engines. It can cut the event stream,
// stall, deny, fail and lie, and it counts what it is asked.
package enginetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Style is the habit of an engine generation: the order and the fields of its events.
type Style int

// The generations that differ.
const (
	Docker20 Style = iota // 20.10: kill, die, disconnect (twice), stop
	Docker29              // 29: kill, disconnect, stop, die
	Podman                // Podman 4 on its Docker-compatible endpoint
)

// Container is one container as the engine knows it. The zero values of most fields
// are sensible: Run fills in what is missing.
type Container struct {
	ID      string // 64 hex digits; made from the name when empty
	Name    string // without the leading slash
	Image   string
	Labels  map[string]string
	Created time.Time

	Status   string // created, running, paused, restarting, exited, dead
	Started  time.Time
	Finished time.Time
	Health   string // "" is no HEALTHCHECK
	ExitCode int
	// Restarts counts what a restart policy has done; OOMKilled and Error are how the
	// last life ended.
	Restarts  int
	OOMKilled bool
	Error     string

	StopSignal  string
	StopTimeout *int
	Hostname    string

	// NetworkMode is a network's name, host, none or container:<id>. Empty means the
	// first of Networks, or bridge.
	NetworkMode string
	// Networks are the names of the networks it joins at its start.
	Networks []string
	// Expose lists ports of the image ("80/tcp"), Publish those bound on the host.
	Expose  []string
	Publish []string
	// IPv6Only leaves the IPv4 address empty.
	IPv6Only bool

	endpoints map[string]Endpoint
	hidden    int           // inspects that still show no address
	starting  chan struct{} // closed when a start under way is complete
}

// Endpoint is a container's place on one network.
type Endpoint struct {
	NetworkID string
	IPv4      string
	IPv6      string
	Gateway   string
}

// Network is one network of the engine.
type Network struct {
	ID       string
	Name     string
	Driver   string
	Internal bool
	Subnet   netip.Prefix
	Subnet6  netip.Prefix // zero without IPv6
}

// Event is one message of the stream.
type Event struct {
	Type   string
	Action string
	ID     string
	Attrs  map[string]string
	At     time.Time

	raw []byte // a recorded line
}

// Engine is the fake. Its methods are safe for concurrent use.
type Engine struct {
	mu         sync.Mutex
	style      Style
	containers map[string]*Container
	networks   map[string]*Network
	recorded   *recording
	minAPI     string
	maxAPI     string
	version    string
	startTakes time.Duration
	clock      time.Time // the last time that was given out

	ring    []Event // the last 256, as real engines keep them
	streams map[*stream]bool
	dropped int

	faults   faults
	requests map[string]int
	servers  []*server
}

// New returns an engine with the networks every engine has: bridge, host and none.
func New(style Style) *Engine {
	e := &Engine{
		style: style, containers: map[string]*Container{}, networks: map[string]*Network{},
		streams: map[*stream]bool{}, requests: map[string]int{},
		minAPI: "1.12", maxAPI: "1.41", version: "20.10.24",
		faults: newFaults(),
	}
	switch style {
	case Docker29:
		e.minAPI, e.maxAPI, e.version = "1.40", "1.55", "29.7.2"
	case Podman:
		e.minAPI, e.maxAPI, e.version = "1.24", "1.41", "4.3.1"
	case Docker20:
	}
	e.AddNetwork(Network{Name: "bridge", Driver: "bridge"})
	e.AddNetwork(Network{Name: "host", Driver: "host"})
	e.AddNetwork(Network{Name: "none", Driver: "null"})
	return e
}

// now is the engine's clock. It never gives out a time twice, not even while the clock of
// a bubble stands still.
func (e *Engine) now() time.Time {
	now := time.Now()
	if !now.After(e.clock) {
		now = e.clock.Add(time.Microsecond)
	}
	e.clock = now
	return now
}

// AddNetwork makes a network; ID, driver and subnet are chosen when empty.
func (e *Engine) AddNetwork(n Network) Network {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n.ID == "" {
		n.ID = HexID("network " + n.Name)
	}
	if n.Driver == "" {
		n.Driver = "bridge"
	}
	if !n.Subnet.IsValid() && n.Driver != "host" && n.Driver != "null" {
		n.Subnet = netip.MustParsePrefix(fmt.Sprintf("172.%d.0.0/16", 17+len(e.networks)))
	}
	e.networks[n.Name] = &n
	return n
}

// HexID makes a stable id of 64 hex digits out of any text.
func HexID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Container returns a copy of a container, by id or name.
func (e *Engine) Container(ref string) (Container, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.find(ref)
	if c == nil {
		return Container{}, false
	}
	return *c, true
}

// Address returns the IPv4 (else IPv6) address of a container on a network, "" without.
func (e *Engine) Address(ref, network string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.find(ref)
	if c == nil {
		return ""
	}
	if ep := c.endpoints[network]; ep.IPv4 != "" {
		return ep.IPv4
	}
	return c.endpoints[network].IPv6
}

// find looks a container up by id, id prefix or name.
func (e *Engine) find(ref string) *Container {
	if c := e.containers[ref]; c != nil {
		return c
	}
	for _, id := range slices.Sorted(maps.Keys(e.containers)) {
		c := e.containers[id]
		if c.Name == ref || len(ref) >= 12 && len(ref) < 64 && id[:len(ref)] == ref {
			return c
		}
	}
	return nil
}

// join gives a container the lowest free address of a network: the one that was freed
// last is taken again at once, as real engines do.
func (e *Engine) join(c *Container, name string) {
	n := e.networks[name]
	if n == nil {
		panic("enginetest: no network " + name)
	}
	if c.endpoints == nil {
		c.endpoints = map[string]Endpoint{}
	}
	ep := Endpoint{NetworkID: n.ID}
	if n.Subnet.IsValid() && !c.IPv6Only {
		ep.Gateway = n.Subnet.Addr().Next().String()
		ep.IPv4 = e.free(n.Subnet, name)
	}
	if n.Subnet6.IsValid() {
		ep.IPv6 = e.free(n.Subnet6, name)
	}
	c.endpoints[name] = ep
}

func (e *Engine) free(subnet netip.Prefix, name string) string {
	taken := map[string]bool{}
	for _, c := range e.containers {
		taken[c.endpoints[name].IPv4] = true
		taken[c.endpoints[name].IPv6] = true
	}
	for addr := subnet.Addr().Next().Next(); subnet.Contains(addr); addr = addr.Next() {
		if !taken[addr.String()] {
			return addr.String()
		}
	}
	panic("enginetest: network " + name + " is full")
}

// leave takes the addresses away, as the end of a container does.
func (c *Container) leave() {
	for name := range c.endpoints {
		c.endpoints[name] = Endpoint{NetworkID: c.endpoints[name].NetworkID}
	}
}

// Owner returns the id of the running container that has an address, "" when there is
// none.
func (e *Engine) Owner(address string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, c := range e.containers {
		if c.Status != "running" {
			continue
		}
		for _, ep := range c.endpoints {
			if ep.IPv4 == address || ep.IPv6 == address {
				return id
			}
		}
	}
	return ""
}

// Names returns the names of all containers, sorted.
func (e *Engine) Names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var names []string
	for _, c := range e.containers {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}
