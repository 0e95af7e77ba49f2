package proxy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/rs/zerolog"
)

// BenchmarkProxy measures a round trip of 1 KiB over kept connections through this
// proxy, and through httputil.ReverseProxy in the same run.
func BenchmarkProxy(b *testing.B) {
	page := bytes.Repeat([]byte("x"), 1024)
	backend := serveHTTP(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(page)
	})
	b.Run("fairlead", func(b *testing.B) {
		r := newRig(b, func(c *Config) { c.Log = zerolog.Nop() })
		r.route("app.test", []string{backend})
		r.outcomes.off = true
		r.start()
		roundTrips(b, r.addr)
	})
	b.Run("ReverseProxy", func(b *testing.B) {
		target := &url.URL{Scheme: "http", Host: backend}
		tr := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1024}
		s := httptest.NewServer(&httputil.ReverseProxy{Transport: tr, BufferPool: &bufferPool{}, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		}})
		defer s.Close()
		roundTrips(b, s.Listener.Addr().String())
	})
}

type bufferPool struct{ p sync.Pool }

func (b *bufferPool) Get() []byte {
	if v, ok := b.p.Get().(*[bufferSize]byte); ok {
		return v[:]
	}
	return make([]byte, bufferSize)
}

func (b *bufferPool) Put(p []byte) { b.p.Put((*[bufferSize]byte)(p)) }

// roundTrips is a lean client, so that the proxy is most of what is measured.
func roundTrips(b *testing.B, addr string) {
	b.Helper()
	const head = "GET /page?x=1 HTTP/1.1\r\nHost: app.test\r\nUser-Agent: bench\r\nAccept: */*\r\nAccept-Language: en\r\n\r\n"
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		buf := make([]byte, 4096)
		for pb.Next() {
			if _, err := io.WriteString(c, head); err != nil {
				b.Error(err)
				return
			}
			for n, want := 0, 4096; n < want; {
				m, err := c.Read(buf[n:])
				if err != nil {
					b.Error(err)
					return
				}
				n += m
				if i := bytes.Index(buf[:n], []byte("\r\n\r\n")); i >= 0 {
					want = i + 4 + 1024
				}
			}
		}
	})
}
