package proxy

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"fairlead/router/exchange"
	"fairlead/router/route"
)

// Serve accepts connections until ctx ends, then shuts down: after ShutdownDelay
// the listener closes, requests in flight get ShutdownTimeout, tunnels half of it.
// It returns nil when all ended in time, and always after its goroutines. It may be
// called for several listeners.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	server := p.newServer()
	served := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { served <- server.Serve(l) })
	defer wg.Wait()
	select {
	case err := <-served:
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	if p.cfg.Timeouts.ShutdownDelay > 0 {
		delay := time.NewTimer(p.cfg.Timeouts.ShutdownDelay)
		defer delay.Stop()
		select {
		case err := <-served:
			return fmt.Errorf("serving %s: %w", l.Addr(), err)
		case <-delay.C:
		}
	}
	limit := p.cfg.Timeouts.ShutdownTimeout
	tunnels := time.AfterFunc(limit/2, p.tunnels.closeAll)
	defer tunnels.Stop()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("requests were still in flight after shutdownTimeout (%v) and were cut; raise it together with stop_grace_period", limit)
		_ = server.Close()
		p.tunnels.closeAll()
	}
	p.tunnels.wg.Wait()
	return err
}

// panicked logs a panic of a request: where it happened, never what was in it.
func (p *Proxy) panicked(x *exchange.Exchange, v any) {
	event := p.cfg.Log.Error().Str("panic", fmt.Sprintf("%T", v)).Bytes("stack", debug.Stack())
	if err, ok := v.(error); ok {
		event = event.AnErr("cause", err)
	}
	if x.Route != nil {
		event = event.Str(route.FieldEntrypoint, x.Route.Entrypoint.ID)
	}
	event.Msg("a request panicked; it alone was ended")
}

// quietLog takes what net/http says about broken clients; it is worth a debug line.
func quietLog(p *Proxy) *log.Logger {
	return log.New(debugWriter{p}, "", 0)
}

type debugWriter struct{ p *Proxy }

// Write implements io.Writer.
func (d debugWriter) Write(b []byte) (int, error) {
	d.p.cfg.Log.Debug().Int("bytes", len(b)).Msg("client connection ended with an error")
	return len(b), nil
}
