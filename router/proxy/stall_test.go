package proxy

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestPausedUploadIsNoFaultOfTheBackend: a client that pauses for longer than
// backendTimeout is waited for, and one that never goes on is told so. Nothing of it is
// held against the backend.
func TestPausedUploadIsNoFaultOfTheBackend(t *testing.T) {
	const limit = 100 * time.Millisecond
	r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = 6 * limit })
	entry := r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		if body, err := io.ReadAll(req.Body); err == nil {
			_, _ = w.Write(body)
		}
	})}, func(e *route.Entrypoint) { e.Options.BackendTimeout = limit })
	judge := &testJudge{}
	judged(entry, nil, judge)
	r.start()
	upload := func(rest string) *http.Response {
		conn := r.dial()
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 10\r\n\r\n01234")
		<-time.After(3 * limit)
		_, _ = io.WriteString(conn, rest)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := upload("56789"); res.StatusCode != http.StatusOK {
		t.Errorf("after a pause: %d %v", res.StatusCode, res.Header)
	}
	wantReason(t, upload(""), http.StatusRequestTimeout, route.ReasonClientTimeout)
	eventually(t, "both are judged", func() bool { _, ended, _ := judge.seen(); return ended == 2 })
	if _, _, outcomes := judge.seen(); outcomes[0].Void || outcomes[0].Transport || !outcomes[1].Void {
		t.Errorf("judged %+v", outcomes)
	}
	balanced(t, entry, nil, judge)
}

// TestBackendTimeoutAfterTheBody: once the client has sent all, the backend's time runs.
func TestBackendTimeoutAfterTheBody(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		<-req.Context().Done()
	})}, func(e *route.Entrypoint) { e.Options.BackendTimeout = 100 * time.Millisecond })
	r.start()
	res, _ := r.do(r.request("POST", "app.test", "/", strings.NewReader("0123456789")))
	wantReason(t, res, http.StatusGatewayTimeout, route.ReasonBackendTimeout)
}

// TestStuckUploadKeepsNoOtherStream: a body that its backend does not read takes a
// stream's own room on an HTTP/2 connection, not that of others.
func TestStuckUploadKeepsNoOtherStream(t *testing.T) {
	released := make(chan struct{})
	r := newRig(t)
	r.route("stuck.test", []string{serveHTTP(t, func(http.ResponseWriter, *http.Request) { <-released })})
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		n, _ := io.Copy(io.Discard, req.Body)
		if n == 20<<10 {
			w.WriteHeader(http.StatusNoContent)
		}
	})})
	r.start()
	defer close(released)
	c := h2client(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		req := r.request("POST", "stuck.test", "/", bytes.NewReader(make([]byte, 30<<20))).WithContext(ctx)
		if res, err := c.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	eventually(t, "the upload is under way", func() bool { return r.entries[0].Cell.InFlight.Load() == 1 })
	<-time.After(300 * time.Millisecond) // it has sent what there is room for
	began := time.Now()
	for range 20 {
		res, _ := r.doWith(c, r.request("POST", "app.test", "/", bytes.NewReader(make([]byte, 20<<10))))
		if res.StatusCode != http.StatusNoContent {
			t.Fatalf("beside a stuck upload: %d", res.StatusCode)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("20 uploads beside a stuck one took %v", took)
	}
	cancel()
	<-ended
}

// TestTryDurationWaitsForOneThatNeverServed: it is not over with holdFor.
func TestTryDurationWaitsForOneThatNeverServed(t *testing.T) {
	address := closedAddress(t)
	r := newRig(t)
	r.route("app.test", []string{address}, func(e *route.Entrypoint) {
		e.Options.Retry.TryDuration, e.Options.Retry.TryInterval = 5*time.Second, 20*time.Millisecond
		e.Options.HoldFor = 0
	})
	r.start()
	time.AfterFunc(200*time.Millisecond, func() {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Second}
		t.Cleanup(func() { _ = server.Close() })
		go func() { _ = server.Serve(l) }()
	})
	if res, _ := r.get("app.test", "/"); res.StatusCode != http.StatusOK {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
}
