package app

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestTheRequestLineHasItsLimit(t *testing.T) {
	s := named(t, "app")
	s.Proxy.Limits.RequestLineBytes = 300
	addresses, log, _ := run(t, s)
	for length, want := range map[int]int{200: 200, 300: 431} {
		if status, body, err := get(addresses.HTTP, "app.localhost", "/"+strings.Repeat("x", length)); err != nil || status != want {
			t.Errorf("a path of %d bytes: %v %d %s\n%s", length, err, status, body, log)
		}
	}
}

// TestTheBackendHasItsTimeToContinue: one that never says 100 gets the body after it.
func TestTheBackendHasItsTimeToContinue(t *testing.T) {
	l := onTCP(t)
	defer func() { _ = l.Close() }()
	waited := make(chan time.Duration, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				req, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return // a probe
				}
				begin := time.Now()
				if body, err := io.ReadAll(req.Body); err == nil && string(body) == "body" {
					waited <- time.Since(begin)
				}
				_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
			}()
		}
	}()
	s := settings(tempFile(t, routes("http://"+l.Addr().String())))
	s.Proxy.Timeouts.Continue = 150 * time.Millisecond
	addresses, log, _ := run(t, s)
	c, err := net.Dial("tcp", addresses.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: app.localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody")
	select {
	case took := <-waited:
		if took < 100*time.Millisecond || took > 800*time.Millisecond {
			t.Errorf("the body came after %v, want 150 ms", took)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("no body\n%s", log)
	}
}
