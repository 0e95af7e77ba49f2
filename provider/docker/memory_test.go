package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// memory is an engine in memory, for the timing rules: sockets do not work in bubbles.
type memory struct {
	mu         sync.Mutex
	containers map[string]inspected
	networks   []network
	events     chan event
	end        chan error
	delay      map[string]time.Duration // of inspects, by container
	listErr    error
	pingErr    error
	lists      int
	inspects   map[string]int
	dials      int
	dialErr    error
}

func newMemory() *memory {
	return &memory{
		containers: map[string]inspected{}, events: make(chan event, 4096), end: make(chan error, 1),
		delay: map[string]time.Duration{}, inspects: map[string]int{},
	}
}

func (m *memory) connect(context.Context) (engine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dials++
	if m.dialErr != nil {
		return nil, m.dialErr
	}
	return m, nil
}

func (m *memory) Versions() versions { return versions{"29.7.2", "1.51"} }
func (m *memory) Close()             {}

func (m *memory) Ping(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pingErr
}

func (m *memory) Events(ctx context.Context, _ time.Time) (<-chan event, <-chan error) {
	errs := make(chan error, 1)
	go func() {
		select {
		case err := <-m.end:
			errs <- err
		case <-ctx.Done():
			errs <- ctx.Err()
		}
	}()
	return m.events, errs
}

func (m *memory) List(context.Context) ([]summary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists++
	var out []summary
	for _, id := range slices.Sorted(maps.Keys(m.containers)) {
		out = append(out, summary{ID: id, Name: m.containers[id].Name, Labels: m.containers[id].Labels})
	}
	return out, m.listErr
}

func (m *memory) Inspect(ctx context.Context, id string) (inspected, error) {
	m.mu.Lock()
	m.inspects[id]++
	delay := m.delay[id]
	m.mu.Unlock()
	if delay > 0 {
		sleep(ctx, delay)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.containers[id]; ok {
		return c, ctx.Err()
	}
	return inspected{}, errNotFound
}

func (m *memory) Networks(context.Context) ([]network, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.networks), nil
}

func (m *memory) Replaced() bool { return false }

func (m *memory) Occupants(_ context.Context, network string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]string{}
	for id, c := range m.containers {
		for _, a := range c.Networks {
			if a.NetworkID == network && a.IPv4 != "" {
				out[a.IPv4] = id
			}
		}
	}
	return out, nil
}

// set puts a running container with a route of its own name.
func (m *memory) set(name string, change ...func(*inspected)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := inspected{
		ID: name, Name: name, Status: statusRunning, Started: time.Now(), Created: time.Now(), StopTimeout: defaultStopTimeout,
		Labels:      map[string]string{"sozune.enable": "true", "sozune.http." + name + ".host": name + ".example"},
		NetworkMode: "edge", Networks: nets(fmt.Sprintf("edge=10.0.0.%d", 2+len(m.containers))), Exposed: []string{"80/tcp"},
	}
	if old, ok := m.containers[name]; ok {
		c = old
	}
	for _, f := range change {
		f(&c)
	}
	m.containers[name] = c
}

func (m *memory) say(action, name string, attrs ...string) {
	m.mu.Lock()
	labels := maps.Clone(m.containers[name].Labels)
	m.mu.Unlock()
	if labels == nil {
		labels = map[string]string{}
	}
	for i := 0; i+1 < len(attrs); i += 2 {
		labels[attrs[i]] = attrs[i+1]
	}
	m.events <- event{Type: "container", Action: action, ID: name, Attrs: labels, At: time.Now()}
}

// begin sets a container and announces its start.
func (m *memory) begin(name string, change ...func(*inspected)) {
	m.set(name, change...)
	m.say("start", name)
}

func (m *memory) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.containers, name)
}

func (m *memory) dialed() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dials
}

// slow makes every inspect of a container take d.
func (m *memory) slow(name string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delay[name] = d
}

func (m *memory) count(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inspects[name]
}
