package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/provider"
	"fairlead/provider/docker/enginetest"
	"fairlead/router/route"
)

// cost is what watching took of one process.
type cost struct {
	CPU     time.Duration // user and system
	Wall    time.Duration
	Handed  int // snapshots
	Changed int // of which route differently
	Lines   int // of log, at info and above
}

const (
	loadEndpoint = "FAIRLEAD_LOAD_ENDPOINT"
	loadTime     = "FAIRLEAD_LOAD_TIME"
)

// TestWatchingIsCheap measures what 300 containers with a HEALTHCHECK every 5 s and 20
// restart loops among them cost: FAIRLEAD_MEASURE=1 runs it for half a minute. The
// watcher has a process of its own, so that the fake engine's work does not count.
func TestWatchingIsCheap(t *testing.T) {
	if endpoint := os.Getenv(loadEndpoint); endpoint != "" {
		watchForCost(t, endpoint)
		return
	}
	run := time.Second
	if os.Getenv("FAIRLEAD_MEASURE") != "" {
		run = 30 * time.Second
	}
	quiet := measure(t, run, 0)
	busy := measure(t, run, 20)
	t.Logf("without loops: %v; with 20 loops: %v", quiet, busy)
	if quiet.Handed > 0 || quiet.Lines > 0 {
		t.Errorf("nothing changed, and yet %+v", quiet)
	}
	if busy.Lines > 0 || busy.Handed > 10*int(run.Seconds()) {
		t.Errorf("with restart loops: %+v", busy)
	}
	if os.Getenv("FAIRLEAD_MEASURE") != "" && (quiet.share() > 5 || busy.share() > 5) {
		t.Errorf("more than 5 %% of a core: %v, %v", quiet, busy)
	}
}

func (c cost) share() float64 { return 100 * float64(c.CPU) / float64(c.Wall) }

func (c cost) String() string {
	return fmt.Sprintf("%.1f %% of a core, %d snapshots (%d changes), %d lines of log in %v", c.share(), c.Handed, c.Changed, c.Lines, c.Wall.Round(time.Second))
}

// measure drives a fake engine while another process watches it.
func measure(t *testing.T, run time.Duration, loops int) cost {
	t.Helper()
	const containers = 300
	// Engines start a container again at once when it has run for 10 s, and ever later
	// when it has not: there are no more crashes than one in 10 s for each loop.
	pause := max(1, 10*containers/5/max(loops, 1))
	e := enginetest.New(enginetest.Docker29)
	for i := range containers {
		c := own(fmt.Sprintf("c%03d", i))
		c.Health = "healthy"
		e.Run(c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), run+time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWatchingIsCheap$", "-test.v")
	child.Env = append(os.Environ(), loadEndpoint+"="+e.ServeUnix(t), loadTime+"="+run.String())
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- child.Wait() }()
	tick := time.NewTicker(5 * time.Second / containers)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case err := <-done:
			return costOf(t, err, out.String())
		case <-tick.C:
		}
		e.Probe(fmt.Sprintf("c%03d", i%containers)) // each one every 5 s
		if loops > 0 && i%pause == 0 {
			e.Crash(fmt.Sprintf("c%03d", i/pause%loops))
		}
		if loops > 0 && i%pause == pause/2 {
			e.Start(fmt.Sprintf("c%03d", i/pause%loops))
		}
	}
}

func costOf(t *testing.T, err error, out string) cost {
	t.Helper()
	var c cost
	m := regexp.MustCompile(`cost: (\{.*\})`).FindStringSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("the watching process: %v\n%s", err, out)
	}
	if err := json.Unmarshal([]byte(m[1]), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// watchForCost watches for a while after the first read and says what it cost.
func watchForCost(t *testing.T, endpoint string) {
	run, err := time.ParseDuration(os.Getenv(loadTime))
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	p := newProvider(t, endpoint, func(c *Config) { c.Log = zerolog.New(log).Level(zerolog.InfoLevel) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := provider.NewMailbox()
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, out) }()
	last := settle(out)
	c, began := cost{CPU: -processTime(t)}, time.Now()
	end := time.NewTimer(run)
	for waiting := true; waiting; {
		select {
		case <-end.C:
			waiting = false
		case <-out.Ready():
			if s, ok := out.Take(); ok {
				c.Handed++
				if !equalEntrypoints(last, s) {
					c.Changed++
				}
				last = s
			}
		}
	}
	c.CPU, c.Wall, c.Lines = c.CPU+processTime(t), time.Since(began), log.count()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cost: %s", text)
}

// settle waits for the first read and until the containers whose starts are replayed have
// been asked about again: a second without news, five at most.
func settle(out *provider.Mailbox) (last route.Snapshot) {
	end := time.Now().Add(5 * time.Second)
	for {
		quiet := time.NewTimer(time.Second)
		select {
		case <-quiet.C:
		case <-out.Ready():
			if s, ok := out.Take(); ok {
				last = s
			}
			if time.Now().Before(end) {
				continue
			}
		}
		if last.Status.Phase == route.PhaseReady {
			return last
		}
	}
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
