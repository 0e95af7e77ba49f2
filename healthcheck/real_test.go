package healthcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead/router/route"
)

// TestRealSockets probes real servers on loopback through the default dialer.
func TestRealSockets(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "app.test" || r.Header.Get("User-Agent") != "fairlead-health/test" || r.Header.Get("X-Probe") != "yes" {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	plain := httptest.NewServer(handler)
	defer plain.Close()
	secure := httptest.NewTLSServer(handler)
	defer secure.Close()
	mutual := httptest.NewUnstartedServer(handler)
	mutual.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	mutual.StartTLS()
	defer mutual.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	e := New(Config{Version: "test", CAs: map[string]*x509.CertPool{"lab": pool}})
	ask := func(address string, edit func(*route.Check)) Result {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		b := &route.Backend{Host: host, Port: uint16(n)}
		c := route.Check{Type: route.ProbeHTTP, Path: "/", Host: "app.test", Headers: []route.CheckHeader{{Name: "X-Probe", Value: "yes"}}}
		c.TLS = route.BackendTLS{CA: "lab", ServerName: "example.com"}
		c.SNI = "example.com"
		edit(&c)
		c = normalized(c, b)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return e.probers[c.Type].Probe(ctx, Target{Host: host, Port: b.Port, Loopback: true}, &Spec{Check: c, ServerName: serverName(&c, b)})
	}
	address := func(s *httptest.Server) string {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	http1 := func(*route.Check) {}
	https := func(c *route.Check) { c.Scheme = route.SchemeHTTPS }
	for _, tt := range []struct {
		name, address string
		edit          func(*route.Check)
		kind          route.Kind
		clue          clue
		words         string
	}{
		{"http", address(plain), http1, "", clueNone, "answered 200"},
		{"https", address(secure), https, "", clueNone, "answered 200"},
		{"tcp", address(plain), func(c *route.Check) { c.Type = route.ProbeTCP }, "", clueNone, "connected"},
		{"teapot", address(plain), func(c *route.Check) { c.Host = "other.test" }, route.KindBadStatus, clueNone, "418"},
		{"plain HTTP to TLS", address(secure), http1, route.KindBadStatus, clueTLSAnswer, "400"},
		{"TLS to plain HTTP", address(plain), https, route.KindTLSFailure, cluePlainAnswer, "does not speak TLS"},
		{"client certificate", address(mutual), https, route.KindTLSFailure, clueClientCert, "certificate"},
		{"wrong name", address(secure), func(c *route.Check) { https(c); c.SNI = "wrong.test" }, route.KindTLSFailure, clueWrongName, "wrong.test"},
		{"refused", closed.Addr().String(), http1, route.KindConnectionRefused, clueNone, "refused"},
	} {
		r := ask(tt.address, tt.edit)
		if r.Kind != tt.kind || r.OK != (tt.kind == "") || r.clue != tt.clue || !strings.Contains(r.Message, tt.words) || r.Remote != tt.address {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}
