package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	loadWorkers = 8
	loadPace    = 40 * time.Millisecond // of one worker: 200 requests per second in all
	// loadPhase is how many answers make the time before and after an action: 3 s.
	loadPhase = 600
	// loadTimeout is the client's patience: longer than holdFor's default.
	loadTimeout = 15 * time.Second
	// defaultHold is holdFor without a label.
	defaultHold = 10 * time.Second
	// heldAfter is from when on an answer counts as one that waited.
	heldAfter = 250 * time.Millisecond
)

// load is steady traffic to one host through the router while something happens:
// paced keep-alive clients that check every body, and streams on named backends.
type load struct {
	s         *site
	host, app string
	path      string
	timeout   time.Duration
	stop      chan struct{}
	workers   sync.WaitGroup

	mu      sync.Mutex
	records []record
	waiting []waiter
	began   time.Time // of the action; zero before
	streams []*flow
}

// waiter is told when a number of answers has come.
type waiter struct {
	n    int
	done chan struct{}
}

// load begins traffic to host; every answer must come from app.
func (s *site) load(host, app string) *load { return s.loadPath(host, app, "/", loadTimeout) }

func (s *site) loadPath(host, app, path string, timeout time.Duration) *load {
	l := &load{s: s, host: host, app: app, path: path, timeout: timeout, stop: make(chan struct{})}
	for i := range loadWorkers {
		l.workers.Go(func() { l.work(i) })
	}
	s.t.Cleanup(l.end)
	return l
}

func (l *load) work(i int) {
	w := &wire{dial: l.dial}
	defer w.close()
	offset := time.NewTimer(time.Duration(i) * loadPace / loadWorkers)
	defer offset.Stop()
	select {
	case <-offset.C:
	case <-l.stop:
		return
	}
	tick := time.NewTicker(loadPace)
	defer tick.Stop()
	for {
		l.note(w.get(l.host, l.path, l.app, l.timeout))
		select {
		case <-tick.C:
		case <-l.stop:
			return
		}
	}
}

func (l *load) note(r record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
		if len(l.records) < w.n {
			return false
		}
		close(w.done)
		return true
	})
}

// more waits until n further answers have come.
func (l *load) more(n int) {
	l.s.t.Helper()
	done := make(chan struct{})
	l.mu.Lock()
	l.waiting = append(l.waiting, waiter{len(l.records) + n, done})
	l.mu.Unlock()
	patience := 3*time.Duration(n)*loadPace/loadWorkers + 2*l.timeout
	select {
	case <-done:
	case <-time.After(patience):
		l.s.t.Fatalf("%s: fewer than %d answers in %v\n%s", l.host, n, patience, l.summary())
	}
}

// action notes the moment that failures are counted from, and returns it.
func (l *load) action() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began = time.Now()
	return l.began
}

// end stops the workers and closes what streams are left; the records stay.
func (l *load) end() {
	l.mu.Lock()
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	streams := slices.Clone(l.streams)
	l.mu.Unlock()
	l.workers.Wait()
	for _, st := range streams {
		st.close()
	}
}

// failed are the requests that brought no 200 of the right app, in the order of their
// beginning.
func (l *load) failed() []record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []record
	for i := range l.records {
		if !l.records[i].ok() {
			out = append(out, l.records[i])
		}
	}
	slices.SortFunc(out, func(a, b record) int { return a.at.Compare(b.at) })
	return out
}

// verdict names what became of a request.
func (r *record) verdict() string {
	switch {
	case r.failure != "":
		return r.failure
	case r.foreign != "":
		return "another app's page"
	case r.status == 200:
		return "200"
	}
	return fmt.Sprintf("%d %s", r.status, r.reason)
}

// backends are who answered since the action, with counts.
func (l *load) backends() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for i := range l.records {
		if r := &l.records[i]; r.ok() && !r.at.Before(l.began) {
			out[r.backend]++
		}
	}
	return out
}

