package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestStreamsEvents: each event is there at once, whatever the exact content type
// says, and the head before the first of them.
func TestStreamsEvents(t *testing.T) {
	for _, kind := range []string{"text/event-stream; charset=utf-8", "application/x-ndjson", ""} {
		next := make(chan string)
		r := newRig(t)
		r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header()["Content-Type"] = nil
			if kind != "" {
				w.Header().Set("Content-Type", kind)
			}
			_ = http.NewResponseController(w).Flush()
			for s := range next {
				_, _ = io.WriteString(w, s)
				_ = http.NewResponseController(w).Flush()
			}
		})})
		r.start()
		res, err := client(t).Do(r.request("GET", "app.test", "/", nil)) // returns with the head alone
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Get("Content-Type"); got != kind {
			t.Errorf("content type %q, want %q", got, kind)
		}
		buf := make([]byte, 100)
		for _, event := range []string{"data: one\n\n", "data: two\n\n"} {
			next <- event
			n, err := io.ReadAtLeast(res.Body, buf, len(event))
			if err != nil || string(buf[:n]) != event {
				t.Errorf("%q, %v; want %q", buf[:n], err, event)
			}
		}
		close(next)
		_ = res.Body.Close()
	}
}

// TestFlushesTheHeadOfASlowBody: a head with a length goes out before its body.
func TestFlushesTheHeadOfASlowBody(t *testing.T) {
	r := newRig(t)
	release := make(chan struct{})
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, err := readSeen(br); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			<-release
			_, _ = io.WriteString(c, "hello")
		}
	})})
	r.start()
	res, err := client(t).Do(r.request("GET", "app.test", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "hello" {
		t.Errorf("%q, %v", body, err)
	}
}

// pattern gives n bytes that tell a hole or a repetition.
type pattern struct{ at, n int64 }

func (p *pattern) Read(b []byte) (int, error) {
	if p.at == p.n {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), p.n-p.at))
	for i := range n {
		b[i] = byte((p.at + int64(i)) % 251)
	}
	p.at += int64(n)
	return n, nil
}

// checkPattern reads all and returns the number of right bytes.
func checkPattern(r io.Reader) (int64, error) {
	buf := make([]byte, 32<<10)
	var at int64
	for {
		n, err := r.Read(buf)
		for i := range n {
			if buf[i] != byte((at+int64(i))%251) {
				return at, fmt.Errorf("wrong byte at %d", at+int64(i))
			}
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, err
		}
	}
}

// TestUploadsAndDownloadsInLittleMemory sends 64 MiB each way, with and without a
// length.
func TestUploadsAndDownloadsInLittleMemory(t *testing.T) {
	const size = 64 << 20
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		n, err := checkPattern(req.Body)
		if err != nil || n != size {
			http.Error(w, fmt.Sprint(n, err), http.StatusInternalServerError)
			return
		}
		if req.ContentLength >= 0 {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		_, _ = io.Copy(w, &pattern{n: size})
	})})
	r.start()
	for _, length := range []int64{size, -1} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		req := r.request("PUT", "app.test", "/", &pattern{n: size})
		req.ContentLength = length
		res, err := client(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		n, err := checkPattern(res.Body)
		_ = res.Body.Close()
		if err != nil || n != size || res.StatusCode != http.StatusOK {
			t.Errorf("length %d: status %d, %d bytes, %v", length, res.StatusCode, n, err)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
			t.Errorf("length %d: %d MiB were allocated on the way", length, grown>>20)
		}
	}
}

// TestBothDirectionsAtOnce: an HTTP/1 backend echoes while the request still comes.
func TestBothDirectionsAtOnce(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.EnableFullDuplex()
		w.WriteHeader(http.StatusOK)
		_ = rc.Flush()
		buf := make([]byte, 100)
		for {
			n, err := req.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			_ = rc.Flush()
			if err != nil {
				return
			}
		}
	})})
	r.start()
	c := r.dial()
	br := bufio.NewReader(c)
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n")
	res, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	for _, word := range []string{"one", "two"} {
		_, _ = fmt.Fprintf(c, "3\r\n%s\r\n", word)
		if _, err := io.ReadFull(res.Body, buf[:3]); err != nil || string(buf[:3]) != word {
			t.Fatalf("%q, %v; want %s", buf[:3], err, word)
		}
	}
	_, _ = io.WriteString(c, "0\r\n\r\n")
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
		t.Errorf("rest %q, %v", rest, err)
	}
}

func TestTrailersBothWays(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		announced := req.Header.Get("Trailer") != "" || len(req.Trailer) > 0
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("X-Announced", strconv.FormatBool(announced))
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "42")
		w.Header().Set(http.TrailerPrefix+"X-Late", "late")
		w.Header().Set(http.TrailerPrefix+"X-Echo", req.Trailer.Get("X-Client")+"/"+req.Trailer.Get("X-Surprise"))
	})})
	r.start()
	c := r.dial()
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\nTrailer: X-Client\r\n\r\n3\r\nabc\r\n0\r\nX-Client: c\r\nX-Surprise: s\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := res.Trailer["X-Sum"]; !ok {
		t.Errorf("the trailer is not announced: %v", res.Trailer)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "body" {
		t.Fatalf("%q, %v", body, err)
	}
	if res.Trailer.Get("X-Sum") != "42" || res.Trailer.Get("X-Late") != "late" || res.Trailer.Get("X-Echo") != "c/s" {
		t.Errorf("trailers %v", res.Trailer)
	}
	if res.Header.Get("X-Announced") != "true" {
		t.Error("the announcement of the client's trailer did not reach the backend")
	}
}

