package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestSlowClientIsLetGo: a client that takes no bytes is cut after the idle time.
func TestSlowClientIsLetGo(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = 100 * time.Millisecond })
	gone := make(chan struct{})
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})})
	r.start()
	c := r.dial()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: app.test\r\n\r\n")
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the backend is still writing")
	}
}

// TestSlowRequestBody: a client that stops in its body gets 408, and the backend is
// not blamed.
func TestSlowRequestBody(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = 100 * time.Millisecond })
	r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) { _, _ = io.Copy(io.Discard, req.Body) })})
	r.start()
	c := r.dial()
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 10\r\n\r\nabc")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantReason(t, res, 408, route.ReasonClientTimeout)
	if got := r.outcomes.all(); len(got) != 0 {
		t.Errorf("outcomes %+v", got)
	}
}

func TestBackendTimeout(t *testing.T) {
	for _, request := range []string{postRequest, upgradeRequest} {
		r := newRig(t)
		entry := r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
		})}, func(e *route.Entrypoint) { e.Options.BackendTimeout = 50 * time.Millisecond })
		r.start()
		a := <-r.sendRaw(request)
		wantReason(t, a.res, 504, route.ReasonBackendTimeout)
		got := r.outcomes.all()
		if len(got) != 1 || got[0].Kind != route.KindTimeout || !got[0].Transport || got[0].Placement != placement(entry, 0) {
			t.Errorf("%q: outcomes %+v", request, got)
		}
	}
}

// TestResponseBodyThatStops: the client sees a cut body, never a whole one.
func TestResponseBodyThatStops(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = 100 * time.Millisecond })
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		s, err := readSeen(br)
		if err != nil {
			return
		}
		switch {
		case strings.Contains(s.line, "/length"):
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
		case strings.Contains(s.line, "/chunked"):
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
		case strings.Contains(s.line, "/idle"):
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
			_, _ = br.ReadByte()
		}
	})})
	r.start()
	for path, kind := range map[string]route.Kind{"/length": route.KindHTTPError, "/chunked": route.KindHTTPError, "/idle": route.KindTimeout} {
		before := len(r.outcomes.all())
		res, err := client(t).Do(r.request("GET", "app.test", path, nil))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err == nil || string(body) != "abc" {
			t.Errorf("%s: %q, %v", path, body, err)
		}
		eventually(t, "the broken body is reported", func() bool { return len(r.outcomes.all()) == before+2 })
		if last := r.outcomes.all()[before+1]; !last.Transport || last.Kind != kind || last.Status != 200 {
			t.Errorf("%s: outcome %+v", path, last)
		}
	}
}

// TestClientLeaves: the backend's work is cancelled, nobody is blamed.
func TestClientLeaves(t *testing.T) {
	r := newRig(t)
	began, ended := make(chan struct{}), make(chan struct{})
	entry := r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) {
		close(began)
		<-req.Context().Done()
		close(ended)
	})})
	r.start()
	ctx, cancel := context.WithCancel(t.Context())
	req := r.request("GET", "app.test", "/", nil).WithContext(ctx)
	done := make(chan error, 1)
	go func() {
		res, err := client(t).Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		done <- err
	}()
	<-began
	cancel()
	<-ended
	if err := <-done; err == nil {
		t.Error("an answer after the client left")
	}
	load := placement(entry, 0).Load
	eventually(t, "nothing in flight", func() bool { return load.InFlight.Load() == 0 && entry.Cell.InFlight.Load() == 0 })
	if got := r.outcomes.all(); len(got) != 0 {
		t.Errorf("outcomes %+v", got)
	}
}

// TestClientLeavesInItsBody: an upload that breaks off is the client's affair.
func TestClientLeavesInItsBody(t *testing.T) {
	r := newRig(t)
	ended := make(chan error, 1)
	r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) {
		_, err := io.Copy(io.Discard, req.Body)
		ended <- err
	})})
	r.start()
	c := r.dial()
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 1000\r\n\r\nabc")
	eventually(t, "the backend has the request", func() bool { return r.entries[0].Cell.InFlight.Load() == 1 })
	_ = c.Close()
	if err := <-ended; err == nil {
		t.Error("the backend took half a body for a whole one")
	}
	eventually(t, "nothing in flight", func() bool { return r.entries[0].Cell.InFlight.Load() == 0 })
	if got := r.outcomes.all(); len(got) != 0 {
		t.Errorf("outcomes %+v", got)
	}
}

// TestSilentClientsAreLetGo: before, in and after a head. (net/http looks for the
// preface of HTTP/2 without a deadline of its own.)
func TestSilentClientsAreLetGo(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.Header, c.Timeouts.Idle = 50*time.Millisecond, 50*time.Millisecond })
	r.route("app.test", []string{serveHTTP(t, func(http.ResponseWriter, *http.Request) {})})
	r.start()
	for _, sent := range []string{"", "GET", "GET / HTTP/1.1\r\nHost: app.test\r\nX-A", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nHost: app.test\r\n\r\n"} {
		c := r.dial()
		_, _ = io.WriteString(c, sent)
		if _, err := io.ReadAll(c); err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %q the connection is still open: %v", sent, err)
		}
	}
}

// TestIdleBackendConnections end after the limit.
func TestIdleBackendConnections(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.BackendIdle = 20 * time.Millisecond })
	ended := make(chan struct{})
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, err := readSeen(br); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
		_, _ = br.ReadByte()
		close(ended)
	})})
	r.start()
	r.get("app.test", "/")
	<-ended
}

// TestNothingIsLeftBehind: goroutines end with their requests.
func TestNothingIsLeftBehind(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if req.URL.Path == "/slow" {
			<-req.Context().Done()
			return
		}
		_, _ = w.Write(body)
	})}, func(e *route.Entrypoint) { e.Options.BackendTimeout = 20 * time.Millisecond })
	r.start()
	r.get("app.test", "/")
	before := runtime.NumGoroutine()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range 60 {
		path, body := "/", io.Reader(strings.NewReader("hello"))
		if i%3 == 0 {
			path = "/slow"
		}
		if i%2 == 0 {
			body = io.MultiReader(body) // no length
		}
		res, err := c.Do(r.request("POST", "app.test", path, body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	placement(entry, 0).Upstream.CloseIdle()
	eventually(t, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= before })
	if load := placement(entry, 0).Load; load.InFlight.Load() != 0 || load.Requests.Load() != 61 {
		t.Errorf("in flight %d, requests %d", load.InFlight.Load(), load.Requests.Load())
	}
}
