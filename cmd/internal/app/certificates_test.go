package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead/cmd/internal/config"
)

// newPair makes a certificate for clients, and its key.
func newPair(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func TestClientCertificatesAreLoaded(t *testing.T) {
	cert, key := newPair(t, "edge")
	_, other := newPair(t, "other")
	both, certFile, keyFile, otherFile := tempFile(t, cert+key), tempFile(t, cert), tempFile(t, key), tempFile(t, other)
	pairs, err := LoadClients(map[string]string{"one": both, "two": certFile + " " + keyFile})
	if err != nil || len(pairs) != 2 || pairs["one"].Leaf.Subject.CommonName != "edge" || pairs["two"].Leaf.Subject.CommonName != "edge" {
		t.Fatalf("%v %v", pairs, err)
	}
	for files, want := range map[string]string{
		"/nonexistent":             "no such file",
		certFile:                   certFile + " must hold a certificate and its key in PEM form",
		keyFile + " " + certFile:   keyFile + " must hold a certificate and " + certFile + " its key",
		certFile + " " + otherFile: "does not match",
	} {
		_, err := LoadClients(map[string]string{"edge": files})
		if err == nil || !strings.HasPrefix(err.Error(), "certificates.clients.edge: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key[30:60]) {
			t.Errorf("%s: %v, want %s", files, err, want)
		}
	}
	s := config.Default()
	s.Certificates.Clients = map[string]string{"b": both, "a": both}
	if l := LabelConfig(&s); strings.Join(l.ClientCerts, ",") != "a,b" {
		t.Errorf("%+v", l)
	}
}

// mutual is a backend that serves only who shows a certificate, and a route to it.
func mutual(t *testing.T) config.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
	s := settings(tempFile(t, fmt.Sprintf(`entrypoints:
- name: app
  backends: [{address: 127.0.0.1, port: %s, scheme: https, tls: {ca: internal, client_cert: edge}}]
  config:
    hostnames: [app.localhost]
    health_check: {path: /, initial: down}
`, port)))
	s.Certificates.Authorities = map[string]string{"internal": tempFile(t, string(ca))}
	return s
}

// TestTheClientCertificateIsShown to the backend by probes and by traffic: with
// initial=down nothing is served before a probe passed.
func TestTheClientCertificateIsShown(t *testing.T) {
	s := mutual(t)
	cert, key := newPair(t, "edge")
	s.Certificates.Clients = map[string]string{"edge": tempFile(t, cert+key)}
	addresses, log, _ := run(t, s)
	var last string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		status, body, err := get(addresses.HTTP, "app.localhost", "/")
		if err == nil && status == 200 && body == "edge" {
			return
		}
		last = fmt.Sprint(status, body, err)
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("%s\n%s", last, log)
}

// TestStrictStopsAStart at a bad health check, with its place.
func TestStrictStopsAStart(t *testing.T) {
	path := tempFile(t, "entrypoints:\n- name: app\n  backends: [{address: 127.0.0.1, port: 80}]\n  config:\n    hostnames: [app.localhost]\n    health_check: {status: 200}\n")
	s := settings(path)
	if _, err := New(Config{Settings: s}); err != nil {
		t.Errorf("without strict: %v", err)
	}
	s.Strict = true
	_, err := New(Config{Settings: s})
	if want := "providers.file: " + path + ":6:20: entrypoints[0].config.health_check.status: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s...", err, want)
	}
}
