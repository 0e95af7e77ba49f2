package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fairlead/router"
)

// start serves on a free loopback port until the test ends.
func start(t *testing.T, s *Server) (addr string, stop func() error) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	var result error
	done := false
	stop = func() error {
		cancel()
		if !done {
			result, done = <-ended, true
		}
		return result
	}
	t.Cleanup(func() { _ = stop() })
	return l.Addr().String(), stop
}

func TestServeEndsWithItsContext(t *testing.T) {
	addr, stop := start(t, newServer(richView()))
	resp, err := http.Get("http://" + addr + "/entrypoints")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"http_api"`)) {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if err := stop(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		c.Close()
		t.Error("the listener is still open")
	}
}

// TestSlowReaderDoesNotHoldTheShutdown: an answer that nobody reads is cut.
func TestSlowReaderDoesNotHoldTheShutdown(t *testing.T) {
	s := newServer(richView())
	s.closing = 50 * time.Millisecond
	addr, stop := start(t, s)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /entrypoints HTTP/1.1\r\nHost: localhost\r\n"); err != nil { // never finished
		t.Fatal(err)
	}
	began := time.Now()
	if err := stop(); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("Serve: %v after %v", err, time.Since(began))
	}
}

func TestServeReportsALostListener(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := newServer(richView()).Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), "admin listener 127.0.0.1") {
		t.Errorf("Serve: %v", err)
	}
}

func TestLargeHeadersAreRefused(t *testing.T) {
	addr, _ := start(t, newServer(richView()))
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/me", http.NoBody)
	r.Header.Set("X-Large", strings.Repeat("a", 2*maxHeaderBytes))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", resp.StatusCode)
	}
}

// panicking is a viewer that fails with a secret in its hands.
type panicking struct{ value any }

func (p panicking) View() *router.View { panic(p.value) }

func TestPanicIsLoggedWithoutItsValue(t *testing.T) {
	for _, value := range []any{canary, errors.New(canary), struct{ secret string }{canary}} {
		var log bytes.Buffer
		s := newServer(nil)
		s.cfg.Viewer, s.cfg.Log = panicking{value}, zerolog.New(&log)
		w := get(s, "/entrypoints")
		e := decodeError(t, w.Body.Bytes())
		if w.Code != http.StatusInternalServerError || e.Code != CodeInternal {
			t.Errorf("%d %+v", w.Code, e)
		}
		if strings.Contains(log.String()+w.Body.String(), canary) {
			t.Errorf("the value of a panic shows: %s", log.String())
		}
		if !strings.Contains(log.String(), "panicked") || !strings.Contains(log.String(), "list.go") {
			t.Errorf("the log does not say where: %s", log.String())
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Error("no security headers")
		}
	}
}

func TestAbortIsPassedOn(t *testing.T) {
	s := newServer(nil)
	s.cfg.Viewer = panicking{http.ErrAbortHandler}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Error("the abort was swallowed")
		}
	}()
	get(s, "/entrypoints")
}

// TestAnswerThatCannotBeEncoded is a clean 500, not half an answer.
func TestAnswerThatCannotBeEncoded(t *testing.T) {
	s := newServer(richView())
	w := httptest.NewRecorder()
	s.send(w, httptest.NewRequest(http.MethodGet, "/x", http.NoBody), reply{body: math.NaN()})
	if e := decodeError(t, w.Body.Bytes()); w.Code != http.StatusInternalServerError || e.Code != CodeInternal {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestNetHTTPComplaintsAreDebug: scanners must not fill the log.
func TestNetHTTPComplaintsAreDebug(t *testing.T) {
	var log bytes.Buffer
	quietLog(zerolog.New(&log)).Print("http: TLS handshake error\n")
	if got := log.String(); !strings.Contains(got, `"level":"debug"`) || !strings.Contains(got, "handshake error") {
		t.Errorf("%s", got)
	}
}

func TestErrorIsAnError(t *testing.T) {
	if err := error(notFound("no %s", "x")); err.Error() != "no x" {
		t.Error(err)
	}
}

// BenchmarkEntrypoints10000 is the whole list of a large installation.
func BenchmarkEntrypoints10000(b *testing.B) {
	s := newServer(manyEntrypoints(10000))
	for b.Loop() {
		if w := get(s, "/entrypoints"); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}

// BenchmarkReady10000 must stay far below 50 ms.
func BenchmarkReady10000(b *testing.B) {
	s := newServer(manyEntrypoints(10000))
	for b.Loop() {
		if w := get(s, "/ready"); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
