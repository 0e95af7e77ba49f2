package healthcheck

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"fairlead/router/route"
)

// TestGRPCServersThatWait for the acknowledgement of their settings and of a ping get both
// before they answer.
func TestGRPCServersThatWait(t *testing.T) {
	waits := server(func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		f := http2.NewFramer(c, c)
		settings, ping := false, false
		for !settings || !ping {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				settings = settings || frame.IsAck()
			case *http2.PingFrame:
				ping = frame.IsAck() && frame.Data == [8]byte{7}
			case *http2.DataFrame:
				var out bytes.Buffer // in one piece: a pipe that is written to takes no acknowledgement
				both := http2.NewFramer(&out, nil)
				_ = both.WriteSettings()
				_ = both.WritePing(false, [8]byte{7})
				_, _ = c.Write(out.Bytes())
			}
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
		healthOf(1)(f)
		silent(c)
	})
	many := func(f *http2.Framer) {
		dataOf("\x00\x00\x00\x00\x02" + strings.Repeat("x", 40<<10))(f)
		dataOf(strings.Repeat("x", 40<<10))(f)
	}
	grpc := ofType(route.ProbeGRPC)
	for _, tt := range []meeting{
		{"that wait", grpc, waits, "", "SERVING", ""},
		{"that answer no status", grpc, speaksH2(plays(fieldsOf(true, "x", "y"))), route.KindProtocolError, "not between 100 and 599", ""},
		{"that answer a status that is none", grpc, speaksH2(plays(fieldsOf(true, ":status", "700"))), route.KindProtocolError, "not between 100 and 599", ""},
		{"that go on after the message", grpc, speaksH2(plays(fieldsOf(false, ":status", "200", "content-type", "application/grpc"), many)),
			route.KindProtocolError, "the gRPC answer is longer than 64 KiB", ""},
		{"a name that is none", ofType(route.ProbeGRPC, func(c *route.Check) { c.Headers = []route.CheckHeader{{Name: "X(Y)", Value: "a"}} }), refuse,
			route.KindConfigError, "what HTTP/2 does not allow", ""},
	} {
		tt.run(t, Config{})
	}
}

// TestGRPCFieldsAreSentOnce: a User-Agent that is given replaces the probe's own.
func TestGRPCFieldsAreSentOnce(t *testing.T) {
	c := h2Call{scheme: "http", authority: "app.test", path: grpcMethod}
	if err := c.prepare("fairlead-health/1", []route.CheckHeader{{Name: "User-Agent", Value: "own"}}); err != nil {
		t.Fatal(err)
	}
	var agents []hpack.HeaderField
	for _, f := range c.fields {
		if f.Name == "user-agent" {
			agents = append(agents, f)
		}
	}
	if len(agents) != 1 || agents[0].Value != "own" || !agents[0].Sensitive {
		t.Errorf("%v", agents)
	}
}

// TestHeadsAreBounded: what is kept of folded lines, and what an exchange lists.
func TestHeadsAreBounded(t *testing.T) {
	h := &head{version: "HTTP/1.1", status: 200}
	h.add([]byte("X: y"))
	for range 100 {
		h.add(append([]byte(" "), bytes.Repeat([]byte("z"), 500)...))
	}
	if n := len(h.fields[0].value); n > maxFolded+1000 {
		t.Errorf("%d bytes of folded lines are kept", n)
	}
	for i := range 3 * maxShown {
		h.add(fmt.Appendf(nil, "X-%d: y", i))
	}
	var x route.ProbeExchange
	h.show(&x)
	if len(x.ResponseHeaders) != maxShown {
		t.Errorf("%d names are listed", len(x.ResponseHeaders))
	}
}

// TestTimeoutSaysNothingElse: no hint of what a late answer was about.
func TestTimeoutSaysNothingElse(t *testing.T) {
	r := newResult().fail(verdict{kind: route.KindProtocolError, message: "odd", clue: clueHTTP2})
	if r = r.timed(2*time.Second, time.Second, nil); r.Kind != route.KindTimeout || r.clue != clueNone {
		t.Errorf("%+v", r)
	}
}

