package enginetest

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"time"
)

// faults are the ways in which the engine misbehaves at the moment.
type faults struct {
	stalled    bool
	suppressed map[string]bool
	denied     map[string]bool
	fail       map[string][]int // endpoint -> statuses of the next answers
	emptyLists int
	delays     map[string]time.Duration
	noVersion  bool
	cutEvery   time.Duration
	lag        time.Duration
	ghosts     []string
	swapped    int
}

func newFaults() faults {
	return faults{
		suppressed: map[string]bool{}, denied: map[string]bool{},
		fail: map[string][]int{}, delays: map[string]time.Duration{},
	}
}

// Endpoints as faults and counters name them.
const (
	Ping     = "/_ping"
	Version  = "/version"
	Info     = "/info"
	List     = "/containers/json"
	Inspect  = "/containers/{id}/json"
	Networks = "/networks"
	Events   = "/events"

	Occupants = "/networks/{id}"
)

// Cut ends all event streams: properly, or by breaking the connection.
func (e *Engine) Cut(broken bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.streams {
		select {
		case s.cut <- broken:
		default:
		}
	}
}

// CutEvery ends each stream when it is that old; 0 stops doing so.
func (e *Engine) CutEvery(d time.Duration) {
	e.with(func(f *faults) { f.cutEvery = d })
}

// Stall keeps the streams open and sends nothing more on them.
func (e *Engine) Stall(on bool) {
	e.with(func(f *faults) { f.stalled = on })
}

// Lag lets each event arrive that long after it happened; 0 ends that.
func (e *Engine) Lag(d time.Duration) {
	e.with(func(f *faults) { f.lag = d })
}

// Haunt puts containers that do not exist, by name, into all lists from now on.
func (e *Engine) Haunt(names ...string) {
	e.with(func(f *faults) { f.ghosts = names })
}

// SwapOccupants lets the next n answers about a network name the wrong container for
// each address.
func (e *Engine) SwapOccupants(n int) {
	e.with(func(f *faults) { f.swapped = n })
}

// Suppress keeps events with an action from being sent or kept.
func (e *Engine) Suppress(action string, on bool) {
	e.with(func(f *faults) { f.suppressed[action] = on })
}

// Deny answers an endpoint with 403, as a socket proxy does.
func (e *Engine) Deny(endpoints ...string) {
	e.with(func(f *faults) {
		for _, name := range endpoints {
			f.denied[name] = true
		}
	})
}

// Allow ends Deny for endpoints.
func (e *Engine) Allow(endpoints ...string) {
	e.with(func(f *faults) {
		for _, name := range endpoints {
			delete(f.denied, name)
		}
	})
}

// Fail answers the next requests to an endpoint with these statuses, one each.
func (e *Engine) Fail(endpoint string, statuses ...int) {
	e.with(func(f *faults) { f.fail[endpoint] = append(f.fail[endpoint], statuses...) })
}

// LieAboutList answers the next n lists with no containers at all.
func (e *Engine) LieAboutList(n int) {
	e.with(func(f *faults) { f.emptyLists = n })
}

// Delay lets an endpoint wait before it answers; 0 ends that.
func (e *Engine) Delay(endpoint string, d time.Duration) {
	e.with(func(f *faults) { f.delays[endpoint] = d })
}

// HideVersion leaves the API version out of the answer to a ping.
func (e *Engine) HideVersion() {
	e.with(func(f *faults) { f.noVersion = true })
}

// HideAddress lets the next n inspects of a container show no address.
func (e *Engine) HideAddress(ref string, n int) {
	e.Edit(ref, func(c *Container) { c.hidden = n })
}

// SetAPI sets the API versions that the engine accepts.
func (e *Engine) SetAPI(minimum, maximum string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.minAPI, e.maxAPI = minimum, maximum
}

// Requests is how often an endpoint was asked.
func (e *Engine) Requests(endpoint string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests[endpoint]
}

// Asked returns how often each endpoint was asked.
func (e *Engine) Asked() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.requests)
}

func (e *Engine) with(change func(*faults)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.faults)
}

// judge counts a request and returns the status of a fault, or 0, and a delay.
func (e *Engine) judge(endpoint string) (status int, delay time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests[endpoint]++
	delay = e.faults.delays[endpoint]
	if e.faults.denied[endpoint] {
		return http.StatusForbidden, delay
	}
	if next := e.faults.fail[endpoint]; len(next) > 0 {
		e.faults.fail[endpoint] = next[1:]
		return next[0], delay
	}
	return 0, delay
}

// endpointOf names the endpoint of an unversioned path.
func endpointOf(path string) string {
	if path != List && strings.HasPrefix(path, "/containers/") && strings.HasSuffix(path, "/json") {
		return Inspect
	}
	if strings.HasPrefix(path, "/networks/") {
		return Occupants
	}
	return path
}

// linger waits until an event may arrive, and reports whether the reader still does.
func (e *Engine) linger(ctx context.Context, ev Event) bool {
	e.mu.Lock()
	wait := time.Until(ev.At.Add(e.faults.lag))
	lags := e.faults.lag > 0
	e.mu.Unlock()
	if !lags || wait <= 0 {
		return true
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// started waits until a start of the container that is under way is complete, as the
// lock of a container makes real engines do.
func (e *Engine) started(ctx context.Context, ref string) bool {
	e.mu.Lock()
	var done chan struct{}
	if c := e.find(ref); c != nil {
		done = c.starting
	}
	e.mu.Unlock()
	if done == nil {
		return true
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
