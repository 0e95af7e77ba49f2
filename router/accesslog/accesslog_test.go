package accesslog

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/route"
)

// canary stands wherever a secret may be.
const canary = "c4nary-s3cret"

// fields is a request header.
type fields map[string]string

func (f fields) Get(name string) string { return f[name] }
func (f fields) List(name string) string {
	return f[name]
}
func (f fields) Has(name, _ string, _ bool) bool { return f[name] != "" }
func (f fields) Each(yield func(name, value string) bool) {
	for name, value := range f {
		if !yield(name, value) {
			return
		}
	}
}

// request is one that a backend answered, with secrets in its header.
func request() *exchange.Exchange {
	return &exchange.Exchange{
		Context: context.Background(), Began: time.Now().Add(-1500 * time.Millisecond),
		Verb: "GET", Authority: "App.test:8080", HostName: "app.test", Major: 1, Minor: 1,
		Peer: netip.MustParseAddrPort("192.0.2.7:1234"), Client: netip.MustParseAddr("192.0.2.9"),
		Header: fields{
			"User-Agent": "curl/8", "Authorization": "Bearer " + canary, "Cookie": "s=" + canary, "X-Key": canary,
			"Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		},
		Route:    &router.Route{Entrypoint: &route.Entrypoint{ID: "http_app"}},
		Backend:  &route.Placement{Backend: route.Backend{ID: "0123456789ab", Host: "192.0.2.3", Port: 80}},
		Attempts: 1, Status: 200, Received: 12, Sent: 3456, Connect: 1234567 * time.Nanosecond, Answer: 40 * time.Millisecond,
	}
}

// written runs a log, lets a test use it, and returns its lines.
func written(t *testing.T, cfg Config, use func(l *Log)) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	cfg.Out = &out
	l := New(cfg)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	use(l)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), canary) {
		t.Errorf("a secret is in %s", out.String())
	}
	return parse(t, out.String())
}

func parse(t *testing.T, text string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(text) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		lines = append(lines, one)
	}
	return lines
}

func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := written(t, Config{}, func(l *Log) { l.Log(request(), "/a/b?token="+canary+"&"+canary) })
		want := map[string]any{
			"time": time.Now().Format(timeFormat), "client": "192.0.2.9", "method": "GET", "host": "app.test",
			"path": "/a/b?token=***&***", "protocol": "HTTP/1.1", "status": 200.0, "bytes_in": 12.0, "bytes_out": 3456.0,
			"duration_ms": 1500.0, "connect_ms": 1.234, "backend_ms": 40.0, "attempts": 1.0, "entrypoint": "http_app",
			"backend": "0123456789ab", "address": "192.0.2.3:80", "user_agent": "curl/8", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
		}
		if len(lines) != 1 {
			t.Fatalf("%d lines", len(lines))
		}
		for name, value := range lines[0] {
			if want[name] != value {
				t.Errorf("%s is %v, want %v", name, value, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("not in the line: %v", want)
		}
	})
}

