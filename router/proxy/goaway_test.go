package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"fairlead/router/route"
)

// h2server is a backend that speaks HTTP/2 by hand. It answers what says does not.
type h2server struct {
	// says gets every request whose body has ended, with the number of its connection, and
	// reports whether it is dealt with; open is false when the connection ends with that.
	says func(f *http2.Framer, n int, stream uint32) (done, open bool)
	got  atomic.Int32 // requests
}

func (s *h2server) serve(n int, c net.Conn, br *bufio.Reader) {
	if _, err := io.ReadFull(br, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, br)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings()
	for {
		fr, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch fr := fr.(type) {
		case *http2.SettingsFrame:
			if !fr.IsAck() {
				_ = f.WriteSettingsAck()
			}
			continue
		case *http2.DataFrame:
			if !fr.StreamEnded() {
				_ = f.WriteWindowUpdate(0, max(fr.Length, 1))
				_ = f.WriteWindowUpdate(fr.StreamID, max(fr.Length, 1))
				continue
			}
		case *http2.MetaHeadersFrame:
			if !fr.StreamEnded() {
				continue
			}
		default:
			continue
		}
		s.got.Add(1)
		switch done, open := s.says(f, n, fr.Header().StreamID); {
		case !open:
			return
		case !done:
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: fr.Header().StreamID, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true})
		}
	}
}

// TestRequestThatAnH2CBackendDidNotProcess goes out again, whatever its method: the frames
// say so (RFC 9113 sections 6.8 and 8.7). One that it may have processed does not, unless it
// may be sent twice. Only the latter is held against the backend.
func TestRequestThatAnH2CBackendDidNotProcess(t *testing.T) {
	goAway := func(processed bool) func(f *http2.Framer, n int, stream uint32) (bool, bool) {
		return func(f *http2.Framer, n int, stream uint32) (bool, bool) {
			if n > 0 || stream == 1 {
				return false, true
			}
			last := stream
			if !processed {
				last -= 2
			}
			_ = f.WriteGoAway(last, http2.ErrCodeNo, []byte("; REFUSED_STREAM; received from peer")) // as a joke
			return true, !processed
		}
	}
	refuses := func(f *http2.Framer, n int, stream uint32) (bool, bool) {
		if n > 0 || stream != 3 {
			return false, true
		}
		_ = f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		return true, true
	}
	for _, tt := range []struct {
		name   string
		says   func(f *http2.Framer, n int, stream uint32) (done, open bool)
		method string
		body   int
		status int
		got    int32 // requests
		failed int   // that are held against the backend
	}{
		{"GOAWAY before it", goAway(false), "POST", 10, 200, 3, 0},
		{"GOAWAY before it, all but the end of a body sent", goAway(false), "PUT", 2 * maxReplay, 502, 2, 0},
		{"refused", refuses, "POST", 10, 200, 3, 0},
		{"refused, no body", refuses, "DELETE", 0, 200, 3, 0},
		{"refused, a body that is not kept", refuses, "POST", 2 * maxReplay, 502, 2, 0},
		{"GOAWAY after it, then the end", goAway(true), "POST", 10, 502, 2, 1},
		{"GOAWAY after it, then the end, may be repeated", goAway(true), "PUT", 10, 200, 3, 0},
	} {
		backend := &h2server{says: tt.says}
		r := newRig(t)
		r.route("app.test", []string{"h2c://" + serveRaw(t, backend.serve)})
		r.start()
		for i, status := range []int{200, tt.status} {
			res, _ := r.do(r.request(tt.method, "app.test", "/", bytes.NewReader(make([]byte, tt.body))))
			if res.StatusCode != status {
				t.Errorf("%s: request %d: %d %v, want %d", tt.name, i, res.StatusCode, res.Header, status)
			}
			if status == http.StatusBadGateway {
				wantReason(t, res, 502, route.ReasonBackendClosed)
			}
		}
		failed := 0
		for _, o := range r.outcomes.all() {
			if o.Transport {
				failed++
			}
		}
		if failed != tt.failed || backend.got.Load() != tt.got {
			t.Errorf("%s: %d failures, %d requests; want %d and %d", tt.name, failed, backend.got.Load(), tt.failed, tt.got)
		}
	}
}

// refusing is an h2c backend that refuses every request.
func refusing() *h2server {
	return &h2server{says: func(f *http2.Framer, _ int, stream uint32) (bool, bool) {
		_ = f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		return true, true
	}}
}

