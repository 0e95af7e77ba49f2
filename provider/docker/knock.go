package docker

import (
	"context"
	"net"
	"time"
)

const (
	// knockInterval is how often a lost engine's address is tried for a connection.
	knockInterval = 250 * time.Millisecond
	// knockTimeout bounds one try.
	knockTimeout = 200 * time.Millisecond
)

// knocker returns a function that reports whether somebody accepts connections at the
// endpoint. It asks nothing: an engine that starts accepts for seconds before it
// answers, and starts its containers again meanwhile.
func knocker(ep endpoint) func(context.Context) bool {
	return func(ctx context.Context) bool {
		nc, err := (&net.Dialer{Timeout: knockTimeout}).DialContext(ctx, ep.network, ep.address)
		if err != nil {
			return false
		}
		_ = nc.Close()
		return true
	}
}

// noteReturn tells others that a lost engine can be reached again, before it is read. Once
// for each loss: one that accepts and never answers must not be in doubt for ever.
func (w *watcher) noteReturn(ctx context.Context) {
	if w.provider.knock == nil || w.failures == 0 || w.sent == nil {
		return
	}
	if !w.provider.knock(ctx) {
		w.doubted = false
		return
	}
	if w.doubted {
		return
	}
	w.doubted, w.state.status.Returning = true, true
	w.put(w.frozen(time.Now()), false)
}

// pause waits before the next attempt, and less when a lost engine accepts connections.
func (w *watcher) pause(ctx context.Context, d time.Duration) {
	end := time.Now().Add(d)
	for w.provider.knock != nil && w.failures > 0 && !w.doubted && time.Until(end) > knockInterval {
		sleep(ctx, knockInterval)
		if ctx.Err() != nil || w.provider.knock(ctx) {
			return
		}
	}
	sleep(ctx, time.Until(end))
}