// TestLineOfARefusal: what is not known is not there, and the peer stands for the client.
func TestLineOfARefusal(t *testing.T) {
	x := &exchange.Exchange{
		Verb: strings.Repeat("M", 100), Authority: "user:" + canary + "@" + strings.Repeat("h", 300), Major: 2, Began: time.Now(),
		Peer: netip.MustParseAddrPort("[::ffff:192.0.2.7]:1234"), Header: fields{"User-Agent": strings.Repeat("ä", 300), "Traceparent": canary},
		Status: 400, Reason: route.ReasonBadRequest, Sent: 5, Held: time.Second,
	}
	lines := written(t, Config{}, func(l *Log) { l.Log(x, "/"+strings.Repeat("p", 5000)+"#"+canary) })
	line := lines[0]
	for _, name := range []string{"entrypoint", "backend", "address", "trace_id", "weight"} {
		if value, there := line[name]; there {
			t.Errorf("%s is %v", name, value)
		}
	}
	if line["client"] != "192.0.2.7" || line["protocol"] != "HTTP/2" || line["reason"] != "bad_request" || line["held_ms"] != 1000.0 {
		t.Errorf("line %v", line)
	}
	for name, limit := range map[string]int{"method": maxMethod, "host": maxHost, "path": maxPath, "user_agent": maxAgent} {
		if text, _ := line[name].(string); len(text) > limit+5 || len(text) < limit {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ query, target, want string }{
		{"", "/", "/"},
		{"", "/a?", "/a?"},
		{"", "/a?x=" + canary, "/a?x=***"},
		{"", "/a?" + canary, "/a?***"},
		{"", "/a?" + canary + "==", "/a?***"},
		{"", "/a?x=1&" + canary + ";y=" + canary + "&", "/a?x=***&***;y=***&"},
		{"", "/a?x=1=" + canary, "/a?x=***"},
		{"", "/a?x=1?" + canary, "/a?x=***"},
		{"", "/a#" + canary, "/a"},
		{"drop", "/a?x=" + canary, "/a"},
		{"keep", "/a?x=1&y", "/a?x=1&y"},
		{"", "http://user:" + canary + "@app.test/a/b?x=1", "/a/b?x=***"},
		{"", "http://user:" + canary + "@app.test", "/"},
		{"", "http://user:" + canary + "?@app.test/" + canary, "/?***"},
		{"", "user:" + canary + "@app.test:443", "app.test:443"},
		{"", "app.test:443", "app.test:443"},
		{"", "*", "*"},
		{"", "", ""},
	} {
		l := New(Config{Query: Query(c.query)})
		if got := l.path(c.target); got != c.want {
			t.Errorf("%q with %q is %q, want %q", c.target, c.query, got, c.want)
		}
	}
}

func TestTraceID(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for field, want := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01":                       id,
		"cc-" + id + "-00f067aa0ba902b7-01-more":                  id,
		"00-" + id + "-00f067aa0ba902b7-01-more":                  "",
		"ff-" + id + "-00f067aa0ba902b7-01":                       "",
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":      "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-" + id + "-00f067aa0ba902b7":                          "",
		"00x" + id + "-00f067aa0ba902b7-01":                       "",
		canary:                                                    "", "": "",
	} {
		if got := traceID(field); got != want {
			t.Errorf("%q gives %q, want %q", field, got, want)
		}
	}
}

// TestSample: failures are all written, and weights add up to about what there was.
func TestSample(t *testing.T) {
	lines := written(t, Config{Sample: 10}, func(l *Log) {
		failed := request()
		failed.Status = 502
		for range 5000 {
			l.Log(request(), "/")
		}
		for range 20 {
			l.Log(failed, "/")
		}
	})
	failures, weight := 0, 0.0
	for _, line := range lines {
		if line["status"] == 502.0 {
			failures++
			if line["weight"] != nil {
				t.Errorf("a failure has the weight %v", line["weight"])
			}
			continue
		}
		w, _ := line["weight"].(float64)
		weight += w
	}
	if failures != 20 || weight < 3500 || weight > 6500 {
		t.Errorf("%d failures, a weight of %v", failures, weight)
	}
}

// gate is a stream that takes nothing while it is closed, and counts writes.
type gate struct {
	open   chan struct{}
	mu     sync.Mutex
	writes int
	lines  int
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes++
	g.lines += bytes.Count(p, []byte{'\n'})
	return len(p), nil
}

// TestLinesAreGathered: many lines are few writes, and none waits for long.
func TestLinesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		close(g.open)
		l := New(Config{Out: g})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		for range 100 {
			l.Log(request(), "/")
			<-time.After(10 * time.Millisecond)
		}
		<-time.After(gather)
		synctest.Wait()
		if g.lines != 100 || g.writes > 12 {
			t.Errorf("%d lines in %d writes", g.lines, g.writes)
		}
		if s := l.Stats(); s != (Stats{Lines: 100}) {
			t.Errorf("stats %+v", s)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestAStuckStreamHoldsNobody: requests go on, lines are dropped and counted, the
// memory is bounded, and the end does not wait for ever.
func TestAStuckStreamHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := New(Config{Out: g})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		l.Log(request(), "/")
		<-time.After(time.Second) // the writer is stuck now
		const n = 30000
		began := time.Now()
		for range n {
			l.Log(request(), "/")
		}
		if time.Since(began) > 0 {
			t.Error("a request waited")
		}
		dropped := l.Stats().Dropped
		if len(l.pending) > maxPending || dropped == 0 || dropped+l.count != n {
			t.Errorf("%d bytes pending, %d dropped, %d wait", len(l.pending), dropped, l.count)
		}
		stop()
		if err := <-done; err == nil || time.Since(began) != lastWrite {
			t.Errorf("Run returned %v after %v", err, time.Since(began))
		}
		close(g.open)
	})
}