// goingAway is one that ends each of its connections with the first request, and says that
// it did not process it.
func goingAway(code http2.ErrCode) *h2server {
	return &h2server{says: func(f *http2.Framer, _ int, _ uint32) (bool, bool) {
		_ = f.WriteGoAway(0, code, []byte("too_many_pings"))
		return true, code == http2.ErrCodeNo
	}}
}

// TestBackendThatRefusesEveryStream: another one is asked, and without one there is an end,
// soon: a request without a body is not sent on and on (net/http would, for as long as its
// time lasts, and the backend would be said to have let it run out).
func TestBackendThatRefusesEveryStream(t *testing.T) {
	for name, backend := range map[string]func() *h2server{
		"refuses":              refusing,
		"goes away":            func() *h2server { return goingAway(http2.ErrCodeNo) },
		"goes away with error": func() *h2server { return goingAway(http2.ErrCodeEnhanceYourCalm) },
	} {
		for method, text := range map[string]string{"POST": "hello", "GET": "", "DELETE": ""} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				testRefusals(t, backend(), method, text)
			})
		}
	}
}

func testRefusals(t *testing.T, busy *h2server, method, text string) {
	t.Helper()
	good := &recorder{}
	address := "h2c://" + serveRaw(t, busy.serve)
	r := newRig(t)
	r.route("app.test", []string{address, serveRaw(t, good.serve)})
	r.route("alone.test", []string{address}, func(e *route.Entrypoint) { e.Options.BackendTimeout = 3 * time.Second })
	r.start()
	body := func() io.Reader {
		if text == "" {
			return nil
		}
		return strings.NewReader(text)
	}
	for range 2 { // one of them goes to the busy one first
		if res, _ := r.do(r.request(method, "app.test", "/", body())); res.StatusCode != http.StatusOK {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
	}
	for _, s := range good.take() {
		if s.body != text {
			t.Errorf("body %q", s.body)
		}
	}
	before := busy.got.Load()
	res, _ := r.do(r.request(method, "alone.test", "/", body()))
	wantReason(t, res, 502, route.ReasonBackendClosed)
	if n := busy.got.Load() - before; before == 0 || n != 4 { // two tries, each of them twice
		t.Errorf("it was sent %d times, %d before", n, before)
	}
	for _, o := range r.outcomes.all() {
		if o.Transport {
			t.Errorf("a busy backend is no failure: %+v", o)
		}
	}
}

// TestRefusalOfABackendThatLeaves waits for that news, as a refused connection does.
func TestRefusalOfABackendThatLeaves(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{"h2c://" + serveRaw(t, refusing().serve)}, func(e *route.Entrypoint) { e.Options.RetryAttempts = 1 })
	spare := r.rotateOnly(entry, serveRaw(t, (&recorder{}).serve))
	r.start()
	done := r.sendRaw(postRequest)
	eventually(t, "the refusal waits for news", func() bool { return entry.Cell.Held.Load() == 1 })
	entry.Cell.Store(route.NewRotation(2, route.TierVerified, []route.Member{{Placement: spare, Weight: 1}}))
	if a := <-done; a.err != nil || a.res.StatusCode != http.StatusOK {
		t.Errorf("%+v", a)
	}
}

// TestContentOfAResponseThatHasNone: HTTP/2 lets a backend send it. It is left out, and the
// client's connection stays.
func TestContentOfAResponseThatHasNone(t *testing.T) {
	r := newRig(t)
	status := map[string][]byte{"/204": {0x89}, "/304": {0x8b}, "/200": {0x88}} // RFC 7541 appendix A
	var next atomic.Pointer[[]byte]
	backend := &h2server{says: func(f *http2.Framer, _ int, stream uint32) (bool, bool) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: *next.Load(), EndHeaders: true})
		_ = f.WriteData(stream, true, []byte("surplus"))
		return true, true
	}}
	entry := r.route("app.test", []string{"h2c://" + serveRaw(t, backend.serve)})
	r.start()
	k := r.kept()
	for method, paths := range map[string][]string{"GET": {"/204", "/304"}, "HEAD": {"/200"}} {
		for _, path := range paths {
			head := status[path]
			next.Store(&head)
			_, _ = io.WriteString(k.conn, method+" "+path+" HTTP/1.1\r\nHost: app.test\r\n\r\n")
			res, err := http.ReadResponse(k.reader, &http.Request{Method: method})
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			if "/"+res.Status[:3] != path || res.Close {
				t.Errorf("%s %s: %+v", method, path, res)
			}
		}
	}
	if cut := placement(entry, 0).Load.Traffic.Counts().Cut; cut != 0 {
		t.Errorf("%d responses count as cut", cut)
	}
}
