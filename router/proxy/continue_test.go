package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// slowWriter takes a while for each head, and notes those that overlap.
type slowWriter struct {
	fields   http.Header
	writing  atomic.Int32
	overlaps atomic.Int32
	heads    []int
}

func (w *slowWriter) Header() http.Header                { return w.fields }
func (w *slowWriter) Write(p []byte) (int, error)        { return len(p), nil }
func (w *slowWriter) SetWriteDeadline(time.Time) error   { return nil }
func (w *slowWriter) SetReadDeadline(at time.Time) error { return nil }
func (w *slowWriter) WriteHeader(status int) {
	if w.writing.Add(1) > 1 {
		w.overlaps.Add(1)
	}
	<-time.After(20 * time.Millisecond)
	w.heads = append(w.heads, status)
	w.writing.Add(-1)
}

// expecting is a request whose client waits for 100.
func expecting(t *testing.T, minor int) (*served, *slowWriter) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://app.test/", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	req.ProtoMinor = minor
	req.Header.Set("Expect", "100-continue")
	s, w := newServed(New(Config{})), &slowWriter{fields: http.Header{}}
	s.begin(w, req)
	return s, w
}

// TestContinueAndHintsTakeTurns: the goroutine that reads the body says 100 while another
// one passes a 103 on. They must not write at once.
func TestContinueAndHintsTakeTurns(t *testing.T) {
	s, w := expecting(t, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.w.Inform(http.StatusEarlyHints, header{"Link": {"</a>"}})
	}()
	got, err := io.ReadAll(s.x.Body)
	<-done
	if slices.Sort(w.heads); w.overlaps.Load() != 0 || !slices.Equal(w.heads, []int{100, 103}) || string(got) != "hello" || err != nil {
		t.Errorf("heads %v, %d at once; body %q, %v", w.heads, w.overlaps.Load(), got, err)
	}
}

// TestContinueIsSaidOnlyWhereItHelps: not after the final head, not to HTTP/1.0, not when
// the request is over.
func TestContinueIsSaidOnlyWhereItHelps(t *testing.T) {
	s, w := expecting(t, 1)
	s.w.duplex = true
	s.w.Head(http.StatusOK, nil, func(func(name, value string)) {})
	if _, err := io.ReadAll(s.x.Body); err != nil || !slices.Equal(w.heads, []int{200}) {
		t.Errorf("after the head: %v, %v", w.heads, err)
	}
	s, w = expecting(t, 0)
	if _, err := io.ReadAll(s.x.Body); err != nil || len(w.heads) != 0 {
		t.Errorf("to HTTP/1.0: %v, %v", w.heads, err)
	}
	s, w = expecting(t, 1)
	body := s.x.Body
	s.end()
	if _, err := io.ReadAll(body); !errors.Is(err, errTaken) || len(w.heads) != 0 {
		t.Errorf("after its end: %v, %v", w.heads, err)
	}
}

// TestContinueAndHintsOnTheWire: a backend that says both at once; no head is garbled.
func TestContinueAndHintsOnTheWire(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})})
	r.start()
	c := r.dial()
	br := bufio.NewReader(c)
	for range 300 {
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
		for seen := 0; ; seen++ {
			res, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode >= http.StatusOK {
				if body, err := io.ReadAll(res.Body); string(body) != "ok" || err != nil || seen != 2 {
					t.Fatalf("%d %q after %d interim heads, %v", res.StatusCode, body, seen, err)
				}
				break
			}
			if want := map[int]string{100: "", 103: "</a.css>"}; len(res.Header) > 1 || res.Header.Get("Link") != want[res.StatusCode] {
				t.Fatalf("%d %v", res.StatusCode, res.Header)
			}
		}
	}
}
