package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fairlead/router/route"
)

// TestConnectionFieldsOfAResponseHead, in whatever pieces it arrives.
func TestConnectionFieldsOfAResponseHead(t *testing.T) {
	for text, want := range map[string][]string{
		"HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nConnection: body":                                                              nil,
		"HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: Keep-Alive\r\n\r\n":                                         nil,
		"HTTP/1.1 200 OK\nconnection:X-A, close\nContent-Length: 2\nConnections: X-Z\nConnect: X-Y\n\nConnection: X-B\n": {"X-A, close"},
		"HTTP/1.1 200 OK\r\nCONNECTION: close\r\nC: 1\r\nConnection: X-A\r\n\r\n":                                        {"X-A"},
		"HTTP/1.1 200 OK\r\nConnection: close,\r\n X-A\r\nX-C: 1\r\n X-D\r\n\r\n":                                        {"close,", "X-A"},
		"HTTP/1.1 103\r\nConnection: X-A\r\n\r\nHTTP/1.1 200\r\nConnection: X-B\r\n\r\nConnection: body\r\n":             {"X-A", "X-B"},
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n\r\nConnection: body\r\n":                        {"Upgrade"},
		"junk\r\n\r\nConnection: body\r\n":                                                                               nil,
	} {
		for size := 1; size <= len(text); size++ {
			var h responseHead
			h.feed([]byte("Connection: early\r\n")) // nothing is awaited
			h.expect()
			for piece := range slices.Chunk([]byte(text), size) {
				h.feed(piece)
			}
			if !slices.Equal(h.lists(), want) || h.awaited.Load() {
				t.Errorf("%q in pieces of %d: %q, want %q; awaited %v", text, size, h.lists(), want, h.awaited.Load())
			}
		}
	}
	head := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
	var h responseHead
	if n := testing.AllocsPerRun(100, func() { h.expect(); h.feed(head) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// namesFields answers with fields that are for its connection alone, before its end.
func namesFields(_ int, c net.Conn, br *bufio.Reader) {
	if _, err := readSeen(br); err == nil {
		_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nConnection: close, X-Hop-Early\r\nX-Hop-Early: 1\r\nLink: </a>\r\n\r\n"+
			"HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nConnection: close\r\nX-Hop: 1\r\nX-End: 1\r\nContent-Length: 2\r\n\r\nok")
	}
}

// TestConnectionCloseBesideOtherNames: what Connection names ends at the router, also where
// it says "close", which net/http takes for itself with the whole field.
func TestConnectionCloseBesideOtherNames(t *testing.T) {
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	over := func(_ int, c net.Conn, _ *bufio.Reader) {
		secured := tls.Server(c, &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12})
		namesFields(0, secured, bufio.NewReader(secured))
		_ = secured.Close()
	}
	r := newRig(t)
	r.route("plain.test", []string{serveRaw(t, namesFields)})
	r.route("tls.test", []string{"https://" + serveRaw(t, over)}, func(e *route.Entrypoint) { e.Backends[0].TLS.InsecureSkipVerify = true })
	r.start()
	const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
	for _, host := range []string{"plain.test", "tls.test"} {
		for _, fields := range []string{"", upgrade} {
			c := r.dial()
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\n"+fields+"\r\n")
			br := bufio.NewReader(c)
			for _, status := range []int{103, 200} {
				res, err := http.ReadResponse(br, nil)
				if err != nil {
					t.Fatal(err)
				}
				hop := strings.Contains(strings.Join(keys(res.Header), " "), "Hop")
				if res.StatusCode != status || hop || res.Header.Get("X-End") == "" && status == 200 {
					t.Errorf("%s %q: %d %v", host, fields, res.StatusCode, res.Header)
				}
			}
		}
	}
}

func keys(h http.Header) (all []string) {
	for name := range h {
		all = append(all, name)
	}
	return all
}
