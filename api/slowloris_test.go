package api

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowClientsAreCut: nobody keeps a connection of the admin listener for longer than
// its bounds by sending or taking one byte at a time.
func TestSlowClientsAreCut(t *testing.T) {
	const head = "GET /healthy HTTP/1.1\r\nHost: localhost\r\n"
	for name, tt := range map[string]struct {
		at   string // sent at once
		drip bool   // a byte each second after that
		mute bool   // reads nothing
		want time.Duration
	}{
		"says nothing":       {want: headerTimeout},
		"a head in drops":    {at: head, drip: true, want: headerTimeout},
		"silent in its head": {at: head + "X-A", want: headerTimeout},
		"a body in drops":    {at: "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n", drip: true, want: readTimeout},
		"chunks in drops":    {at: "POST /backends HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n", drip: true, want: readTimeout},
		"idle":               {at: head + "\r\n", want: idleTimeout},
		"the second head":    {at: head + "\r\n" + head, drip: true, want: headerTimeout},
		"takes nothing":      {at: head + "\r\n", mute: true, want: writeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				conn, err := s.pipes.dial(s.Context(), "", "")
				if err != nil {
					s.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				began, ended := time.Now(), make(chan struct{})
				go send(conn, tt.at, tt.drip, ended)
				if tt.mute {
					<-time.After(tt.want + time.Second)
					synctest.Wait()
				}
				_, _ = io.Copy(io.Discard, conn)
				took := time.Since(began)
				close(ended)
				if tt.mute {
					took -= time.Second
				}
				if took < tt.want-500*time.Millisecond || took > tt.want+500*time.Millisecond {
					s.Errorf("cut after %v, want %v", took, tt.want)
				}
			})
		})
	}
}

// send sends a text at once, then drops until the connection or the test ends.
func send(conn net.Conn, text string, drip bool, ended <-chan struct{}) {
	if _, err := io.Copy(conn, strings.NewReader(text)); err != nil || !drip {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		if _, err := io.WriteString(conn, "a"); err != nil {
			return
		}
	}
}