// between are the first of the requests begun in a span of time that a container
// answered, and how many there were.
func (l *load) between(id string, from, to time.Time) (first time.Time, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.records {
		r := &l.records[i]
		if r.backend != short(id) || r.at.Before(from) || r.at.After(to) {
			continue
		}
		if n++; first.IsZero() || r.at.Before(first) {
			first = r.at
		}
	}
	return first, n
}

// slowest is the longest time that an answer took since the action.
func (l *load) slowest() (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.records {
		if r := &l.records[i]; !r.at.Before(l.began) {
			longest = max(longest, r.took)
		}
	}
	return longest
}

// summary is one report: counts, the longest wait, the first failures.
func (l *load) summary() string {
	failed := l.failed()
	l.mu.Lock()
	defer l.mu.Unlock()
	counts, held := map[string]int{}, 0
	var slowest record
	for i := range l.records {
		r := &l.records[i]
		counts[r.verdict()]++
		if r.ok() && r.took >= heldAfter {
			held++
		}
		if r.took > slowest.took {
			slowest = *r
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d requests", l.host, len(l.records))
	for _, v := range orderedKeys(counts) {
		fmt.Fprintf(&b, ", %s: %d", v, counts[v])
	}
	fmt.Fprintf(&b, "; %d answered after a wait, slowest %v begun at %v", held, slowest.took.Round(time.Millisecond), l.since(slowest.at))
	for i, r := range failed {
		if i == 10 {
			fmt.Fprintf(&b, "\n  ... %d more, the last at %v", len(failed)-i, l.since(failed[len(failed)-1].at))
			break
		}
		fmt.Fprintf(&b, "\n  at %v after %v: %s, Retry-After %q, backend %q, reused %v", l.since(r.at), r.took.Round(10*time.Microsecond), r.verdict(), r.retryAfter, r.backend, r.reused)
		if r.foreign != "" {
			fmt.Fprintf(&b, "\n    %q", tail(r.foreign, 200))
		}
	}
	for _, st := range l.streams {
		fmt.Fprintf(&b, "\n  %s", st.describe(l.began))
	}
	return b.String()
}

// since is a moment relative to the action.
func (l *load) since(at time.Time) time.Duration {
	if l.began.IsZero() || at.IsZero() {
		return 0
	}
	return at.Sub(l.began).Round(100 * time.Microsecond)
}

func orderedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// logBetween are the router's lines of a span of time.
func (s *site) logBetween(from, to time.Time) string {
	var b strings.Builder
	for line := range strings.Lines(s.log.String()) {
		var stamp struct {
			Time time.Time `json:"time"`
		}
		if json.Unmarshal([]byte(line), &stamp) == nil && !stamp.Time.Before(from) && !stamp.Time.After(to) {
			b.WriteString(line)
		}
	}
	return tail(b.String(), 12000)
}

// short is a container's id as its hostname shows it.
func short(id string) string { return id[:min(12, len(id))] }

// workload is what a container of the workload says about itself.
type workload struct {
	requests, probes int
	inFlight         []string
}

// stats asks a container of the workload directly.
func (s *site) stats(id string) (workload, error) {
	if s.addresses == nil {
		s.addresses = map[string]string{}
	}
	if s.addresses[id] == "" {
		addr, err := docker("inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id)
		if err != nil {
			return workload{}, err
		}
		s.addresses[id] = addr
	}
	status, body, err := s.fetch("http://" + s.addresses[id] + ":8080/stats")
	if err != nil || status != 200 {
		return workload{}, fmt.Errorf("stats of %s: %w (%d)", short(id), err, status)
	}
	var w workload
	for line := range strings.Lines(string(body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "Requests":
			_, err = fmt.Sscan(value, &w.requests)
		case "Probes":
			_, err = fmt.Sscan(value, &w.probes)
		case "In-Flight":
			w.inFlight = strings.Fields(value)
		}
		if err != nil {
			return w, err
		}
	}
	return w, nil
}