// TestForwardsEarlyHints: 103 comes before the final answer, with its own fields only.
func TestForwardsEarlyHints(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Link", "</b.css>; rel=preload")
		w.WriteHeader(http.StatusProcessing)
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "done")
	})})
	r.start()
	var hints []string
	req := r.request("GET", "app.test", "/", nil)
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(code, h["Link"]))
			return nil
		},
	}))
	res, body := r.do(req)
	if got := strings.Join(hints, ","); got != "103 [</a.css>; rel=preload],102 [</b.css>; rel=preload]" {
		t.Errorf("interim answers %s", got)
	}
	if res.StatusCode != http.StatusOK || body != "done" || res.Header.Get("Link") != "" {
		t.Errorf("final answer %d %q %v", res.StatusCode, body, res.Header)
	}
	// A client of HTTP/1.0 knows no interim answers.
	c := r.dial()
	_, _ = io.WriteString(c, "GET / HTTP/1.0\r\nHost: app.test\r\n\r\n")
	all, _ := io.ReadAll(c)
	if !strings.HasPrefix(string(all), "HTTP/1.0 200") {
		t.Errorf("%q", all)
	}
}

// TestContinuePassesThrough: the body is asked for when the backend asks for it.
func TestContinuePassesThrough(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/reject" {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		body, _ := io.ReadAll(req.Body)
		_, _ = w.Write(body)
	})})
	r.start()
	c := r.dial()
	br := bufio.NewReader(c)
	_, _ = io.WriteString(c, "POST /take HTTP/1.1\r\nHost: app.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	line, _ := br.ReadString('\n')
	if !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("%q instead of 100", line)
	}
	_, _ = br.ReadString('\n')
	_, _ = io.WriteString(c, "hello")
	res, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(res.Body); string(body) != "hello" {
		t.Errorf("body %q", body)
	}

	c = r.dial()
	_, _ = io.WriteString(c, "POST /reject HTTP/1.1\r\nHost: app.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	res, err = http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusExpectationFailed || !res.Close {
		t.Errorf("%v, %v; want 417 and close, without 100", res, err)
	}
}

// TestContinueThatTheBackendIgnores: after a second the body is asked for anyway.
func TestContinueThatTheBackendIgnores(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.Continue = 20 * time.Millisecond })
	backend := &recorder{}
	r.route("app.test", []string{serveRaw(t, backend.serve)})
	r.start()
	req := r.request("POST", "app.test", "/", strings.NewReader("hello"))
	req.Header.Set("Expect", "100-continue")
	res, _ := r.do(req)
	if got := backend.take(); res.StatusCode != http.StatusOK || len(got) != 1 || got[0].body != "hello" {
		t.Errorf("status %d, backend got %+v", res.StatusCode, got)
	}
}

// TestEarlyAnswer: 413 before the body was read is passed on, and the connection to
// the backend is not used again.
func TestEarlyAnswer(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(n int, c net.Conn, br *bufio.Reader) {
		for range 2 { // a second request over the same connection would say the same n
			head, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			if head.ContentLength > 100 {
				_, _ = fmt.Fprintf(c, "HTTP/1.1 413 Content Too Large\r\nX-Conn: %d\r\nContent-Length: 3\r\n\r\nbig", n)
				continue
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nX-Conn: %d\r\nContent-Length: 0\r\n\r\n", n)
		}
	})})
	r.start()
	c := r.dial()
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 1000000\r\n\r\nbegin")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge || string(body) != "big" || !res.Close {
		t.Errorf("%d %q close %v, %v", res.StatusCode, body, res.Close, err)
	}
	for range 3 {
		next, _ := r.get("app.test", "/")
		if next.StatusCode != http.StatusOK || next.Header.Get("X-Conn") == res.Header.Get("X-Conn") {
			t.Errorf("status %d over connection %s", next.StatusCode, next.Header.Get("X-Conn"))
		}
	}
}

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
	r := newRig(t)
	entry := r.route("app.test", []string{serveHTTP(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })},
		func(e *route.Entrypoint) { e.Options.BackendTimeout = 50 * time.Millisecond })
	r.start()
	res, _ := r.get("app.test", "/")
	wantReason(t, res, 504, route.ReasonBackendTimeout)
	got := r.outcomes.all()
	if len(got) != 1 || got[0].Kind != route.KindTimeout || !got[0].Transport || got[0].Placement != placement(entry, 0) {
		t.Errorf("outcomes %+v", got)
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

// TestHeadersOfTheBackendStay: Date and Server are the backend's, or absent.
func TestHeadersOfTheBackendStay(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			s, err := readSeen(br)
			if err != nil {
				return
			}
			head := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
			if strings.Contains(s.line, "/own") {
				head += "Date: yesterday\r\nServer: mine\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
			}
			_, _ = io.WriteString(c, head+"\r\n{}")
		}
	})})
	r.start()
	res, _ := r.get("app.test", "/own")
	if res.Header.Get("Date") != "yesterday" || res.Header.Get("Server") != "mine" || len(res.Header["Set-Cookie"]) != 2 ||
		res.Header.Get("X-Hop")+res.Header.Get("Keep-Alive")+res.Header.Get("Connection") != "" {
		t.Errorf("header %v", res.Header)
	}
	res, _ = r.get("app.test", "/none")
	if len(res.Header) != 1 || res.Header.Get("Content-Length") != "2" {
		t.Errorf("header %v, want Content-Length alone", res.Header)
	}
}

