package healthcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"fairlead/router/route"
)

// links opens the connections of probes: in the clear, or by TLS with the trust, the
// names and the client certificates of the traffic.
type links struct {
	dialer *dialer
	cas    map[string]*x509.CertPool
	certs  map[string]*tls.Certificate
}

// link is the connection of one probe. All of it, from the dial to the last byte, has
// one deadline; an end of the probe's context from outside interrupts it.
type link struct {
	net.Conn
	secure   *tls.Conn // nil in the clear
	deadline time.Time // zero without one
	release  func() bool
	asked    bool // for a client certificate
}

// Close ends the connection.
func (l *link) Close() error {
	l.release()
	return l.Conn.Close()
}

// open connects to a target, by TLS unless secure is nil. It returns nil and a failed
// result when that did not work. Phases, remote address and the certificate are filled
// in either way, as far as they are known.
func (l *links) open(ctx context.Context, t Target, s *Spec, secure *tls.Config, watch *stopwatch) (*link, Result) {
	raw, r := l.dialer.connect(ctx, t, watch)
	if s.Detailed {
		r.Exchange = &route.ProbeExchange{}
	}
	if raw == nil {
		return nil, r
	}
	conn := &link{Conn: raw}
	conn.deadline, _ = ctx.Deadline()
	err := raw.SetDeadline(conn.deadline)
	conn.release = context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	if err != nil {
		_ = conn.Close()
		return nil, r.fail(classify(err, phaseConnect))
	}
	if secure == nil {
		return conn, r
	}
	conn.secure = tls.Client(briefClose{raw}, conn.watched(secure))
	err = conn.secure.HandshakeContext(ctx)
	if r.Exchange != nil {
		r.Exchange.Certificate = certificateOf(conn.secure, err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, r.fail(conn.classify(err, phaseTLS))
	}
	r.Phases.TLS = watch.lap()
	conn.Conn = conn.secure
	return conn, r
}

// watched is a configuration that notes whether the backend asks for a certificate.
// Which one it gets is decided as crypto/tls does.
func (l *link) watched(cfg *tls.Config) *tls.Config {
	cfg = cfg.Clone()
	cfg.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		l.asked = true
		for i := range cfg.Certificates {
			if info.SupportsCertificate(&cfg.Certificates[i]) == nil {
				return &cfg.Certificates[i], nil
			}
		}
		return &tls.Certificate{}, nil
	}
	return cfg
}

// classify says what an error on the connection means.
func (l *link) classify(err error, in phase) verdict {
	v := classify(err, in)
	if v.kind == route.KindTLSFailure && v.clue == clueNone && l.asked {
		v.clue = clueClientCert
	}
	return v
}

// misfit is why a probe cannot be made as configured.
type misfit struct {
	message string
	clue    clue
}

// config is the TLS of a probe. Nothing is resumed, so that each probe proves a whole
// handshake.
func (l *links) config(s *Spec, protocols ...string) (*tls.Config, *misfit) {
	c := &s.Check.TLS
	cfg := &tls.Config{
		ServerName:         s.ServerName,
		InsecureSkipVerify: c.InsecureSkipVerify,
		NextProtos:         protocols,
		MinVersion:         tls.VersionTLS12,
	}
	if c.CA != "" {
		if cfg.RootCAs = l.cas[c.CA]; cfg.RootCAs == nil {
			return nil, &misfit{fmt.Sprintf("the CA %q is not in the configuration", c.CA), clueMissingCA}
		}
	}
	if c.ClientCert != "" {
		cert := l.certs[c.ClientCert]
		if cert == nil {
			return nil, &misfit{fmt.Sprintf("the client certificate %q is not in the configuration", c.ClientCert), clueMissingCert}
		}
		cfg.Certificates = []tls.Certificate{*cert}
	}
	return cfg, nil
}

// configFor is the TLS of a check with a scheme, nil for one in the clear.
func (l *links) configFor(s *Spec, protocols ...string) (*tls.Config, *misfit) {
	if s.Check.Scheme != route.SchemeHTTPS {
		return nil, nil
	}
	return l.config(s, protocols...)
}

// maxDNSName is how long the name of a host may be (RFC 1035, section 2.3.4).
const maxDNSName = 253

// certificateOf is what the backend showed, also where it was not accepted.
func certificateOf(conn *tls.Conn, err error) *route.ProbeCertificate {
	state := conn.ConnectionState()
	shown := state.PeerCertificates
	var rejected *tls.CertificateVerificationError
	if len(shown) == 0 && errors.As(err, &rejected) {
		shown = rejected.UnverifiedCertificates
	}
	if len(shown) == 0 {
		return nil
	}
	leaf := shown[0]
	c := &route.ProbeCertificate{
		Subject: legible(leaf.Subject.String(), maxShownText), Issuer: legible(leaf.Issuer.String(), maxShownText),
		NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, Protocol: state.NegotiatedProtocol,
	}
	for _, name := range leaf.DNSNames[:min(len(leaf.DNSNames), maxShown)] {
		c.Names = append(c.Names, legible(name, maxDNSName))
	}
	for _, ip := range leaf.IPAddresses[:min(len(leaf.IPAddresses), maxShown-len(c.Names))] {
		c.Names = append(c.Names, ip.String())
	}
	if state.Version != 0 {
		c.Version = tls.VersionName(state.Version)
	}
	return c
}

// briefClose keeps the farewell of TLS from waiting for a peer that does not read.
type briefClose struct{ net.Conn }

// farewell is how long saying goodbye may take.
const farewell = 100 * time.Millisecond

// SetWriteDeadline is called by crypto/tls only when it says goodbye.
func (c briefClose) SetWriteDeadline(t time.Time) error {
	if soon := time.Now().Add(farewell); t.After(soon) {
		t = soon
	}
	return c.Conn.SetWriteDeadline(t)
}
