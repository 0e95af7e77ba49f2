package healthcheck

import (
	"context"
	"time"
)

// tcpProber connects and closes.
type tcpProber struct{ dialer *dialer }

// Probe implements Prober.
func (p *tcpProber) Probe(ctx context.Context, target Target, _ *Spec) Result {
	watch := &stopwatch{last: time.Now()}
	conn, r := p.dialer.connect(ctx, target, watch)
	if conn == nil {
		return r
	}
	// The connection proved what was asked; how it closes proves nothing.
	_ = conn.Close()
	r.OK, r.Message = true, "connected"
	return r
}
