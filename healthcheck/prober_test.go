package healthcheck

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fairlead/router/route"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

var (
	longAgo = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	farAway = time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
)

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: longAgo, NotAfter: farAway,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{cert: cert, key: key, pool: x509.NewCertPool()}
	a.pool.AddCert(cert)
	return a
}

func (a *authority) sign(t *testing.T, until time.Time, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: longAgo, NotAfter: until}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// server makes a dial's answer of a function that owns the server's end.
func server(serve func(net.Conn)) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		client, end := net.Pipe()
		go func() {
			defer end.Close()
			serve(end)
		}()
		return client, nil
	}
}

// silent reads and says nothing.
func silent(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// says reads a request head, writes a text and then keeps the connection open.
func says(text string) func(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) {
		buf := make([]byte, 4096)
		if _, err := c.Read(buf); err != nil {
			return
		}
		if _, err := io.WriteString(c, text); err == nil {
			silent(c)
		}
	})
}

// hangsUp is says, but closes at once.
func hangsUp(text string) func(context.Context) (net.Conn, error) { return answer(text) }

// overTLS serves HTTP answers by TLS.
func overTLS(cfg *tls.Config, text string) func(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) {
		s := tls.Server(buffered(c), cfg)
		if s.Handshake() == nil {
			_, _ = s.Read(make([]byte, 4096))
			_, _ = io.WriteString(s, text)
		} else {
			silent(c)
		}
		close(s.NetConn().(*bufferedConn).out)
		silent(c)
	})
}

// bufferedConn writes in the background, as a socket does: a refusal can be on its way
// while the peer still writes.
type bufferedConn struct {
	net.Conn
	out chan []byte
}

func buffered(c net.Conn) net.Conn {
	b := &bufferedConn{Conn: c, out: make(chan []byte, 64)}
	go func() {
		for part := range b.out {
			_, _ = c.Write(part)
		}
		c.Close()
	}()
	return b
}

func (b *bufferedConn) Write(p []byte) (int, error) {
	b.out <- slices.Clone(p)
	return len(p), nil
}

