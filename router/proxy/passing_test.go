package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"
)

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
