//go:build unix

package proxy

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/api"
	"fairlead/api/metrics"
	"fairlead/router"
	"fairlead/router/accesslog"
)

// BenchmarkCosts measures what observing costs, in CPU time: blocks of requests go in
// turn through two proxies of one process, one with and one without. A loop is one
// pair; what is reported are medians over the pairs. The share is of the proxy's own
// time, which is the whole less that of the same requests without a proxy.
//
//	go test ./router/proxy -run - -bench Costs -benchtime 80x
func BenchmarkCosts(b *testing.B) {
	page := bytes.Repeat([]byte("x"), 1024)
	backend := serveHTTP(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(page)
	})
	serve := func(b *testing.B, change func(*Config)) *rig {
		r := newRig(b, func(c *Config) { c.Log = zerolog.Nop() }, change)
		r.route("app.test", []string{backend})
		r.outcomes.off = true
		return r.start()
	}
	b.Run("access log", func(b *testing.B) {
		log := accesslog.New(accesslog.Config{Path: filepath.Join(b.TempDir(), "access.log"), MaxBytes: 64 << 20})
		if err := log.Open(); err != nil {
			b.Fatal(err)
		}
		defer inBackground(b, log.Run)()
		pairs(b, backend, serve(b, func(*Config) {}), serve(b, func(c *Config) { c.Access = log }))
		b.ReportMetric(float64(log.Stats().Dropped), "dropped")
	})
	b.Run("nothing", func(b *testing.B) { // how much the figures are worth
		pairs(b, backend, serve(b, func(*Config) {}), serve(b, func(*Config) {}))
	})
	b.Run("recorder and scrapes", func(b *testing.B) {
		with := serve(b, func(*Config) {})
		recorder := api.NewTrafficRecorder(with, with.proxy.Unrouted())
		defer inBackground(b, recorder.Run)()
		scrape := metrics.New(metrics.Config{Viewer: viewer{with}, Unrouted: with.proxy.Unrouted()}).Handler(zerolog.Nop())
		defer inBackground(b, func(ctx context.Context) error {
			for tick := time.NewTicker(time.Second); ; {
				select {
				case <-ctx.Done():
					return nil
				case <-tick.C:
					scrape.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
				}
			}
		})()
		pairs(b, backend, serve(b, func(*Config) {}), with)
	})
}

// viewer shows the routes of a rig.
type viewer struct{ rig *rig }

func (v viewer) View() *router.View {
	view := &router.View{Table: v.rig.table}
	for i := range v.rig.entries {
		e := &v.rig.entries[i]
		view.Entrypoints = append(view.Entrypoints, router.EntrypointView{Entrypoint: e.Entrypoint, Traffic: &e.Cell.Traffic})
	}
	return view
}

// inBackground runs something until the returned function is called.
func inBackground(b *testing.B, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}

const blockOfRequests = 1000

// pairs measures two proxies in turn, and the backend alone.
func pairs(b *testing.B, backend string, without, with *rig) {
	arms := []*load{connect(b, backend), connect(b, without.addr), connect(b, with.addr)}
	for _, arm := range arms {
		arm.run(b, blockOfRequests)
	}
	var alone, plain, cost, share []float64
	for turn := 0; b.Loop(); turn++ {
		var took [3]float64
		for i := range arms {
			at := (i + turn) % len(arms) // nobody is always first
			took[at] = arms[at].run(b, blockOfRequests)
		}
		alone, plain = append(alone, took[0]), append(plain, took[1])
		cost = append(cost, took[2]-took[1])
		share = append(share, 100*(took[2]-took[1])/(took[1]-took[0]))
	}
	b.ReportMetric(median(plain)-median(alone), "us/request")
	b.ReportMetric(median(cost), "us-more")
	b.ReportMetric(median(share), "%-more")
	b.ReportMetric(0, "ns/op")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// load is a lean client with connections of its own.
type load struct{ conns []net.Conn }

func connect(b *testing.B, addr string) *load {
	l := &load{}
	for range 8 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		l.conns = append(l.conns, c)
	}
	return l
}

// run sends n requests and returns the CPU time of one in microseconds, that of the
// whole process.
func (l *load) run(b *testing.B, n int) float64 {
	began := cpuTime(b)
	var wg sync.WaitGroup
	for _, c := range l.conns {
		wg.Go(func() {
			buf := make([]byte, 4096)
			for range n / len(l.conns) {
				if err := roundTrip(c, buf); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64((cpuTime(b) - began).Nanoseconds()) / 1000 / float64(n)
}

func roundTrip(c net.Conn, buf []byte) error {
	const head = "GET /page?x=1 HTTP/1.1\r\nHost: app.test\r\nUser-Agent: bench\r\nAccept: */*\r\nAccept-Language: en\r\n\r\n"
	if _, err := io.WriteString(c, head); err != nil {
		return err
	}
	for n, want := 0, len(buf); n < want; {
		m, err := c.Read(buf[n:])
		if err != nil {
			return err
		}
		n += m
		if i := bytes.Index(buf[:n], []byte("\r\n\r\n")); i >= 0 {
			want = i + 4 + 1024
		}
	}
	return nil
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
