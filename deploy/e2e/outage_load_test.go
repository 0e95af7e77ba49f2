package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Shape of the load on one host.
const (
	steadyWorkers = 8
	steadyRate    = 200 // requests per second, all workers together
)

// steadyLoad is a stream of requests over connections that are kept, and what came of
// them. Nothing is tried again: an ordinary client's silent second try would hide faults.
type steadyLoad struct {
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	target string
	host   string
	want   string // begins every good answer

	mu       sync.Mutex
	ok       []time.Time
	failures []loadFailure
	stop     context.CancelFunc
	wg       sync.WaitGroup
}

// loadFailure is one request that did not get what it asked for.
type loadFailure struct {
	at     time.Time
	status int // 0 when there was no answer
	reason string
	retry  string // Retry-After
}

func (f loadFailure) String() string {
	return fmt.Sprintf("%s %d %s", f.at.Format("15:04:05.000"), f.status, f.reason)
}

// startLoad sends requests for the host until the test ends or finish is called.
func startLoad(s *site, host, want string) *steadyLoad {
	ctx, cancel := context.WithCancel(context.Background())
	l := &steadyLoad{dial: s.dial, target: s.http, host: host, want: want, stop: cancel}
	for i := range steadyWorkers {
		l.wg.Go(func() { l.work(ctx, time.Duration(i)*time.Second/steadyRate) })
	}
	s.t.Cleanup(l.finish)
	return l
}

// finish ends the load; it may be called again.
func (l *steadyLoad) finish() {
	l.stop()
	l.wg.Wait()
}

func (l *steadyLoad) work(ctx context.Context, offset time.Duration) {
	select {
	case <-time.After(offset):
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(steadyWorkers * time.Second / steadyRate)
	defer tick.Stop()
	var conn net.Conn
	var in *bufio.Reader
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for ctx.Err() == nil {
		if conn == nil {
			var err error
			if conn, err = l.dial(ctx, "tcp", l.target); err != nil {
				l.note(loadFailure{at: time.Now(), reason: err.Error()})
				conn = nil
			} else {
				in = bufio.NewReader(conn)
			}
		}
		if conn != nil && !l.request(conn, in) {
			conn.Close()
			conn = nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// request sends one request and reports whether the connection can take another one.
func (l *steadyLoad) request(conn net.Conn, in *bufio.Reader) (reusable bool) {
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", l.host); err != nil {
		l.note(loadFailure{at: time.Now(), reason: err.Error()})
		return false
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		l.note(loadFailure{at: time.Now(), reason: err.Error()})
		return false
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	f := loadFailure{at: time.Now(), status: res.StatusCode, retry: res.Header.Get("Retry-After")}
	switch {
	case err != nil:
		f.reason = err.Error()
	case res.StatusCode != http.StatusOK:
		f.reason = answer{header: res.Header}.reason()
	case !strings.HasPrefix(string(body), l.want):
		f.reason = "wrong page: " + string(body)
	default:
		l.mu.Lock()
		l.ok = append(l.ok, f.at)
		l.mu.Unlock()
		return !res.Close
	}
	l.note(f)
	return err == nil && !res.Close
}

func (l *steadyLoad) note(f loadFailure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, f)
}

// since returns the failures after a moment and the number of good answers.
func (l *steadyLoad) since(from time.Time) (failures []loadFailure, good int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.failures {
		if f.at.After(from) {
			failures = append(failures, f)
		}
	}
	for _, at := range l.ok {
		if at.After(from) {
			good++
		}
	}
	return failures, good
}

// longestGap is the longest time without a good answer, and when it began.
func (l *steadyLoad) longestGap() (gap time.Duration, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := 1; i < len(l.ok); i++ {
		if d := l.ok[i].Sub(l.ok[i-1]); d > gap {
			gap, began = d, l.ok[i-1]
		}
	}
	return gap, began
}

// expect fails the test when more than most requests failed after a moment, or when
// there was no load to speak of.
func (l *steadyLoad) expect(t *testing.T, phase string, from time.Time, most int) {
	t.Helper()
	failures, good := l.since(from)
	t.Logf("%s: %d failed, %d good in %v", phase, len(failures), good, time.Since(from).Round(10*time.Millisecond))
	if len(failures) > most {
		t.Errorf("%s: %d failed, at most %d may: %v", phase, len(failures), most, failures[:min(len(failures), 12)])
	}
	if least := int(time.Since(from).Seconds() * steadyRate / 2); good < least {
		t.Errorf("%s: %d good answers in %v, at least %d expected", phase, good, time.Since(from), least)
	}
}

// tally counts failures by status and reason.
func tally(failures []loadFailure) map[string]int {
	counts := map[string]int{}
	for _, f := range failures {
		counts[fmt.Sprintf("%d %s", f.status, f.reason)]++
	}
	return counts
}

// stream is one long exchange through the router.
type stream struct {
	what string
	mu   sync.Mutex
	last time.Time // when something came
	err  error     // its end
}

func (s *stream) came(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = err
		return false
	}
	s.last = time.Now()
	return true
}

// alive reports why the stream is not, or nil.
func (s *stream) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return fmt.Errorf("%s ended after %s: %w", s.what, s.last.Format("15:04:05.000"), s.err)
	case time.Since(s.last) > 5*time.Second:
		return fmt.Errorf("%s: nothing came since %s", s.what, s.last.Format("15:04:05.000"))
	}
	return nil
}

// startStreams opens a WebSocket, which is sent to four times a second, and a stream of
// server-sent events.
func startStreams(s *site, host string) []*stream {
	s.t.Helper()
	dialer := websocket.Dialer{NetDialContext: s.dial, HandshakeTimeout: 5 * time.Second}
	ws, res, err := dialer.Dial("ws://"+s.http+"/ws", http.Header{"Host": {host}})
	if err != nil {
		s.t.Fatalf("websocket: %v %+v", err, res)
	}
	conn, err := s.dial(context.Background(), "tcp", s.http)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err = fmt.Fprintf(conn, "GET /sse HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
		s.t.Fatal(err)
	}
	echo, events := &stream{what: "websocket", last: time.Now()}, &stream{what: "event stream", last: time.Now()}
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for ; ; <-tick.C {
			err := ws.WriteMessage(websocket.TextMessage, []byte("hello"))
			if err == nil {
				_, _, err = ws.ReadMessage()
			}
			if !echo.came(err) {
				return
			}
		}
	})
	wg.Go(func() {
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", res.StatusCode)
		}
		for buffer := make([]byte, 512); events.came(err); {
			_, err = res.Body.Read(buffer)
		}
	})
	s.t.Cleanup(func() {
		ws.Close()
		conn.Close()
		wg.Wait()
	})
	return []*stream{echo, events}
}

// expectAlive fails the test for every stream that broke.
func expectAlive(t *testing.T, phase string, streams []*stream) {
	t.Helper()
	for _, s := range streams {
		if err := s.alive(); err != nil {
			t.Errorf("%s: %v", phase, err)
		}
	}
}
