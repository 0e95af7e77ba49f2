package healthcheck

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// upgrades answers a WebSocket's request with a head that is made of its key, and hands
// over what comes then.
func upgrades(answer func(key string) string, then func(net.Conn)) func(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) {
		buf := make([]byte, 4096)
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		_, rest, _ := strings.Cut(string(buf[:n]), "Sec-WebSocket-Key: ")
		key, _, _ := strings.Cut(rest, "\r\n")
		if _, err := io.WriteString(c, answer(key)); err == nil {
			then(c)
		}
	})
}

func switching(fields string) func(string) string {
	return func(key string) string {
		return "HTTP/1.1 101 Switching Protocols\r\n" + strings.ReplaceAll(fields, "KEY", acceptOf(key)) + "\r\n"
	}
}

// TestWebSocketProbe meets the WebSocket prober with servers of every kind.
func TestWebSocketProbe(t *testing.T) {
	ask := func(edits ...func(*route.Check)) func(*route.Check) {
		return ofType(route.ProbeWebSocket, append([]func(*route.Check){func(c *route.Check) { c.Path = "/live?token=c4nary" }}, edits...)...)
	}
	good := "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: KEY\r\n"
	refused := route.KindWebSocketRefused
	for _, tt := range []meeting{
		{"opens", ask(), upgrades(switching(good), silent), "", "opened", ""},
		{"opens and talks", ask(), upgrades(func(key string) string { return switching(good)(key) + "\x81\x02hi" }, silent), "", "opened", ""},
		{"opens and closes", ask(), upgrades(switching(good), func(net.Conn) {}), "", "opened", ""},
		{"opens behind early hints", ask(), upgrades(func(key string) string { return "HTTP/1.1 103 X\r\n\r\n" + switching(good)(key) }, silent), "", "opened", ""},
		{"case of names and words", ask(), upgrades(switching("UPGRADE: WebSocket\r\nCONNECTION: upgrade\r\nsec-websocket-accept: KEY\r\n"), silent), "", "opened", ""},
		{"accept of another key", ask(), upgrades(switching(strings.ReplaceAll(good, "KEY", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")), silent), refused, "not for this request", "correct healthCheck.path"},
		{"no accept", ask(), upgrades(switching("Upgrade: websocket\r\nConnection: Upgrade\r\n"), silent), refused, "not for this request", ""},
		{"no Upgrade", ask(), upgrades(switching("Connection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\n"), silent), refused, "not for a WebSocket", ""},
		{"no Connection", ask(), upgrades(switching("Upgrade: websocket\r\nSec-WebSocket-Accept: KEY\r\n"), silent), refused, "not for a WebSocket", ""},
		{"another protocol", ask(), upgrades(switching("Upgrade: h2c\r\nConnection: Upgrade\r\n"), silent), refused, "not for a WebSocket", ""},
		{"an extension", ask(), upgrades(switching(good+"Sec-WebSocket-Extensions: permessage-deflate\r\n"), silent), refused, "extension", ""},
		{"200", ask(), answer(ok200), refused, "answered 200, wanted 101", "/live?token=*** is no WebSocket"},
		{"400", ask(), answer("HTTP/1.1 400 X\r\n\r\n"), refused, "answered 400", "no WebSocket"},
		{"401", ask(), answer("HTTP/1.1 401 X\r\n\r\n"), refused, "answered 401", "Authorization"},
		{"403", ask(), answer("HTTP/1.1 403 X\r\n\r\n"), refused, "answered 403", "Origin"},
		{"404", ask(), answer("HTTP/1.1 404 X\r\n\r\n"), refused, "answered 404", "no WebSocket at /live?token=***"},
		{"on a TLS port", ask(), answer("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"), refused, "400", "scheme=https"},
		{"SSH", ask(), says("SSH-2.0-OpenSSH_9.2\r\n"), route.KindProtocolError, "SSH", "another service"},
		{"silent", ask(), server(silent), route.KindTimeout, "waiting for the answer (5s)", "says nothing"},
		{"half a head, silent", ask(), says("HTTP/1.1 101 Switching Protocols\r\nUpgr"), route.KindTimeout, "waiting", ""},
		{"closed", ask(), server(func(net.Conn) {}), route.KindHTTPError, "closed the connection", ""},
		{"refused", ask(), refuse, route.KindConnectionRefused, "refused", ""},
		{"a header with a line break", ask(func(c *route.Check) { c.Headers = []route.CheckHeader{{Name: "X", Value: "a\r\nb"}} }), accept, route.KindConfigError, "line break", ""},
	} {
		tt.run(t, Config{})
	}
}

// TestWebSocketCloses: the probe says goodbye with a masked close frame of the code 1000,
// and each key is another one.
func TestWebSocketCloses(t *testing.T) {
	frames := make(chan []byte, 2)
	keys := map[string]bool{}
	good := "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: KEY\r\n"
	dial := upgrades(func(key string) string { keys[key] = true; return switching(good)(key) }, func(c net.Conn) {
		text, _ := io.ReadAll(c)
		frames <- text
	})
	cfg := Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		r := Once(ctx, cfg, route.Backend{Host: "10.0.0.1", Port: 80}, route.Check{Type: route.ProbeWebSocket})
		cancel()
		if !r.Result.OK || r.Exchange.StatusLine != "HTTP/1.1 101 Switching Protocols" {
			t.Errorf("%+v", r)
		}
		f := <-frames
		if len(f) != 8 || !bytes.Equal(f[:2], []byte{0x88, 0x82}) || int(f[6]^f[2])<<8|int(f[7]^f[3]) != 1000 {
			t.Errorf("frame % x", f)
		}
	}
	for key := range keys {
		if len(key) != 24 {
			t.Errorf("key %q", key)
		}
	}
	if len(keys) != 2 {
		t.Errorf("keys %v", keys)
	}
	// RFC 6455, section 1.3.
	if got := acceptOf("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("accept %s", got)
	}
}
