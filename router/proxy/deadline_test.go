package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// timedWriter notes the deadlines that are set, and the write deadline during each call.
type timedWriter struct {
	fields      http.Header
	read, write time.Time
	calls       []time.Time
}

func (w *timedWriter) Header() http.Header                 { return w.fields }
func (w *timedWriter) WriteHeader(status int)              { _ = status < 200 && w.note() }
func (w *timedWriter) Write(p []byte) (int, error)         { w.note(); return len(p), nil }
func (w *timedWriter) FlushError() error                   { w.note(); return nil }
func (w *timedWriter) SetReadDeadline(at time.Time) error  { w.read = at; return nil }
func (w *timedWriter) SetWriteDeadline(at time.Time) error { w.write = at; return nil }
func (w *timedWriter) note() bool                          { w.calls = append(w.calls, w.write); return true }

// timed is an exchange of an HTTP version with a body of five bytes.
func timed(t *testing.T, major int) (*served, *timedWriter) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://app.test/", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	req.ProtoMajor = major
	s, w := newServed(New(Config{})), &timedWriter{fields: http.Header{}}
	s.begin(w, req)
	s.w.Duplex()
	return s, w
}

// TestWriteDeadlineIsForWhatIsWritten: each call gets its time, and so does the end of the
// response, however long the backend paused before. On HTTP/2 there is none between.
func TestWriteDeadlineIsForWhatIsWritten(t *testing.T) {
	for _, major := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s, w := timed(t, major)
			idle := s.w.idle
			bounded := func(what string, at time.Time, call bool) {
				t.Helper()
				if left := time.Until(at); call && (left < idle*15/16 || left > idle) {
					t.Errorf("HTTP/%d, %s: %v left", major, what, left)
				}
				if major == 2 && call && !w.write.IsZero() {
					t.Errorf("HTTP/%d: a deadline after %s, with nothing to write", major, what)
				}
			}
			for _, call := range []struct {
				name string
				make func()
			}{
				{"an interim head", func() { s.w.Inform(http.StatusEarlyHints, header{"Link": {"</a>"}}) }},
				{"a write", func() {
					s.w.Head(http.StatusOK, nil, func(func(name, value string)) {})
					_, _ = s.w.Write([]byte("one"))
				}},
				{"a flush", func() { _ = s.w.Flush() }},
				{"a write soon after", func() { _, _ = s.w.Write([]byte("two")) }},
			} {
				call.make()
				bounded(call.name, w.calls[len(w.calls)-1], true)
				<-time.After(idle/16 - time.Second)
			}
			<-time.After(idle * 15 / 16)
			s.end()
			if left := time.Until(w.write); left < idle*15/16 {
				t.Errorf("HTTP/%d, the end: %v left", major, left)
			}
		})
	}
}

// TestReadDeadlineIsForWhatIsRead: on HTTP/2 there is none while nobody reads, and on
// neither version once the response has begun.
func TestReadDeadlineIsForWhatIsRead(t *testing.T) {
	for _, major := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s, w := timed(t, major)
			p, begin := make([]byte, 1), time.Now()
			_, _ = s.x.Body.Read(p)
			if want := map[int]time.Time{1: begin.Add(s.w.idle)}[major]; !w.read.Equal(want) {
				t.Errorf("HTTP/%d, after a read: %v", major, w.read)
			}
			s.w.Head(http.StatusOK, nil, func(func(name, value string)) {})
			_, _ = s.x.Body.Read(p)
			if !w.read.IsZero() {
				t.Errorf("HTTP/%d, after the head: %v", major, w.read)
			}
			s.end()
			if !w.read.Equal(begin.Add(unwantedBody)) {
				t.Errorf("HTTP/%d, at the end: %v", major, w.read)
			}
		})
	}
}

// spread calls f ten times within twice idle, until it fails.
func spread(idle time.Duration, f func() error) {
	for range 10 {
		if f() != nil {
			return
		}
		<-time.After(idle / 5)
	}
}

// TestOneSideStreams for longer than bodyIdle while the other is silent: nobody is cut.
func TestOneSideStreams(t *testing.T) {
	const idle = 500 * time.Millisecond
	r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = idle })
	backend := func(w http.ResponseWriter, req *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.EnableFullDuplex()
		w.Header().Set("Content-Type", req.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusOK)
		_ = rc.Flush()
		if req.URL.Path == "/up" {
			n, err := io.Copy(io.Discard, req.Body)
			_, _ = fmt.Fprint(w, n, err)
			return
		}
		spread(idle, func() error {
			_, _ = io.WriteString(w, "y")
			return rc.Flush()
		})
	}
	r.route("h1.test", []string{serveHTTP(t, backend)})
	r.route("h2c.test", []string{"h2c://" + serveH2C(t, backend)})
	r.start()
	var wg sync.WaitGroup
	for _, c := range []*http.Client{client(t), h2client(t)} {
		for _, host := range []string{"h1.test", "h2c.test"} {
			for path, want := range map[string]string{"/up": "10 <nil>", "/down": "yyyyyyyyyy"} {
				pr, pw := io.Pipe()
				req := r.request("POST", host, path, pr)
				req.Header.Set("Content-Type", "application/grpc")
				send := func() error { _, err := pw.Write([]byte("x")); return err }
				wg.Go(func() {
					if path == "/down" {
						_ = send()
						return // and no end
					}
					spread(idle, send)
					_ = pw.Close()
				})
				wg.Go(func() {
					res, err := c.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(res.Body)
					_ = pw.Close()
					if string(got) != want || err != nil {
						t.Errorf("HTTP/%d to %s%s: %q, %v", res.ProtoMajor, host, path, got, err)
					}
				})
			}
		}
	}
	wg.Wait()
}

// TestBackendThatPausesOverHTTP2: before its final head, or in the midst of an upload, for
// longer than bodyIdle. The client is not at fault, and gets its answer.
func TestBackendThatPausesOverHTTP2(t *testing.T) {
	const idle = 500 * time.Millisecond
	r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = idle })
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.CopyN(io.Discard, req.Body, 1000)
		w.WriteHeader(http.StatusEarlyHints)
		<-time.After(3 * idle)
		n, err := io.Copy(io.Discard, req.Body)
		_, _ = fmt.Fprint(w, n, err)
	})})
	r.start()
	var wg sync.WaitGroup
	for size, want := range map[int]string{0: "0 <nil>", 16 << 20: "16776216 <nil>"} {
		c, req := h2client(t), r.request("POST", "app.test", "/", bytes.NewReader(make([]byte, size)))
		wg.Go(func() {
			res, err := c.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			body, err := io.ReadAll(res.Body)
			if res.StatusCode != http.StatusOK || string(body) != want || err != nil {
				t.Errorf("%d bytes: %d %q %v %v", size, res.StatusCode, body, res.Header, err)
			}
		})
	}
	wg.Wait()
}

// TestSlowRequestBodyOverHTTP2: the client that stops is told.
func TestSlowRequestBodyOverHTTP2(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = 100 * time.Millisecond })
	r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) { _, _ = io.Copy(io.Discard, req.Body) })})
	r.start()
	pr, pw := io.Pipe()
	go func() { _, _ = pw.Write([]byte("abc")) }()
	res, err := h2client(t).Do(r.request("POST", "app.test", "/", pr))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	wantReason(t, res, http.StatusRequestTimeout, route.ReasonClientTimeout)
	if got := r.outcomes.all(); len(got) != 0 {
		t.Errorf("outcomes %+v", got)
	}
}
