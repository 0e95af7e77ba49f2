package healthcheck

import (
	"context"

	"fairlead/router/route"
)

// tcpProber connects and closes.
type tcpProber struct{ dialer *dialer }

// Probe implements Prober.
func (p *tcpProber) Probe(ctx context.Context, target Target, spec *Spec) Result {
	conn, r := p.dialer.connect(ctx, target, startWatch())
	if spec != nil && spec.Detailed {
		r.Exchange = &route.ProbeExchange{}
	}
	if conn == nil {
		return r
	}
	// The connection proved what was asked; how it closes proves nothing.
	_ = conn.Close()
	r.OK, r.Message = true, "connected"
	return r
}