// TestConcurrentLines is for the race detector: every line is whole.
func TestConcurrentLines(t *testing.T) {
	lines := written(t, Config{Log: zerolog.Nop()}, func(l *Log) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 500 {
					l.Log(request(), "/x?a=b")
				}
			})
		}
		wg.Wait()
	})
	if len(lines) != 4000 {
		t.Errorf("%d lines", len(lines))
	}
}

// FuzzLine: whatever a client sends, a line is one bounded line of JSON.
func FuzzLine(f *testing.F) {
	f.Add("GET", "app.test", "/a?b=c", "curl")
	f.Add("G\nT", "a\"b", "http://u:p@h/\x00?\xff=&;=", "\u2028\\")
	f.Fuzz(func(t *testing.T, method, authority, target, agent string) {
		x := request()
		x.Verb, x.Authority, x.HostName, x.Header = method, authority, "", fields{"User-Agent": agent}
		lines := written(t, Config{}, func(l *Log) { l.Log(x, target) })
		if len(lines) != 1 {
			t.Fatalf("%d lines", len(lines))
		}
	})
}

// BenchmarkLog is what a request pays for its line.
func BenchmarkLog(b *testing.B) {
	l := New(Config{Path: b.TempDir() + "/access.log"})
	if err := l.Open(); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	x := request()
	b.ReportAllocs()
	for b.Loop() {
		l.Log(x, "/page?x=1")
	}
	stop()
	<-done
	b.ReportMetric(float64(l.Stats().Dropped), "dropped")
}

// TestProtocolIsWhatTheClientSaid, also where that is no version that there is.
func TestProtocolIsWhatTheClientSaid(t *testing.T) {
	for want, version := range map[string][2]int{"HTTP/1.0": {1, 0}, "HTTP/1.1": {1, 1}, "HTTP/1.2": {1, 2}, "HTTP/2": {2, 0}, "HTTP/3": {3, 0}} {
		if got := protocol(&exchange.Exchange{Major: version[0], Minor: version[1]}); got != want {
			t.Errorf("%v is %s, want %s", version, got, want)
		}
	}
}

// TestEveryByteStaysInItsLine: whatever a client puts into a field, also where it is cut,
// a line is one line of JSON with that field, and no other field changes.
func TestEveryByteStaysInItsLine(t *testing.T) {
	odd := []string{"\u2028", "\u009b", "\u202e", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", `\u0022`, `","status":200,"x":"`, "\\", "%00%0a"}
	for b := range 256 {
		odd = append(odd, string([]byte{byte(b)}))
	}
	for _, query := range []Query{QueryRedacted, QueryKept, QueryDropped} {
		lines := written(t, Config{Query: query}, func(l *Log) {
			for _, text := range odd {
				for _, before := range []int{0, 1, maxMethod - 1, maxHost - 1, maxAgent - 1, maxPath - 2} {
					x, fill := request(), strings.Repeat("f", before)
					x.HostName, x.Authority, x.Verb = "", fill+text+"z", fill+text+"z"
					x.Header = fields{"User-Agent": fill + text + "z", "Traceparent": text}
					l.Log(x, "/"+fill+text+"z?"+text+"="+text)
				}
			}
		})
		if len(lines) != 6*len(odd) {
			t.Fatalf("%d lines of %d requests", len(lines), 6*len(odd))
		}
		for i, line := range lines {
			agent, _ := line["user_agent"].(string)
			path, _ := line["path"].(string)
			if len(line) != 17 || line["status"] != 200.0 || agent == "" || !strings.HasPrefix(path, "/") || line["trace_id"] != nil {
				t.Errorf("%q: %v", odd[i/6], line)
			}
		}
	}
}