// TestAnswersWithoutBody: HEAD, 204 and 304 keep their fields.
func TestAnswersWithoutBody(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			s, err := readSeen(br)
			if err != nil {
				return
			}
			switch {
			case strings.HasPrefix(s.line, "HEAD"):
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 77\r\nContent-Type: text/x\r\n\r\n")
			case strings.Contains(s.line, "/204"):
				_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n")
			default:
				_, _ = io.WriteString(c, "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n")
			}
		}
	})})
	r.start()
	if res, _ := r.do(r.request("HEAD", "app.test", "/", nil)); res.ContentLength != 77 || res.Header.Get("Content-Type") != "text/x" {
		t.Errorf("HEAD: %d %v", res.ContentLength, res.Header)
	}
	if res, _ := r.get("app.test", "/204"); res.StatusCode != http.StatusNoContent || res.Header.Get("X-A") != "b" {
		t.Errorf("204: %d %v", res.StatusCode, res.Header)
	}
	if res, _ := r.get("app.test", "/304"); res.StatusCode != http.StatusNotModified || res.Header.Get("ETag") != `"x"` {
		t.Errorf("304: %d %v", res.StatusCode, res.Header)
	}
}

// TestBodiesAreNotDecoded: neither is compression asked for nor undone.
func TestBodiesAreNotDecoded(t *testing.T) {
	packed := []byte{0x1f, 0x8b, 8, 0, 1, 2, 3}
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Asked", req.Header.Get("Accept-Encoding"))
		_, _ = w.Write(packed)
	})})
	r.start()
	res, body := r.get("app.test", "/")
	if !bytes.Equal([]byte(body), packed) || res.Header.Get("Content-Encoding") != "gzip" || res.Header.Get("X-Asked") != "" {
		t.Errorf("%x %v", body, res.Header)
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

// TestTrailersTakeNothingBack: fields of the head do not come in trailers, in neither
// direction, nor hop-by-hop ones in interim responses.
func TestTrailersTakeNothingBack(t *testing.T) {
	trailers := make(chan http.Header, 1)
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, func(_ int, c net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		trailers <- req.Trailer
		_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nKeep-Alive: 5\r\nConnection: X-Hop\r\nX-Hop: 1\r\nProxy-Authenticate: Basic\r\n\r\n"+
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Named\r\nTrailer: X-Sum, Set-Cookie\r\n\r\n2\r\nok\r\n0\r\n"+
			"X-Sum: 1\r\nSet-Cookie: a=b\r\nX-Named: 1\r\nKeep-Alive: 5\r\nX-More: 2\r\n\r\n")
	})})
	r.start()
	c := r.dial()
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\nConnection: X-Named\r\nTrailer: X-Sum, X-Real-Ip\r\n\r\n2\r\nok\r\n0\r\n"+
		"X-Sum: 1\r\nX-Real-Ip: 6.6.6.6\r\nX_Forwarded_For: 6.6.6.6\r\nHost: evil.test\r\nAuthorization: x\r\nX-Named: 1\r\nX-More: 2\r\n\r\n")
	br := bufio.NewReader(c)
	hints, err := http.ReadResponse(br, nil)
	if err != nil || hints.StatusCode != http.StatusEarlyHints || len(hints.Header) != 1 || hints.Header.Get("Link") == "" {
		t.Errorf("interim: %+v %v", hints, err)
	}
	res, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	want := http.Header{"X-Sum": {"1"}, "X-More": {"2"}}
	if got := <-trailers; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the backend got the trailers %v", got)
	}
	if got := res.Trailer; !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the client got the trailers %v", got)
	}
}

// TestStatusThatIsNone: a status of four digits, which only HTTP/2 can carry, panics nobody.
func TestStatusThatIsNone(t *testing.T) {
	for _, status := range []int{-1, 0, 42, 101, 199, 1000, 65536} {
		if err := checkHead(&http.Response{StatusCode: status}, false); err == nil {
			t.Errorf("status %d passes", status)
		}
	}
	for _, status := range []int{200, 599, 999} {
		if err := checkHead(&http.Response{StatusCode: status}, false); err != nil {
			t.Errorf("status %d: %v", status, err)
		}
	}
}
