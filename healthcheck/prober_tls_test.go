package healthcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// refuses serves TLS; the alert with which it refuses a client comes after a time.
func refuses(cfg *tls.Config, after time.Duration) func(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) {
		b := buffered(c).(*bufferedConn)
		s := tls.Server(lateAlert{b, after}, cfg)
		_ = s.Handshake() // TLS 1.3: it fails after the client's handshake is over
		silent(c)
		<-time.After(after)
		close(b.out)
	})
}

// lateAlert delays alerts.
type lateAlert struct {
	*bufferedConn
	after time.Duration
}

// Write implements net.Conn. An alert record is short; a flight is not.
func (s lateAlert) Write(p []byte) (int, error) {
	if len(p) < 64 {
		p = slices.Clone(p)
		time.AfterFunc(s.after, func() { _, _ = s.bufferedConn.Write(p) })
		return len(p), nil
	}
	return s.bufferedConn.Write(p)
}

// TestTLSProbe: the handshake is proved, a refusal that comes late is seen, and nothing
// else is asked for.
func TestTLSProbe(t *testing.T) {
	ca := newAuthority(t)
	cert := ca.sign(t, farAway, "10.0.0.1", "app.test")
	client := ca.sign(t, farAway, "client.test")
	good := &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true}
	with := func(edit func(*tls.Config)) *tls.Config {
		c := good.Clone()
		edit(c)
		return c
	}
	mutual := with(func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs, c.MinVersion = tls.RequireAndVerifyClientCert, ca.pool, tls.VersionTLS13
	})
	old := with(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12; c.ClientAuth = tls.RequireAnyClientCert })
	other := with(func(c *tls.Config) { c.Certificates = []tls.Certificate{ca.sign(t, farAway, "other.test")} })
	expired := with(func(c *tls.Config) {
		c.Certificates = []tls.Certificate{ca.sign(t, time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), "10.0.0.1")}
	})
	imap := with(func(c *tls.Config) { c.NextProtos = []string{"imap"} })
	tlsCheck := func(edits ...func(*route.Check)) func(*route.Check) { return ofType(route.ProbeTLS, edits...) }
	shows := func(c *route.Check) { c.TLS.ClientCert = "mine" }
	ends := func(*tls.Conn) {}
	failed := route.KindTLSFailure
	cfg := Config{CAs: map[string]*x509.CertPool{"lab": ca.pool}, ClientCerts: map[string]*tls.Certificate{"mine": &client}}
	for _, tt := range []meeting{
		{"silence", tlsCheck(), handshake(good, func(s *tls.Conn) { silent(s.NetConn()) }), "", "TLS handshake done", ""},
		{"goodbye for goodbye", tlsCheck(), handshake(good, func(s *tls.Conn) { silent(s); _ = s.Close() }), "", "TLS handshake done", ""},
		{"the server ends", tlsCheck(), handshake(good, ends), "", "done", ""},
		{"the server says goodbye", tlsCheck(), handshake(good, func(s *tls.Conn) { _ = s.Close() }), "", "done", ""},
		{"the server talks", tlsCheck(), handshake(good, func(s *tls.Conn) { _, _ = io.WriteString(s, "* OK IMAP ready\r\n") }), "", "done", ""},
		{"another protocol, none offered", tlsCheck(), handshake(imap, ends), "", "done", ""},
		{"by name", tlsCheck(func(c *route.Check) { c.SNI = "app.test" }), handshake(good, ends), "", "done", ""},
		{"wrong name", tlsCheck(), handshake(other, ends), failed, "not for the name 10.0.0.1", "serverName"},
		{"wrong name, not verified", tlsCheck(func(c *route.Check) { c.TLS.InsecureSkipVerify = true }), handshake(other, ends), "", "done", ""},
		{"expired", tlsCheck(), handshake(expired, ends), failed, "expired", "renew"},
		{"unknown authority", tlsCheck(func(c *route.Check) { c.TLS.CA = "" }), handshake(good, ends), failed, "unknown authority", "backendTLS.ca"},
		{"missing authority", tlsCheck(func(c *route.Check) { c.TLS.CA = "gone" }), handshake(good, ends), route.KindConfigError, `"gone"`, "backendTLS.ca"},
		{"client certificate shown", tlsCheck(shows), handshake(mutual, ends), "", "done", ""},
		{"client certificate wanted", tlsCheck(), refuses(mutual, 0), failed, "certificate", "backendTLS.clientCert"},
		{"client certificate refused after 50 ms", tlsCheck(), refuses(mutual, 50*time.Millisecond), failed, "certificate", "backendTLS.clientCert"},
		{"client certificate wanted, TLS 1.2", tlsCheck(), handshake(old, ends), failed, "handshake failure", "backendTLS.clientCert"},
		{"missing client certificate", tlsCheck(func(c *route.Check) { c.TLS.ClientCert = "gone" }), handshake(good, ends), route.KindConfigError, `"gone"`, "backendTLS.clientCert"},
		{"plain text", tlsCheck(), hangsUp2("HTTP/1.1 400 Bad Request\r\n\r\n"), failed, "does not speak TLS", "plain HTTP"},
		{"silent", tlsCheck(), server(silent), route.KindTimeout, "the TLS handshake (5s)", "says nothing"},
		{"half a record, silent", tlsCheck(), says("\x16\x03"), route.KindTimeout, "the TLS handshake", ""},
		{"refused", tlsCheck(), refuse, route.KindConnectionRefused, "refused", "port 80"},
		{"https with a client certificate", webCheck(secured, func(c *route.Check) { c.TLS.CA, c.TLS.ClientCert = "lab", "mine" }), overTLS(mutual, ok200), "", "200", ""},
	} {
		tt.run(t, cfg)
	}
}

