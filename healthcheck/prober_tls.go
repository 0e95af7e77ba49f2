package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"fairlead/router/route"
)

// tlsProber makes a TLS handshake and nothing else. What it cannot see: whether the
// application behind TLS answers.
type tlsProber struct{ links *links }

// Probe implements Prober.
func (p *tlsProber) Probe(ctx context.Context, target Target, spec *Spec) Result {
	secure, wrong := p.links.config(spec, spec.ALPN...)
	if wrong != nil {
		return misconfigured(wrong.message, wrong.clue)
	}
	begin := time.Now()
	watch := &stopwatch{last: begin}
	conn, r := p.links.open(ctx, target, spec, secure, watch)
	if conn == nil {
		return r
	}
	defer func() { _ = conn.Close() }()
	// In TLS 1.3 a server judges the client's certificate after the client's handshake
	// is over, so its refusal needs time to arrive.
	_ = conn.secure.CloseWrite()
	// If the connection is over already, the read says how it ended.
	_ = conn.SetReadDeadline(time.Now().Add(grace(time.Since(begin), conn.deadline)))
	_, err := conn.Read(make([]byte, 1))
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isTimeout(err):
		r.OK, r.Message = true, "TLS handshake done"
		if name := conn.secure.ConnectionState().NegotiatedProtocol; name != "" {
			r.Message += fmt.Sprintf(" (%s)", name)
		}
		return r
	}
	v := conn.classify(err, phaseTLS)
	if v.kind == route.KindConnectionReset {
		v.message = "the backend reset the connection right after the TLS handshake"
	}
	return r.fail(v)
}

// grace is how long a refusal may take to arrive: as long as all before it took, at
// least 100 ms, and well within the probe's time: what ends at the deadline would
// itself be a timeout.
func grace(elapsed time.Duration, deadline time.Time) time.Duration {
	wait := max(100*time.Millisecond, elapsed)
	if deadline.IsZero() {
		return wait
	}
	return min(wait, max(time.Until(deadline)*9/10, 0))
}