const ok200 = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// TestProbeConformance meets each prober with servers of every kind.
func TestProbeConformance(t *testing.T) {
	ca := newAuthority(t)
	good := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, farAway, "10.0.0.1", "app.test")}}
	expired := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), "10.0.0.1")}}
	other := &tls.Config{Certificates: []tls.Certificate{ca.sign(t, farAway, "other.test")}}
	stranger := &tls.Config{Certificates: good.Certificates, NextProtos: []string{"imap"}}
	mutual := &tls.Config{Certificates: good.Certificates, ClientAuth: tls.RequireAnyClientCert}
	tcp := func(*route.Check) {}
	http := func(c *route.Check) {
		c.Type, c.Scheme, c.Path, c.Host = route.ProbeHTTP, route.SchemeHTTP, "/health", "10.0.0.1"
	}
	https := func(c *route.Check) { http(c); c.Scheme = route.SchemeHTTPS; c.TLS.CA = "lab" }
	and := func(fs ...func(*route.Check)) func(*route.Check) {
		return func(c *route.Check) {
			for _, f := range fs {
				f(c)
			}
		}
	}
	only200 := func(c *route.Check) { c.Status, _ = route.ParseStatusSet("200") }
	fails := func(e syscall.Errno) func(context.Context) (net.Conn, error) {
		return func(context.Context) (net.Conn, error) { return nil, errno(e) }
	}
	for _, tt := range []meeting{
		{"tcp open", tcp, accept, "", "connected", ""},
		{"tcp refused", tcp, refuse, route.KindConnectionRefused, "refused", "nothing listens on port 80"},
		{"tcp refused on another port", func(c *route.Check) { c.Port = 81 }, refuse, route.KindConnectionRefused, "refused", "healthCheck.port 81"},
		{"tcp black hole", tcp, blackhole, route.KindTimeout, "connecting (5s)", "share a network"},
		{"tcp no route", tcp, fails(syscall.EHOSTUNREACH), route.KindNoRouteToHost, "no route", "still there"},
		{"tcp host down", tcp, fails(syscall.EHOSTDOWN), route.KindHostUnreachable, "down", "still there"},
		{"tcp no network", tcp, fails(syscall.ENETUNREACH), route.KindNetworkUnreachable, "unreachable", "still there"},
		{"tcp timed out by the system", tcp, fails(syscall.ETIMEDOUT), route.KindTimeout, "connecting", ""},
		{"tcp forbidden", tcp, fails(syscall.EPERM), route.KindOther, "not permitted", ""},
		{"tcp no files", tcp, fails(syscall.EMFILE), route.KindLocalError, "file descriptor", ""},
		{"tcp no ports", tcp, fails(syscall.EADDRNOTAVAIL), route.KindLocalError, "local port", ""},
		{"http 200", http, answer(ok200), "", "answered 200", ""},
		{"http 204", http, answer("HTTP/1.1 204 No Content\r\n\r\n"), "", "204", ""},
		{"http 301", http, answer("HTTP/1.0 301\r\nLocation: https://x/\r\n\r\n"), "", "301", ""},
		{"http 301 refused", and(http, only200), answer("HTTP/1.1 301 X\r\n\r\n"), route.KindBadStatus, "wanted 200", "redirects"},
		{"http 400", http, answer("HTTP/1.1 400 X\r\n\r\n"), route.KindBadStatus, "answered 400", "healthCheck.host"},
		{"http 421", http, answer("HTTP/1.1 421 X\r\n\r\n"), route.KindBadStatus, "421", `"10.0.0.1"`},
		{"http 401", http, answer("HTTP/1.1 401 X\r\n\r\n"), route.KindBadStatus, "401", "healthCheck.headers"},
		{"http 404", http, answer("HTTP/1.1 404 X\r\n\r\n"), route.KindBadStatus, "404", "healthCheck.path"},
		{"http 405", http, answer("HTTP/1.1 405 X\r\n\r\n"), route.KindBadStatus, "405", "does not take GET"},
		{"http 429", http, answer("HTTP/1.1 429 X\r\n\r\n"), route.KindBadStatus, "429", "healthCheck.interval"},
		{"http 503", http, answer("HTTP/1.1 503 X\r\n\r\n"), route.KindBadStatus, "answered 503, wanted 2xx,3xx", ""},
		{"http 101", http, answer("HTTP/1.1 101 X\r\n\r\n"), route.KindBadStatus, "101", ""},
		{"http 1xx, then 200", http, answer("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok200), "", "200", ""},
		{"http six 1xx", http, answer(strings.Repeat("HTTP/1.1 102 X\r\n\r\n", 6) + ok200), route.KindProtocolError, "interim", ""},
		{"http silent", http, server(silent), route.KindTimeout, "waiting for the answer (5s)", "says nothing"},
		{"http half a status line, silent", http, says("HTTP/1.1 20"), route.KindTimeout, "waiting", ""},
		{"http two letters, silent", http, says("HT"), route.KindTimeout, "waiting", ""},
		{"http half a head, silent", http, says("HTTP/1.1 200 OK\r\nX: y\r\n"), route.KindTimeout, "waiting", ""},
		{"http closed at once", http, server(func(net.Conn) {}), route.KindHTTPError, "closed the connection", ""},
		{"http half a status line, closed", http, hangsUp("HTTP/1.1 2"), route.KindProtocolError, "middle of the response head", ""},
		{"http four letters, closed", http, hangsUp("HTTP"), route.KindProtocolError, "middle", ""},
		{"http SSH", http, says("SSH-2.0-OpenSSH_9.2\r\n"), route.KindProtocolError, "SSH", "another service"},
		{"http 0.9", http, says("<html>hello</html>"), route.KindProtocolError, "not HTTP/1.x", ""},
		{"http 2 frames", http, says("\x00\x00\x12\x04\x00\x00\x00\x00\x00"), route.KindProtocolError, "HTTP/2", "HTTP/2 only"},
		{"http version 2 in text", http, says("HTTP/2 200 OK\r\n\r\n"), route.KindProtocolError, "malformed", ""},
		{"http bad code", http, says("HTTP/1.1 2x0 OK\r\n\r\n"), route.KindProtocolError, "malformed", ""},
		{"http code 999", http, says("HTTP/1.1 999 OK\r\n\r\n"), route.KindProtocolError, "between 100 and 599", ""},
		{"http line without colon", http, says("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), route.KindProtocolError, "no header field", ""},
		{"http NUL", http, says("HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n"), route.KindProtocolError, "no header field", ""},
		{"http folded field", http, says("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"), "", "200", ""},
		{"http 100 KiB of head", http, answer("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 100<<10) + "\r\n\r\n"), route.KindProtocolError, "longer than 64 KiB", ""},
		{"http 60 KiB of head", http, answer("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 60<<10) + "\r\n\r\n"), "", "200", ""},
		{"http endless body", http, server(func(c net.Conn) {
			serveOnce(&struct{ net.Conn }{c}, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 1<<20), nil)
		}), "", "200", ""},
		{"http on a TLS port, alert", http, says("\x15\x03\x01\x00\x02\x02\x46"), route.KindProtocolError, "TLS bytes", "scheme=https"},
		{"http on a TLS port, Go's words", http, answer("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"),
			route.KindBadStatus, "400", "scheme=https"},
		{"http reset", http, fails(syscall.ECONNRESET), route.KindConnectionReset, "reset", ""},
		{"http header with a line break", and(http, func(c *route.Check) {
			c.Headers = []route.CheckHeader{{Name: "X", Value: "a\r\nb"}}
		}), answer(ok200), route.KindConfigError, "line break", ""},
		{"https", https, overTLS(good, ok200), "", "200", ""},
		{"https by name", and(https, func(c *route.Check) { c.Host = "app.test:8443" }), overTLS(good, ok200), "", "200", ""},
		{"https server name", and(https, func(c *route.Check) { c.TLS.ServerName = "app.test" }), overTLS(good, ok200), "", "200", ""},
		{"https 500", https, overTLS(good, "HTTP/1.1 500 X\r\n\r\n"), route.KindBadStatus, "500", ""},
		{"https wrong name", https, overTLS(other, ok200), route.KindTLSFailure, "not for the name 10.0.0.1 but for other.test", "backendTLS.serverName"},
		{"https wrong name, not verified", and(https, func(c *route.Check) { c.TLS.InsecureSkipVerify = true }), overTLS(other, ok200), "", "200", ""},
		{"https expired", https, overTLS(expired, ok200), route.KindTLSFailure, "expired or not yet valid (1990-01-01 to 1999-01-01)", "renew"},
		{"https unknown CA", and(https, func(c *route.Check) { c.TLS.CA = "" }), overTLS(good, ok200), route.KindTLSFailure, "unknown authority", "backendTLS.ca"},
		{"https missing CA", and(https, func(c *route.Check) { c.TLS.CA = "nowhere" }), overTLS(good, ok200), route.KindConfigError, `"nowhere"`, "backendTLS.ca"},
		{"https client certificate wanted", https, overTLS(mutual, ok200), route.KindTLSFailure, "certificate", "client certificate"},
		{"https h2 only", https, overTLS(good, "\x00\x00\x12\x04\x00\x00\x00\x00\x00"), route.KindProtocolError, "HTTP/2 frames", "HTTP/2 only"},
		{"https without http/1.1", https, overTLS(stranger, ok200), route.KindTLSFailure, "no application protocol", "HTTP/2 only"},
		{"https on a plain port", https, hangsUp2("HTTP/1.1 400 Bad Request\r\n\r\n"), route.KindTLSFailure, "does not speak TLS", "scheme=http"},
		{"https silent", https, server(silent), route.KindTimeout, "TLS handshake", "says nothing"},
		{"https closed", https, server(func(c net.Conn) { _, _ = c.Read(make([]byte, 9)) }), route.KindTLSFailure, "closed the connection", ""},
		{"unknown type", func(c *route.Check) { c.Type = "carrier-pigeon" }, accept, route.KindConfigError, "carrier-pigeon", ""},
	} {
		tt.run(t, Config{CAs: map[string]*x509.CertPool{"lab": ca.pool}})
	}
}

// hangsUp2 reads a handshake's first record and answers in plain text.
func hangsUp2(text string) func(context.Context) (net.Conn, error) {
	return server(func(c net.Conn) {
		if _, err := c.Read(make([]byte, 4096)); err == nil {
			_, _ = io.WriteString(c, text)
		}
	})
}

// TestProbeRequest holds the bytes of a probe.
func TestProbeRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen string
		d := &dialer{dial: func(context.Context, string, string) (net.Conn, error) {
			client, end := net.Pipe()
			go serveOnce(end, ok200, func(head string) { mu.Lock(); seen = head; mu.Unlock() })
			return client, nil
		}}
		p := &httpProber{links: &links{dialer: d}, agent: "fairlead-health/1.2"}
		c := normalized(route.Check{Type: route.ProbeHTTP, Path: "/h?a=b", Headers: []route.CheckHeader{
			{Name: "Authorization", Value: "Bearer x"}, {Name: "Accept", Value: "text/plain"}, {Name: "Connection", Value: "keep-alive"},
		}}, &route.Backend{Host: "fd00::5", Port: 8080})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := p.Probe(ctx, Target{Host: "fd00::5", Port: 8080}, &Spec{Check: c})
		if !r.OK || r.Remote != "[fd00::5]:8080" || r.Phases.FirstByte < 0 || r.Phases.TLS != -1 {
			t.Errorf("%+v", r)
		}
		mu.Lock()
		defer mu.Unlock()
		want := "GET /h?a=b HTTP/1.1\r\nHost: [fd00::5]:8080\r\nUser-Agent: fairlead-health/1.2\r\nConnection: close\r\n" +
			"Authorization: Bearer x\r\nAccept: text/plain\r\n\r\n"
		if seen != want {
			t.Errorf("sent\n%q, want\n%q", seen, want)
		}
	})
}

// TestDialTargets: the resolved address is checked, and that very address dialled.
func TestDialTargets(t *testing.T) {
	addrs := func(list ...string) []netip.Addr {
		var out []netip.Addr
		for _, a := range list {
			out = append(out, netip.MustParseAddr(a))
		}
		return out
	}
	for _, tt := range []struct {
		name      string
		host      string
		resolves  []netip.Addr
		err       error
		loopback  bool
		linkLocal bool
		dials     []string
		kind      route.Kind
	}{
		{"literal", "10.0.0.1", nil, nil, false, false, []string{"10.0.0.1:80"}, ""},
		{"IPv6 literal", "fd00::5", nil, nil, false, false, []string{"[fd00::5]:80"}, ""},
		{"name", "app", addrs("10.0.0.7"), nil, false, false, []string{"10.0.0.7:80"}, ""},
		{"second address answers", "app", addrs("10.0.0.9", "10.0.0.7"), nil, false, false, []string{"10.0.0.9:80", "10.0.0.7:80"}, ""},
		{"name of the metadata service", "app", addrs("169.254.169.254"), nil, false, true, nil, route.KindProbeBlocked},
		{"link-local", "169.254.1.1", nil, nil, false, false, nil, route.KindProbeBlocked},
		{"link-local allowed", "169.254.1.1", nil, nil, false, true, []string{"169.254.1.1:80"}, route.KindConnectionRefused},
		{"mapped loopback", "::ffff:127.0.0.1", nil, nil, false, false, nil, route.KindProbeBlocked},
		{"name of loopback", "app", addrs("127.0.0.1", "::1"), nil, false, false, nil, route.KindProbeBlocked},
		{"loopback of the host network", "127.0.0.1", nil, nil, true, false, []string{"127.0.0.1:80"}, route.KindConnectionRefused},
		{"one blocked, one not", "app", addrs("127.0.0.1", "10.0.0.7"), nil, false, false, []string{"10.0.0.7:80"}, ""},
		{"empty", "", nil, nil, false, false, nil, route.KindDNSFailure},
		{"no such name", "app", nil, &net.DNSError{Name: "app", IsNotFound: true}, false, false, nil, route.KindDNSFailure},
		{"no address", "app", nil, nil, false, false, nil, route.KindDNSFailure},
		{"resolver broken", "app", nil, errors.New("broken"), false, false, nil, route.KindDNSFailure},
		{"resolver slow", "app", nil, context.DeadlineExceeded, false, false, nil, route.KindTimeout},
		{"resolver without files", "app", nil, syscall.EMFILE, false, false, nil, route.KindLocalError},
	} {
		var dialled []string
		d := &dialer{
			linkLocal: tt.linkLocal,
			resolve:   func(context.Context, string) ([]netip.Addr, error) { return tt.resolves, tt.err },
			dial: func(_ context.Context, _, address string) (net.Conn, error) {
				dialled = append(dialled, address)
				if slices.Contains([]string{"10.0.0.9:80", "169.254.1.1:80", "127.0.0.1:80"}, address) {
					return nil, errno(syscall.ECONNREFUSED)
				}
				client, end := net.Pipe()
				_ = end.Close()
				return client, nil
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r := (&tcpProber{dialer: d}).Probe(ctx, Target{Host: tt.host, Port: 80, Loopback: tt.loopback}, nil)
		cancel()
		if r.Kind != tt.kind || r.OK != (tt.kind == "") || !slices.Equal(dialled, tt.dials) {
			t.Errorf("%s: kind %q (%s), dialled %v", tt.name, r.Kind, r.Message, dialled)
		}
	}
}

// TestDialTriesTheNextAddress: a black hole among several addresses leaves time for
// the others.
func TestDialTriesTheNextAddress(t *testing.T) {
	bubble(t, Config{StartupSpread: 1, Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}, nil
	}}, func(r *rig) {
		r.net.set("10.0.0.1:80", blackhole)
		r.net.set("10.0.0.2:80", accept)
		r.apply(r.set("http_api", backend("b1", "app.internal")))
		r.run()
		r.at(3 * time.Second)
		r.wantState("http_api", "b1", route.StateUp, route.InVerified)
		if h := r.health("http_api", "b1"); h.LastResult.Remote != "10.0.0.2:80" || h.LastResult.Phases.Connect != 2500*time.Millisecond {
			t.Errorf("%+v", h.LastResult)
		}
	})
}

// TestServerName holds the order in which the name on TLS is chosen.
func TestServerName(t *testing.T) {
	for _, tt := range []struct{ sni, host, transport, backend, want string }{
		{"sni.test", "host.test", "tls.test", "10.0.0.1", "sni.test"},
		{"", "host.test:8443", "tls.test", "10.0.0.1", "host.test"},
		{"", "10.0.0.1:8443", "tls.test", "10.0.0.1", "tls.test"},
		{"", "10.0.0.1", "", "10.0.0.1", "10.0.0.1"},
		{"", "[fd00::5]", "", "fd00::5", "fd00::5"},
		{"", "app:8443", "tls.test", "app", "tls.test"},
		{"", "app", "", "app", "app"},
	} {
		c := &route.Check{SNI: tt.sni, Host: tt.host, TLS: route.BackendTLS{ServerName: tt.transport}}
		if got := serverName(c, &route.Backend{Host: tt.backend}); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
