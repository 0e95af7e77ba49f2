package healthcheck

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"fairlead/router/route"
)

// httpProber asks by HTTP/1.1 on a connection of its own, in the clear or by TLS.
type httpProber struct {
	dialer *dialer
	agent  string
	cas    map[string]*x509.CertPool
}

// Probe implements Prober.
func (p *httpProber) Probe(ctx context.Context, target Target, spec *Spec) Result {
	request, err := p.request(&spec.Check)
	if err != nil {
		return misconfigured(err.Error(), clueNone)
	}
	secure, err := p.tlsConfig(spec)
	if err != nil {
		return misconfigured(err.Error(), clueMissingCA)
	}
	watch := &stopwatch{last: time.Now()}
	conn, r := p.dialer.connect(ctx, target, watch)
	if conn == nil {
		return r
	}
	defer func() { _ = conn.Close() }()
	// One deadline for everything; an end from outside interrupts reads and writes.
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return r.fail(classify(err, phaseConnect))
	}
	raw := conn
	defer context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })()
	if secure != nil {
		wrapped := tls.Client(briefClose{conn}, secure)
		if err := wrapped.HandshakeContext(ctx); err != nil {
			return r.fail(classify(err, phaseTLS))
		}
		r.Phases.TLS = watch.lap()
		conn = wrapped
	}
	return exchange(conn, request, &spec.Check, r, watch)
}

// exchange writes the request and judges the response.
func exchange(conn net.Conn, request []byte, c *route.Check, r Result, watch *stopwatch) Result {
	_, writeErr := conn.Write(request)
	// A server may answer and close before it has read all: its answer counts.
	in := bufio.NewReaderSize(conn, 4096)
	status, err := readResponse(in)
	var malformed *protocolError
	switch {
	case errors.As(err, &malformed):
		r.Phases.FirstByte = watch.lap()
		return r.fail(verdict{kind: route.KindProtocolError, message: malformed.message, clue: malformed.clue})
	case err != nil && writeErr != nil:
		return r.fail(classify(writeErr, phaseWrite))
	case err != nil:
		return r.fail(classify(err, phaseRead))
	}
	r.Phases.FirstByte = watch.lap()
	r.Status = status
	if c.Status.Contains(status) {
		r.OK, r.Message = true, fmt.Sprintf("answered %d", status)
		return r
	}
	v := verdict{kind: route.KindBadStatus, message: fmt.Sprintf("answered %d, wanted %s", status, c.Status)}
	if status == 400 && c.Scheme != route.SchemeHTTPS && wantsTLS(in) {
		v.clue = clueTLSAnswer
	}
	return r.fail(v)
}

// wantsTLS reports whether the part of a 400's body that has come says that the
// port speaks TLS, as Go's and nginx's do.
func wantsTLS(in *bufio.Reader) bool {
	body, _ := in.Peek(in.Buffered())
	return bytes.Contains(body, []byte("HTTPS server")) || bytes.Contains(body, []byte("HTTPS port"))
}

// request is the probe's request (RFC 9112, section 3).
func (p *httpProber) request(c *route.Check) ([]byte, error) {
	for _, part := range [...]string{c.Method, c.Path, c.Host} {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return nil, errors.New("the probe's method, path or host holds a space or a control character, or is empty")
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", c.Method, c.Path, c.Host)
	own := map[string]string{"user-agent": "User-Agent: " + p.agent, "accept": "Accept: */*"}
	var custom bytes.Buffer
	for _, h := range c.Headers {
		name, value := strings.ToLower(h.Name), h.Value.Reveal()
		if framing[name] {
			continue
		}
		if strings.ContainsAny(h.Name, "\r\n\x00: ") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, errors.New("a header of the probe holds a line break")
		}
		delete(own, name)
		fmt.Fprintf(&custom, "%s: %s\r\n", h.Name, value)
	}
	for _, name := range [...]string{"user-agent", "accept"} {
		if line := own[name]; line != "" {
			b.WriteString(line + "\r\n")
		}
	}
	b.WriteString("Connection: close\r\n")
	b.Write(custom.Bytes())
	b.WriteString("\r\n")
	return b.Bytes(), nil
}

// framing are the fields that belong to the message or the connection.
var framing = map[string]bool{
	"host": true, "connection": true, "keep-alive": true, "proxy-connection": true, "te": true, "trailer": true,
	"transfer-encoding": true, "upgrade": true, "content-length": true,
}

// tlsConfig is the TLS of a probe, nil for plain HTTP. Nothing is resumed, so that
// each probe proves a whole handshake.
func (p *httpProber) tlsConfig(spec *Spec) (*tls.Config, error) {
	c := &spec.Check
	if c.Scheme != route.SchemeHTTPS {
		return nil, nil
	}
	cfg := &tls.Config{
		ServerName:         spec.ServerName,
		InsecureSkipVerify: c.TLS.InsecureSkipVerify,
		NextProtos:         []string{"http/1.1"},
		MinVersion:         tls.VersionTLS12,
	}
	if c.TLS.CA == "" {
		return cfg, nil
	}
	if cfg.RootCAs = p.cas[c.TLS.CA]; cfg.RootCAs == nil {
		return nil, fmt.Errorf("the CA %q is not in the configuration", c.TLS.CA)
	}
	return cfg, nil
}

// briefClose keeps the farewell of TLS from waiting for a peer that does not read.
type briefClose struct{ net.Conn }

// SetWriteDeadline is called by crypto/tls only when it says goodbye.
func (c briefClose) SetWriteDeadline(t time.Time) error {
	const patience = 100 * time.Millisecond
	if soon := time.Now().Add(patience); t.After(soon) {
		t = soon
	}
	return c.Conn.SetWriteDeadline(t)
}
