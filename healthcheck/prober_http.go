package healthcheck

import (
	"context"
	"crypto/x509"
)

type httpProber struct {
	dialer *dialer
	agent  string
	cas    map[string]*x509.CertPool
}

// Probe implements Prober.
func (p *httpProber) Probe(ctx context.Context, target Target, _ *Spec) Result {
	return (&tcpProber{dialer: p.dialer}).Probe(ctx, target, nil)
}
