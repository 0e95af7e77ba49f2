package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"fairlead/router"
	"fairlead/router/exchange"
	"fairlead/router/middleware"
)

// exchangeFor makes an exchange without a front.
func exchangeFor(t testing.TB, host, path string, fields ...string) *exchange.Exchange {
	t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(fields); i += 2 {
		h.Add(fields[i], fields[i+1])
	}
	return &exchange.Exchange{
		Context: t.Context(), Verb: "GET", Authority: host, HostName: host, Path: router.Path{Match: path, Forward: path},
		Major: 1, Minor: 1, Header: header(h), Peer: netip.MustParseAddrPort("192.0.2.1:1234"),
	}
}

type certPool = x509.CertPool

// newTLSBackend is an https backend that says what it was asked for, and the pool
// with which it is trusted.
func newTLSBackend(t *testing.T) (address string, roots *certPool) {
	t.Helper()
	return newTLSBackendFor(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Tls", "name="+r.TLS.ServerName+" "+r.TLS.NegotiatedProtocol+" "+r.Proto)
	}))
}

func newTLSBackendFor(t *testing.T, h http.Handler) (address string, roots *certPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quietLog(New(Config{}))
	s.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.Listener.Addr().String(), roots
}

func chainOf(filters ...middleware.Filter) *prepared { return &prepared{filters: filters} }
