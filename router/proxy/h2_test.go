package proxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"fairlead/router/route"
)

// h2client speaks HTTP/2 with prior knowledge to the rig.
func h2client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

// serveH2C starts a backend that speaks HTTP/2 without TLS.
func serveH2C(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// frame is one gRPC message.
func frame(s string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(s)))
	return append(b, s...)
}

func readFrame(r io.Reader) (string, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err := io.ReadFull(r, b)
	return string(b), err
}

// grpcEcho behaves as a gRPC server does: an echo per message, the status in a
// trailer, or trailers-only.
func grpcEcho(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	if r.ProtoMajor != 2 || r.Header.Get("Te") != "trailers" {
		w.Header().Set("Grpc-Status", "13")
		return
	}
	if r.URL.Path == "/svc/Fail" {
		w.Header().Set("Grpc-Status", "5")
		w.Header().Set("Grpc-Message", "no such thing")
		return
	}
	w.Header().Set("Trailer", "Grpc-Status")
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	for {
		m, err := readFrame(r.Body)
		if err != nil {
			break
		}
		_, _ = w.Write(frame("echo " + m))
		_ = rc.Flush()
	}
	w.Header().Set("Grpc-Status", "0")
	w.Header().Set(http.TrailerPrefix+"X-Cost", "3")
}

func (r *rig) grpc(t *testing.T, path string, body io.Reader) *http.Response {
	t.Helper()
	req := r.request("POST", "grpc.test", path, body)
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	res, err := h2client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// TestGRPC: streams in both directions at once, trailers, trailers-only errors of
// the backend and of our own.
func TestGRPC(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Timeouts.BodyIdle = 5 * time.Second })
	entry := r.route("grpc.test", []string{"h2c://" + serveH2C(t, grpcEcho)})
	r.start()
	pr, pw := io.Pipe()
	res := r.grpc(t, "/svc/Echo", pr)
	for _, m := range []string{"one", "two", strings.Repeat("x", 100_000)} {
		if _, err := pw.Write(frame(m)); err != nil {
			t.Fatal(err)
		}
		if got, err := readFrame(res.Body); err != nil || got != "echo "+m {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	_ = pw.Close()
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if res.Trailer.Get("Grpc-Status") != "0" || res.Trailer.Get("X-Cost") != "3" {
		t.Errorf("trailers %v", res.Trailer)
	}

	res = r.grpc(t, "/svc/Fail", bytes.NewReader(frame("x")))
	if res.StatusCode != http.StatusOK || res.Header.Get("Grpc-Status") != "5" || res.Header.Get("Grpc-Message") != "no such thing" {
		t.Errorf("trailers-only: %d %v", res.StatusCode, res.Header)
	}
	if len(r.outcomes.all()) != 2 {
		t.Errorf("outcomes %+v", r.outcomes.all())
	}

	entry.Cell.Store(&route.Rotation{Reason: route.ReasonAllUnhealthy})
	res = r.grpc(t, "/svc/Echo", bytes.NewReader(frame("x")))
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK || res.Header.Get("Grpc-Status") != "14" || len(body) != 0 || err != nil {
		t.Errorf("ours: %d %v %q %v", res.StatusCode, res.Header, body, err)
	}
	if !strings.Contains(res.Header.Get("Proxy-Status"), "all_unhealthy") {
		t.Errorf("ours: %v", res.Header)
	}
}

// TestHTTP2InFrontOfHTTP1: streams share a connection, bodies and trailers pass.
func TestHTTP2InFrontOfHTTP1(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.Header().Set("X-Saw", req.Proto+" "+req.Host+" "+req.RequestURI+" "+req.Header.Get("X-Forwarded-Host")+" "+req.Trailer.Get("X-T"))
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		_, _ = w.Write(body)
	})})
	r.start()
	c := h2client(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			req := r.request("POST", "app.test", "/a%2Fb?q", io.MultiReader(strings.NewReader("hello")))
			req.Trailer = http.Header{"X-T": {"t"}}
			res, err := c.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || string(body) != "hello" || res.ProtoMajor != 2 || res.Header.Get("X-Saw") != "HTTP/1.1 app.test /a%2Fb?q app.test t" || res.Header.Get("X-Hop") != "" {
				t.Errorf("%q %v %v", body, res.Header, err)
			}
		})
	}
	wg.Wait()
	if _, err := c.Do(r.request("GET", "no.test", "/", nil)); err != nil {
		t.Error(err)
	}
}

// TestHTTP1InFrontOfH2C: an h2c backend serves any client.
func TestHTTP1InFrontOfH2C(t *testing.T) {
	r := newRig(t)
	entry := r.route("app.test", []string{"h2c://" + serveH2C(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		_, _ = io.WriteString(w, req.Proto+" "+req.Host+" "+req.RequestURI+" "+string(body))
	})})
	r.start()
	for range 2 {
		if res, body := r.do(r.request("POST", "app.test", "//a/b?x", strings.NewReader("hi"))); res.StatusCode != http.StatusOK || body != "HTTP/2.0 app.test //a/b?x hi" {
			t.Errorf("%d %q", res.StatusCode, body)
		}
	}
	up := placement(entry, 0).Upstream.(*upstream)
	up.Retire(route.Drain{Timeout: int64(time.Minute)})
	eventually(t, "no connection left", func() bool {
		up.mu.Lock()
		defer up.mu.Unlock()
		return len(up.conns) == 0
	})
}