// TestTLSOffersTheTrafficsProtocols: of an https backend, http/1.1; of others, nothing.
func TestTLSOffersTheTrafficsProtocols(t *testing.T) {
	ca := newAuthority(t)
	stranger := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, farAway, "10.0.0.1")}, NextProtos: []string{"imap"}}
	bubble(t, Config{StartupSpread: 1, CAs: map[string]*x509.CertPool{"lab": ca.pool}}, func(r *rig) {
		r.net.set("10.0.0.1:80", handshake(stranger, func(*tls.Conn) {}))
		r.apply(r.set("http_api", backend("b1", "10.0.0.1", checked(ofType(route.ProbeTLS)), func(b *route.Backend) { b.Scheme = route.SchemeHTTPS })))
		r.run()
		r.at(7 * time.Second)
		h := r.health("http_api", "b1")
		if h.LastResult.Kind != route.KindTLSFailure || h.Hint != "the port speaks TLS, but none of the traffic's protocols: correct port or healthCheck.port" {
			t.Errorf("%s %s; %s", h.LastResult.Kind, h.LastResult.Message, h.Hint)
		}
	})
}

// TestTLSGrace: the wait for a refusal is 100 ms, or as long as all before it took, and
// ends before the probe's time does.
func TestTLSGrace(t *testing.T) {
	for _, tt := range []struct{ elapsed, left, want time.Duration }{
		{0, time.Minute, 100 * time.Millisecond},
		{300 * time.Millisecond, time.Minute, 300 * time.Millisecond},
		{time.Second, 500 * time.Millisecond, 450 * time.Millisecond},
		{time.Second, -time.Second, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := grace(tt.elapsed, time.Now().Add(tt.left)); got != tt.want {
				t.Errorf("%+v: %s", tt, got)
			}
		})
	}
	if got := grace(time.Second, time.Time{}); got != time.Second {
		t.Errorf("without a deadline: %s", got)
	}
}

// TestTLSSuccessBeforeTheDeadline: a handshake that took most of the time leaves a
// success, not a timeout; a reset after it is a failure.
func TestTLSSuccessBeforeTheDeadline(t *testing.T) {
	ca := newAuthority(t)
	good := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, farAway, "10.0.0.1")}}
	slow := func(ctx context.Context) (net.Conn, error) {
		<-time.After(4900 * time.Millisecond)
		return handshake(good, func(s *tls.Conn) { silent(s) })(ctx)
	}
	cfg := Config{CAs: map[string]*x509.CertPool{"lab": ca.pool}}
	m := meeting{"slow", ofType(route.ProbeTLS), slow, "", "done", ""}
	m.run(t, cfg)
	resets := func(ctx context.Context) (net.Conn, error) {
		c, err := handshake(good, func(s *tls.Conn) { silent(s) })(ctx)
		return &resetting{Conn: c}, err
	}
	m = meeting{"reset", ofType(route.ProbeTLS), resets, route.KindConnectionReset, "right after the TLS handshake", ""}
	m.run(t, cfg)
}

// resetting fails reads once the probe has said goodbye.
type resetting struct {
	net.Conn
	over bool
}

// SetWriteDeadline is called with the farewell.
func (c *resetting) SetWriteDeadline(at time.Time) error {
	c.over = true
	return c.Conn.SetWriteDeadline(at)
}

// Read implements net.Conn.
func (c *resetting) Read(p []byte) (int, error) {
	if c.over {
		return 0, errno(syscall.ECONNRESET)
	}
	return c.Conn.Read(p)
}
