package enginetest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Run creates and starts a container and returns its id.
func (e *Engine) Run(c Container) string {
	id := e.Create(c)
	e.Start(id)
	return id
}

// Create makes a container that does not run yet.
func (e *Engine) Create(c Container) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.ID == "" {
		c.ID = HexID("container " + c.Name)
	}
	c.Image = cmp.Or(c.Image, "app:latest")
	c.Status = cmp.Or(c.Status, "created")
	c.Hostname = cmp.Or(c.Hostname, c.ID[:12])
	if c.Created.IsZero() {
		c.Created = e.now()
	}
	if c.NetworkMode == "" {
		if len(c.Networks) == 0 {
			c.Networks = []string{"bridge"}
		}
		c.NetworkMode = c.Networks[0]
	}
	e.containers[c.ID] = &c
	e.emitContainer(&c, "create", nil)
	return c.ID
}

// StartTakes lets starts take that long from now on: the container has its addresses
// at once and connect events say so, its process runs and the start is announced when
// the time is over, and inspects of it wait for that. It is 190 ms on 20.10.
func (e *Engine) StartTakes(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.startTakes = d
}

// Start starts a container: it gets its addresses, then the events go out.
func (e *Engine) Start(ref string) { e.begin(ref, "") }

// begin starts a container and emits one more event after the start, or none.
func (e *Engine) begin(ref, after string) {
	e.mu.Lock()
	c := e.must(ref)
	started := e.now()
	e.attach(c)
	takes := e.startTakes
	if takes > 0 {
		c.starting = make(chan struct{})
	}
	e.mu.Unlock()
	if takes > 0 {
		<-time.After(takes)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if takes > 0 {
		close(c.starting)
		c.starting = nil
	}
	if e.style != Docker29 { // which notes the time before it connects the networks
		started = e.now()
	}
	c.Status, c.Started, c.ExitCode, c.OOMKilled, c.Error = "running", started, 0, false, ""
	e.emitContainer(c, "start", nil)
	if after != "" {
		e.emitContainer(c, after, nil)
	}
}

// attach gives a container that starts its addresses.
func (e *Engine) attach(c *Container) {
	names := c.Networks
	switch {
	case c.NetworkMode == "host" || c.NetworkMode == "none":
		names = []string{c.NetworkMode}
	case strings.HasPrefix(c.NetworkMode, "container:"):
		names = nil
	}
	for _, name := range names {
		e.join(c, name)
		if e.style != Podman {
			e.emitNetwork(c, name, "connect")
		}
	}
	if e.style == Podman {
		e.emitContainer(c, "init", nil)
	}
}

// Stop ends a container as `docker stop` does, the stop signal first.
func (e *Engine) Stop(ref string) {
	if e.style != Podman {
		e.Signal(ref, "15")
	}
	e.finish(ref, 0, true)
}

// Kill ends a container as `docker kill` does.
func (e *Engine) Kill(ref string) {
	e.Signal(ref, "9")
	e.finish(ref, 137, false)
}

// Die ends a container's process by itself.
func (e *Engine) Die(ref string, code int) { e.finish(ref, code, false) }

// Signal sends a signal without ending anything (HUP, or a TERM that takes its time).
func (e *Engine) Signal(ref, signal string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.emitContainer(e.must(ref), "kill", map[string]string{"signal": signal})
}

// finish ends the process and emits what each generation of engines emits, in its order.
func (e *Engine) finish(ref string, code int, stopped bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	c.Status, c.Finished, c.ExitCode = "exited", e.now(), code
	names := slices.Sorted(maps.Keys(c.endpoints))
	c.leave()
	die := func() { e.emitContainer(c, "die", map[string]string{"exitCode": strconv.Itoa(code)}) }
	if e.style != Docker29 {
		die()
	}
	if e.style == Podman {
		e.emitContainer(c, "cleanup", nil)
		names = nil // it announces none
	}
	for _, name := range names {
		e.emitNetwork(c, name, "disconnect")
		if e.style == Docker20 {
			e.emitNetwork(c, name, "disconnect") // seen twice on 20.10
		}
	}
	if stopped {
		e.emitContainer(c, "stop", nil)
	}
	if e.style == Docker29 {
		die()
	}
}

// Restart stops and starts a container.
func (e *Engine) Restart(ref string) {
	e.Stop(ref)
	e.begin(ref, "restart")
}

// Crash ends the process and leaves the container between two tries of its restart
// policy; Start is the next try.
func (e *Engine) Crash(ref string) {
	e.finish(ref, 1, false)
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	c.Restarts++
	if e.style != Podman {
		c.Status = "restarting"
	}
}

// Remove removes a container, killing it first when it runs.
func (e *Engine) Remove(ref string) {
	if c, ok := e.Container(ref); ok && c.Status == "running" {
		e.Kill(ref)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	delete(e.containers, c.ID)
	e.emitContainer(c, "destroy", nil)
}

// Pause freezes a container, Unpause thaws it.
func (e *Engine) Pause(ref string) { e.change(ref, "paused", "pause") }

// Unpause thaws a container.
func (e *Engine) Unpause(ref string) { e.change(ref, "running", "unpause") }

func (e *Engine) change(ref, status, action string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	c.Status = status
	e.emitContainer(c, action, nil)
}

// Rename gives a container another name.
func (e *Engine) Rename(ref, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	old := "/" + c.Name
	c.Name = name
	e.emitContainer(c, "rename", map[string]string{"oldName": old})
}

// SetHealth sets the state of the HEALTHCHECK. "starting" makes no event, as on
// real engines.
func (e *Engine) SetHealth(ref, health string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	c.Health = health
	if health != "starting" {
		e.emitContainer(c, "health_status: "+health, nil)
	}
}

// Probe emits the three events that each run of a HEALTHCHECK makes.
func (e *Engine) Probe(ref string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	for _, action := range []string{"exec_create: /app healthcheck", "exec_start: /app healthcheck", "exec_die"} {
		e.emitContainer(c, action, nil)
	}
}

// Connect attaches a running container to a network.
func (e *Engine) Connect(ref, network string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	e.join(c, network)
	c.Networks = append(slices.Clone(c.Networks), network)
	e.emitNetwork(c, network, "connect")
}

// Disconnect takes a container off a network.
func (e *Engine) Disconnect(ref, network string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.must(ref)
	e.emitNetwork(c, network, "disconnect")
	if e.style == Docker20 {
		e.emitNetwork(c, network, "disconnect")
	}
	delete(c.endpoints, network)
	c.Networks = slices.DeleteFunc(slices.Clone(c.Networks), func(n string) bool { return n == network })
}

// Edit changes a container behind the stream's back.
func (e *Engine) Edit(ref string, change func(*Container)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e.must(ref))
}

func (e *Engine) must(ref string) *Container {
	c := e.find(ref)
	if c == nil {
		panic("enginetest: no container " + ref)
	}
	return c
}
