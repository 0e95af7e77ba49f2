package docker

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// wire is a provider with the real client on a fake engine, joined by pipes in a bubble:
// hours of trouble pass in no time. It keeps every snapshot that was put.
type wire struct {
	t   *testing.T
	e   *enginetest.Engine
	p   *Provider
	log *lines
	// state is the provider's; it may be looked at after halt.
	state *state
	halt  func()
	// light keeps no snapshot but the last.
	light bool

	mu    sync.Mutex
	all   []route.Snapshot
	times []time.Time
	raw   int // snapshots that were put, those without news included
}

// lines counts the lines of a log by level.
type lines struct {
	mu   sync.Mutex
	text []string
	off  bool
}

// Write implements io.Writer; zerolog writes a line at a time.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.off {
		l.text = append(l.text, string(bytes.TrimSpace(p)))
	}
	return len(p), nil
}

// count is how many lines there are at info and above.
func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(l.text), func(s string) bool {
		return strings.Contains(s, `"level":"debug"`) || strings.Contains(s, `"level":"trace"`)
	}))
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.text, "\n")
}

// onWire runs test in a bubble, after setup and the first read.
func onWire(t *testing.T, style enginetest.Style, setup func(*enginetest.Engine), test func(*wire), change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.New(style)
		if setup != nil {
			setup(e)
		}
		w := &wire{t: t, e: e, log: &lines{}}
		w.p = newProvider(t, "tcp://engine:2375", func(c *Config) {
			c.Log = zerolog.New(w.log).Level(zerolog.DebugLevel)
			for _, f := range change {
				f(c)
			}
		})
		ep, err := parseEndpoint(w.p.cfg)
		if err != nil {
			t.Fatal(err)
		}
		ep.open = e.Pipe(t)
		w.p.connect, w.p.knock = dialer(ep), nil
		ctx, cancel := context.WithCancel(t.Context())
		out := provider.NewMailbox()
		var wg sync.WaitGroup
		watcher := w.p.newWatcher(out)
		w.state = watcher.state
		wg.Go(func() { watcher.run(ctx) })
		wg.Go(func() { w.collect(ctx, out) })
		w.halt = func() { cancel(); wg.Wait() }
		t.Cleanup(w.halt)
		w.after(time.Second) // containers that have just started are asked about twice
		test(w)
	})
}

// collect keeps what is put, except that only the time of a read is news.
func (w *wire) collect(ctx context.Context, out *provider.Mailbox) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-out.Ready():
		}
		s, ok := out.Take()
		if !ok {
			continue
		}
		w.mu.Lock()
		w.raw++
		if w.light {
			w.all, w.times = nil, nil
		}
		if len(w.all) == 0 || !equal(w.all[len(w.all)-1], s, true) {
			w.all, w.times = append(w.all, s), append(w.times, time.Now())
		}
		w.mu.Unlock()
	}
}

// after lets virtual time pass.
func (w *wire) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// last returns the newest snapshot; puts is how many there were.
func (w *wire) last() route.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) == 0 {
		return route.Snapshot{}
	}
	return w.all[len(w.all)-1]
}

func (w *wire) puts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// handed is how many snapshots were put, those included that only say when the engine was
// read last.
func (w *wire) handed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.raw
}

// is checks an entrypoint of the newest snapshot.
func (w *wire) is(id, want string) {
	w.t.Helper()
	if got := of(w.last(), id); got != want {
		w.t.Errorf("%s is %q, want %q; %s", id, got, want, describeSnapshot(w.last()))
	}
}

// swaps is how many of the snapshots since put n route differently from the one before.
func (w *wire) swaps(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	swaps := 0
	for i := max(n, 1); i < len(w.all); i++ {
		if !equalEntrypoints(w.all[i-1], w.all[i]) {
			swaps++
		}
	}
	return swaps
}

// own is a container with a route of its own name.
func own(name string) enginetest.Container {
	return enginetest.Container{Name: name, Expose: []string{"80/tcp"}, Labels: map[string]string{
		"sozune.enable": "true", "sozune.http." + name + ".host": name + ".example",
	}}
}

// up is what an entrypoint of own is while its container runs.
func (w *wire) up(name string) string {
	return name + "=" + w.e.Address(name, "bridge") + ":80(present)"
}

func equalEntrypoint(a, b *route.Entrypoint) bool { return reflect.DeepEqual(a, b) }

// describeOthers is everything about the entrypoints of threeSites.
func describeOthers(list []*route.Entrypoint) string {
	var b strings.Builder
	for _, e := range list {
		if len(e.Name) == 1 {
			fmt.Fprintf(&b, "%s %v %v %v; ", e.ID, backends(e), e.Claim, e.Diagnostics)
			for i := range e.Backends {
				b.WriteString(e.Backends[i].Incarnation)
			}
		}
	}
	return b.String()
}
