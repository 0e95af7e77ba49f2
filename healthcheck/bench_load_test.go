package healthcheck

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router/route"
)

const (
	loadBackends = 5000
	loadHosts    = 250 // loopback addresses with a listener each
	loadTime     = time.Minute
	loadServer   = "FAIRLEAD_LOAD_SERVER"
)

// BenchmarkLoad measures the promise for 5,000 backends with HTTP checks each 10 s on
// loopback: the share of one core (under 15 %), the memory above idle (under 100 MB) and
// the 99th percentile of the delay of launches (under one tick). It takes a minute. The
// servers are another process, so that only probing is measured.
//
//	go test ./healthcheck -run '^$' -bench BenchmarkLoad -benchtime 1x
func BenchmarkLoad(b *testing.B) {
	ports := startServers(b)
	for b.Loop() {
		sets, idle := loadSets(ports), resident(b) // what the Controller holds is not the engine's
		ctx, cancel := context.WithCancel(b.Context())
		e := New(Config{Log: zerolog.New(io.Discard).Level(zerolog.InfoLevel), AllowLoopback: true})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = e.Run(ctx)
		}()
		e.Apply(1, sets)
		<-time.After(20 * time.Second) // all have a verdict, and a phase of their own
		seen := make(map[*check]uint64, loadBackends)
		e.mu.Lock()
		for _, c := range e.checks {
			seen[c] = c.seq
		}
		e.mu.Unlock()
		cpu, begin, probes := cpuTime(b), time.Now(), e.Stats().Probes
		delays := make([]time.Duration, 0, loadBackends*int(loadTime/time.Second))
		memory := uint64(0)
		for time.Since(begin) < loadTime {
			<-time.After(time.Second)
			memory = max(memory, resident(b))
			e.mu.Lock()
			for _, c := range e.checks {
				if seen[c] != c.seq {
					seen[c] = c.seq
					delays = append(delays, c.delay)
				}
			}
			e.mu.Unlock()
		}
		took := time.Since(begin)
		slices.Sort(delays)
		s := e.Stats()
		b.ReportMetric(100*float64(cpuTime(b)-cpu)/float64(took), "%core")
		b.ReportMetric(float64(memory-min(idle, memory))/1e6, "MB")
		b.ReportMetric(float64(delays[len(delays)*99/100])/float64(time.Millisecond), "ms-p99-delay")
		b.ReportMetric(float64(s.Probes-probes)/took.Seconds(), "probes/s")
		if s.Failures > 0 || s.LocalErrors > 0 {
			b.Errorf("%+v", s)
		}
		cancel()
		<-done
	}
}

func loadHost(i int) string { return fmt.Sprintf("127.7.%d.%d", i/200, i%200+1) }

func loadSets(ports []uint16) []route.PlacementSet {
	sets := make([]route.PlacementSet, loadBackends)
	for i := range sets {
		c := route.DefaultCheck()
		c.Type, c.Path, c.Scheme = route.ProbeHTTP, "/health", route.SchemeHTTP
		host, port := loadHost(i%loadHosts), ports[i%loadHosts]
		b := route.Backend{
			ID: "b", Incarnation: fmt.Sprintf("docker/b%d/1/%s", i, host), Host: host, Port: port, Weight: 100,
			Scheme: route.SchemeHTTP, Provider: route.ProviderPresent, Check: &c,
		}
		e := &route.Entrypoint{ID: fmt.Sprintf("http_%05d", i), Protocol: route.HTTP, Source: "docker", Options: route.DefaultOptions(), Backends: []route.Backend{b}}
		sets[i] = route.PlacementSet{Entrypoint: e, Cell: &route.RotationCell{}, Placements: []*route.Placement{{Entrypoint: e.ID, Backend: b, Load: &route.Load{}}}}
	}
	return sets
}

// startServers starts the servers in a process of their own, which ends with the benchmark.
func startServers(b *testing.B) []uint16 {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoadServers$", "-test.v")
	cmd.Env = append(os.Environ(), loadServer+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		list, found := strings.CutPrefix(lines.Text(), "ports ")
		if !found {
			continue
		}
		var ports []uint16
		for text := range strings.FieldsSeq(list) {
			n, err := strconv.ParseUint(text, 10, 16)
			if err != nil {
				b.Fatal(err)
			}
			ports = append(ports, uint16(n))
		}
		return ports
	}
	b.Fatal("the servers do not start")
	return nil
}

// TestLoadServers is the other process of BenchmarkLoad: it answers 200 to everything.
func TestLoadServers(t *testing.T) {
	if os.Getenv(loadServer) == "" {
		t.Skip("runs only as a part of BenchmarkLoad")
	}
	line := "ports"
	for i := range loadHosts {
		l, err := net.Listen("tcp", loadHost(i)+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		line += " " + l.Addr().String()[strings.LastIndexByte(l.Addr().String(), ':')+1:]
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go serveOnce(conn, ok200, nil)
			}
		}()
	}
	fmt.Println("\n" + line)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the memory of the process that is in RAM, in bytes.
func resident(b *testing.B) uint64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("the memory of a process is read from /proc")
	}
	pages, err := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}