// TestProbeEndsWithItsContext, also in the middle of a read that nothing answers.
func TestProbeEndsWithItsContext(t *testing.T) {
	for _, kind := range []route.ProbeType{route.ProbeHTTP, route.ProbeTLS, route.ProbeGRPC, route.ProbeWebSocket} {
		synctest.Test(t, func(t *testing.T) {
			dial := server(silent)
			begin := time.Now()
			ctx, cancel := context.WithDeadlineCause(t.Context(), begin.Add(5*time.Second), errProbeDeadline)
			ctx, stop := context.WithCancelCause(ctx)
			defer cancel()
			time.AfterFunc(time.Second, func() { stop(errProbeObsolete) })
			r := Once(ctx, Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }},
				route.Backend{Host: "10.0.0.1", Port: 80}, route.Check{Type: kind})
			if took := time.Since(begin); r.Result.OK || took != time.Second {
				t.Errorf("%s: %+v after %s", kind, r.Result, took)
			}
		})
	}
}

// TestOldTLSIsRefused, as traffic refuses it.
func TestOldTLSIsRefused(t *testing.T) {
	ca := newAuthority(t)
	old := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, farAway, "10.0.0.1")}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	for _, kind := range []route.ProbeType{route.ProbeTLS, route.ProbeHTTP} {
		m := meeting{string(kind), ofType(kind, secured), handshake(old, func(*tls.Conn) {}), route.KindTLSFailure, "version", ""}
		m.run(t, Config{CAs: map[string]*x509.CertPool{"lab": ca.pool}})
	}
}

// lame is a connection whose writes block from some moment on, until their deadline.
type lame struct {
	net.Conn
	until chan time.Time
}

// SetWriteDeadline implements net.Conn.
func (c lame) SetWriteDeadline(t time.Time) error {
	c.until <- t
	return nil
}

// TestGoodbyeIsBrief: crypto/tls would wait 5 s for a peer that does not read.
func TestGoodbyeIsBrief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := lame{until: make(chan time.Time, 1)}
		for in, want := range map[time.Duration]time.Duration{5 * time.Second: farewell, time.Millisecond: time.Millisecond} {
			_ = briefClose{c}.SetWriteDeadline(time.Now().Add(in))
			if got := time.Until(<-c.until); got != want {
				t.Errorf("%s became %s", in, got)
			}
		}
	})
}

// TestBackendIsPartOfItsCheck: what of a backend makes another check, and nothing secret
// makes the id that answers show.
func TestBackendIsPartOfItsCheck(t *testing.T) {
	seed := maphash.MakeSeed()
	of := func(edit func(*route.Backend, *route.Check)) checkKey {
		b := route.Backend{Host: "10.0.0.1", Port: 80, Incarnation: "i", Scheme: route.SchemeHTTP}
		c := normalized(route.Check{Type: route.ProbeHTTP, Scheme: route.SchemeHTTP, Path: "/x?token=a"}, &b)
		edit(&b, &c)
		return keyOf(seed, &c, &b)
	}
	header := func(name, value string) func(*route.Backend, *route.Check) {
		return func(_ *route.Backend, c *route.Check) {
			c.Headers = []route.CheckHeader{{Name: name, Value: route.Secret(value)}}
		}
	}
	base := of(func(*route.Backend, *route.Check) {})
	for name, edit := range map[string]func(*route.Backend, *route.Check){
		"host": func(b *route.Backend, _ *route.Check) { b.Host = "10.0.0.2" }, "loopback": func(b *route.Backend, _ *route.Check) { b.Loopback = true },
		"incarnation": func(b *route.Backend, _ *route.Check) { b.Incarnation = "j" }, "port": func(_ *route.Backend, c *route.Check) { c.Port = 81 },
	} {
		if of(edit) == base {
			t.Errorf("another %s makes the same check", name)
		}
	}
	if a, b := of(header("X-A", "v")), of(header("X-B", "v")); a == b {
		t.Error("the name of a header makes no other check")
	}
	secret := of(func(_ *route.Backend, c *route.Check) { c.Path = "/x?token=b" })
	if one, two := of(header("X-A", "v")), of(header("X-A", "w")); publicID(&base) != publicID(&secret) || publicID(&one) != publicID(&two) || base == secret || one == two {
		t.Error("an id tells of a secret")
	}
	tlsOf := func(scheme route.Scheme) checkKey {
		b := route.Backend{Host: "10.0.0.1", Port: 80, Incarnation: "i", Scheme: scheme}
		c := normalized(route.Check{Type: route.ProbeTLS}, &b)
		return keyOf(seed, &c, &b)
	}
	if tlsOf(route.SchemeHTTP) == tlsOf(route.SchemeHTTPS) {
		t.Error("what is offered by ALPN makes no other check")
	}
}
