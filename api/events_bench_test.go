//go:build unix

package api

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
)

// cpu is what this process used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serveEvents listens on loopback until the benchmark ends.
func serveEvents(b *testing.B, e *Events) string {
	l, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := New(Config{Viewer: fixed{&router.View{}}, Log: zerolog.Nop(), Events: e})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	b.Cleanup(func() {
		cancel()
		<-done
	})
	return l.Addr().String()
}

// watchRaw opens a WebSocket as cheaply as can be: the benchmark is of the router.
func watchRaw(b *testing.B, addr string) (net.Conn, *bufio.Reader) {
	c, err := new(net.Dialer).DialContext(b.Context(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\n\r\n", addr)
	r := bufio.NewReader(c)
	for line := ""; line != "\r\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
	}
	if err := skipFrame(r); err != nil { // hello
		b.Fatal(err)
	}
	return c, r
}

// skipFrame reads one unmasked frame (RFC 6455, section 5.2).
func skipFrame(r *bufio.Reader) error {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := int(head[1])
	if size == 126 {
		var more [2]byte
		if _, err := io.ReadFull(r, more[:]); err != nil {
			return err
		}
		size = int(binary.BigEndian.Uint16(more[:]))
	}
	_, err := r.Discard(size)
	return err
}

// BenchmarkFiftyWatchers tells one transition after the other, each when all have the
// one before. core-% is the share of one core at 100 transitions a second, the watchers
// included; it must stay below 20.
func BenchmarkFiftyWatchers(b *testing.B) {
	e := NewEvents()
	addr := serveEvents(b, e)
	got := make(chan error, 50)
	for range 50 {
		c, r := watchRaw(b, addr)
		defer c.Close()
		go func() {
			for err := error(nil); err == nil; {
				err = skipFrame(r)
				got <- err
			}
		}()
	}
	before := cpu(b)
	for b.Loop() {
		e.Transition(wentDown(1))
		for range 50 {
			if err := <-got; err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(100*100*(cpu(b)-before).Seconds()/float64(b.N), "core-%")
}

// BenchmarkStuckWatchers holds as many watchers as may be, none of which reads, while
// large frames are told. KiB/watcher is what the router holds for each.
func BenchmarkStuckWatchers(b *testing.B) {
	e := NewEvents()
	addr := serveEvents(b, e)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	large := wentDown(1)
	large.Message = strings.Repeat("x", 900)
	for range 2 * keptFrames {
		e.Transition(large)
	}
	empty := heap()
	for range maxWatchers {
		c, _ := watchRaw(b, addr)
		defer c.Close()
	}
	for b.Loop() {
		e.Transition(large)
	}
	b.ReportMetric(float64(heap()-empty)/1024/maxWatchers, "KiB/watcher")
}
