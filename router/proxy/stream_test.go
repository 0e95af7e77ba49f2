package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"testing"
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