// rawH2 speaks frames to the rig.
func rawH2(t *testing.T, r *rig) (*http2.Framer, func(fields ...string) []byte) {
	t.Helper()
	c := r.dial()
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	return f, func(fields ...string) []byte {
		block.Reset()
		for i := 0; i < len(fields); i += 2 {
			_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		return bytes.Clone(block.Bytes())
	}
}

// answerH2 reads frames until the headers of a stream; cut is set when the stream
// or the connection ended without.
func answerH2(t *testing.T, f *http2.Framer, stream uint32) (status string, cut bool) {
	t.Helper()
	for {
		fr, err := f.ReadFrame()
		if err != nil {
			return "", true
		}
		switch fr := fr.(type) {
		case *http2.MetaHeadersFrame:
			if fr.StreamID == stream {
				return fr.PseudoValue("status"), false
			}
		case *http2.RSTStreamFrame:
			if fr.StreamID == stream {
				return "", true
			}
		case *http2.GoAwayFrame:
			if fr.ErrCode != http2.ErrCodeNo {
				return "", true
			}
		}
	}
}

// TestHTTP2Rules: what a client must not do is refused and reaches no backend.
func TestHTTP2Rules(t *testing.T) {
	backend := &recorder{}
	r := newRig(t)
	r.route("app.test", []string{serveRaw(t, backend.serve)})
	r.start()
	base := []string{":method", "GET", ":scheme", "http", ":path", "/", ":authority", "app.test"}
	for _, tt := range []struct {
		name   string
		fields []string
		status string // "" for a cut stream
	}{
		{"plain", base, "200"},
		{"CONNECT", []string{":method", "CONNECT", ":authority", "app.test:443"}, "405"},
		{"no authority", []string{":method", "GET", ":scheme", "http", ":path", "/"}, "400"},
		{"host instead of an authority", []string{":method", "GET", ":scheme", "http", ":path", "/", "host", "app.test"}, "200"},
		{"OPTIONS star", []string{":method", "OPTIONS", ":scheme", "http", ":path", "*", ":authority", "app.test"}, "200"},
		{"path that climbs", []string{":method", "GET", ":scheme", "http", ":path", "/a/..%2fb", ":authority", "app.test"}, "400"},
		{"path with a fragment", []string{":method", "GET", ":scheme", "http", ":path", "/a#b", ":authority", "app.test"}, "400"},
		{"path without a slash", []string{":method", "GET", ":scheme", "http", ":path", "a", ":authority", "app.test"}, ""},
		{"path in absolute form", []string{":method", "GET", ":scheme", "http", ":path", "http://app.test/", ":authority", "app.test"}, "400"},
		{"GET star", []string{":method", "GET", ":scheme", "http", ":path", "*", ":authority", "app.test"}, "400"},
		{"method with a space", []string{":method", "GET /x", ":scheme", "http", ":path", "/", ":authority", "app.test"}, "400"},
		{"method with a parenthesis", []string{":method", "G(T", ":scheme", "http", ":path", "/", ":authority", "app.test"}, "400"},
		{"connection header", append(base[:8:8], "connection", "close"), "400"},
		{"transfer encoding", append(base[:8:8], "transfer-encoding", "chunked"), "400"},
		{"line feed in a value", append(base[:8:8], "x-a", "b\r\nx-b: c"), ""},
		{"capital letters", append(base[:8:8], "X-A", "b"), ""},
		{"two paths", append(base[:8:8], ":path", "/b"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			backend.take()
			f, block := rawH2(t, r)
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(tt.fields...), EndHeaders: true, EndStream: true}); err != nil {
				t.Fatal(err)
			}
			status, cut := answerH2(t, f, 1)
			if status != tt.status || cut != (tt.status == "") {
				t.Errorf("status %q, cut %v; want %q", status, cut, tt.status)
			}
			reached := len(backend.take()) > 0
			if want := tt.status == "200" && tt.name != "OPTIONS star"; reached != want {
				t.Errorf("reached the backend: %v", reached)
			}
		})
	}
	for _, o := range r.outcomes.all() {
		if o.Transport {
			t.Errorf("a client's fault is blamed on the backend: %+v", o)
		}
	}
}

// TestUpgradeToHTTP2IsNoWayIn: after Upgrade: h2c the connection still speaks HTTP/1.
func TestUpgradeToHTTP2IsNoWayIn(t *testing.T) {
	r := newRig(t)
	r.route("app.test", []string{serveHTTP(t, func(http.ResponseWriter, *http.Request) {})})
	r.start()
	c := r.dial()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n")
	buf := make([]byte, 12)
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "HTTP/1.1 200" {
		t.Errorf("%q %v", buf, err)
	}
}

// TestStreamsAreLimited: the front says how many streams a connection may have.
func TestStreamsAreLimited(t *testing.T) {
	r := newRig(t).start()
	f, _ := rawH2(t, r)
	for {
		fr, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := fr.(*http2.SettingsFrame); ok && !s.IsAck() {
			if n, ok := s.Value(http2.SettingMaxConcurrentStreams); !ok || n != 250 {
				t.Errorf("%d streams, %v", n, ok)
			}
			return
		}
	}
}
