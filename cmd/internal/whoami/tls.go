package whoami

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Kinds of certificates that the workload shows.
const (
	certNone    = ""
	certValid   = "valid"   // self-signed, for a day
	certExpired = "expired" // self-signed, ended an hour ago
)

// serverTLS makes the TLS of a certificate kind, nil for certNone. The certificate names
// the workload, localhost and 127.0.0.1.
func serverTLS(kind, name string, now time.Time) (*tls.Config, error) {
	begin, end := now.Add(-2*time.Hour), now.Add(24*time.Hour)
	switch kind {
	case certNone:
		return nil, nil
	case certValid:
	case certExpired:
		end = now.Add(-time.Hour)
	default:
		return nil, fmt.Errorf("-tls must be %s or %s, not %q", certValid, certExpired, kind)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(begin.UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{name, "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: begin, NotAfter: end, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12,
	}, nil
}
